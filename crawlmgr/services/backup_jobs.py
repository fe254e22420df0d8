"""The job that makes a backup, by schedule or on request. It starts `manage.py backup` in a
separate process and observes it from the slices of a run.

The process is separate because a backup reads the whole database in one snapshot, which may take
longer than the time limit of a worker's task. It holds an exclusive lock on a file, which the
operating system releases when the process ends for any reason. Any worker that continues the run
can thus tell whether the process is still running."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Sum

from crawlmgr.locks import is_held
from crawlmgr.models import Run, RunState, WarcFile
from crawlmgr.services import backups

STEP_SECONDS = 5.0
LOOK_SECONDS = 0.2
MAX_TRIES = 3
Pulse = Callable[[], None]
# child processes of this worker; they are polled, so that none that has ended remains as a zombie
_children: list[subprocess.Popen[bytes]] = []


class BackupFailed(Exception):
    """The backup could not be made; the exception's text says why, usually in the last line that
    the process printed."""


class BackupJob:
    """Implements `crawlmgr.jobs.Job` for the run of a backup. The run's `result` holds the number
    of tries, the bytes written so far, and at the end the name of the file."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.place = backups.folder()
        self.path = self.place / backups.name_of(run)
        self.lock, self.said = self.path.with_suffix(".lock"), self.path.with_suffix(".log")

    def step(self, pulse: Pulse) -> Callable[[], None] | str:
        if "file" in self.run.result:
            return "backed_up"
        self.place.mkdir(parents=True, exist_ok=True, mode=0o700)
        _children[:] = [child for child in _children if child.poll() is None]
        if is_held(self.lock):
            self._wait(pulse)
            return partial(self._tell, {**self.run.result, "bytes": self._written()})
        if self.path.exists():
            return self._finish
        return self._begin()

    def ended(self, state: str, now: datetime) -> None:
        """Ends the process, unless the backup is complete, and deletes its unfinished file. A run
        that is resumed later starts from the beginning."""
        if "file" not in self.run.result:
            self._tell({})
        transaction.on_commit(lambda: clear(self.lock))

    def _begin(self) -> Callable[[], None]:
        tries = self.run.result.get("tries", 0)
        if tries >= MAX_TRIES:
            raise BackupFailed(
                self._last_line() or "the process of the backup was killed several times"
            )
        wanted = expected_bytes()
        if shutil.disk_usage(self.place).free < wanted + settings.MIN_FREE_BYTES:
            raise BackupFailed(f"{self.place} has no room for about {wanted // 1_000_000} MB")
        return partial(self._spawn, {"tries": tries + 1, "bytes": 0, "expected": wanted})

    def _spawn(self, result: dict[str, Any]) -> None:
        """Starts the process that writes the backup. It inherits the locked file, so that the lock
        is held as long as it runs."""
        self._tell(result)
        with self.lock.open("a+") as lock, self.said.open("w") as said:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # this program itself, with a path of its own making
            child = subprocess.Popen(  # noqa: S603
                command(self.path),
                cwd=settings.BASE_DIR,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                pass_fds=[lock.fileno()],
            )
            lock.truncate(0)
            lock.write(f"{child.pid} {socket.gethostname()}")
        _children.append(child)

    def _wait(self, pulse: Pulse) -> None:
        end = time.monotonic() + STEP_SECONDS
        while is_held(self.lock) and time.monotonic() < end:
            pulse()
            time.sleep(LOOK_SECONDS)

    def _written(self) -> int:
        with suppress(FileNotFoundError):
            return self.path.with_name(f"{self.path.name}.part").stat().st_size
        return int(self.run.result.get("bytes", 0))

    def _last_line(self) -> str:
        """Returns the last line that the process printed to standard error, at most 300 characters;
        "" if it printed nothing."""
        lines = (
            self.said.read_text(errors="replace").strip().splitlines() if self.said.exists() else []
        )
        return lines[-1][:300] if lines else ""

    def _finish(self) -> None:
        removed = backups.tidy(backups.plan().keep)
        about = {"file": self.path.name, "bytes": self.path.stat().st_size, "removed": len(removed)}
        self._tell({**self.run.result, **about})

    def _tell(self, result: dict[str, Any]) -> None:
        self.run.result = result
        Run.objects.filter(pk=self.run.pk).update(result=result)


def clear(lock: Path) -> None:
    """Kills the process that holds a lock file, if it runs on this machine, and deletes the lock,
    the log and the unfinished backup. Does nothing if the process runs on another machine."""
    if is_held(lock):
        number, _space, host = lock.read_text().partition(" ")
        if host != socket.gethostname() or not number.isdigit():
            return
        with suppress(ProcessLookupError, PermissionError):
            os.kill(int(number), signal.SIGKILL)
    for path in (lock, lock.with_suffix(".log"), lock.with_suffix(".tar.part")):
        path.unlink(missing_ok=True)


def sweep(now: datetime) -> int:
    """Kills processes of backups whose run was stopped or paused while no slice was working on it.
    Called by the dispatcher in every round; returns 0, the number of runs started."""
    locks = list(backups.folder().glob("crawlmgr-*.lock"))
    if (
        locks
        and not Run.objects.filter(
            kind=backups.KIND, state__in=(RunState.QUEUED, RunState.RUNNING)
        ).exists()
    ):
        for lock in locks:
            clear(lock)
    return 0


def command(path: Path) -> list[str]:
    """Returns the command line of the process that makes a backup."""
    return [sys.executable, "-m", "crawlmgr.management.program", "backup", str(path)]


def expected_bytes() -> int:
    """Returns an upper estimate of the size of a backup in bytes: that of all WARC files and of the
    database."""
    return int(WarcFile.objects.aggregate(sum=Sum("bytes"))["sum"] or 0) + _database_bytes()


def _database_bytes() -> int:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            return int(cursor.fetchone()[0])
    path = Path(str(connection.settings_dict["NAME"]))
    return path.stat().st_size if path.is_file() else 0
