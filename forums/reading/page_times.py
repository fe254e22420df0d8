"""Finds all times on a page: in attributes, in single texts, spread over several texts of a line,
and clock times below day headings."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Set
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import NamedTuple

from lxml.html import HtmlElement

from crawlmgr.text.dates import DateContext, Moment, find_time, parse_time
from crawlmgr.web.pages.outline import Outline
from forums.reading.split_times import CLOCK, split_times
from forums.reading.words import text_roles

MAX_WORDS = 40
_FIELDS = re.compile(r"[|·•;(（]|\s[-–—]\s")
Find = Callable[[str], Moment | None]


def inner_times(text: str, find: Find) -> list[tuple[Moment, str]]:
    """Returns the first times in a text (at most three), in order, as (time, text before it). The
    text before a time begins after the last separator between fields, such as a bar. The search
    ends when the rest contains no word for creation or last reply. Empty if there is no time or the
    text has more than 40 words.

    `find` returns the first time of a text, or None."""
    found: list[tuple[Moment, str]] = []
    words = text.split()
    if len(words) > MAX_WORDS:
        return found
    while words and len(found) < 3 and (span := _span(words, find)) is not None:
        moment, start, end = span
        before = " ".join([*words[:start], re.split(r"\d", words[start], maxsplit=1)[0]])
        found.append((moment, _FIELDS.split(before)[-1].strip(" ,")))
        words = words[end:]
        if not text_roles(" ".join(words)) & {"last", "created"}:
            break
    return found


def time_words(text: str, find: Find) -> tuple[int, int] | None:
    """Returns where the first time of a text begins and ends, as character positions in the text
    with white space collapsed; None if there is none or the text has more than 40 words. `find`
    returns the first time of a text, or None.
    """
    words = text.split()
    span = _span(words, find) if len(words) <= MAX_WORDS else None
    if span is None:
        return None
    start = len(" ".join(words[: span[1]])) + (span[1] > 0)
    return start, len(" ".join(words[: span[2]]))


def _span(words: list[str], find: Find) -> tuple[Moment, int, int] | None:
    """Returns the first time among words, and the range (start, end) of the words that form it;
    None if there is none."""
    moment = find(" ".join(words))
    if moment is None:
        return None
    low, high = 0, len(words) - 1
    while low < high:  # binary search for the last word that the time can begin with
        middle = (low + high + 1) // 2
        if find(" ".join(words[middle:])) == moment:
            low = middle
        else:
            high = middle - 1
    start, low, high = low, low + 1, len(words)
    while low < high:  # binary search for the first word that the time can end with
        middle = (low + high) // 2
        if find(" ".join(words[start:middle])) == moment:
            high = middle
        else:
            low = middle + 1
    return moment, start, low


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


DAY = timedelta(days=1)


LONGEST_TIME_LINE = 220


_TIME_ATTRIBUTE = re.compile(r"time|date|stamp|created|posted|updated|activity|epoch|publish", re.I)


_TOOLTIP_ATTRIBUTE = re.compile(r"title|tool-?tip|tippy|tip$", re.I)


_OFFSET = re.compile(r"\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)? ?([+-])(\d\d):?(\d\d)$")


class Time(NamedTuple):
    """A time on the page. `node` and `piece` are the numbers of its element and of its (first)
    text, `line` is the number of the displayed line (-1 if the element has no text), `moment` the
    time itself. `is_attribute`: it comes from an attribute such as a tooltip. `label` is the text
    before it on its line, `own_label` the text before it in its own piece of text; each may be
    empty."""

    node: int
    piece: int
    line: int
    moment: Moment
    is_attribute: bool
    label: str
    own_label: str = ""


class TimedPage:
    """The times of a page, computed when first used. `offsets`: for each time that an attribute
    gives with a UTC offset, that offset in seconds."""

    outline: Outline
    dates: DateContext

    def __init__(self, shown: Outline, dates: DateContext) -> None:
        self.outline, self.dates = shown, dates
        self.offsets: dict[datetime, int] = {}
        self._found: dict[str, Moment | None] = {}

    @cached_property
    def times(self) -> list[Time]:
        """All times on the page in page order, except those in the text of lines of more than 220
        characters; a time in an attribute precedes those in its element's text."""
        return self._times[0]

    @cached_property
    def date_parts(self) -> Set[int]:
        """The numbers of texts that are parts of dates whose day and month are in separate
        elements."""
        return self._times[1]

    @cached_property
    def _times(self) -> tuple[list[Time], Set[int]]:
        first, end, pieces = self.outline.piece_from, self.outline.piece_to, self.outline.pieces
        told = [self._with_clock(time) for time in self._attribute_times()]
        found = [time for time, _used in told]
        covered = {
            piece
            for time, used in told
            for piece in range(first[time.node], max(end[time.node], time.piece + used))
        }
        split = split_times(self.outline, covered, self.dates)
        found += [
            Time(pieces[at].node, at, pieces[at].line, moment, False, "")
            for at, moment in split.moments.items()
        ]
        found += self._text_times(covered | split.parts)
        return (
            self._below_days(sorted(found, key=lambda time: (time.node, time.piece))),
            split.parts,
        )

    def _below_days(self, times: list[Time]) -> list[Time]:
        """Returns the times of the page, with clock times completed by the day of the heading above
        them, and without the times of the headings themselves."""
        days = self.days
        if not days.clocks:
            return times
        shown = [time for time in times if time.is_attribute or time.piece not in days.headings]
        return [
            (
                time._replace(moment=days.clocks[time.piece])
                if not time.is_attribute and time.piece in days.clocks
                else time
            )
            for time in shown
        ]

    @cached_property
    def days(self) -> Days:
        """The day headings of the page, and the clock times below them."""
        return days_of(self.outline, self.dates)

    def times_in(self, start: int, end: int) -> list[Time]:
        """Returns the times of the page whose nodes are in the range from `start` (included) to
        `end` (excluded)."""
        return self.times[bisect_left(self._time_nodes, start) : bisect_left(self._time_nodes, end)]

    @cached_property
    def _time_nodes(self) -> list[int]:
        return [time.node for time in self.times]

    def _attribute_times(self) -> list[Time]:
        page, found = self.outline, []
        for node, element in enumerate(page.elements):
            names = element.keys()
            if not names or (len(names) == 1 and names[0] in ("class", "href", "id")):
                continue
            moment = self._of_attributes(node, element, names)
            if moment is not None:
                first = page.piece_from[node]
                line = page.pieces[first].line if first < page.piece_to[node] else -1
                found.append(Time(node, first, line, moment, True, self._label(first, line)))
        return [time for time in found if not self._is_inner(time, found)]

    def _with_clock(self, time: Time) -> tuple[Time, int]:
        """Adds the time of day to a date from an attribute, such as the tooltip of "Yesterday" in
        "Yesterday 06:47 AM". It is searched for from the text "Yesterday" on, in the same line. The
        day is the attribute's, as the page may have been made on another day than it was fetched,
        or in another zone. Returns the time and the number of texts used; (`time`, 0) if no time of
        day fits the date.
        """
        if time.moment.precision_seconds < 86_400 or time.line not in self.line_range:
            return time, 0
        moment, used = self._time_at(time.piece, self.line_range[time.line][1], set())
        if moment is None or moment.precision_seconds >= time.moment.precision_seconds:
            return time, 0
        days = (moment.value - time.moment.value) // DAY
        if days and not moment.relative:
            text = " ".join(one.text for one in self.outline.pieces[time.piece : time.piece + used])
            then = replace(self.dates, fetched_at=self.dates.fetched_at - days * DAY)
            moment = find_time(text, then) or moment
        if (
            abs((moment.value - time.moment.value).total_seconds())
            >= 86_400 + moment.precision_seconds
        ):
            return time, 0
        return time._replace(moment=moment, is_attribute=False), used

    def _is_inner(self, time: Time, found: list[Time]) -> bool:
        above = self.outline.parents[time.node]
        at = bisect_left([other.node for other in found], above) if len(found) < 64 else -1
        return 0 <= at < len(found) and found[at].node == above and found[at].moment == time.moment

    def _of_attributes(self, node: int, element: HtmlElement, names: list[str]) -> Moment | None:
        best: Moment | None = None
        for name in names:
            if (
                name in ("datetime", "content", "aria-label")
                or (name == "title" and element.tag != "img")
                or name.startswith("data-")
                and (_TIME_ATTRIBUTE.search(name) or _TOOLTIP_ATTRIBUTE.search(name))
            ):
                value = element.get(name) or ""
            else:
                continue
            if not 4 <= len(value) <= 80:
                continue
            if name in ("title", "aria-label") and value.isdigit():
                continue
            moment = parse_time(value, self.dates)
            if (
                moment is None
                and name == "title"
                and (self.outline.tags[node] != "a" or self._shows_a_time(node))
            ):
                moment = find_time(value, self.dates)
            if moment is not None and (
                best is None
                or moment.precision_seconds < best.precision_seconds
                or name == "datetime"
            ):
                best = moment
                offset = _OFFSET.search(value)
                if offset:
                    seconds = int(offset[2]) * 3600 + int(offset[3]) * 60
                    self.offsets[moment.value] = -seconds if offset[1] == "-" else seconds
        return best

    def _shows_a_time(self, node: int) -> bool:
        """Tells whether a link's text is only a time. A time in its title attribute is then the
        same time, more exact."""
        first, end = self.outline.piece_from[node], self.outline.piece_to[node]
        return (
            end - first == 1 and parse_time(self.outline.pieces[first].text, self.dates) is not None
        )

    @cached_property
    def lines(self) -> list[tuple[int, int]]:
        """The displayed lines of the page in order, each as a range of text numbers: (first text,
        text after the last)."""
        pieces, made, start = self.outline.pieces, [], 0
        for at in range(1, len(pieces) + 1):
            if at == len(pieces) or pieces[at].line != pieces[start].line:
                made.append((start, at))
                start = at
        return made

    @cached_property
    def line_range(self) -> dict[int, tuple[int, int]]:
        """The range of text numbers of each line, (first text, text after the last), by the number
        of the line."""
        return {self.outline.pieces[start].line: (start, end) for start, end in self.lines}

    def _label(self, piece: int, line: int) -> str:
        start = self.line_range.get(line, (piece, piece))[0]
        return " ".join(self.outline.pieces[at].text for at in range(start, piece))[-80:]

    def moment(self, text: str) -> Moment | None:
        """Returns the time in a short text; None if there is none. Results are cached."""
        if text not in self._found:
            self._found[text] = find_time(text, self.dates)
        return self._found[text]

    def _text_times(self, covered: set[int]) -> list[Time]:
        pieces, found = self.outline.pieces, []
        for start, end in self.lines:
            if sum(len(pieces[at].text) for at in range(start, end)) > LONGEST_TIME_LINE:
                continue
            at = start
            while at < end:
                moment, used = (None, 1) if at in covered else self._time_at(at, end, covered)
                if moment is not None:
                    label = " ".join(pieces[before].text for before in range(start, at))[-80:]
                    inner = inner_times(pieces[at].text, self.moment) if used == 1 else []
                    for told, said in inner or [(moment, "")]:
                        found.append(
                            Time(pieces[at].node, at, pieces[at].line, told, False, label, said)
                        )
                    covered.update(range(end, at + used))
                at += used
        return found

    def _time_at(self, at: int, end: int, covered: set[int]) -> tuple[Moment | None, int]:
        """Returns the time that begins in text number `at`, and its number of texts; (None, 1) if
        there is none. "Yesterday" and "10:15" in two successive texts are one time. It extends
        neither into texts in `covered`, which belong to other times, nor beyond its line, which
        ends before text `end`; except that a clock time on the next line may belong to it.
        """
        pieces = self.outline.pieces
        text = pieces[at].text
        if not any(map(str.isdigit, text)) and (len(text) > 30 or not any(map(str.isalpha, text))):
            return None, 1
        end = self._with_clock_below(at, end)
        moment = self.moment(text) if len(text) <= LONGEST_TIME_LINE else None
        used = 1
        if moment is None or moment.precision_seconds >= 86_400:
            joined = text
            for after in range(at + 1, min(end, at + 4)):
                joined += " " + pieces[after].text
                if (
                    after in covered
                    or len(joined) > 80
                    or not any(map(str.isdigit, pieces[after].text))
                    and len(pieces[after].text) > 4
                ):
                    break
                whole = parse_time(joined, self.dates) if moment is None else self.moment(joined)
                if (
                    moment is None
                    and whole is not None
                    and whole == self.moment(pieces[after].text)
                ):
                    break  # text `at` is only a label such as "Last post:" before the time
                if whole is not None and (
                    moment is None or whole.precision_seconds < moment.precision_seconds
                ):
                    moment, used = whole, after - at + 1
        return moment, used

    def _with_clock_below(self, at: int, end: int) -> int:
        """Returns the number of the text before which a time that begins in text `at` must end:
        `end`, where the line ends, or `end + 1` if text `end` is a time of day that belongs to the
        date. It must be in the same element, after a line break, or in the next element if the page
        writes all its dates so."""
        pieces = self.outline.pieces
        if not (end == at + 1 < len(pieces) and CLOCK.fullmatch(pieces[end].text)):
            return end
        inside = pieces[end].node == pieces[at].node
        return end + 1 if inside or self._clocks_apart and self._is_date_beside(at, end) else end

    @cached_property
    def _clocks_apart(self) -> bool:
        """Tells whether the page has elements with a date, each directly followed by an element
        with only a time of day."""
        pieces = self.outline.pieces
        seconds = [
            pieces[at + 1].text for at in range(len(pieces) - 1) if self._is_date_beside(at, at + 1)
        ]
        return bool(seconds) and all(CLOCK.fullmatch(text) for text in seconds)

    def _is_date_beside(self, at: int, other: int) -> bool:
        """Tells whether text number `at` is a date without time of day, and text number `other`, in
        the element directly after it, is a time."""
        texts = [self.outline.pieces[one].text for one in (at, other)]
        if any(len(text) > 40 or not any(map(str.isdigit, text)) for text in texts):
            return False
        mine, its = self._alone_in(at), self._alone_in(other)
        if (
            self.outline.parents[mine] != self.outline.parents[its]
            or self.outline.ends[mine] != its
        ):
            return False
        day, time = parse_time(texts[0], self.dates), parse_time(texts[1], self.dates)
        return (
            day is not None
            and time is not None
            and day.precision_seconds >= 86_400
            and not day.relative
        )

    def _alone_in(self, at: int) -> int:
        """Returns the outermost element that contains text number `at` and no other text."""
        page, node = self.outline, self.outline.pieces[at].node
        while (
            page.parents[node] >= 0
            and page.piece_to[page.parents[node]] - page.piece_from[page.parents[node]] == 1
        ):
            node = page.parents[node]
        return node
