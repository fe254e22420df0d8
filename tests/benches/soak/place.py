"""The installation that `bench soak` tests: its processes (found in the system's process list), its
database, and clients that request pages of the web interface."""

from __future__ import annotations

import os
import random
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import requests
from django.conf import settings

from tests.benches.soak.fleet import NODE_KINDS, Fleet
from tests.postgresql import Server, find_binaries

# environment variables of the installation: short times, so that recovery from a kill takes
# seconds; all else is the default
TIMES = {
    "CRAWLMGR_TICK_SECONDS": "0.5",
    "CRAWLMGR_STALL_SECONDS": "8",
    "CRAWLMGR_SLICE_SECONDS": "2",
    "CRAWLMGR_LEASE_SECONDS": "6",
    "CRAWLMGR_TIMEOUT_SECONDS": "12",
    "CRAWLMGR_RETRY_SECONDS": "40",
    "CRAWLMGR_MIN_FREE_MB": "0",
}
CLOCK_AHEAD = timedelta(days=400)
FROZEN_SECONDS = float(TIMES["CRAWLMGR_LEASE_SECONDS"]) + 1
PATHS = (
    "/admin/",
    "/admin/runs/",
    "/admin/forums/",
    "/admin/workers/",
    "/admin/events/",
    "/admin/topics/",
    "/admin/hosts/",
)
READER_PAUSE_SECONDS = 4.0


