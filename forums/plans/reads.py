"""Queries for the plan page and the page of schedules: visits to come, visits made, the figures
behind each planned visit, the plan's present state, and posts still waiting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from django.db.models import Avg, Count, Max, Min, Q, Sum
from django.db.models.functions import TruncDate

from crawlmgr.schedule.recurring import Starts
from forums.models import (
    Board,
    BoardDay,
    Look,
    OverviewSource,
    Plan,
    PlanDay,
    PlannedVisit,
    Policy,
    Site,
    Visit,
)
from forums.plans import expected_visits, loops, next_visits, plans

State = PlannedVisit.State


@dataclass(frozen=True, slots=True)
class SourceUse:
    """An overview source of a plan and its readings today. `looks`: their number. `used`: their
    cost in visits. `share_of_budget`: this cost as a share of the day's visits. `bytes_a_look`:
    mean transferred size, None without readings.
    """

    source: OverviewSource
    looks: int
    used: int
    share_of_budget: float
    bytes_a_look: float | None = None


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """A plan's budget in visits: per day, used today (visits made and the cost of readings of
    overview sources), left today.

    On the day on which a plan begins or changes, only a part of the day's visits applies; then used
    and left sum to less than `visits_per_day`. `expected_visits` and `expected_looks`: visits and
    readings that are still planned or expected until midnight.
    """

    visits_per_day: int
    used_today: int
    left_today: int
    looks_today: int = 0
    expected_visits: int = 0
    expected_looks: int = 0
    sources: tuple[SourceUse, ...] = field(default=())

    @property
    def part(self) -> int | None:
        """The number of visits, made and to come, that the plan has today if it is less than on
        other days; otherwise None."""
        today = self.used_today + self.left_today
        return today if today < self.visits_per_day else None


def midnight(plan: Plan, now: datetime) -> datetime:
    """Returns the time at which the current day of a plan began."""
    zone = plans.zone_of(plan)
    return datetime.combine(now.astimezone(zone).date(), time(), zone)


def budget_use(plan: Plan, now: datetime) -> BudgetUse:
    """Returns how much of its budget of visits a plan has used today; at most six queries."""
    since = midnight(plan, now)
    if plan.policy == Policy.INTERVAL:
        visits = Visit.objects.filter(
            started__gte=since, board__in=plans.boards_under(plan)
        ).count()
        a_day = (
            plans.of_intervals(plan.site_id) if plan.site_id is not None else plan.visits_per_day
        )
        return BudgetUse(a_day, visits, max(0, a_day - visits))
    planned = PlannedVisit.objects.filter(plan=plan)
    visits = planned.filter(state=State.STARTED, at__gte=since, at__lte=now).count()
    sources = _sources(plan, since, now)
    spent = sum(one.used for one in sources)
    looks = sum(one.looks for one in sources)
    tomorrow = since + timedelta(days=1)
    if plan.policy == Policy.ADAPTIVE:
        used = loops.used(plan, now)
        left = plan.visits_per_day - used if used is not None else plan.visits_per_day
        ahead = expected_visits.expected(plan, tomorrow)
        coming = (len(ahead.visits), len(ahead.readings))
    else:
        left = planned.filter(
            state=State.PLANNED, at__gte=now - timedelta(minutes=10), at__lt=tomorrow
        ).count()
        coming = (left, 0)
    return BudgetUse(
        plan.visits_per_day, visits + spent, max(0, left), looks, *coming, tuple(sources)
    )


def _sources(plan: Plan, since: datetime, now: datetime) -> list[SourceUse]:
    rows: Any = OverviewSource.objects.select_related("site").filter(enabled=True)
    rows = (
        rows.filter(site_id=plan.site_id)
        if plan.site_id is not None
        else rows.exclude(site__plan__active=True)
    )
    found = list(rows.order_by("site_id", "pk"))
    taken = Look.objects.filter(source__in=found, at__gte=since, at__lte=now).values("source_id")
    rows_of = taken.annotate(n=Count("id"), cost=Sum("cost"), size=Avg("bytes")).order_by()
    sums = {row["source_id"]: (row["n"], row["cost"], row["size"]) for row in rows_of}
    none = (0, 0, None)
    return [
        SourceUse(one, looks, used, used / max(1, plan.visits_per_day), size)
        for one in found
        for looks, used, size in (sums.get(one.pk, none),)
    ]


MAX_DAYS = 30


AHEAD = timedelta(days=2)


@dataclass(slots=True)
class Coming:
    """A visit to come: a planned one (`planned`) at a time, or one that the adaptive policy
    expects, likely between `at` and `until`.

    `posts`: number of unfetched posts expected by then. `code` and `figures`: its reason. `middle`:
    forecast time of an expected visit. `before`: number of expected visits of its board before this
    one; `more`: number after it on the same day.
    """

    board: Board
    at: datetime
    planned: PlannedVisit | None = None
    until: datetime | None = None
    posts: float | None = None
    code: str = "expected"
    figures: dict[str, Any] = field(default_factory=dict)
    middle: datetime | None = None
    before: int = 0
    more: int = 0

    @property
    def expected_at(self) -> datetime:
        """The time of a planned visit, or the forecast time of an expected one."""
        return self.middle or self.at

    @property
    def reason(self) -> str:
        """The visit's reason in plain English; pages translate it."""
        hours, waiting = self.figures.get("hours_since"), self.figures.get("waiting")
        after = "" if hours is None else f", {hours:.1f} h after the visit before"
        if self.code == "rhythm":
            return f"{self.figures.get('per_hour') or 0:.2g} posts an hour before it{after}"
        if self.code == "later":
            return f"about {waiting or 0:.2g} posts should have come since the visit before it"
        if self.code == "expected":
            return f"about {waiting or 0:.2g} posts should wait{after}"
        return {"even": f"at equal distances{after}", "person": "put by a person"}.get(
            self.code, self.code
        )


