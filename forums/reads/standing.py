"""The present state of a plan: its budget, what of it is used, and what is expected; the same for
all pages, the command line and the API."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from typing import Any

from django.db.models import Avg, Count, Sum

from forums.models import Look, OverviewSource, Plan, PlannedVisit, Policy, Visit
from forums.services import loops, outlooks, plans

State = PlannedVisit.State


@dataclass(frozen=True, slots=True)
class SourceStanding:
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
class Standing:
    """A plan's budget in visits: per day, used today (visits made and the cost of readings of
    overview sources), left today.

    On the day on which a plan begins or changes, only a part of the day's visits applies; then used
    and left sum to less than `visits_per_day`. `expected_visits` and `expected_looks`: visits and
    readings that are still planned or expected until midnight.
    """

    visits_per_day: int
    used_today: int
    left_today: int
    visits_today: int = 0
    looks_today: int = 0
    expected_visits: int = 0
    expected_looks: int = 0
    sources: tuple[SourceStanding, ...] = field(default=())

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


def standing(plan: Plan, now: datetime) -> Standing:
    """Computes the state of a plan; at most six queries."""
    since = midnight(plan, now)
    if plan.policy == Policy.INTERVAL:
        visits = Visit.objects.filter(
            started__gte=since, board__in=plans.boards_under(plan)
        ).count()
        a_day = (
            plans.of_intervals(plan.site_id) if plan.site_id is not None else plan.visits_per_day
        )
        return Standing(a_day, visits, max(0, a_day - visits), visits)
    planned = PlannedVisit.objects.filter(plan=plan)
    visits = planned.filter(state=State.STARTED, at__gte=since, at__lte=now).count()
    sources = _sources(plan, since, now)
    spent = sum(one.used for one in sources)
    looks = sum(one.looks for one in sources)
    tomorrow = since + timedelta(days=1)
    if plan.policy == Policy.ADAPTIVE:
        used = loops.used(plan, now)
        left = plan.visits_per_day - used if used is not None else plan.visits_per_day
        ahead = outlooks.expected(plan, tomorrow)
        coming = (len(ahead.visits), len(ahead.readings))
    else:
        left = planned.filter(
            state=State.PLANNED, at__gte=now - timedelta(minutes=10), at__lt=tomorrow
        ).count()
        coming = (left, 0)
    return Standing(
        plan.visits_per_day, visits + spent, max(0, left), visits, looks, *coming, tuple(sources)
    )


def _sources(plan: Plan, since: datetime, now: datetime) -> list[SourceStanding]:
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
        SourceStanding(one, looks, used, used / max(1, plan.visits_per_day), size)
        for one in found
        for looks, used, size in (sums.get(one.pk, none),)
    ]
