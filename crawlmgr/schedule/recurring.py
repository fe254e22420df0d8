"""Lists everything that is scheduled (forum visits, topic crawls, harvests, exports, backups,
pruning) and its starts in the coming days."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from crawlmgr.exports.saved_exports import KIND as EXPORT
from crawlmgr.models import Export, Timing
from crawlmgr.schedule import due, opening_hours, timings
from crawlmgr.workers import queue

PRUNING = "pruning"
DAY_SECONDS = 86_400
MAX_STARTS = 200  # maximum number of starts of one item that are listed


@dataclass(frozen=True, slots=True)
class Recurring:
    """One scheduled item. `kind` and `target` are those of its runs. `seconds` is the interval
    between two starts; None if a plan of visit times replaces it. `next_at` is the time of the next
    start; if `until` is set, the start is likely between the two times. `crawls` tells whether the
    item is held back while all crawling is paused."""

    kind: str
    target: int
    name: str
    seconds: int | None
    next_at: datetime | None
    until: datetime | None = None
    paused: bool = False
    crawls: bool = True


@dataclass(frozen=True, slots=True)
class Starts:
    """Starts of one item: `count` starts between the times `first` and `last`, which are equal for
    a single start."""

    first: datetime
    last: datetime
    count: int


def own(now: datetime, most: int) -> list[Recurring]:
    """Returns the exports that have a schedule, at most `most` of them, and the daily pruning."""
    rows = Export.objects.filter(next_at__isnull=False, every_hours__gt=0).order_by("next_at")[
        :most
    ]
    found = [
        Recurring(EXPORT, row.pk, row.name, row.every_hours * 3600, row.next_at, crawls=False)
        for row in rows
    ]
    pruned = queue.next_pruning()
    return (
        found
        if pruned is None
        else [*found, Recurring(PRUNING, 0, PRUNING, DAY_SECONDS, pruned, crawls=False)]
    )


def listing(now: datetime, most: int) -> list[Recurring]:
    """Returns the scheduled items of all kinds, by next start, paused ones last; at most `most` of
    each kind."""
    found = [one for name in settings.RECURRING for one in import_string(name)(now, most)]
    late = datetime.max.replace(tzinfo=UTC)
    return sorted(found, key=lambda one: (one.paused, one.next_at or late, one.kind, one.target))


def hours_of(found: Iterable[Recurring]) -> dict[tuple[str, int], Timing]:
    """Returns the working hours of those items that have any, by (kind, target)."""
    targets: dict[str, list[int]] = {}
    for one in found:
        targets.setdefault(one.kind, []).append(one.target)
    kinds = [kind for kind in targets if kind in settings.TIMED]
    return {
        (kind, target): row
        for kind in kinds
        for target, row in timings.of_many(kind, targets[kind]).items()
    }


def ahead(one: Recurring, row: Timing | None, now: datetime, until: datetime) -> list[Starts]:
    """Returns the starts of an item until the time `until`; an empty list if the item has no
    interval or is paused. Starts after the next one are listed without their random shift, which is
    not known yet."""
    if one.next_at is None or one.seconds is None or one.paused:
        return []
    found: list[Starts] = []
    hours, at = timings.hours_of(row), max(one.next_at, now)
    while at < until and len(found) < MAX_STARTS:
        found.append(Starts(at, at, 1))
        at = opening_hours.next_allowed(hours, at + timedelta(seconds=one.seconds))
    return found


def document(one: Recurring, row: Timing | None, hold: bool) -> dict[str, Any]:
    """Returns a scheduled item as a JSON document for the API and the command line. `hold` tells
    whether all crawling is paused."""
    hours = row or Timing()
    return {
        "kind": one.kind,
        "target": one.target,
        "name": one.name,
        "interval_seconds": one.seconds,
        "next": one.next_at,
        "until": one.until,
        "paused": one.paused or (hold and one.crawls),
        **timings.values_of(hours),
    }


def documents(now: datetime, most: int) -> dict[str, Any]:
    """Returns a JSON document with all scheduled items, at most `most` of each kind, and whether
    all crawling is paused."""
    found, hold = listing(now, most), due.current() is not None
    rows = hours_of(found)
    return {
        "paused": hold,
        "schedules": [document(one, rows.get((one.kind, one.target)), hold) for one in found],
    }