def coming(
    plan: Plan, now: datetime, limit: int, board: int | None = None, *, next_only: bool = False
) -> tuple[list[Coming], bool]:
    """Returns the next visits of a plan in order, and whether there are more than `limit`. Makes
    three queries, and a few more for the visits that the adaptive policy expects.

    board: id, only its visits. next_only: of the visits that the adaptive policy expects, only the
    next one of each board.
    """
    rows = PlannedVisit.objects.filter(
        plan=plan, state=PlannedVisit.State.PLANNED, at__gte=now - timedelta(minutes=10)
    )
    rows = rows.filter(board_id=board) if board else rows
    rows = rows.select_related("board__site", "edited_by").defer(
        "board__unfinished", "board__site__structure"
    )
    share = _posts_per_weight(plan)
    found = [
        Coming(one.board, one.at, one, None, _posts(one, share), one.code, one.figures)
        for one in rows.order_by("at", "id")[: limit + 1]
    ]
    if plan.policy == Policy.ADAPTIVE and plan.active:
        found += [one for one in _expected(plan, now, board) if not (next_only and one.before)]
    found.sort(key=lambda one: (one.expected_at, one.board.pk))
    return found[:limit], len(found) > limit


def _expected(plan: Plan, now: datetime, board: int | None) -> list[Coming]:
    """Returns the visits that the adaptive policy expects within two days, as stored after its last
    ranking. Each has the number of expected visits of its board before it, and of those after it
    until midnight. `board` (an id) selects one board.
    """
    written = expected_visits.expected(plan, now + AHEAD)
    rows = Board.objects.select_related("site").defer("unfinished", "site__structure")
    boards = rows.in_bulk({one.board for one in written.visits})
    found, tomorrow = [], midnight(plan, now) + timedelta(days=1)
    later = Counter(one.board for one in written.visits if one.before and one.at < tomorrow)
    for one in written.visits:
        if one.board in boards and board in (None, one.board):
            figures = _figures(boards[one.board].last_visit if not one.before else None, one)
            code = "expected" if not one.before else "later"
            row = Coming(
                boards[one.board],
                one.first,
                None,
                one.last,
                one.posts,
                code,
                figures,
                one.at,
                one.before,
            )
            row.more = max(0, later[one.board] - one.before)
            found.append(row)
    return found


def _figures(previous: datetime | None, one: expected_visits.ExpectedVisit) -> dict[str, Any]:
    if previous is None:
        return {"waiting": one.posts}
    hours = (one.at - previous).total_seconds() / 3600
    return {"previous": previous.isoformat(), "hours_since": hours, "waiting": one.posts}


def _posts_per_weight(plan: Plan) -> dict[int, float]:
    """Returns the posts per weighted event of each board, by id, as of the last planning."""
    latest = PlanDay.objects.filter(plan=plan).order_by("-day").values("pk")[:1]
    rows = BoardDay.objects.filter(planned_day__in=latest).values_list(
        "board_id", "new_per_day", "replies_per_day", "weight"
    )
    return {
        pk: (new + replies) / weight if weight > 0 else 1.0 for pk, new, replies, weight in rows
    }


def _posts(visit: PlannedVisit, share: dict[int, float]) -> float | None:
    """Returns the number of posts that a planned visit is expected to find (weighted events
    converted to posts); None if nothing was expected. share: posts per weighted event by board id.
    """
    return (
        None
        if visit.expected_events is None
        else visit.expected_events * share.get(visit.board_id, 1.0)
    )


