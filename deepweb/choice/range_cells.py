"""Divides a range of values, which a form searches between two inputs (from, to), into sub-ranges
to query ("cells"), each with about as many records as one answer can contain. The bounds of the
cells follow the density of records, estimated from the answers to earlier sub-ranges and from the
values of the records seen. `limit` is the number of records at which the site truncates its
answers. A queried range is called narrow if its answer was complete, if at most WIDE times `limit`
records match it, or if it is a single value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from deepweb.forms.templates import Range

FILLED = 0.75
"""Intended number of records, in multiples of `limit`, in each part of a range whose answer was
truncated."""
MIN_FILL, MAX_FILL = 1.0, 1.3
"""Smallest and largest intended number of records, in multiples of `limit`, of a sub-range at the
end of an interval without narrow queried ranges. Between them it is the number of records in all
such intervals per remaining query."""
WIDE = 3.0
"""A range with more records than this multiple of `limit`, though queried, is divided anew, from
its ends."""
NEIGHBOURS, FADING = 4, 0.8
"""Number of queried ranges next to an interval whose mean density is taken; weight of each relative
to the next nearer one."""
TREND, STEEPEST = 0.5, 0.5
"""Share of the change of density between the ranges next to an interval that is assumed to continue
inside it; largest change of its logarithm, from one range to the next, that is used."""
AGAINST = 2.0
"""A sub-range may contain at most this multiple of its intended number of records by the estimate
for the whole range."""
WINDOW, WINDOWS_AT = 16, (0.25, 0.5, 0.75)
"""Where no queried range is adjacent, the density is that of WINDOW seen records around the densest
of these quantiles of them.
"""
ALL_OF_IT = 1.1
"""An interval with at most this multiple of the intended number of records is queried as one
sub-range."""
CUT_COUNT = 1.15
"""Assumed number of records, at least, in a range with a truncated answer and no stated number, in
multiples of `limit`."""
MIN_NEW = 0.5
"""Smallest number of new records expected from a query, even if all records in its range seem to be
known."""

_MAX_CELLS = 400
_SPREAD = 4
_EVEN = 0.4
_LARGEST_SCALE, _SCALES = 1_000.0, 140
_USUAL_SCALE, _PRIOR_SPREAD = 15.0, 1.5
_SPREAD_OF_COUNTS = 0.2
_LATEST = 40
_SHAPE = 4.0
_ROUNDS, _AGREED = 200, 0.005


class Cell(NamedTuple):
    """A sub-range to query, and the number of records not seen yet that its answer is expected to
    contain."""

    range: Range
    new: float


class QueriedRange(NamedTuple):
    """A queried range: its number of matching records (only a lower bound unless `known`), whether
    all of these were returned (`is_whole`), and how many records in it had been seen before the
    query (`before`)."""

    range: Range
    matching: float
    known: bool
    is_whole: bool
    before: float = 0.0


def scale_of(asked: Sequence[QueriedRange], limit: int) -> float:
    """Estimates r, the ratio of the records that match a range to those of them seen before it was
    queried: exp of the posterior mean of log r, from the ranges `asked` and a normal prior about
    log 15. With b records seen before, the number of matches is log-normal about r b (variance 0.2
    + 1 / b); an unknown one is above `limit`."""
    # imported here because it takes a fifth of a second, which commands that do not need it save
    from scipy.special import log_ndtr

    told = [(each.before, each.matching, each.known) for each in asked if each.before > 0]
    grid = np.linspace(0.0, np.log(_LARGEST_SCALE), _SCALES)
    log_likely = -(((grid - np.log(_USUAL_SCALE)) / _PRIOR_SPREAD) ** 2) / 2
    for before, matching, known in told[-_LATEST:]:
        spread = (_SPREAD_OF_COUNTS + 1 / before) ** 0.5
        away = (grid + np.log(before) - np.log(max(matching, 1.0) if known else limit)) / spread
        log_likely += -away * away / 2 if known else log_ndtr(away)
    likely = np.exp(log_likely - log_likely.max())
    return float(np.exp((likely * grid).sum() / likely.sum()))


def cells(
    whole: Range,
    asked: Sequence[QueriedRange],
    values: np.ndarray,
    scale: float,
    limit: int,
    left: int | None = None,
    everywhere: bool = False,
) -> list[Cell]:
    """Returns unqueried sub-ranges to query next, each with its expected number of new records:
    some in each interval that no narrow queried range (see the module) covers, and parts, of about
    0.75 `limit` records, of narrow ranges with truncated answers.

    `whole` is the whole range, `asked` are its queried sub-ranges, `values` the sorted positions of
    the records seen so far. Where no number of matches is known, the density of records is `scale`
    (see `scale_of`) times that of the seen records. `left` is the number of remaining queries, None
    if unlimited. With `everywhere`, intervals without narrow ranges are divided over their whole
    length, for harvests that query words too."""
    step = 0 if not whole.mask and len(values) and np.any(values % 1) else 1
    points, masses = _masses(whole, asked, values, scale, limit, step)
    state = _Known(
        whole,
        points,
        masses,
        values,
        limit,
        frozenset((each.range.low, each.range.high) for each in asked),
    )
    narrow = [each for each in asked if each.is_whole or state.is_narrow(each.range)]
    fresh = (
        uncovered(whole, [each.range for each in narrow])
        if narrow or not asked
        else [(whole.low, whole.high)]
    )
    found = _cut_through(state, fresh) if everywhere else _begins(state, fresh, narrow, left)
    done = [each.range for each in asked if each.is_whole] + [
        Range(low, high) for low, high in fresh
    ]
    return found + _parts(state, uncovered(whole, done, step), step)


class _Known(NamedTuple):
    """The estimated distribution of records over a range: `points` in it, ascending, and the number
    of records that each stands for (`masses`). `values` are the sorted positions of the records
    seen so far, `taken` the queried ranges as (low, high).
    """

    whole: Range
    points: np.ndarray
    masses: np.ndarray
    values: np.ndarray
    limit: int
    taken: frozenset[tuple[int, int]]

    def inside(self, low: int, high: int) -> slice:
        return slice(
            int(np.searchsorted(self.points, low)),
            int(np.searchsorted(self.points, high, side="right")),
        )

    def mass(self, span: Range) -> float:
        return float(self.masses[self.inside(span.low, span.high)].sum())

    def is_narrow(self, span: Range) -> bool:
        return span.low == span.high or self.mass(span) <= WIDE * self.limit

    def begin(self, span: Range, there: float, from_end: bool = False) -> Cell | None:
        """Returns a sub-range to query at the start of `span` (with `from_end`, at its end): `span`
        itself or, if it was queried before, its first (last) half, and so on; None if all were
        queried. `there`: number of records in `span`.
        """
        low, high, part = span.low, span.high, 1.0
        while (low, high) in self.taken:
            if high == low:
                return None
            middle = (low + high) // 2
            low, high, part = (
                (middle + 1 if from_end else low),
                (high if from_end else middle),
                part / 2,
            )
        return Cell(
            Range(low, high, span.mask),
            max(MIN_NEW, min(there * part, float(self.limit)) - self.known(low, high)),
        )

    def known(self, low: int, high: int) -> int:
        return int(
            np.searchsorted(self.values, high, side="right") - np.searchsorted(self.values, low)
        )

    def cell(self, span: Range) -> Cell:
        """Returns a `Cell` for querying the range `span`. Its expected number of new records is at
        least `MIN_NEW`."""
        known = self.known(span.low, span.high)
        return Cell(span, max(MIN_NEW, min(max(self.mass(span), known), float(self.limit)) - known))


def _begins(
    state: _Known,
    fresh: Sequence[tuple[int, int]],
    narrow: Sequence[QueriedRange],
    left: int | None,
) -> list[Cell]:
    """Returns sub-ranges to query in the unqueried intervals (low, high) of `fresh`: at each end
    next to a range of `narrow`, otherwise where seen records are densest. An interval with few
    records is queried whole. A sub-range should match the records expected in all intervals /
    `left`, within MIN_FILL to MAX_FILL times `limit` (`left` None: MIN_FILL).
    """
    limit = state.limit
    there = sum(state.mass(Range(low, high)) for low, high in fresh)
    aim = limit * (float(np.clip(there / (limit * left), MIN_FILL, MAX_FILL)) if left else MIN_FILL)
    found = []
    for low, high in fresh:
        total = state.mass(Range(low, high))
        if total <= ALL_OF_IT * aim:
            cells = [state.begin(Range(low, high, state.whole.mask), min(aim, total))]
        else:
            ends = [
                _end_cell(state, (low, high), narrow, aim, from_end) for from_end in (False, True)
            ]
            cells = ends if any(ends) else [_densest(state, low, high, total, aim)]
        found += [cell for cell in cells if cell is not None]
    return found


def _end_cell(
    state: _Known,
    stretch: tuple[int, int],
    narrow: Sequence[QueriedRange],
    aim: float,
    from_end: bool,
) -> Cell | None:
    """Returns a sub-range with about `aim` records at the start (with `from_end`, the end) of the
    interval `stretch`; None if no ranges in `narrow` are adjacent there, or it and its halves were
    queried. The width follows from their density and the estimated distribution (`state`), only the
    latter if a range with the same start (end) was queried.
    """
    low, high = stretch
    dense = _density_beside(state, high if from_end else low, narrow, from_end)
    if dense is None:
        return None
    reach = _reach(state, low, high, aim, from_end)
    whole = (state.whole.low, state.whole.high)
    if not any(
        (b == high and a >= low) if from_end else (a == low and b <= high)
        for a, b in state.taken - {whole}
    ):
        reach = min(_reach(state, low, high, AGAINST * aim, from_end), round(aim / dense) - 1)
    reach = min(max(0, reach), high - low)
    span = (
        Range(high - reach, high, state.whole.mask)
        if from_end
        else Range(low, low + reach, state.whole.mask)
    )
    return state.begin(span, aim, from_end)


def _reach(state: _Known, low: int, high: int, aim: float, from_end: bool) -> int:
    """Returns the width of the sub-range with `aim` records at the start (with `from_end`, the end)
    of the interval from `low` to `high`; the width of the whole interval if it has fewer records.
    """
    part = state.inside(low, high)
    points, masses = state.points[part], state.masses[part]
    if from_end:
        points, masses = points[::-1], masses[::-1]
    reached = np.flatnonzero(np.cumsum(masses) >= aim)
    if not len(reached):
        return high - low
    return int(high - points[reached[0]]) if from_end else int(points[reached[0]] - low)


def _densest(state: _Known, low: int, high: int, total: float, aim: float) -> Cell | None:
    """Returns the sub-range to query next of an interval with about `total` records: the one with
    about `aim` records where the seen records are densest, or at the start if at most 16 were seen.
    If it was queried already, its first half is taken instead, repeatedly; None if all of these
    were queried."""
    seen = state.values[(state.values >= low) & (state.values <= high)]
    if len(seen) <= WINDOW:
        return state.begin(
            Range(low, low + _reach(state, low, high, aim, False), state.whole.mask), aim
        )
    firsts = [
        min(max(0, round(share * len(seen)) - WINDOW // 2), len(seen) - WINDOW)
        for share in WINDOWS_AT
    ]
    width, first = min((float(seen[first + WINDOW - 1] - seen[first]), first) for first in firsts)
    dense = total * (WINDOW - 1) / len(seen) / max(width, 1.0)
    reach = max(0, round(aim / dense) - 1)
    start = max(low, int(seen[first] + width / 2) - reach // 2)
    return state.begin(Range(start, min(high, start + reach), state.whole.mask), aim)


def _cut_through(state: _Known, fresh: Sequence[tuple[int, int]]) -> list[Cell]:
    """Divides each (low, high) in `fresh` into parts of about `state.limit` records; parts already
    queried are halved instead."""
    found = []
    for low, high in fresh:
        part = state.inside(low, high)
        points, start, held = state.points[part], low, 0.0
        sums = np.cumsum(state.masses[part])
        while start <= high:
            reached = int(np.searchsorted(sums, held + state.limit))
            end = min(high, int(points[reached])) if reached < len(points) else high
            found += _untaken(state, Range(start, max(start, end), state.whole.mask))
            start = max(start, end) + 1
            held = (
                float(sums[np.searchsorted(points, start) - 1])
                if np.searchsorted(points, start)
                else 0.0
            )
    return found


def _density_beside(
    state: _Known, end: int, narrow: Sequence[QueriedRange], after: bool
) -> float | None:
    """Returns the density (records per unit of value) expected at one end of an interval, from the
    queried ranges of `narrow` next to it; None if there are none. `end` is the first value of the
    interval or, with `after`, its last. The result is the weighted mean density of up to
    `NEIGHBOURS` successive ranges, extrapolated by the share `TREND` of the change over them.
    """
    count = width = 0.0
    weight, each_dense = 1.0, []
    for _ in range(NEIGHBOURS):
        beside = [
            each
            for each in narrow
            if each.matching > 0 and (each.range.low - 1 if after else each.range.high + 1) == end
        ]
        if not beside:
            break
        next_to = min(beside, key=lambda each: each.range.high - each.range.low)
        there = next_to.matching if next_to.known else state.mass(next_to.range)
        wide = next_to.range.high - next_to.range.low + 1
        each_dense.append(max(there, 1.0) / wide)
        count, width, weight = count + weight * there, width + weight * wide, weight * FADING
        end = next_to.range.high if after else next_to.range.low
    if not width:
        return None
    steps = len(each_dense) - 1
    change = (
        float(np.clip(np.log(each_dense[0] / each_dense[-1]) / steps, -STEEPEST, STEEPEST))
        if steps
        else 0.0
    )
    return count / width * float(np.exp(TREND * change * (1 + steps / 2)))


def _parts(state: _Known, stretches: Sequence[tuple[int, int]], step: int) -> list[Cell]:
    """Divides intervals into cells of about FILLED times `limit` records. `step`: 1 if values are
    whole numbers, otherwise 0."""
    found = []
    for low, high in stretches:
        part = state.inside(low, high)
        where, mass = state.points[part], np.cumsum(state.masses[part])
        count = (
            max(1, min(_MAX_CELLS, round(float(mass[-1]) / (FILLED * state.limit))))
            if len(mass)
            else 1
        )
        ends = (
            [where[np.searchsorted(mass, mass[-1] * place / count)] for place in range(1, count)]
            if count > 1
            else []
        )
        start = low
        for end in [*sorted({int(end) for end in ends}), high]:
            if end < start:
                continue
            found += _untaken(state, Range(start, end, state.whole.mask))
            start = end + step if end + step > start else end + 1
            if start > high:
                break
    return found


def _untaken(state: _Known, span: Range) -> list[Cell]:
    waiting, found = [span], []
    while waiting:
        one = waiting.pop()
        if (one.low, one.high) in state.taken:
            waiting += [
                half for half in one.halves() if (half.low, half.high) != (one.low, one.high)
            ]
        else:
            found.append(state.cell(one))
    return found


def _there(each: QueriedRange, whole: Range, scale: float, limit: int) -> float | None:
    """Returns the known or estimated number of records in `each`; None for `whole` if no record was
    seen before."""
    if each.known:
        return each.matching
    if not each.before and each.range == whole:
        return None
    return max(
        CUT_COUNT * limit, (each.before + _SHAPE) / (_SHAPE / (CUT_COUNT * limit) + 1 / scale)
    )


def _masses(
    whole: Range,
    asked: Sequence[QueriedRange],
    values: np.ndarray,
    scale: float,
    limit: int,
    step: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Returns two parallel arrays: points of the range `whole` in ascending order, and how many
    records each stands for. Points are the values of seen records, and evenly spaced ones between
    ends of queried ranges. The numbers are scaled until their sum in each queried range is within
    0.5 % of its records, if known; at most 200 times."""
    ends = sorted(
        {
            whole.low,
            whole.high,
            *(end for each in asked for end in (each.range.low, each.range.high)),
        }
    )
    spread = [
        np.linspace(a, b, _SPREAD + 2)[1:-1]
        for a, b in zip(ends, ends[1:], strict=False)
        if b > a + step
    ]
    even = np.concatenate(spread) if spread else np.array([float(whole.low)])
    points = np.concatenate([values, even])
    masses = np.concatenate(
        [
            np.full(len(values), max(scale, 1.0)),
            np.full(len(even), _EVEN * max(scale, 1.0) / _SPREAD),
        ]
    )
    order = np.argsort(points, kind="stable")
    points, masses = points[order], masses[order]
    bounds = [
        (
            np.searchsorted(points, each.range.low),
            np.searchsorted(points, each.range.high, side="right"),
            each,
        )
        for each in sorted(asked, key=lambda one: one.range.low - one.range.high)
    ]
    told = [
        (first, last, there)
        for first, last, each in bounds
        if (there := _there(each, whole, scale, limit)) is not None
    ]
    for _ in range(_ROUNDS):
        most = 0.0
        for first, last, there in told:
            held = masses[first:last].sum()
            if held > 0:
                most = max(most, abs(there / held - 1))
                masses[first:last] *= there / held
        if most < _AGREED:
            break
    return points, masses


def uncovered(whole: Range, done: Sequence[Range], step: int = 1) -> list[tuple[int, int]]:
    """Returns the intervals (low, high) of `whole` that no range of `done` covers, ascending, at a
    distance of `step` to those.

    >>> uncovered(Range(0, 9), [Range(2, 3), Range(3, 5)])
    [(0, 1), (6, 9)]
    """
    found, start = [], whole.low
    for span in sorted(done, key=lambda each: (each.low, each.high)):
        if span.low - step >= start and span.low > start:
            found.append((start, span.low - step))
        start = max(start, span.high + step)
    if start <= whole.high:
        found.append((start, whole.high))
    return found
