"""Cells of a range, each of about as many records as one answer holds, cut by where the records seen so far lie."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import NamedTuple

import numpy as np

from deepweb.value_ranges import Range

FILLED = 0.75
"""Of an answer that is cut, the share that a cell should fill: more would be cut too often."""

WIDE, LEAST = 2.0, 0.3
"""Times an answer's limit: the records of a range that is not worth being asked in parts at once, and of one not at all."""

_NUMBER = re.compile(r"\d{1,3}(?:[,'  ]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_DAY = re.compile(r"(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})")
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
_MOST_CELLS = 400
_PARSED = 0.8
_LEAST_VALUES = 5
_SPREAD = 4
_EVEN = 0.4


class Cell(NamedTuple):
    """A range to ask, with the new records that it should bring."""

    range: Range
    new: float


def value_of(text: str, whole: Range) -> float | None:
    """Where a record lies by one of its values; None for what is no number, no day, or outside of the whole range."""
    if whole.mask:
        found = _day_of(text, whole.mask)
    else:
        match = _NUMBER.search(text)
        found = float(re.sub(r"[,'  ]", "", match.group())) if match else None
    return found if found is not None and whole.low <= found <= whole.high else None


def _day_of(text: str, mask: str) -> float | None:
    for pattern in (mask, "%Y-%m-%d", "%d %B %Y", "%B %d, %Y", "%d %b %Y", "%b %d, %Y", "%d.%m.%Y"):
        try:
            return float(datetime.strptime(text.strip(), pattern).toordinal())
        except ValueError:
            continue
    match = _DAY.search(text)
    if match:
        try:
            return float(date(*map(int, match.groups())).toordinal())
        except ValueError:
            return None
    year = _YEAR.search(text)
    return float(date(int(year.group(1)), 7, 1).toordinal()) if year else None


def column_of(
    records: Mapping[int, Mapping[str, str]], whole: Range, answers: Sequence[tuple[Range, Sequence[int]]], named: frozenset[str]
) -> str | None:
    """The column of the records that a range is over: one that the range is `named` after, else the only one whose values lie
    inside of what was asked in nearly all answers to it. None where that cannot be told."""
    counts: dict[str, list[int]] = {}
    for span, found in answers:
        for pk in found:
            for name, text in records.get(pk, {}).items():
                value = value_of(str(text), whole)
                pair = counts.setdefault(name, [0, 0])
                pair[0] += value is not None and span.low <= value <= span.high
                pair[1] += 1
    fits = [name for name, (inside, total) in counts.items() if total >= _LEAST_VALUES and inside >= _PARSED * total]
    same = [name for name in fits or _columns(records) if _bare(name) in named]
    if same:
        return same[0]
    narrow = any(span.low > whole.low or span.high < whole.high for span, found in answers if found)
    return fits[0] if len(fits) == 1 and narrow else None


def _columns(records: Mapping[int, Mapping[str, str]]) -> list[str]:
    return list(dict.fromkeys(name for fields in records.values() for name in fields))


def _bare(text: str) -> str:
    return re.sub(r"[\W_\d]+", "", text.casefold())


class Asked(NamedTuple):
    """A range that was asked: how many records match (`known`), or at least, and whether all of them were returned."""

    range: Range
    matching: float
    known: bool
    is_whole: bool


def cells(whole: Range, asked: Sequence[Asked], values: np.ndarray, scale: float, limit: int) -> list[Cell]:
    """The ranges to ask next: as long as there are stretches of which no narrow range was asked, one at the begin of each (see
    `_beside`); then what was not answered whole, cut into cells of about 0.75 `limit` records each.

    Where how many records lie is told by the ranges `asked`, wide ones first, inside of them by where the records seen lie
    (`values`, sorted), `scale` matching ones for each where no range says. A range that was cut is never asked again.
    """
    step = 0 if not whole.mask and len(values) and np.any(values % 1) else 1
    points, masses = _masses(whole, asked, values, scale)
    taken = frozenset((each.range.low, each.range.high) for each in asked)
    found = _beside(whole, asked, points, masses, values, limit)
    if found:
        return found
    for low, high in uncovered(whole, [each.range for each in asked if each.is_whole], step):
        inside = (points >= low) & (points <= high)
        where, mass = points[inside], np.cumsum(masses[inside])
        count = max(1, min(_MOST_CELLS, round(float(mass[-1]) / (FILLED * limit)))) if len(mass) else 1
        ends = [where[np.searchsorted(mass, mass[-1] * part / count)] for part in range(1, count)] if count > 1 else []
        start = low
        for end in [*sorted({int(end) for end in ends}), high]:
            if end < start:
                continue
            found += _cells_of(Range(start, end, whole.mask), taken, points, masses, values, limit)
            start = end + step if end + step > start else end + 1
            if start > high:
                break
    return found


