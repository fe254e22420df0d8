"""Scheduled backups: when the next one is due, the folder with the finished files, and how many
files are kept."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from crawlmgr.models import ACTIVE, BackupPlan, Run, Timing
from crawlmgr.services import missed, runs, timings
from crawlmgr.services.recurring import Recurring

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
    missed.record(KIND, due.next_at, due.every_hours * 3600, now)
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
