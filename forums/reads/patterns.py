"""Queries for a board's page: when its posts are made by hour and weekday, when it is visited, and
what overview sources showed last."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from forums.models import Board, BoardHour, Look, OverviewSource, Visit

PATTERN_DAYS = 28
MAX_VISITS = 20_000


@dataclass(frozen=True, slots=True)
class Pattern:
    """A board's posts and visits of the last weeks, in its site's local time. week: total posts by
    weekday (7, Monday first) and hour (24). posts, visits: mean numbers per day by hour (24)."""

    week: list[list[int]]
    posts: list[float]
    visits: list[float]


def pattern(board: Board, local: ZoneInfo, now: datetime, days: int = PATTERN_DAYS) -> Pattern:
    """Counts posts and visits of a board in the last `days` days by hour and weekday; two
    queries."""
    since = now - timedelta(days=days)
    week = [[0] * 24 for _ in range(7)]
    visits = [0.0] * 24
    rows = BoardHour.objects.filter(board=board, hour__gte=since).values_list(
        "hour", "threads", "replies"
    )
    for hour, threads, replies in rows.iterator(chunk_size=5000):
        at = hour.astimezone(local)
        week[at.weekday()][at.hour] += threads + replies
    made = (
        Visit.objects.filter(board=board, started__gte=since)
        .order_by("-started")
        .values_list("started", flat=True)
    )
    for started in filter(None, made[:MAX_VISITS]):
        visits[started.astimezone(local).hour] += 1.0 / days
    return Pattern(week, [sum(row[hour] for row in week) / days for hour in range(24)], visits)


@dataclass(frozen=True, slots=True)
class Seen:
    """What an overview page of the site (index, newest list, ...; `source`) last showed about a
    board: its numbers of threads and posts, None if not shown. waiting: by how much this number of
    posts has grown since the board's last visit.
    """

    source: OverviewSource
    threads: int | None
    posts: int | None
    waiting: int


def seen(board: Board) -> list[Seen]:
    """Returns what each source of the site last showed about a board; sources that do not show it
    are left out."""
    found = []
    for source in OverviewSource.objects.filter(site_id=board.site_id, enabled=True).order_by("pk"):
        threads, posts, _last = source.shown.get(str(board.pk)) or (None, None, None)
        if source.read_at is None or str(board.pk) not in source.shown:
            continue
        before = Look.objects.filter(
            source=source, state=Look.State.DONE, read_at__lte=board.last_visit or source.found
        )
        then = before.order_by("-read_at").values_list("shown", flat=True).first() or {}
        known = (then.get(str(board.pk)) or (None, None, None))[1]
        waiting = max(0, int(posts) - int(known)) if posts is not None and known is not None else 0
        found.append(Seen(source, threads, posts, waiting))
    return found