def made(plan: Plan, limit: int = 30) -> list[PlannedVisit]:
    """Returns the last planned visits that were started or missed, newest first, with what they
    found."""
    rows = PlannedVisit.objects.filter(plan=plan).order_by("-at", "-id")
    newest: list[tuple[datetime, int]] = []
    for state in PlannedVisit.State:  # a query per state, each using the index
        if state is not PlannedVisit.State.PLANNED:
            newest += rows.filter(state=state).values_list("at", "pk")[:limit]
    shown = rows.filter(pk__in=[pk for _at, pk in sorted(newest, reverse=True)[:limit]])
    return list(
        shown.select_related("board__site", "visit", "edited_by").defer(
            "board__unfinished", "board__site__structure", "visit__state", "visit__arrivals"
        )
    )


def days(plan: Plan, limit: int = MAX_DAYS) -> list[PlanDay]:
    """Returns the planned days of a plan, newest first."""
    return list(PlanDay.objects.filter(plan=plan).order_by("-day")[:limit])


def boards(plan: Plan, limit: int = 2000) -> list[Board]:
    """Returns the boards that a plan visits, for a menu."""
    rows = Board.objects.filter(enabled=True)
    rows = (
        rows.filter(site_id=plan.site_id)
        if plan.site_id is not None
        else rows.exclude(site__plan__active=True)
    )
    return list(rows.only("id", "name", "site_id").order_by("site_id", "position", "id")[:limit])


def planned(
    site_ids: Collection[int], now: datetime, until: datetime, zone: ZoneInfo
) -> dict[int, list[Starts]]:
    """Returns by forum id, for each day (in `zone`) with planned or expected visits before `until`,
    the time of the first and of the last visit and their number; a forum without visits is missing.
    """
    found: dict[tuple[int, date], Starts] = {}
    rows = PlannedVisit.objects.filter(
        board__site__in=list(site_ids),
        state=PlannedVisit.State.PLANNED,
        at__gte=now,
        at__lt=until,
        plan__active=True,
    )
    days = rows.values_list("board__site_id", TruncDate("at", tzinfo=zone)).order_by()
    for site, day, first, last, count in days.annotate(
        first=Min("at"), last=Max("at"), count=Count("id")
    ):
        found[site, day] = Starts(first, last, count)
    for site, at in _expected_visits(site_ids, now, until):
        key = site, at.astimezone(zone).date()
        known = found.get(key, Starts(at, at, 0))
        found[key] = Starts(min(known.first, at), max(known.last, at), known.count + 1)
    by_site: dict[int, list[Starts]] = {}
    for (site, _day), starts in sorted(found.items()):
        by_site.setdefault(site, []).append(starts)
    return by_site


def _expected_visits(
    site_ids: Collection[int], now: datetime, until: datetime
) -> list[tuple[int, datetime]]:
    """Returns forum (id) and time of each visit that the adaptive policy expects before `until`."""
    loops = Plan.objects.filter(active=True, policy=Policy.ADAPTIVE).filter(
        Q(site__in=list(site_ids)) | Q(site=None)
    )
    visits = [
        one
        for plan in loops
        for one in expected_visits.expected(plan, until).visits
        if one.at >= now
    ]
    sites = (
        dict(Board.objects.filter(site__in=list(site_ids)).values_list("pk", "site_id"))
        if visits
        else {}
    )
    return [(sites[one.board], one.at) for one in visits if one.board in sites]


@dataclass(frozen=True, slots=True)
class Waiting:
    """The posts of one board (its id: `board`) that overview sources show but no visit has fetched:
    their number, their total weight, and the hours that they have waited so far, multiplied by
    their weights."""

    board: int
    posts: float
    weight: float
    weighted_hours: float


def shown(site: Site | None, now: datetime) -> list[Waiting]:
    """Returns the boards of a site, or of all sites (None), on which overview sources show posts
    that no visit has fetched; reads the stored state of each plan's adaptive policy."""
    found: list[Waiting] = []
    for plan in _followed(site):
        live = loops.load(plan, now)
        if live is None or live.loop.overview is None:
            continue
        share, hours, known = (
            live.raw,
            live.loop.overview.known_hours(now.timestamp()),
            live.loop.overview.known,
        )
        mine = (
            live.sites[live.site] == site.pk
            if site is not None
            else np.ones(len(known), dtype=bool)
        )
        for row in np.flatnonzero(mine & (known > 1e-9)).tolist():
            weight = float(known[row])
            found.append(
                Waiting(
                    int(live.boards[row]), weight * float(share[row]), weight, float(hours[row])
                )
            )
    return found


def _followed(site: Site | None) -> list[Plan]:
    """Returns the active plans with the adaptive policy that visit a site, or all such plans
    (None)."""
    if site is not None:
        plan = next_visits.of_site(site.pk)
        return [plan] if plan is not None and plan.policy == Policy.ADAPTIVE else []
    return list(Plan.objects.filter(active=True, policy=Policy.ADAPTIVE).select_related("site"))
