"""Scheduled backups: when the next one is due, the folder with the finished files, and how many
files are kept; and the job that makes one, by schedule or on request.

The job starts `manage.py backup` in a separate process and observes it from the slices of a run: a
backup reads the whole database in one snapshot, which may take longer than the time limit of a
worker's task. The process holds an exclusive lock on a file, which the operating system releases
when it ends for any reason, so that any worker that continues the run can tell whether it is still
running."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Sum

from crawlmgr.file_access import is_held
from crawlmgr.models import ACTIVE, BackupPlan, Run, RunState, Timing, WarcFile
from crawlmgr.runs import runs
from crawlmgr.schedule import due as missed
from crawlmgr.schedule import timings
from crawlmgr.schedule.recurring import Recurring

KIND = "backup"
ONLY = 1
"""Primary key of the only row of `BackupPlan`, and the target of the runs that make backups."""
MAX_KEPT = 1000
MAX_HOURS = 24 * 366
NAME = re.compile(r"crawlmgr-\d{8}-\d{6}\.tar")


@dataclass(frozen=True, slots=True)
class BackupFile:
    """A complete backup file in the backup folder."""

    name: str
    written: datetime
    bytes: int


def plan() -> BackupPlan:
    """Returns the stored schedule of backups; if none was set, an unsaved one without automatic
    backups."""
    return BackupPlan.objects.select_related("changed_by").filter(pk=ONLY).first() or BackupPlan(
        pk=ONLY
    )


def folder() -> Path:
    """Returns the folder with the backup files."""
    return Path(settings.BACKUP_DIR)


def files() -> list[BackupFile]:
    """Returns the complete backup files, newest first. Other files in the folder are ignored."""
    found = []
    for path in folder().glob("*.tar"):
        if NAME.fullmatch(path.name) and not path.is_symlink():
            stat = path.stat()
            found.append(
                BackupFile(path.name, datetime.fromtimestamp(stat.st_mtime, UTC), stat.st_size)
            )
    return sorted(found, key=lambda one: one.name, reverse=True)


def name_of(run: Run) -> str:
    """Returns the name of the file that a run writes."""
    return name_at(run.created)


def name_at(created: datetime) -> str:
    """Returns the file name of the backup whose run was created at this time; it is also the label
    of that run."""
    return f"crawlmgr-{created.astimezone(UTC):%Y%m%d-%H%M%S}.tar"


def put(*, every_hours: int, keep: int, now: datetime, user: Any = None) -> BackupPlan:
    """Sets how often a backup is made (0: only on request) and how many files are kept. If the
    interval changed, the next backup is due after one interval from now. Raises ValueError with a
    one-line message."""
    if not 0 <= every_hours <= MAX_HOURS:
        raise ValueError(f"a backup is made every 1 to {MAX_HOURS} hours, or 0: only on request")
    if not 1 <= keep <= MAX_KEPT:
        raise ValueError(f"1 to {MAX_KEPT} files can be kept")
    with transaction.atomic():
        found = plan()
        if every_hours != found.every_hours or (every_hours and found.next_at is None):
            due = now + timedelta(hours=every_hours)
            found.next_at = timings.when(timings.of(KIND, ONLY), due, now) if every_hours else None
        found.every_hours, found.keep, found.changed, found.changed_by = (
            every_hours,
            keep,
            now,
            user,
        )
        found.save()
    return found


def repeat(target: int, seconds: int | None, now: datetime) -> None:
    """Sets the interval of backups in seconds (None: only on request). Called for the page of
    schedules through settings.REPEATED; `target` must be ONLY, the key of the only schedule. Raises
    ValueError for another interval or target.
    """
    if target != ONLY:
        raise ValueError(f"the schedule of backups has the number {ONLY}")
    put(every_hours=(seconds or 0) // 3600, keep=plan().keep, now=now)


def retime(target: int, hours: Timing, now: datetime) -> None:
    """Moves the next backup into the working hours `hours`, which a user has just changed. Called
    through settings.TIMED; `target` is the key ONLY."""
    for one in BackupPlan.objects.filter(pk=target, next_at__isnull=False):
        BackupPlan.objects.filter(pk=target).update(
            next_at=timings.soonest(hours, one.next_at, now, one.every_hours * 3600)
        )


def entries(now: datetime, most: int) -> list[Recurring]:
    """Returns the backup schedule for the list of scheduled items, as a list of one; [] if there is
    no automatic backup."""
    rows = BackupPlan.objects.filter(pk=ONLY, next_at__isnull=False)[:most]
    return [
        Recurring(KIND, row.pk, KIND, row.every_hours * 3600, row.next_at, crawls=False)
        for row in rows
    ]


def start(*, now: datetime, user: Any = None, scheduled: bool = False) -> Run:
    """Creates the run that makes a backup. Raises runs.Busy if another backup is being made."""
    return runs.create(
        KIND,
        name_at(now),
        target=ONLY,
        exclusive=KIND,
        parameters={},
        now=now,
        user=user,
        scheduled=scheduled,
    )


def start_due(now: datetime) -> int:
    """Starts a backup if one is due; returns the number started, 0 or 1. If several were missed,
    only one is made."""
    due = BackupPlan.objects.filter(pk=ONLY, next_at__lte=now).first()
    return int(due is not None and _start_due(due, timings.of(KIND, ONLY), now))


@transaction.atomic
def _start_due(due: BackupPlan, hours: Timing, now: datetime) -> bool:
    held = timings.opens(hours, now)
    if not BackupPlan.objects.filter(pk=ONLY, next_at=due.next_at).update(
        next_at=held or _following(due, hours, now)
    ):
        return False
    missed.record_missed(KIND, due.next_at, due.every_hours * 3600, now)
    if held:
        return False
    try:
        start(now=now, scheduled=True)
    except runs.Busy:
        return False
    return True


def _following(due: BackupPlan, hours: Timing, now: datetime) -> datetime | None:
    if due.next_at is None or not due.every_hours:
        return None
    step = timedelta(hours=due.every_hours)
    return timings.when(hours, due.next_at + step * ((now - due.next_at) // step + 1), now)


def newest() -> Run | None:
    """Returns the run of the newest backup, finished or not; None if there is none."""
    return Run.objects.filter(kind=KIND, target=ONLY).order_by("-pk").first()


def under_way() -> bool:
    """Tells whether a backup is being made."""
    return Run.objects.filter(kind=KIND, target=ONLY, state__in=ACTIVE).exists()


def tidy(keep: int) -> Sequence[str]:
    """Deletes the oldest backup files beyond the newest `keep`; returns their names."""
    old = [one.name for one in files()[keep:]]
    for name in old:
        (folder() / name).unlink(missing_ok=True)
    return old


def document() -> dict[str, Any]:
    """Returns the schedule and the list of files as a JSON document for the command line."""
    found = plan()
    kept = [{"name": one.name, "written": one.written, "bytes": one.bytes} for one in files()]
    return {
        "folder": str(folder()),
        "every_hours": found.every_hours,
        "keep": found.keep,
        "next": found.next_at,
        "files": kept,
    }


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
        self.folder = folder()
        self.path = self.folder / name_of(run)
        self.lock, self.said = self.path.with_suffix(".lock"), self.path.with_suffix(".log")

    def step(self, pulse: Pulse) -> Callable[[], None] | str:
        if "file" in self.run.result:
            return "backed_up"
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
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
        if shutil.disk_usage(self.folder).free < wanted + settings.MIN_FREE_BYTES:
            raise BackupFailed(f"{self.folder} has no room for about {wanted // 1_000_000} MB")
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
        removed = tidy(plan().keep)
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
    locks = list(folder().glob("crawlmgr-*.lock"))
    if (
        locks
        and not Run.objects.filter(
            kind=KIND, state__in=(RunState.QUEUED, RunState.RUNNING)
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
