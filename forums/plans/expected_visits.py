"""The visits that the adaptive policy expects: computed at planning and after every ranking that
changes them, and stored as arrays; with the likely time span of each, from the policy's
forecast."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from django.db import transaction

from forums.models import Board, LoopState, Plan, PlannedVisit
from forums.plans.plan_state import PlanState
from forums.schedule.adaptive import AdaptiveLoop
from forums.schedule.equations import HOUR_SECONDS
from forums.schedule.events import Floats, Ints
from forums.schedule.loop_values import FLAG_WEIGHT, Outlook

LIKELY = (
    1 / 6,
    5 / 6,
    # a visit's likely span: between these quantiles of its time, thus with a probability of two
    # thirds
)


PATHS, POSTS = 32, 10  # number of simulated futures per board, and of posts in each


FINE_STEPS, FINE_HOURS, COARSE_STEPS, FARTHEST_HOURS = 120, 6.0, 40, 96.0


# likely span of a board's visits after the next one, without overview sources: the time from now to
# the expected visit times these factors; measured on replayed logs
LATER = (0.95, 1.1)


LATER_BY_LOOKS = (0.85, 2.6)  # the same as LATER for loops that also read overview sources


# posts come in bursts: actual / forecast posts follows a gamma distribution of this shape and mean
# 1
BURSTS = 1.0


# standard deviations of logarithms in simulated futures: PRICE_SPREAD of the priority at which
# boards are visited, from two hours ahead on; LOOKS_SPREAD of the time until an overview source is
# read
PRICE_SPREAD, LOOKS_SPREAD = 0.35, 0.4


# BOARDS_AT_ONCE: number of boards simulated together. MAX_DRAWN: largest number of boards that are
# simulated; for further boards the span of the next visit is its expected time, plus and minus one
# time step.
BOARDS_AT_ONCE, MAX_DRAWN = 100, 500


def spans(
    loop: AdaptiveLoop, outlook: Outlook, readings: Floats, now: float, step_seconds: float
) -> tuple[Floats, Floats]:
    """Returns the first and last time of the likely span of each expected visit, epoch seconds,
    (visits,) each.

    readings: expected times of readings of overview sources, epoch seconds. step_seconds: time step
    of `outlook`, by which spans are widened. A board's next visit is nearly certain without
    overview sources; with them, its span is simulated (`_crossings`), for up to MAX_DRAWN boards.
    Later visits have fixed spans relative to the time until the visit (LATER, LATER_BY_LOOKS).
    """
    before = _earlier_of_board(outlook.board)
    ahead = np.maximum(outlook.moments - now, step_seconds)
    low, high = LATER if loop.overview is None else LATER_BY_LOOKS
    first, last = now + ahead * low, now + ahead * high + step_seconds
    next_ones = np.flatnonzero(before == 0)
    first[next_ones], last[next_ones] = (
        outlook.moments[next_ones] - step_seconds,
        outlook.moments[next_ones] + step_seconds,
    )
    if loop.overview is not None:
        for start in range(0, min(len(next_ones), MAX_DRAWN), BOARDS_AT_ONCE):
            rows = next_ones[start : start + BOARDS_AT_ONCE]
            low_at, high_at = _crossings(
                loop, outlook.board[rows], outlook.delay[rows], readings, now
            )
            first[rows], last[rows] = low_at - step_seconds, high_at + step_seconds
    first = np.maximum(first, now)
    return first, last


def _earlier_of_board(board: Ints) -> Ints:
    """Returns for each expected visit the number of earlier visits to the same board in the list,
    (visits,)."""
    order = np.argsort(board, kind="stable")
    starts = (
        np.flatnonzero(np.concatenate([[True], np.diff(board[order]) != 0]))
        if len(board)
        else np.zeros(0, dtype=np.int64)
    )
    sizes = np.diff(np.concatenate([starts, [len(board)]]))
    found = np.empty(len(board), dtype=np.int64)
    found[order] = np.arange(len(board)) - np.repeat(starts, sizes)
    return found


def _crossings(
    loop: AdaptiveLoop, board: Ints, price: Floats, readings: Floats, now: float
) -> tuple[Floats, Floats]:
    """Returns the earliest and latest likely time (quantiles LIKELY) of each board's next visit, in
    epoch seconds, by simulation: a board is visited when its priority reaches `price`, or its
    longest wait is over. board: numbers; price: one per board; readings: times at which overview
    sources will be read, epoch seconds."""
    overview = loop.overview
    assert overview is not None  # noqa: S101 - only called for loops with sources
    hours = np.concatenate(
        [
            np.linspace(0.0, FINE_HOURS, FINE_STEPS),
            np.geomspace(FINE_HOURS, FARTHEST_HOURS, COARSE_STEPS + 1)[1:],
        ]
    )
    moments = now + hours * HOUR_SECONDS
    mass, own = _forecasts(loop, board, moments)
    rng = np.random.default_rng(1)  # a fixed seed, so that every call draws the same numbers
    unit = (
        np.cumsum(rng.exponential(size=(PATHS, POSTS)), axis=1)
        / rng.gamma(BURSTS, 1.0 / BURSTS, PATHS)[:, None]
    )
    price_factor = np.exp(
        PRICE_SPREAD * rng.standard_normal(PATHS)[:, None] * np.sqrt(np.minimum(hours / 2.0, 1.0))
    )
    scales = np.exp(LOOKS_SPREAD * rng.standard_normal(PATHS))
    # time of the last overview reading, shape (paths, moments); a path is one simulated course of
    # events
    seen = np.stack([_seen_until(readings, now, hours, by) for by in scales])
    told = np.stack([np.interp(seen, hours, row) for row in mass])  # shape (boards, paths, moments)
    since = (
        hours
        - seen
        + np.where(seen == 0.0, overview.hours_since_look(now, board)[:, None, None], 0.0)
    )
    waiting = np.where(seen == 0.0, loop.forecast.expected(now, board)[:, None, None], 0.0)
    known = overview.known_hours(now)[board][:, None] + overview.known[board][:, None] * hours
    index = known[:, None, :] + (waiting + mass[:, None, :] - told) * since / 2.0
    weight = FLAG_WEIGHT * overview.new_weight[board]
    for post in range(POSTS):
        came = np.stack(
            [
                np.interp(unit[:, post] * w, row, hours, right=np.inf)
                for w, row in zip(weight, mass, strict=True)
            ]
        )
        waited = np.where(came[..., None] <= seen, hours - came[..., None], 0.0)
        index += weight[:, None, None] * np.maximum(waited, 0.0)
    floor = overview.doubts()[board][:, None] * own
    reached = (
        np.maximum(index, floor[:, None, :]) >= price[:, None, None] * (1.0 - 1e-9) * price_factor
    )
    reached |= (hours >= loop.hours_left_to_wait(now)[board][:, None])[:, None, :]
    reached[..., -1] = True
    low, high = np.quantile(moments[reached.argmax(axis=2)], LIKELY, axis=1)
    return np.asarray(low), np.asarray(high)


def _forecasts(loop: AdaptiveLoop, board: Ints, moments: Floats) -> tuple[Floats, Floats]:
    """Returns two arrays, (boards, moments): the weighted events expected on each board from the
    first moment to each moment, and the index (expected waiting, in weighted event-hours) that the
    board would then have if only its visits gave information.
    """
    so_far = loop.forecast.expected(float(moments[0]), board)
    mass = loop.forecast.expected_at(moments, board).T - so_far[:, None]
    by_visits = loop.forecast.expected_by_visits_at(moments, board).T
    since = (moments - loop.fetched_until()[board][:, None]) / HOUR_SECONDS
    return np.maximum.accumulate(mass, axis=1), by_visits * np.maximum(since, 0.0) / 2.0


def _seen_until(readings: Floats, now: float, hours: Floats, scale: float) -> Floats:
    """Returns when an overview source was last read before each time in `hours`; 0 if never from
    now on. Times are in hours from now.

    readings: expected times of the readings, epoch seconds; scale: factor by which their distances
    from now are multiplied. After the last, readings go on at their mean interval.
    """
    if not len(readings):
        return np.zeros(len(hours))
    at = scale * (readings - now) / HOUR_SECONDS
    gap = max(float(at[-1]) / len(at), 1 / 60)
    at = np.concatenate([at, np.arange(at[-1] + gap, FARTHEST_HOURS, gap)])
    place = np.searchsorted(at, hours, side="right") - 1
    return np.where(place >= 0, at[np.maximum(place, 0)], 0.0)


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


def write(state: PlanState, now: datetime, until: datetime) -> Outlook:
    """Computes the visits expected from now until `until`, stores and returns them; stored
    expectations for later times are kept."""
    plan, loop, boards = state.plan, state.loop, state.boards
    step = step_seconds(loop)
    outlook, readings = loop.ahead(now.timestamp(), until.timestamp() - 1.0, step)
    first, last = _within(loop, outlook, *spans(loop, outlook, readings, now.timestamp(), step))
    made = {
        "board": boards[outlook.board],
        "at": outlook.moments,
        "posts": outlook.events * state.raw[outlook.board],
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
