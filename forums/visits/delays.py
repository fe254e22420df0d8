"""Delays of posts: stored when a visit finds them, and the queries of the delay report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from django.db.models import Count, F, Q, QuerySet, Sum

from forums.models import Board, PlannedVisit, Site, Visit
from forums.schedule import delay_report, equations
from forums.schedule.delay_report import BoardDelay, Items
from forums.schedule.events import Floats, LocalClock

MAX_ITEMS = 300_000


@dataclass(slots=True)
class Expected:
    """Waits of posts, as expected by the plan and as measured, summed over the planned visits that
    were made. The values of the three dicts are [expected, measured] in weighted event-hours:
    `boards` by board id, `days` and `hours` by the local day and the local hour (0 to 23) of the
    visit. `visits` is the number of visits."""

    boards: dict[int, list[float]] = field(default_factory=lambda: defaultdict(lambda: [0.0, 0.0]))
    days: dict[date, list[float]] = field(default_factory=lambda: defaultdict(lambda: [0.0, 0.0]))
    hours: dict[int, list[float]] = field(default_factory=lambda: defaultdict(lambda: [0.0, 0.0]))
    visits: int = 0

    def add(self, board: int, at: datetime, expected: float, measured: float) -> None:
        """Adds one visit to the sums: `expected` and `measured` are the waits of its posts in
        weighted event-hours. `at` is the visit's time in its site's time zone, `board` the board's
        id."""
        for place in (self.boards[board], self.days[at.date()], self.hours[at.hour]):
            place[0] += expected
            place[1] += measured
        self.visits += 1


@dataclass(frozen=True, slots=True)
class Found:
    """The data of a delay report: boards in the order of the items' board numbers, the items (new
    threads and replies found), and sums over visits.

    `first`, `days`, `zone`: the period, its first local day and its time zone. `truncated`: whether
    items were left out because there were MAX_ITEMS or more; `sums` counts visits, and fetched,
    changed and failed threads.
    """

    boards: list[Board]
    items: Items
    first: date
    days: int
    zone: ZoneInfo
    sums: dict[str, int]
    truncated: bool


def boards(site: Site | None) -> list[Board]:
    """Returns the boards of a site, or of all sites (None), each with its site."""
    rows = Board.objects.select_related("site").defer(
        "unfinished", "site__structure", "site__settings"
    )
    rows = rows.filter(site=site) if site is not None else rows
    return list(rows.order_by("site_id", "position", "id"))


def targets(boards: Iterable[Board], usual: float) -> list[float]:
    """Returns the longest time in hours that a post of each board should wait: the board's own if
    an operator has set one, otherwise `usual`."""
    return [usual if board.deadline_hours is None else board.deadline_hours for board in boards]


def by_board(found: Found, era_hours: Floats | None, usual: float) -> list[BoardDelay]:
    """Returns the delays of each board with posts in `found`. era_hours: how long each of these
    posts would have waited under equally spaced visits, None if that is not compared; usual: target
    delay in hours of boards that have none of their own.
    """
    return delay_report.by_board(
        found.items, era_hours, len(found.boards), found.days, targets(found.boards, usual)
    )


def visits(site: Site | None, since: datetime) -> QuerySet[Visit]:
    """Returns the visits of a site, or of all (None), that ended since a time, were started by the
    schedule and read something. Visits that a person started tell nothing about the schedule."""
    rows = Visit.objects.filter(Visit.READ, finished__gte=since, run__scheduled=True)
    return rows.filter(board__site=site) if site is not None else rows


def raw_items(site: Site | None, since: datetime) -> Iterator[tuple[int, float, bool, float]]:
    """Yields for each post found by visits since `since`: the board's id, epoch seconds of the
    post, whether it is the first of its thread, and the seconds from its publication until it was
    found."""
    rows = (
        visits(site, since)
        .filter(Q(arrived_new__gt=0) | Q(arrived_replies__gt=0))
        .order_by("-finished")
    )
    for board, arrivals in rows.values_list("board_id", "arrivals").iterator(chunk_size=500):
        for posted, opener, waited in arrivals:
            yield board, float(posted), bool(opener), float(waited)


def found(site: Site | None, now: datetime, days: int, theta: float, own: ZoneInfo) -> Found:
    """Returns the posts that visits found in the last `days` days, newest visits first, at most
    MAX_ITEMS. own: time zone of the days; theta: weight of a reply, relative to a new thread."""
    known = boards(site)
    number = {board.pk: place for place, board in enumerate(known)}
    today = now.astimezone(own).date()
    first = today - timedelta(days=days - 1)
    since = datetime.combine(first, datetime.min.time(), own)
    rows: list[tuple[int, float, bool, float]] = []
    cut = False
    for board, posted, opener, waited in raw_items(site, since):
        if board in number and posted >= since.timestamp():
            rows.append((number[board], posted, opener, waited / 3600))
        if len(rows) >= MAX_ITEMS:
            cut = True
            break
    sums = visits(site, since).aggregate(
        visits=Count("id"), fetched=Sum("fetched"), changed=Sum("changed"), failed=Sum("failed")
    )
    return Found(
        known,
        _items(known, rows, theta),
        first,
        days,
        own,
        {key: int(value or 0) for key, value in sums.items()},
        cut,
    )


def _items(known: list[Board], rows: list[tuple[int, float, bool, float]], theta: float) -> Items:
    values = np.array(rows, dtype=float).reshape(-1, 4)
    board, times, opener = values[:, 0].astype(np.int64), values[:, 1], values[:, 2] > 0
    importance = np.array(
        [equations.importance(one.site.importance, one.importance) for one in known]
    )
    weights = equations.event_weights(opener, theta, importance[board] if len(known) else 1.0)
    site = np.array([one.site_id for one in known], dtype=np.int64)
    local = np.zeros(len(times))
    for pk in set(site.tolist()):
        mine = site[board] == pk
        if mine.any():
            where = next(one.site for one in known if one.site_id == pk).zone
            local[mine] = LocalClock(
                where, float(times[mine].min()), float(times[mine].max())
            ).local_hours(times[mine])
    return Items(board, times, local, opener, values[:, 3], weights)


def expected(site: Site | None, since: datetime, theta: float) -> Expected:
    """Sums the expected and measured delays of planned visits made since a time; one query."""
    rows = PlannedVisit.objects.filter(
        at__gte=since,
        state=PlannedVisit.State.STARTED,
        expected_delay__isnull=False,
        visit__isnull=False,
    )
    rows = rows.filter(board__site=site) if site is not None else rows
    values: QuerySet[Any, Any] = rows.annotate(
        weight=F("board__importance") * F("board__site__importance")
    ).values_list(
        "board_id",
        "at",
        "expected_delay",
        "weight",
        "visit__delay_new_seconds",
        "visit__delay_replies_seconds",
        "board__site__timezone",
    )
    zones: dict[str, ZoneInfo] = {}
    result = Expected()
    for board, at, hoped, weight, new, replies, name in values.iterator(chunk_size=5000):
        if name not in zones:
            zones[name] = Site(timezone=name).zone
        measured = equations.delay_of_sums(new, replies, theta, weight)
        result.add(board, at.astimezone(UTC).astimezone(zones[name]), float(hoped), measured)
    return result


# number of posts stored individually per visit; further ones only enter its sums and counts
KEPT_ARRIVALS = 2000


def note(visit: Visit, arrivals: Iterable[tuple[datetime, bool, int]], now: datetime) -> None:
    """Adds the waiting times of a page's new posts to their visit; eq. (1) and (2) of the forum
    paper.

    arrivals: (time posted, whether it is a first post, precision of the time in seconds). Only
    posts made after the watching of the board began are counted. A post whose time is given only to
    the minute counts if that minute ends after the beginning.
    """
    since = visit.board.watched_since
    if since is None:
        return
    found = [
        (posted, opener, max(0.0, (now - posted).total_seconds()))
        for posted, opener, precision in arrivals
        if posted + timedelta(seconds=precision) > since
    ]
    if not found:
        return
    kept = Visit.objects.values_list("arrivals", flat=True).get(pk=visit.pk)
    kept += [
        [round(posted.timestamp(), 3), int(opener), round(delay, 3)]
        for posted, opener, delay in found
    ]
    new, replies = (
        [delay for _, is_new, delay in found if is_new is kind] for kind in (True, False)
    )
    Visit.objects.filter(pk=visit.pk).update(
        arrivals=kept[:KEPT_ARRIVALS],
        arrived_new=F("arrived_new") + len(new),
        arrived_replies=F("arrived_replies") + len(replies),
        delay_new_seconds=F("delay_new_seconds") + sum(new),
        delay_replies_seconds=F("delay_replies_seconds") + sum(replies),
    )
