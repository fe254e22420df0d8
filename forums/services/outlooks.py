"""The visits that the adaptive policy expects: computed at planning and after every ranking that
changes them, and stored as arrays."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from django.db import transaction

from forums import likely
from forums.adaptive import AdaptiveLoop, Outlook
from forums.events import Floats, Ints
from forums.law import HOUR_SECONDS
from forums.models import Board, LoopState, Plan, PlannedVisit


def packed(arrays: Mapping[str, Any]) -> bytes:
    """Converts named numpy arrays to bytes, for a binary field."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def unpacked(data: bytes) -> dict[str, Any]:
    """Returns the named arrays from the bytes that `packed` returned."""
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


# after a ranking, the visits expected within this many hours are computed again; later ones stay as
# they were computed when the day was planned
SOON_HOURS = 6.0


# if a plan has at most this many boards, lists also show a likely time for boards without an
# expected visit
MAX_NOTED = 500


FINEST_SECONDS = 60.0


class ExpectedVisit(NamedTuple):
    """A visit expected by the adaptive policy: board (id), time, number of posts expected to wait
    by then, first and last time of its likely span, and the number of earlier expected visits of
    the board."""

    board: int
    at: datetime
    posts: float
    first: datetime
    last: datetime
    before: int


@dataclass(frozen=True, slots=True)
class Expected:
    """The visits expected by the adaptive policy, in order of time, and the times at which it
    expects to read an overview source."""

    visits: list[ExpectedVisit]
    readings: list[datetime]


def step_seconds(loop: AdaptiveLoop) -> float:
    """Returns the time step at which expected visits are computed: longer for more boards, but
    short enough for the number of visits per day."""
    grain = 120.0 if loop.count <= 300 else 300.0 if loop.count <= 2000 else 900.0
    return max(FINEST_SECONDS, min(grain, 43200.0 * loop.count / loop.budget.visits_per_day))


def write(
    plan: Plan, loop: AdaptiveLoop, boards: Ints, share: Floats, now: datetime, until: datetime
) -> Outlook:
    """Computes the visits expected from now until `until`, stores and returns them; stored
    expectations for later times are kept. `boards` are ids, `share` the posts per weighted event of
    each."""
    step = step_seconds(loop)
    outlook, readings = loop.ahead(now.timestamp(), until.timestamp() - 1.0, step)
    first, last = _within(
        loop, outlook, *likely.spans(loop, outlook, readings, now.timestamp(), step)
    )
    made = {
        "board": boards[outlook.board],
        "at": outlook.moments,
        "posts": outlook.events * share[outlook.board],
        # the likely span always includes the expected time of the visit, so that lists show the
        # visit on that day
        "first": np.minimum(first, outlook.moments),
        "last": np.maximum(last, outlook.moments),
        "looks": readings,
    }
    beyond = np.array(
        [until.timestamp(), until.timestamp() + loop.options.longest_wait_hours * HOUR_SECONDS]
    )
    made = _followed(made, _stored(plan), until.timestamp())
    made["beyond"] = beyond
    LoopState.objects.filter(plan=plan).update(outlook=packed(made))
    _note(
        boards.tolist() if len(boards) <= MAX_NOTED else sorted(set(made["board"].tolist())),
        made,
        now,
    )
    return outlook


def _within(
    loop: AdaptiveLoop, outlook: Outlook, first: Floats, last: Floats
) -> tuple[Floats, Floats]:
    """Limits the likely time span of each visit in `outlook`, from `first` to `last` (epoch
    seconds), to those working hours of its site in which the visit is expected; returns both
    arrays."""
    openings, site = loop.sites.openings, loop.sites.site[outlook.board]
    for row in range(len(first)) if openings else ():
        opening = openings[site[row]]
        if opening is not None:
            start, end = opening.around(float(outlook.moments[row]))
            first[row], last[row] = max(first[row], start), min(last[row], end)
    return first, last


