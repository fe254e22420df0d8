"""Recent results of forum visits, as sums over the visits that ended in a period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import CharField, Count, F, QuerySet, Sum
from django.db.models.functions import Cast, Substr

from crawlmgr.workers.status import all_paused
from forums import reads
from forums.models import Board, Visit
from forums.reads.upcoming import LATE


@dataclass(frozen=True, slots=True)
class VisitSums:
    """Sums over visits. `posts` is the number of posts stored for the first time. Of these,
    `arrived` were posted after their board was first watched; `waited_seconds` is the total time
    from their posting to the visit that found them.
    """

    posts: int = 0
    waited_seconds: float = 0.0
    arrived: int = 0

    @property
    def mean_wait_seconds(self) -> float | None:
        """Mean seconds from posting to the visit that found the post; None without posts."""
        return self.waited_seconds / self.arrived if self.arrived else None


_SUMS = {
    "posts": Sum("posts_new", default=0),
    "waited_seconds": Sum(F("delay_new_seconds") + F("delay_replies_seconds"), default=0.0),
    "arrived": Sum(F("arrived_new") + F("arrived_replies"), default=0),
}


def visit_sums(since: datetime) -> VisitSums:
    """Returns the sums over visits that ended since a time."""
    return VisitSums(**Visit.objects.filter(finished__gte=since).aggregate(**_SUMS))


def by_day(now: datetime, days: int) -> list[VisitSums]:
    """Returns the sums over the visits that ended on each of the last `days` days (UTC), oldest
    first; the last entry is today."""
    first = now.astimezone(UTC).date() - timedelta(days=days - 1)
    rows = Visit.objects.filter(
        finished__gte=datetime(first.year, first.month, first.day, tzinfo=UTC)
    )
    day = Substr(Cast("finished", CharField()), 1, 10)
    sums: Mapping[str, VisitSums] = {
        row.pop("day"): VisitSums(**row)
        for row in rows.annotate(day=day).values("day").annotate(**_SUMS).order_by()
    }
    names = [(first + timedelta(days=number)).isoformat() for number in range(days)]
    return [sums.get(name, VisitSums()) for name in names]


def late(now: datetime) -> int:
    """Counts the boards whose visit is overdue by more than LATE (ten minutes), in forums that are
    not paused; 0 while all crawling is paused."""
    return int(late_boards(Board.objects.all(), now).aggregate(count=Count("id"))["count"])


def late_boards(rows: QuerySet[Board], now: datetime) -> QuerySet[Board]:
    """Returns those of the boards `rows` whose visit is overdue by more than LATE (ten minutes), in
    forums that are not paused; none while all crawling is paused."""
    return (
        rows.none() if all_paused() else rows.filter(reads.overdue(now - LATE), site__paused=False)
    )
