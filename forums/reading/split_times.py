"""Dates drawn like a page of a tear-off calendar, with day, month and year in separate elements,
and the time of day elsewhere in the same record."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Set
from typing import NamedTuple

from crawlmgr.text.dates import DateContext, Moment, parse_time
from crawlmgr.web.pages.outline import Outline

_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th|[.日号])?,?", re.I)
_YEAR = re.compile(r"((?:19|20)\d\d)年?|['’](\d\d)")
_MONTH = re.compile(r"(?:[^\W\d_]{3,12}\.?|\d{1,2}月),?")
_WEEKDAY = re.compile(r"[^\W\d_]{1,12}[.,]?")
CLOCK = re.compile(
    r"(?:(?:at|um|à|в) |@ ?)?\d{1,2}[:.h]\d\d(?:[:.]\d\d)?(?: ?[ap]\.?m\.?)?(?: Uhr)?", re.I
)
_MAX_PARTS = 5
_LEVELS = (
    3  # number of levels from the element of the day's number up to the element of the whole date
)
# number of levels that are searched from the date upwards for an element that also contains its
# time of day
_RECORD_LEVELS = 6
_DAY_SECONDS = 86_400


class SplitDate(NamedTuple):
    """A date in separate elements: the node of the element that contains it, its range of text
    numbers from `first` to before `end`, and the date as one text, such as "12 May 2024"."""

    node: int
    first: int
    end: int
    day: str


class SplitTimes(NamedTuple):
    """The times of a page that consist of several texts each: `moments` by the number of their
    first text, and the numbers of all texts that are parts of them."""

    moments: dict[int, Moment]
    parts: frozenset[int]


def split_times(page: Outline, used: Set[int], dates: DateContext) -> SplitTimes:
    """Returns the dates of a page that are in separate elements (see `SplitDate`), each with the
    time of day that belongs to it, if there is one (see `_clock_of`). The texts in `used` are parts
    of other times and are not used.
    """
    leaves = [leaf for leaf in _leaves(page, dates) if used.isdisjoint(range(leaf.first, leaf.end))]
    clocks = (
        [
            at
            for at, piece in enumerate(page.pieces)
            if at not in used and CLOCK.fullmatch(piece.text)
        ]
        if leaves
        else []
    )
    moments: dict[int, Moment] = {}
    parts: set[int] = set()
    for leaf in leaves:
        at = _clock_of(page, leaf, leaves, clocks)
        moment = parse_time(f"{leaf.day} {page.pieces[at].text}", dates) if at is not None else None
        if moment is not None and at is not None and moment.precision_seconds < _DAY_SECONDS:
            parts.add(at)
        else:
            moment = parse_time(leaf.day, dates)
        if moment is not None:
            moments[leaf.first] = moment
            parts.update(range(leaf.first, leaf.end))
    return SplitTimes(moments, frozenset(parts))


def _leaves(page: Outline, dates: DateContext) -> list[SplitDate]:
    """Returns the dates of a page that have day, month and year in separate elements, in page
    order."""
    found: list[SplitDate] = []
    for at, (text, node, _) in enumerate(page.pieces):
        if len(text) > 5 or not _DAY.fullmatch(text) or (found and at < found[-1].end):
            continue
        best: SplitDate | None = None
        for _ in range(_LEVELS):
            node = page.parents[node]
            if node < 0 or page.piece_to[node] - page.piece_from[node] > _MAX_PARTS:
                break
            day = _day_of(
                [piece.text for piece in page.pieces[page.piece_from[node] : page.piece_to[node]]],
                dates,
            )
            best = SplitDate(node, page.piece_from[node], page.piece_to[node], day) if day else best
        if best:
            found.append(best)
    return found


def _day_of(texts: list[str], dates: DateContext) -> str:
    """Returns the date that several texts form, each of which is one part of it: day, month,
    possibly year and weekday; with the time of day if it is among them. "" if they do not form a
    date."""
    number = year = month = clock = weekday = ""
    for text in texts:
        day_found, year_found = _DAY.fullmatch(text), _YEAR.fullmatch(text.rstrip(","))
        if day_found and not number:
            number = day_found[1]
        elif year_found and not year:
            year = year_found[1] or f"20{year_found[2]}"
        elif CLOCK.fullmatch(text) and not clock:
            clock = text
        elif _MONTH.fullmatch(text) and not month and _is_day(_whole("1", text, "2020"), dates):
            month = text
        elif _WEEKDAY.fullmatch(text) and not weekday:
            weekday = text.rstrip(".,")
        else:
            return ""
    day = _whole(number, month, year) if number and month else ""
    if not day or not _is_day(day, dates) or weekday and not _is_day(f"{weekday}, {day}", dates):
        return ""
    return f"{day} {clock}".strip()


def _whole(number: str, month: str, year: str) -> str:
    month = month.rstrip(".,")
    if month.endswith("月"):
        return f"{year}年{month}{number}日" if year else f"{month}{number}日"
    return f"{number} {month} {year}".strip()


def _is_day(text: str, dates: DateContext) -> bool:
    moment = parse_time(text, dates)
    return moment is not None and moment.precision_seconds == _DAY_SECONDS


def _clock_of(
    page: Outline, leaf: SplitDate, leaves: list[SplitDate], clocks: list[int]
) -> int | None:
    """Returns the number of the text with the time of day of the date `leaf`; None if none is
    certain. The smallest element around the date that contains times of day must contain only one,
    and no other date of `leaves`.

    leaves: all dates with separate parts, in page order; clocks: the numbers of all texts that are
    times of day, ascending.
    """
    node = leaf.node
    own = bisect_left(leaves, leaf)
    for _ in range(_RECORD_LEVELS):
        node = page.parents[node]
        if node < 0:
            return None
        first, end = page.piece_from[node], page.piece_to[node]
        others = (leaves[one] for one in (own - 1, own + 1) if 0 <= one < len(leaves))
        if any(first <= other.first < end for other in others):
            return None
        found = clocks[bisect_left(clocks, first) : bisect_left(clocks, end)]
        if found:
            return found[0] if len(found) == 1 else None
    return None
