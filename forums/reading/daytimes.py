"""Clock times below day headings such as "Monday, 12 May": each gets the date of the heading above
it."""

from __future__ import annotations

import re
from typing import NamedTuple

from crawlmgr.text.dates import DateContext, Moment, parse_time
from crawlmgr.web.pages.outline import Outline

_CLOCK = re.compile(r"\d{1,2}[:.]\d{2}(?::\d{2})?(?:\s*[ap]\.?m\.?)?", re.I)
_HEADINGS = frozenset("h1 h2 h3 h4 h5 h6 th dt caption".split())
_DAY_SECONDS = 86_400


class Days(NamedTuple):
    """The day headings and clock times of a page. `headings` are the indices, in the page's list of
    texts, of the day headings; `clocks` maps the index of each clock time below a heading to the
    full time."""

    headings: frozenset[int]
    clocks: dict[int, Moment]


def days_of(page: Outline, dates: DateContext) -> Days:
    """Returns the day headings of a page (headings or wide table cells with a date and at least one
    digit) and the clock times below them. Both are empty if the page has fewer than two clock
    times, or if a clock time comes before the first heading or does not form a full time with it:
    then the page is not grouped by days."""
    none = Days(frozenset(), {})
    if sum(1 for piece in page.pieces if _CLOCK.fullmatch(piece.text)) < 2:
        return none
    clocks: dict[int, Moment] = {}
    headings, day = set(), ""
    for at, (text, node, _) in enumerate(page.pieces):
        if _CLOCK.fullmatch(text):
            moment = parse_time(f"{day} {text}", dates) if day else None
            if moment is None or moment.precision_seconds >= _DAY_SECONDS:
                return none
            clocks[at] = moment
        elif 4 < len(text) <= 48 and any(map(str.isdigit, text)) and _is_heading(page, node):
            named = parse_time(text, dates)
            if named is not None and named.precision_seconds == _DAY_SECONDS:
                day = text
                headings.add(at)
    return Days(frozenset(headings), clocks)


def _is_heading(page: Outline, node: int) -> bool:
    """Tells whether a node is a heading, or a table cell that spans several columns, or a child of
    one."""
    above = [at for at in (node, page.parents[node]) if at >= 0]
    wide = any(
        page.tags[at] == "td" and (page.elements[at].get("colspan") or "1") != "1" for at in above
    )
    return wide or any(page.tags[at] in _HEADINGS for at in above)