class Place:
    """A running installation; call `start`, then `kill` repeatedly, then `stop`. `url` is the
    address of its web interface, which is the same after each restart; `fleet` are the additional
    nodes, None if there are none."""

    def __init__(self, folder: Path, database: str, nodes: int = 0) -> None:
        self.folder = folder
        self.fleet: Fleet | None = None
        self.server: Server | None = None
        self.environment = {
            name: text for name, text in os.environ.items() if not name.startswith("CRAWLMGR_")
        }
        self.environment |= TIMES | {
            "CRAWLMGR_DATA": str(folder / "data"),
            "CRAWLMGR_ADMIN_PASSWORD": secrets.token_urlsafe(20),
            "PYTHONPATH": str(settings.BASE_DIR),
        }
        self.environment.pop("DATABASE_URL", None)
        if database == "postgresql":
            binaries = find_binaries()
            if binaries is None:
                raise FileNotFoundError(2, "no initdb and postgres", "PostgreSQL")
            self.server = Server(binaries)
            self.server.start()
            self.server.create("soak")
            self.environment["DATABASE_URL"] = self.server.url("soak")
            if nodes:
                self.environment["CRAWLMGR_WORKERS"] = "2"
                self.fleet = Fleet(folder, self.environment, self.server, nodes)
        with closing(socket.create_server(("127.0.0.1", 0))) as listener:
            self.port = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts `manage.py serve` in a process of its own and appends its output to `serve.log` in
        the benchmark's folder."""
        with (self.folder / "serve.log").open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "serve", "--bind", f"127.0.0.1:{self.port}"],
                cwd=settings.BASE_DIR,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def stop(self) -> None:
        """Stops nodes, `serve` and the database server."""
        if self.fleet is not None:
            self.fleet.stop()
        if self.process is not None:
            with suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.server is not None:
            self.server.stop()

    def healthy(self) -> bool:
        """Tells whether the installation answers its health check with status 200, which means that
        the web interface works and some worker node has sent a heartbeat recently."""
        try:
            return requests.get(f"{self.url}/healthz", timeout=5).status_code == 200
        except requests.RequestException:
            return False

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Returns the rows of a statement on the installation's database; retries while the server
        restarts."""
        end = time.monotonic() + 60
        while True:
            try:
                return self._rows(query)
            except (psycopg.OperationalError, sqlite3.OperationalError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.3)

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        if url := self.environment.get("DATABASE_URL"):
            with psycopg.connect(url) as connection:
                return connection.execute(query).fetchall()
        with (
            closing(
                sqlite3.connect(self.folder / "data" / "crawlmgr.sqlite3", timeout=20)
            ) as database,
            database,
        ):
            return database.execute(query).fetchall()

    def jump_clock(self) -> None:
        """Stores the next turn of every host as a worker does whose clock is 400 days ahead."""
        ahead = (datetime.now(UTC) + CLOCK_AHEAD).strftime("%Y-%m-%d %H:%M:%S")
        self.rows(
            f"UPDATE crawlmgr_host SET next_at = '{ahead}' RETURNING id"  # noqa: S608
        )

    def victims(self) -> dict[str, list[int]]:
        """Returns the ids of the processes that may be killed, by kind of process."""
        assert self.process is not None
        children = _children()
        of_serve = children.get(self.process.pid, [])
        web = [pid for pid in of_serve if "gunicorn" in _command(pid)]
        main = [pid for pid in of_serve if pid not in web]
        guard = [pid for one in main for pid in children.get(one, [])]
        hands = sorted(pid for one in guard for pid in children.get(one, []))
        busy = {
            text.rpartition(":")[2]
            for (text,) in self.rows(
                "SELECT lease_holder FROM crawlmgr_run WHERE state = 'running'"
            )
        }
        workers = hands[:-2]  # the last two processes are django-q2's monitor and pusher
        at_work = [pid for pid in workers if str(pid) in busy]
        return {
            "worker": at_work,
            "idle worker": [pid for pid in workers if pid not in at_work],
            "monitor or pusher": hands[-2:] if len(hands) > 2 else [],
            "guard": guard,
            "cluster": main,
            "web": web,
            "web worker": [pid for one in web for pid in children.get(one, [])],
            "serve": [self.process.pid],
        }

    def kill(self, victim: str, draw: random.Random) -> bool:
        """Kills a process of the kind `victim` (see `kinds`); returns False if there is none.
        "frozen" suspends a worker for longer than a lease, "group" kills a whole cluster,
        "database" restarts the database server, "clock" is `jump_clock`; for "serve", starts it
        again."""
        if victim == "database":
            if self.server is not None:
                self.server.restart(draw.choice((signal.SIGINT, signal.SIGQUIT)))
            return self.server is not None
        if victim in NODE_KINDS:
            return self.fleet is not None and self.fleet.strike(victim, draw, FROZEN_SECONDS)
        if victim == "clock":
            self.jump_clock()
            return True
        found = self.victims()[
            "cluster" if victim == "group" else "worker" if victim == "frozen" else victim
        ]
        if not found:
            return False
        pid = draw.choice(found)
        with suppress(ProcessLookupError):
            if victim == "group":
                os.killpg(pid, signal.SIGKILL)
            elif victim == "frozen":
                os.kill(pid, signal.SIGSTOP)
                time.sleep(FROZEN_SECONDS)
                os.kill(pid, signal.SIGCONT)
            else:
                os.kill(pid, signal.SIGKILL)
        if victim == "serve" and self.process is not None:
            self.process.wait()
            self.start()
        return True

    @contextmanager
    def readers(self, count: int, session: str) -> Iterator[dict[str, int]]:
        """Context manager in which `count` clients, with the login session `session`, request pages
        of the web interface; yields the numbers of responses by status ("0": no response), which
        are updated all the time."""
        counts: dict[str, int] = {}
        over = threading.Event()
        threads = [
            threading.Thread(target=self._read, args=(n, session, counts, over), daemon=True)
            for n in range(count)
        ]
        for thread in threads:
            thread.start()
        try:
            yield counts
        finally:
            over.set()
            for thread in threads:
                thread.join(70)

    def _read(
        self, number: int, session: str, counts: dict[str, int], over: threading.Event
    ) -> None:
        draw = random.Random(number)
        while not over.wait(draw.uniform(0, 2 * READER_PAUSE_SECONDS)):
            try:
                status = requests.get(
                    self.url + draw.choice(PATHS),
                    cookies={"sessionid": session},
                    timeout=60,
                    allow_redirects=False,
                ).status_code
            except requests.RequestException:
                status = 0
            counts[str(status)] = counts.get(str(status), 0) + 1


def _children() -> dict[int, list[int]]:
    """Returns for every process of this machine, by its id, the ids of its living children."""
    found: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                if state not in "ZX":
                    found.setdefault(int(parent), []).append(int(entry.name))
    return found


def _command(pid: int) -> str:
    try:
        return (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        )
    except OSError:
        return ""


def kinds(database: str, nodes: int = 0) -> Sequence[str]:
    """Returns the kinds of processes from which one is drawn for each kill; a kind that occurs
    several times is drawn more often. "database" is included only for PostgreSQL. With additional
    nodes, returns the kinds of their failures instead.
    """
    if nodes:
        return NODE_KINDS
    usual = (
        "worker",
        "worker",
        "worker",
        "idle worker",
        "monitor or pusher",
        "guard",
        "cluster",
        "group",
        "web",
        "web worker",
    )
    return (
        *usual,
        "serve",
        "frozen",
        "clock",
        *(("database",) if database == "postgresql" else ()),
    )
