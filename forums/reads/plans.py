"""Queries for the plan page: visits to come, visits made, and the figures behind each planned
day."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from forums.models import Board, BoardDay, Plan, PlanDay, PlannedVisit, Policy
from forums.reads.standing import midnight
from forums.services import outlooks

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
    written = outlooks.expected(plan, now + AHEAD)
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


def _figures(previous: datetime | None, one: outlooks.ExpectedVisit) -> dict[str, Any]:
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
