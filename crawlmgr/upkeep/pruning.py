"""Deletes old rows and files when their retention time is over, so that the web interface stays
fast.

The web interface, the command and the daily task all call `prune`. Retention times are stored in
`Retention`, with settings.KEEP_DAYS as the default."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import models, transaction
from django.db.models import QuerySet, Sum

from crawlmgr.archive import warc_files
from crawlmgr.clock import SYSTEM
from crawlmgr.models import (
    ACTIVE,
    Event,
    HostHour,
    Node,
    Page,
    Retention,
    Run,
    RunState,
    Url,
    WarcFile,
)
from crawlmgr.upkeep import removals
from crawlmgr.upkeep.removals import Part, Removal
from crawlmgr.workers import queue

log = logging.getLogger("crawlmgr.pruning")
MAX_DAYS = 36_500
MAX_COUNTED = 100_000  # maximum number of rows of a kind that are counted for display
SAMPLE_ROWS = 100  # number of sample rows from which the size of all rows is estimated


class Kind(NamedTuple):
    """A kind of data to delete: its name, for how many days it is kept (0: for ever), the number of
    older rows (`more` is True if there are more, because counting stopped at MAX_COUNTED), and
    their size in bytes. The size is exact for files; for rows it is estimated from a sample,
    without indexes."""

    kind: str
    keep_days: int
    rows: int
    more: bool
    bytes: int


def _runs(before: datetime) -> list[Part]:
    """Selects the runs that ended before `before`, preceded by the rows that refer to them. Runs
    with crawl results are kept."""
    chosen = Run.objects.filter(
        state__in=(RunState.FINISHED, RunState.STOPPED, RunState.FAILED), finished__lt=before
    )
    chosen = chosen.exclude(kind__in=settings.RUNS_WITH_RESULTS)
    below: list[Any] = [one for one in Run._meta.related_objects if one.on_delete is models.CASCADE]
    return [
        *(
            Part(one.related_model._base_manager.filter(**{f"{one.field.name}__in": chosen}))
            for one in below
        ),
        Part(chosen),
    ]


def _archive(before: datetime) -> list[Part]:
    """Selects WARC files created before `before` whose run has ended. The rows of their pages stay,
    without archive position."""
    files = WarcFile.objects.filter(created__lt=before).exclude(run__state__in=ACTIVE)
    return [Part(Page.objects.filter(warc__in=files)), Part(files)]


_OLD: Mapping[str, Callable[[datetime], QuerySet[Any] | list[Part]]] = {
    "events": lambda before: Event.objects.filter(at__lt=before),
    "failed_logins": lambda before: AccessAttempt.objects.filter(attempt_time__lt=before),
    "tasks": queue.ended,
    "nodes": lambda before: Node.objects.filter(started__lt=before).exclude(heartbeat__gt=before),
    "hours": lambda before: HostHour.objects.filter(hour__lt=before),
    # addresses of the frontier, without those of failed runs, which may still be resumed
    "addresses": lambda before: Url.objects.filter(
        run__state__in=(RunState.FINISHED, RunState.STOPPED), run__finished__lt=before
    ),
    # rows that say when a page was fetched and where it is in the archive; those of active runs and
    # of imported pages are kept
    "fetches": lambda before: Page.objects.filter(fetched_at__lt=before, run__isnull=False).exclude(
        run__state__in=ACTIVE
    ),
    "runs": _runs,
    "archive": _archive,
}
"""Functions that return the rows to delete, given the time before which data of their kind are too
old, by kind (the keys of settings.KEEP_DAYS)."""


def _parts(kind: str, before: datetime) -> list[Part]:
    found = _OLD[kind](before)
    return found if isinstance(found, list) else [Part(found)]


def kept() -> dict[str, int]:
    """Returns the retention time of each kind of data in days; 0 means for ever."""
    chosen = dict(Retention.objects.values_list("kind", "keep_days"))
    return {kind: chosen.get(kind, days) for kind, days in settings.KEEP_DAYS.items()}


def keep(days: Mapping[str, int], *, now: datetime, user: Any = None) -> list[str]:
    """Sets retention times in days; returns the kinds whose time changed. Raises ValueError with a
    one-line message."""
    wrong = [
        kind
        for kind, number in days.items()
        if kind not in settings.KEEP_DAYS or not 0 <= number <= MAX_DAYS
    ]
    if wrong:
        raise ValueError(f"not a number of days from 0 to {MAX_DAYS}: {', '.join(sorted(wrong))}")
    before = kept()
    changed = [kind for kind, number in days.items() if before[kind] != number]
    with transaction.atomic():
        for kind in changed:
            Retention.objects.update_or_create(
                kind=kind, defaults={"keep_days": days[kind], "changed": now, "changed_by": user}
            )
    log.info(
        "%s",
        ", ".join(f"{kind} {before[kind]} → {days[kind]}" for kind in changed),
        extra={"event": "retention_set"},
    )
    return changed


def frees(
    now: datetime, days: Mapping[str, int] | None = None, *, most: int | None = None
) -> list[Kind]:
    """Returns for each kind of data what pruning would delete now, with the retention times in
    `days` or else the stored ones. With `most`, at most that many rows of a kind are counted."""
    chosen = kept() | dict(days or {})
    return [_freed(kind, number, now, most) for kind, number in chosen.items()]


def _freed(kind: str, days: int, now: datetime, most: int | None) -> Kind:
    if not days:
        return Kind(kind, 0, 0, False, 0)
    parts = _parts(kind, now - timedelta(days=days))
    if kind == "archive":
        files = parts[-1].rows
        return Kind(kind, days, files.count(), False, files.aggregate(sum=Sum("bytes"))["sum"] or 0)
    total, size = 0, 0
    for part in parts:
        number = (
            part.rows.count() if most is None else part.rows.order_by()[: most - total + 1].count()
        )
        total += number
        size += round(number * _row_bytes(part.rows)) if number else 0
        if most is not None and total > most:
            return Kind(kind, days, most, True, size)
    return Kind(kind, days, total, False, size)


def _row_bytes(rows: QuerySet[Any]) -> float:
    """Returns the mean size in bytes of up to SAMPLE_ROWS rows; texts are counted in UTF-8, numbers
    and times as eight bytes each."""
    some = list(rows.order_by().values_list()[:SAMPLE_ROWS])
    return sum(_width(value) for row in some for value in row) / max(1, len(some))


def _width(value: Any) -> int:
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, dict | list):
        return len(json.dumps(value, ensure_ascii=False, default=str).encode())
    return 1 if value is None or isinstance(value, bool) else 8


class Pruned(NamedTuple):
    """How many rows of each kind were deleted; `left` is True if the time limit ended the deletion,
    so that some may be left."""

    rows: dict[str, int]
    left: bool


def prune(now: datetime, seconds: float | None = None) -> Pruned:
    """Deletes expired login sessions and everything past its retention time, in one transaction per
    batch. No batch is begun after `seconds`; None for no time limit."""
    until = None if seconds is None else SYSTEM.now() + timedelta(seconds=seconds)

    def late() -> bool:
        return until is not None and SYSTEM.now() >= until

    gone = {
        kind: _drop(kind, now - timedelta(days=days), late) for kind, days in kept().items() if days
    }
    gone["sessions"] = _drop_rows([Part(Session.objects.filter(expire_date__lt=now))], late)
    if any(gone.values()):
        told = ", ".join(f"{kind} {number}" for kind, number in gone.items() if number)
        log.info(told, extra={"event": "pruned"})
    return Pruned(gone, late())


def _drop(kind: str, before: datetime, late: Callable[[], bool]) -> int:
    parts = _parts(kind, before)
    return _drop_files(parts[-1].rows, late) if kind == "archive" else _drop_rows(parts, late)


def _drop_rows(parts: Sequence[Part], late: Callable[[], bool]) -> int:
    removal, number = Removal(parts, lambda: None), 0
    while not late() and (store := removal.batch()) is not None:
        with transaction.atomic():
            number += store()
    return number


def _drop_files(files: QuerySet[WarcFile], late: Callable[[], bool]) -> int:
    """Deletes WARC files one by one until `late()` is true; returns the number of files deleted.

    First the archive positions of the file's pages are cleared in batches, then the file and at
    last its row are deleted. If the process is killed or the object store does not respond, the row
    still exists, and the next call begins with this file.
    """
    number = 0
    while not late() and (file := files.order_by("pk").first()) is not None:
        pages = Page.objects.filter(warc=file).order_by("pk")
        while not late() and (keys := list(pages.values_list("pk", flat=True)[: removals.BATCH])):
            Page.objects.filter(pk__in=keys).update(warc=None, warc_offset=None, warc_length=None)
        if not pages.exists():
            try:
                warc_files.remove(file)
            except warc_files.Unreachable as error:
                log.warning("%s stays: %s", file.name, error)
                break
            number += 1
    return number
