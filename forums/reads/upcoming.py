"""When a board or a forum is visited next, or why it is not: what every page, the calendar and the API say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from crawlmgr.reads.status import all_paused
from forums.models import Board

LATE = timedelta(minutes=10)
LEFT_OUT, PAUSED, ALL_PAUSED = "left_out", "paused", "all_paused"


@dataclass(frozen=True, slots=True)
class Due:
    """`at` is the time of the next visit, with `until` the visit is likely between the two; both are None where `held` says why
    none comes: LEFT_OUT (the board), PAUSED (the forum) or ALL_PAUSED (all crawling). `since` is set once its time has passed,
    and `late` LATE after that."""

    at: datetime | None = None
    until: datetime | None = None
    held: str = ""
    since: datetime | None = None
    late: bool = False


def due(
    at: datetime | None, until: datetime | None, now: datetime, *, enabled: bool = True, paused: bool = False, hold: bool = False
) -> Due:
    """What is to be said of a visit that stands at `at`."""
    held = LEFT_OUT if not enabled else PAUSED if paused else ALL_PAUSED if hold else ""
    if held:
        return Due(held=held)
    last = until or at
    return Due(at, until, "", last if last is not None and last < now else None, last is not None and last < now - LATE)


def of_board(board: Board, now: datetime, *, hold: bool, paused: bool | None = None) -> Due:
    """The next visit of a board; `paused` is its forum's pause, asked from the board where it is not given."""
    stands = board.site.paused if paused is None else paused
    return due(board.next_visit, board.next_until, now, enabled=board.enabled, paused=stands, hold=hold)


def put_in_place(rows: Iterable[dict[str, object]], now: datetime, *, paused: bool) -> list[dict[str, object]]:
    """Rows of boards as the API gives them: `next_visit` and `next_until` hold what will happen, `held` why nothing will."""
    hold, found = all_paused(), []
    for row in rows:
        at, until = row["next_visit"], row["next_until"]
        assert at is None or isinstance(at, datetime)  # noqa: S101 - columns of a board
        assert until is None or isinstance(until, datetime)  # noqa: S101
        said = due(at, until, now, enabled=bool(row["enabled"]), paused=paused, hold=hold)
        found.append({**row, "next_visit": said.at, "next_until": said.until, "held": said.held})
    return found
