"""Working hours of scheduled items ("mon-fri 22:00-06:00"): parses them, and computes when they
begin next and whether a time is inside. No Django."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from hashlib import blake2b
from zoneinfo import ZoneInfo

DAY_NAMES = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
EVERY_DAY = frozenset(range(7))
DAY_MINUTES = 1440
_TEXT = re.compile(r"(?:([a-z,\- ]+) )?(\d{1,2}):(\d\d) ?(?:-|–|to) ?(\d{1,2}):(\d\d)")
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class OpeningHours:
    """Working hours from `start` (included) to `end` (not included), in minutes since midnight by
    the clock of `zone`; an `end` that is not after `start` is on the following day. `days` are the
    weekdays on which they begin (0 is Monday).
    """

    start: int
    end: int
    days: frozenset[int]
    zone: ZoneInfo

    @property
    def text(self) -> str:
        """The working hours as text, in the format that `parse` reads.

        >>> parse("sun,mon-wed 22:00-6:00", ZoneInfo("UTC")).text
        'mon-wed,sun 22:00-06:00'
        """
        return f"{_days_text(self.days)}{_clock(self.start)}-{_clock(self.end)}"

    def opening(self, day: date) -> tuple[datetime, datetime]:
        """Returns begin and end, in UTC, of the working hours that begin on a local day, whether or
        not it is one of `days`. The times are those of the local clock, also on days when clocks
        change."""
        last = day + _DAY if self.end <= self.start else day
        return _at(day, self.start, self.zone), _at(last, self.end, self.zone)

    def openings(self, since: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Yields the periods of the working hours as pairs (begin, end) in UTC, in ascending order
        and endlessly, beginning with the first period that ends after `since`."""
        day = since.astimezone(self.zone).date() - _DAY
        while True:
            if day.weekday() in self.days:
                opens, closes = self.opening(day)
                if closes > since and closes > opens:
                    yield opens, closes
            day += _DAY


def parse(text: str, zone: ZoneInfo) -> OpeningHours | None:
    """Parses working hours: "01:00-06:00", "mon-fri 22:00-06:00", "sat,sun 00:00-24:00". Returns
    None for an empty text. Raises ValueError with a one-line message."""
    words = " ".join(text.lower().split())
    if not words:
        return None
    found = _TEXT.fullmatch(words)
    if found is None:
        raise ValueError(
            f"hours are written like 01:00-06:00 or mon-fri 22:00-06:00, not {text.strip()[:60]!r}"
        )
    start, end = _minutes(found[2], found[3]), _minutes(found[4], found[5])
    if start >= DAY_MINUTES:
        raise ValueError("hours begin before 24:00")
    return OpeningHours(start, end, _days(found[1]) if found[1] else EVERY_DAY, zone)


def next_allowed(hours: OpeningHours | None, moment: datetime) -> datetime:
    """Returns `moment` if it is inside the working hours, or if there are none (`hours` is None);
    otherwise the time at which they next begin.

    >>> night = parse("22:00-06:00", ZoneInfo("Asia/Shanghai"))
    >>> next_allowed(night, datetime(2026, 5, 1, 9, 30, tzinfo=UTC)).isoformat()
    '2026-05-01T14:00:00+00:00'
    """
    if hours is None:
        return moment
    opens, _closes = next(hours.openings(moment))
    return max(opens, moment)


def is_open(hours: OpeningHours | None, moment: datetime) -> bool:
    """Tells whether `moment` is inside the working hours; True if there are none (`hours` is
    None)."""
    return next_allowed(hours, moment) == moment


def between(
    hours: OpeningHours | None, since: datetime, until: datetime
) -> list[tuple[datetime, datetime]]:
    """Returns the parts of the period from `since` to `until` that are inside the working hours, as
    (begin, end) pairs in order; the whole period if there are none (`hours` is None)."""
    if hours is None:
        return [(since, until)]
    found = []
    for opens, closes in hours.openings(since):
        if opens >= until:
            break
        found.append((max(opens, since), min(closes, until)))
    return found


def jitter(name: str, moment: datetime, most_seconds: int) -> timedelta:
    """Returns a pseudo-random shift for a scheduled start, between -`most_seconds` and
    `most_seconds`: always the same for the same `name` and `moment`, uniformly distributed over
    names and times."""
    digest = blake2b(f"{name} {moment.timestamp():.0f}".encode(), digest_size=8).digest()
    return timedelta(seconds=most_seconds * (2 * int.from_bytes(digest) / 2**64 - 1))


def _clock(minutes: int) -> str:
    """Returns minutes since midnight as HH:MM."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _at(day: date, minutes: int, zone: ZoneInfo) -> datetime:
    """Returns the time in UTC at which the clock of `zone` shows `minutes` after midnight on a day;
    1440 or more is on the next day."""
    day, minutes = day + _DAY * (minutes // DAY_MINUTES), minutes % DAY_MINUTES
    return datetime.combine(day, time(minutes // 60, minutes % 60), zone).astimezone(UTC)


def _minutes(hours: str, minutes: str) -> int:
    """Returns the minutes since midnight of a clock time up to 24:00. Raises ValueError for any
    other text."""
    found = 60 * int(hours) + int(minutes)
    if int(minutes) > 59 or found > DAY_MINUTES:
        raise ValueError(f"there is no time {hours}:{minutes}")
    return found


def _days(text: str) -> frozenset[int]:
    """Returns the weekdays in a text like "mon-wed,sun" (0 is Monday). Raises ValueError for an
    unknown name."""
    found: set[int] = set()
    for part in text.replace(",", " ").split():
        first, dash, last = part.partition("-")
        last = last if dash else first
        names = [name for name in (first, last) if name not in DAY_NAMES]
        if names:
            raise ValueError(f"days are {', '.join(DAY_NAMES)}, not {names[0][:20]!r}")
        begin, end = DAY_NAMES.index(first), DAY_NAMES.index(last)
        found |= {(begin + step) % 7 for step in range((end - begin) % 7 + 1)}
    return frozenset(found)


def _days_text(days: frozenset[int]) -> str:
    """Returns weekdays as text such as "mon-wed,sun " (ending in a space), with a range for 3 or
    more days; "" for all seven."""
    if days == EVERY_DAY:
        return ""
    parts, chosen = [], sorted(days)
    while chosen:
        row = [day for place, day in enumerate(chosen) if day == chosen[0] + place]
        ends = (DAY_NAMES[row[0]], DAY_NAMES[row[-1]])
        parts.append(",".join(DAY_NAMES[day] for day in row) if len(row) < 3 else "-".join(ends))
        chosen = chosen[len(row) :]
    return ",".join(parts) + " "