def _beside(
    whole: Range, asked: Sequence[Asked], points: np.ndarray, masses: np.ndarray, values: np.ndarray, limit: int
) -> list[Cell]:
    """For each stretch of which no narrow range was asked (of at most twice `limit` records, their number known) its begin, as
    wide as an answer should fill it: as dense as the narrow range before it is, else as the masses say. None where the site does
    not say how many records a range has that it cut: there only the masses can tell."""
    if all(each.is_whole for each in asked) or not all(each.known for each in asked):
        return []
    narrow = [each for each in asked if each.known and each.matching <= WIDE * limit]
    taken = frozenset((each.range.low, each.range.high) for each in asked)
    found = []
    for low, high in uncovered(whole, [each.range for each in narrow]) if any(each.matching for each in narrow) else ():
        inside = (points >= low) & (points <= high)
        total = float(masses[inside].sum())
        if total < LEAST * limit:
            continue
        before = [each for each in narrow if each.range.high == low - 1 and each.matching > 0]
        if before:
            next_to = min(before, key=lambda each: each.range.high - each.range.low)
            end = low + round(limit / next_to.matching * (next_to.range.high - next_to.range.low + 1)) - 1
        else:
            reached = np.flatnonzero(np.cumsum(masses[inside]) >= limit)
            end = int(points[inside][reached[0]]) if len(reached) else high
        span = Range(low, max(low, min(end, high)), whole.mask)
        if (span.low, span.high) not in taken:
            known = float(((values >= span.low) & (values <= span.high)).sum())
            found.append(Cell(span, max(1.0, min(total, float(limit)) - known)))
    return found


def _masses(whole: Range, asked: Sequence[Asked], values: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Points of the range in order and the records that each stands for: those seen, and some evenly spread over what lies
    between the ends of the ranges asked; fitted to the ranges from the widest to the narrowest."""
    ends = sorted({whole.low, whole.high, *(end for each in asked for end in (each.range.low, each.range.high))})
    spread = [np.linspace(a, b, _SPREAD + 2)[1:-1] for a, b in zip(ends, ends[1:], strict=False) if b > a]
    even = np.concatenate(spread) if spread else np.array([float(whole.low)])
    points = np.concatenate([values, even])
    masses = np.concatenate([np.full(len(values), max(scale, 1.0)), np.full(len(even), _EVEN * max(scale, 1.0) / _SPREAD)])
    order = np.argsort(points, kind="stable")
    points, masses = points[order], masses[order]
    for each in sorted(asked, key=lambda one: one.range.low - one.range.high):
        inside = (points >= each.range.low) & (points <= each.range.high)
        held = masses[inside].sum()
        if held > 0 and (each.known or held < each.matching):
            masses[inside] *= each.matching / held
    return points, masses


def _cells_of(
    span: Range, taken: frozenset[tuple[int, int]], points: np.ndarray, masses: np.ndarray, values: np.ndarray, limit: int
) -> list[Cell]:
    waiting, found = [span], []
    while waiting:
        one = waiting.pop()
        if (one.low, one.high) in taken:
            waiting += [half for half in one.halves() if (half.low, half.high) != (one.low, one.high)]
            continue
        total = float(masses[(points >= one.low) & (points <= one.high)].sum())
        known = float(((values >= one.low) & (values <= one.high)).sum())
        total = max(total, known)
        found.append(Cell(one, max(0.0, min(total, float(limit)) - known)))  # a site shows what it ranks first again
    return found


def uncovered(whole: Range, done: Sequence[Range], step: int = 1) -> list[tuple[int, int]]:
    """The stretches of the whole that no range of `done` covers, in order.

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