def note(plan: Plan, boards: Sequence[int], now: datetime) -> None:
    """Updates the stored times of the next visits of these boards (ids), after a user has added,
    moved or removed visits."""
    stored = _stored(plan)
    if stored:
        _note(boards, stored, now)


def _followed(soon: dict[str, Any], before: Mapping[str, Any], until: float) -> dict[str, Any]:
    """Returns the expected visits and readings computed now (`soon`), followed by those of `before`
    for times from `until` (epoch seconds) on. All are dicts of parallel arrays about visits, and
    "looks", the times of readings.
    """
    if not before:
        return soon
    later = before["at"] >= until
    joined = {
        name: np.concatenate([soon[name], before[name][later]])
        for name in ("board", "at", "posts", "first", "last")
    }
    return {
        **joined,
        "looks": np.concatenate([soon["looks"], before["looks"][before["looks"] >= until]]),
    }


def _stored(plan: Plan) -> dict[str, Any]:
    data = LoopState.objects.filter(plan=plan).values_list("outlook", flat=True).first()
    return unpacked(bytes(data)) if data else {}


def expected(plan: Plan, until: datetime) -> Expected:
    """Returns the stored visits and source readings that the adaptive policy expects before
    `until`."""
    stored = _stored(plan)
    if not stored:
        return Expected([], [])
    rows = stored["at"] < until.timestamp()
    visits = []
    seen: dict[int, int] = {}
    columns = (stored[name][rows].tolist() for name in ("board", "at", "posts", "first", "last"))
    for board, at, posts, first, last in zip(*columns, strict=True):
        visits.append(
            ExpectedVisit(
                board, _moment(at), posts, _moment(first), _moment(last), seen.get(board, 0)
            )
        )
        seen[board] = seen.get(board, 0) + 1
    return Expected(
        visits, [_moment(at) for at in stored["looks"].tolist() if at < until.timestamp()]
    )


def outdated(plan: Plan, now: datetime) -> bool:
    """Tells whether the plan has no stored forecast, or one of the visits or source readings in it
    was expected before `now`."""
    stored = _stored(plan)
    return not stored or bool(
        (stored["at"] <= now.timestamp()).any() or (stored["looks"] <= now.timestamp()).any()
    )


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def _note(boards: Sequence[int], made: Mapping[str, Any], now: datetime) -> None:
    """Stores the next visit of each of these boards (ids) for display in lists: the time of a
    planned visit, otherwise the likely time span of the first expected visit. `made`: arrays of the
    expected visits, as stored by `write`; its entry "beyond" is the span (epoch seconds) to store
    for boards without an expected visit."""
    rows: dict[int, int] = {}
    for number, board in enumerate(made["board"].tolist()):
        rows.setdefault(board, number)
    first, last = (_moment(at) for at in made["beyond"].tolist())
    spans: dict[int, tuple[datetime, datetime | None]] = {}
    for pk in boards:
        row = rows.get(pk)
        spans[pk] = (
            (first, last)
            if row is None
            else (_moment(made["first"][row]), _moment(made["last"][row]))
        )
    fixed = PlannedVisit.objects.filter(
        board__in=list(spans), state=PlannedVisit.State.PLANNED, at__gte=now
    ).order_by("-at")
    for pk, at in fixed.values_list("board_id", "at"):
        if pk not in rows or at.timestamp() <= made["at"][rows[pk]]:
            spans[pk] = (at, None)
    _save(spans)


def _save(spans: Mapping[int, tuple[datetime, datetime | None]]) -> None:
    pks: Sequence[int] = list(spans)
    with transaction.atomic():
        for start in range(0, len(pks), 500):
            part = list(
                Board.objects.filter(pk__in=pks[start : start + 500]).only(
                    "pk", "next_visit", "next_until"
                )
            )
            changed = [
                board for board in part if (board.next_visit, board.next_until) != spans[board.pk]
            ]
            for board in changed:
                board.next_visit, board.next_until = spans[board.pk]
            Board.objects.bulk_update(changed, ["next_visit", "next_until"], batch_size=200)
