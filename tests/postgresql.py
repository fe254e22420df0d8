"""Temporary PostgreSQL servers for tests and benchmarks: each with its own data folder, on a unix
socket only, and run as an ordinary user if started by root. The worker processes of a test run
share one."""

from __future__ import annotations

import ctypes
import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

PR_SET_PDEATHSIG = 1
MIGRATED = "migrated"
"""A template database in the state in which migrations leave it; nobody connects to it."""
_FOLDER = "CRAWLMGR_TEST_SERVER"
_CONNECTIONS = 240  # limit for all worker processes and the processes that their tests start


def find_binaries() -> Path | None:
    """Returns the folder with initdb and postgres: from PATH, otherwise the newest version
    installed by Debian's packages; None if there is none."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: float(p.parent.name), reverse=True
    )
    return next((f for f in folders if (f / "initdb").exists() and (f / "postgres").exists()), None)


class Server:
    """A temporary PostgreSQL server; call `start`, then `stop`. It does not listen on TCP; its
    folder is deleted when it stops."""

    def __init__(self, binaries: Path, connections: int = 60) -> None:
        self.binaries, self.connections = binaries, connections
        # in /tmp, because the path of a unix socket may have at most 107 bytes
        self.folder = Path(tempfile.mkdtemp(prefix="crawlmgr-pg-", dir="/tmp"))
        self.process: subprocess.Popen[bytes] | None = None
        self.owner = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        if self.owner:
            os.chown(self.folder, self.owner.pw_uid, self.owner.pw_gid)

    def _become_owner(self) -> Callable[[], None]:
        owner, linux = self.owner, sys.platform.startswith("linux")
        prctl = ctypes.CDLL(None).prctl if linux else None

        def become() -> None:
            if owner is not None:
                os.setgroups([])
                os.setgid(owner.pw_gid)
                os.setuid(owner.pw_uid)
            if prctl is not None:
                prctl(
                    PR_SET_PDEATHSIG, signal.SIGINT
                )  # the server ends even if this process is killed

        return become

    def _environment(self) -> dict[str, str]:
        return {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8", "HOME": str(self.folder)}

    def start(self) -> None:
        """Initialises the data folder, starts the server and waits until it accepts connections.
        Raises RuntimeError with the server's message if that fails."""
        data = self.folder / "data"
        made = subprocess.run(  # noqa: S603 - our own programs
            [
                self.binaries / "initdb",
                "-D",
                data,
                "-U",
                "crawlmgr",
                "--auth=trust",
                "--no-sync",
                "-E",
                "UTF8",
            ],
            preexec_fn=self._become_owner(),
            env=self._environment(),
            cwd=self.folder,
            capture_output=True,
            text=True,
        )
        if made.returncode:
            raise RuntimeError(f"initdb: {made.stderr or made.stdout}")
        self._run()

    def restart(self, number: int = signal.SIGINT) -> None:
        """Stops the server (SIGINT: connections are closed; SIGQUIT: immediately, as in a crash)
        and starts it again."""
        self._end(number)
        self._run()

    def _run(self) -> None:
        data, log = self.folder / "data", self.folder / "log"
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
            "max_connections": str(self.connections),
        }
        with log.open("ab") as output:
            self.process = subprocess.Popen(  # noqa: S603 - the server
                [
                    self.binaries / "postgres",
                    "-D",
                    data,
                    *(f"--{name}={value}" for name, value in settings.items()),
                ],
                preexec_fn=self._become_owner(),
                env=self._environment(),
                cwd=self.folder,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        ready = [
            str(self.binaries / "pg_isready"),
            "-q",
            "-t",
            "30",
            "-h",
            str(self.folder),
            "-U",
            "crawlmgr",
            "-d",
            "postgres",
        ]
        for _ in range(300):
            if self.process.poll() is not None:
                raise RuntimeError(f"postgres: {log.read_text(errors='replace')}")
            # our own program
            if subprocess.run(ready, env=self._environment()).returncode == 0:  # noqa: S603
                return
            time.sleep(0.1)
        raise RuntimeError(f"postgres does not answer: {log.read_text(errors='replace')}")

    def url(self, database: str) -> str:
        """Returns the address of a database on this server, in the form of DATABASE_URL."""
        return f"postgresql://crawlmgr@/{database}?host={quote(str(self.folder), safe='')}"

    def create(self, database: str, template: str = "template1") -> None:
        """Creates a database, empty or as a copy of `template`, which must have no connections."""
        made = subprocess.run(  # noqa: S603 - our own programs
            [
                self.binaries / "createdb",
                "-h",
                self.folder,
                "-U",
                "crawlmgr",
                "-T",
                template,
                database,
            ],
            env=self._environment(),
            capture_output=True,
            text=True,
        )
        if made.returncode:
            raise RuntimeError(f"createdb: {made.stderr}")

    def stop(self) -> None:
        """Stops the server and deletes its folder."""
        self._end(signal.SIGINT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self, number: int) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


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
