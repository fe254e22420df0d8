"""Reads for the plan page: visits to come and made, and what each planned day rested on."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from forums.models import Board, BoardDay, Plan, PlanDay, PlannedVisit, Policy
from forums.services import loops

MOST_DAYS = 30
AHEAD = timedelta(days=2)


@dataclass(slots=True)
class Coming:
    """A visit to come: one that is planned (`planned`), or one that the closed loop expects to make."""

    board: Board
    at: datetime
    planned: PlannedVisit | None = None
    code: str = "expected"
    figures: dict[str, Any] = field(default_factory=dict)


def coming(plan: Plan, now: datetime, limit: int, board: int | None = None) -> tuple[list[Coming], bool]:
    """The next visits of a plan in their order, and whether there are more; three queries and the loop's own."""
    rows = PlannedVisit.objects.filter(plan=plan, state=PlannedVisit.State.PLANNED, at__gte=now - timedelta(minutes=10))
    rows = rows.filter(board_id=board) if board else rows
    rows = rows.select_related("board__site", "edited_by").defer("board__unfinished", "board__site__structure")
    found = [Coming(one.board, one.at, one, one.code, one.figures) for one in rows.order_by("at", "id")[: limit + 1]]
    if plan.policy == Policy.ADAPTIVE and plan.active:
        found += _expected(plan, now, board)
    found.sort(key=lambda one: (one.at, one.board.pk))
    return found[:limit], len(found) > limit


def _expected(plan: Plan, now: datetime, board: int | None) -> list[Coming]:
    """What the loop expects; a board's previous visit is the one before it in this list, or its last one made.

    The posts that should wait by then are told by the board's usual number a day, as it was last planned with.
    """
    outlook = loops.expected(plan, now, now + AHEAD)
    boards = Board.objects.select_related("site").defer("unfinished", "site__structure").in_bulk({pk for pk, _at in outlook})
    latest = PlanDay.objects.filter(plan=plan).order_by("-day").values("pk")[:1]
    usual = {one.board_id: one.new_per_day + one.replies_per_day for one in BoardDay.objects.filter(planned_day__in=latest)}
    last = {pk: one.last_visit for pk, one in boards.items()}
    found = []
    for pk, at in outlook:
        if pk in boards and board in (None, pk):
            found.append(Coming(boards[pk], at, figures=_figures(last[pk], at, usual.get(pk))))
            last[pk] = at
    return found


def _figures(previous: datetime | None, at: datetime, per_day: float | None) -> dict[str, Any]:
    if previous is None:
        return {}
    hours = (at - previous).total_seconds() / 3600
    waiting = None if per_day is None else per_day * hours / 24
    return {"previous": previous.isoformat(), "hours_since": hours, "waiting": waiting}


def made(plan: Plan, limit: int = 30) -> list[PlannedVisit]:
    """The last visits that were made or passed over, newest first, with what they found."""
    rows = PlannedVisit.objects.filter(plan=plan).exclude(state=PlannedVisit.State.PLANNED)
    rows = rows.select_related("board__site", "visit", "edited_by").defer(
        "board__unfinished", "board__site__structure", "visit__state", "visit__arrivals"
    )
    return list(rows.order_by("-at", "-id")[:limit])


def days(plan: Plan, limit: int = MOST_DAYS) -> list[PlanDay]:
    """The planned days, newest first."""
    return list(PlanDay.objects.filter(plan=plan).order_by("-day")[:limit])


def boards(plan: Plan, limit: int = 2000) -> list[Board]:
    """The boards under a plan, for choosing one."""
    rows = Board.objects.filter(enabled=True)
    rows = rows.filter(site_id=plan.site_id) if plan.site_id is not None else rows.exclude(site__plan__active=True)
    return list(rows.only("id", "name", "site_id").order_by("site_id", "position", "id")[:limit])
