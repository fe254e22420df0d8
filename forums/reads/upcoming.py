"""Tells when a board or forum is next visited, or why it is not visited. All pages, the calendar
and the API use this module."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from crawlmgr.models import RunState
from crawlmgr.runs.run_reads import at_work
from crawlmgr.workers.status import all_paused
from forums.models import Board

LATE = timedelta(minutes=10)
LEFT_OUT, PAUSED, ALL_PAUSED, VISIT_PAUSED = "left_out", "paused", "all_paused", "visit_paused"


@dataclass(frozen=True, slots=True)
class Due:
    """The next visit of a board or forum.

    `at` is its time or, with `until`, the earliest likely time. Without a visit both are None and
    `held` is the reason: LEFT_OUT (the board), PAUSED (the forum), ALL_PAUSED (all crawling) or
    VISIT_PAUSED (another visit of the forum). `since` is the last time (`until` or `at`) if it has
    passed; `late` is True if it passed more than LATE ago.
    """

    at: datetime | None = None
    until: datetime | None = None
    held: str = ""
    since: datetime | None = None
    late: bool = False


def with_paused_visits(sites: Collection[int]) -> set[int]:
    """Returns the forums (ids) with a paused visit: no other visit of them starts before it is
    resumed or stopped."""
    return {site for site, run in at_work("forum", sites).items() if run.state == RunState.PAUSED}


def due(
    at: datetime | None,
    until: datetime | None,
    now: datetime,
    *,
    enabled: bool = True,
    paused: bool = False,
    hold: bool = False,
    visit_paused: bool = False,
) -> Due:
    """Returns the next visit of a board from its stored time `at` and the end `until` of the likely
    span, if it has one.

    There is no next visit in four cases, which the result names: the board is not to be visited
    (`enabled` False), its forum is paused (`paused`), all crawling is paused (`hold`), or a visit
    of its forum is paused (`visit_paused`).
    """
    reasons = (
        (LEFT_OUT, not enabled),
        (PAUSED, paused),
        (ALL_PAUSED, hold),
        (VISIT_PAUSED, visit_paused),
    )
    for held, holds in reasons:
        if holds:
            return Due(held=held)
    last = until or at
    return Due(
        at,
        until,
        "",
        last if last is not None and last < now else None,
        last is not None and last < now - LATE,
    )


def of_board(
    board: Board,
    now: datetime,
    *,
    hold: bool,
    visits_paused: Collection[int],
    paused: bool | None = None,
) -> Due:
    """Returns the next visit of a board. `hold`: whether all crawling is paused. `paused`: whether
    the board's forum is paused, None to read this from the board. `visits_paused`: ids of the
    forums that have a paused visit.
    """
    stands = board.site.paused if paused is None else paused
    at, until, stopped = board.next_visit, board.next_until, board.site_id in visits_paused
    return due(
        at, until, now, enabled=board.enabled, paused=stands, hold=hold, visit_paused=stopped
    )


def with_next_visits(
    rows: Iterable[dict[str, object]], now: datetime, *, site: int, paused: bool
) -> list[dict[str, object]]:
    """Returns the rows of a forum's boards, completed for the API: if a pause or a setting holds up
    the visits of a board, its stored `next_visit` and `next_until` are replaced by None and `held`
    tells the reason; otherwise `held` is "".
    """
    hold, stopped, found = all_paused(), bool(with_paused_visits([site])), []
    for row in rows:
        at, until = row["next_visit"], row["next_until"]
        assert at is None or isinstance(at, datetime)  # noqa: S101 - columns of a board
        assert until is None or isinstance(until, datetime)  # noqa: S101
        said = due(
            at,
            until,
            now,
            enabled=bool(row["enabled"]),
            paused=paused,
            hold=hold,
            visit_paused=stopped,
        )
        found.append({**row, "next_visit": said.at, "next_until": said.until, "held": said.held})
    return found
