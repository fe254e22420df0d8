"""The PostgreSQL server of the tests, started in the same way as for benchmarks; the worker
processes of a run share one."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

from crawlmgr.benches.postgresql import Server, find_binaries

__all__ = ["MIGRATED", "Server", "begun", "find_binaries", "migrated_once"]
MIGRATED = "migrated"
"""A template database in the state in which migrations leave it; nobody connects to it."""
_FOLDER = "CRAWLMGR_TEST_SERVER"
_CONNECTIONS = 240  # limit for all worker processes and the processes that their tests start


class Shared(Server):
    """A server that another process has started and will stop."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self.binaries, self.folder = binaries, folder
        self.process = self.owner = None

    def stop(self) -> None:
        """Does nothing, because the server belongs to another process."""


def begun(binaries: Path) -> Server:
    """The server of this test run: started by its first process; worker processes find it through
    the environment."""
    if folder := os.environ.get(_FOLDER):
        return Shared(binaries, Path(folder))
    server = Server(binaries, connections=_CONNECTIONS)
    server.start()
    server.create("crawlmgr")
    os.environ[_FOLDER] = str(server.folder)
    return server


def migrated_once(server: Server, migrate: Callable[[], None]) -> None:
    """The first process makes the template `MIGRATED`; the others wait until it exists."""
    done = server.folder / MIGRATED
    with (server.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            server.create(MIGRATED)
            migrate()
            done.touch()
