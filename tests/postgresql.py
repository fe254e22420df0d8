"""The PostgreSQL server of the tests: the same that the benches start. A run has one, which its worker processes share."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

from crawlmgr.benches.postgresql import Server, find_binaries

__all__ = ["MIGRATED", "Server", "begun", "find_binaries", "migrated_once"]
MIGRATED = "migrated"
"""The database as migrations leave it: a template, to which nobody connects."""
_FOLDER = "CRAWLMGR_TEST_SERVER"
_CONNECTIONS = 240  # of all worker processes and of what their tests start


class Shared(Server):
    """A server that another process has started and will stop."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self.binaries, self.folder = binaries, folder
        self.process = self.owner = None

    def stop(self) -> None:
        """Leaves it as it is."""


def begun(binaries: Path) -> Server:
    """The run's server: started by its first process, whose worker processes find it by their environment."""
    if folder := os.environ.get(_FOLDER):
        return Shared(binaries, Path(folder))
    server = Server(binaries, connections=_CONNECTIONS)
    server.start()
    server.create("crawlmgr")
    os.environ[_FOLDER] = str(server.folder)
    return server


def migrated_once(server: Server, migrate: Callable[[], None]) -> None:
    """Makes the template `MIGRATED` with the process that comes first; the others wait until it is there."""
    done = server.folder / MIGRATED
    with (server.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            server.create(MIGRATED)
            migrate()
            done.touch()
