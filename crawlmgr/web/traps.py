"""Recognises crawler traps (endless sets of generated addresses) by the form of an address."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CALENDAR = re.compile(
    r"(?:^|[/_.?&=\-])(?:calendar|kalender|calendrier|calendario|agenda|ical|datebook|rili|日历)(?:$"
    r"|[^a-z])"
    r"|/(?:day|week|month|year)\.(?:php|asp|aspx|cgi|pl)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<!\d)((?:1[89]|2\d|3\d)\d\d)(?:(?:0[1-9]|1[0-2])(?:[0-3]\d)?)?(?!\d)")


@dataclass(frozen=True, slots=True)
class TrapLimits:
    """Limits by which an address counts as a trap.

    A trap has a path segment that occurs `max_segment_repeats` times, more than `max_depth` path
    segments, or more than `max_length` characters. If `current_year` is set, calendar pages more
    than `calendar_years` away from it are traps; if it is None, every calendar page with a year in
    its address is.
    """

    max_segment_repeats: int = 3
    max_depth: int = 20
    max_length: int = 2000
    current_year: int | None = None
    calendar_years: int = 1


DEFAULT_LIMITS = TrapLimits()


def trap_reason(url: str, limits: TrapLimits = DEFAULT_LIMITS) -> str | None:
    """Returns why an address looks like a trap: "too_long", "too_deep" (too many path segments),
    "repeated_segment" or "calendar"; None if it does not. `url` must be canonical."""
    if len(url) > limits.max_length:
        return "too_long"
    start = url.find("/", 8)
    tail = url[start:] if start > 0 else "/"
    path = tail.partition("?")[0]
    if path.count("/") >= min(limits.max_segment_repeats, limits.max_depth):
        segments = [segment for segment in path.split("/") if segment]
        if len(segments) > limits.max_depth:
            return "too_deep"
        if any(segments.count(segment) >= limits.max_segment_repeats for segment in set(segments)):
            return "repeated_segment"
    years = _YEAR.findall(
        tail
    )  # searched for before `_CALENDAR`, because that is faster and few addresses contain a year
    if years and _CALENDAR.search(tail):
        near = limits.current_year
        if near is None or any(abs(int(year) - near) > limits.calendar_years for year in years):
            return "calendar"
    return None
