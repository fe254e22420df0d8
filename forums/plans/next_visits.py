"""When a board is visited next: by its interval, or by the plan of its forum."""

from __future__ import annotations

from datetime import datetime, timedelta

from crawlmgr.schedule import timings
from forums.models import ALL_SITES, Board, Plan, PlannedVisit, Policy


def scope(site_id: int | None) -> str:
    """Returns the stored name of a plan's scope: one site, or (None) all sites without a plan of
    their own."""
    return ALL_SITES if site_id is None else f"site {site_id}"


def of_site(site_id: int) -> Plan | None:
    """Returns the plan that a site's visits follow now: its own, otherwise that of all sites; None
    if they follow intervals."""
    found = Plan.objects.filter(active=True, scope__in=[scope(site_id), ALL_SITES]).order_by(
        "-site_id"
    )
    plans = sorted(found, key=lambda plan: plan.site_id is None)
    return plans[0] if plans and plans[0].policy != Policy.INTERVAL else None


def by_interval(board: Board, last: datetime, now: datetime) -> datetime:
    """Returns the time at which a board is due after a visit at `last`: one interval later, shifted
    at random, and moved into its forum's working hours."""
    return timings.when(
        timings.of("forum", board.site_id), last + timedelta(seconds=board.interval_seconds), now
    )


def next_visit(board: Board, now: datetime) -> tuple[datetime | None, datetime | None]:
    """Returns the time of the next visit of a board whose visit has just ended, and None. With the
    adaptive policy, returns the time span, as of its last ranking, in which the next visit is
    likely."""
    plan = of_site(board.site_id)
    if plan is None:
        return by_interval(board, now, now), None
    if plan.policy == Policy.ADAPTIVE:
        return board.next_visit, board.next_until
    planned = PlannedVisit.objects.filter(
        board=board, state=PlannedVisit.State.PLANNED, at__gt=now
    ).order_by("at")
    first: datetime | None = planned.values_list("at", flat=True).first()
    return first or board.next_visit or now + timedelta(days=1), None


def note_next(board_ids: list[int], now: datetime) -> None:
    """Stores the first planned visit of each of these boards (ids) as its next visit, which lists
    show."""
    planned = PlannedVisit.objects.filter(
        board_id__in=board_ids, state=PlannedVisit.State.PLANNED, at__gte=now
    )
    first: dict[int, datetime] = {}
    for board_id, at in planned.order_by("-at").values_list("board_id", "at"):
        first[board_id] = at
    for board_id, at in first.items():
        Board.objects.filter(pk=board_id).update(next_visit=at, next_until=None)
