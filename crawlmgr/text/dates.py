"""Parses times as forums write them, in a dozen languages: absolute ones, relative ones ("5 hours
ago"), and dates without a year.

Parsing has two steps: `dates_parsing` splits a text into the parts of a time (cached, since forums
repeat their times), and this module computes the point in time from these parts and from what is
known about the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from datetime import timezone as fixed_zone

from crawlmgr.text.dates_parsing import TimeParts, inner_parts, whole_parts
from crawlmgr.text.dates_words import DAY, MONTH, by_letters
from crawlmgr.text.dates_zones import zone

LONGEST_INSIDE = 300
_EPOCH_FIRST = datetime(1995, 1, 1, tzinfo=UTC).timestamp()
_NEXT_DAY = timedelta(days=1)
_CLOCK_SKEW = timedelta(minutes=5)  # by which a site's clock may be ahead of ours


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time (aware, UTC), and the precision in seconds with which the page gives it.

    The true time of an absolute one is in [value, value + precision_seconds), so that a date
    without a clock time has the beginning of its day as value. A `relative` one, such as "5 hours
    ago", was counted back from the time of fetching; its true time is in (value -
    precision_seconds, value]. "Yesterday 12:30" is not relative, because it gives the minute.
    """

    value: datetime
    precision_seconds: int
    relative: bool = False


@dataclass(frozen=True, slots=True)
class DateContext:
    """What is known about the page on which a time is written; needed to compute the point in time
    that the text means.

    `timezone` is an IANA name or an offset like "+08:00"; it is not used for a time with an offset
    of its own. `day_first` is True if the site writes the day before the month in dates like
    03/04/2014, False if it writes the month first, None if that is not known. `newest` is the
    latest time that a date without a year may mean: in a list sorted newest first, the time of the
    entry above. `language` is the one that the page declares, as a tag in lower case ("pt-br").
    """

    fetched_at: datetime
    timezone: str = "UTC"
    day_first: bool | None = None
    newest: datetime | None = None
    language: str = ""


def parse_time(text: str, context: DateContext) -> Moment | None:
    """Parses a text that consists of a time, and returns the point in time; None if it is anything
    else.

    Words like "Posted:" or "发表于" may come before the time. Epoch seconds (10 digits) and
    milliseconds (13) are accepted, since data attributes hold them. A call takes microseconds;
    texts that were parsed before are cached.

    >>> context = DateContext(datetime(2026, 11, 21, 4, 0, tzinfo=UTC), timezone="Asia/Shanghai")
    >>> moment = parse_time("昨天 12:30", context)
    >>> moment.value.isoformat(), moment.precision_seconds
    ('2026-11-20T04:30:00+00:00', 60)
    >>> parse_time("17 replies", context) is None
    True
    """
    parts = whole_parts(text, context.language)
    if parts is None:
        parts = _in_other_languages(text, context.language)
    return None if parts is None else _resolve(parts, context)


def find_time(text: str, context: DateContext) -> Moment | None:
    """Returns the first time inside a longer text; None if there is none in its first 300
    characters.

    Stricter than `parse_time`: a date needs its year or a clock time, a clock time needs its date,
    and a duration needs its "ago", so that "12:30 in the game" and "5 minutes of fame" are not
    taken for times.

    >>> context = DateContext(datetime(2026, 11, 21, 4, 0, tzinfo=UTC))
    >>> find_time("by anna » Tue Mar 04, 2014 10:22 pm", context).value.isoformat()
    '2014-03-04T22:22:00+00:00'
    """
    moment = parse_time(text, context)
    if moment is not None:
        return moment
    parts = inner_parts(text[:LONGEST_INSIDE], context.language)
    return None if parts is None else _resolve(parts, context)


_NUMERIC = re.compile(
    r"(?<![\d./:-])(\d{1,2})([-/.])(\d{1,2})\2((?:19|20)\d\d|\d\d)(?![\d/-]|\.\d)"
)


def decide_day_first(texts: Iterable[str]) -> bool | None:
    """Decides whether the day comes before the month in the numeric dates of one site; None without
    evidence.

    The strongest evidence is a number above 12 in one of the two positions; dates that contradict
    the majority are tolerated up to a tenth of its number. Otherwise, if `texts` come from a sorted
    list, the order is taken with which the dates rise or fall more steadily.

    >>> decide_day_first(["03/04/2014", "25/04/2014"]), decide_day_first(["03/04/2014"])
    (True, None)
    """
    dates = [(int(m[1]), int(m[3]), int(m[4])) for text in texts if (m := _NUMERIC.search(text))]
    day_first = sum(first > 12 >= second for first, second, _ in dates)
    month_first = sum(second > 12 >= first for first, second, _ in dates)
    if day_first or month_first:
        if min(day_first, month_first) * 10 > max(day_first, month_first):
            return None
        return day_first > month_first
    both = [
        steadiness([_ordinal(d, True) for d in dates]),
        steadiness([_ordinal(d, False) for d in dates]),
    ]
    return None if both[0] == both[1] else both[0] > both[1]


def steadiness(values: list[int]) -> float:
    """Returns in [0, 1] how steadily values rise or fall, 1 for a sorted list: the share of
    neighbouring pairs that go in the more common direction; pairs of equal values count for both
    directions."""
    pairs = list(zip(values, values[1:], strict=False))
    if not pairs:
        return 1.0
    return max(sum(a >= b for a, b in pairs), sum(a <= b for a, b in pairs)) / len(pairs)


def _ordinal(parts: tuple[int, int, int], day_first: bool) -> int:
    """Returns a number that is greater for later dates; `parts` are (first number, second number,
    year), and `day_first` tells whether the first number is the day."""
    first, second, year = parts
    day, month = (first, second) if day_first else (second, first)
    return (year * 12 + month) * 31 + day


def _resolve(parts: TimeParts, context: DateContext) -> Moment | None:
    """Returns the point in time that the parts of a time mean on a page; None if it does not exist
    (31 February), is incomplete, or, given as epoch seconds, cannot be the time of a post."""
    try:
        if parts.epoch is not None:
            return _resolve_epoch(parts.epoch, context)
        if parts.ago_seconds is not None:
            value = context.fetched_at.astimezone(UTC) - timedelta(seconds=parts.ago_seconds)
            return Moment(value, parts.precision_seconds, relative=True)
        return _resolve_calendar(parts, context)
    except (ValueError, OverflowError):
        return None


def _resolve_epoch(seconds: float, context: DateContext) -> Moment | None:
    """Returns the point in time of epoch seconds; None before 1995 or more than a day after the
    page was fetched."""
    if not _EPOCH_FIRST <= seconds <= context.fetched_at.timestamp() + DAY:
        return None
    return Moment(datetime.fromtimestamp(seconds, UTC), 1)


def _resolve_calendar(parts: TimeParts, context: DateContext) -> Moment | None:
    """Returns the point in time of a calendar date with or without clock time, in the page's time
    zone unless the text gives an offset. None if the parts make no day, such as a month without a
    year; raises ValueError for a date that does not exist (31 February)."""
    local_zone = zone(context.timezone)
    local_now = context.fetched_at.astimezone(local_zone)
    limit = local_now + _NEXT_DAY
    if context.newest is not None:
        limit = min(limit, context.newest.astimezone(local_zone) + _NEXT_DAY)
    day, precision = _calendar_day(parts, local_now.date(), limit.date(), context.day_first)
    if day is None:
        return None
    hour, minute, second = parts.clock or (0, 0, 0)
    value = datetime(day.year, day.month, day.day, second=second, minute=minute, hour=hour % 24)
    value += timedelta(days=hour // 24)
    if parts.clock is not None:
        precision = parts.clock_precision_seconds
    zone_of_text = local_zone
    if parts.offset_minutes is not None:
        zone_of_text = fixed_zone(timedelta(minutes=parts.offset_minutes))
    placed = value.replace(tzinfo=zone_of_text).astimezone(UTC)
    back = _days_back(parts)
    if back and placed > context.fetched_at + _CLOCK_SKEW:
        placed = (value - timedelta(days=back)).replace(tzinfo=zone_of_text).astimezone(UTC)
    return Moment(placed, precision)


def _days_back(parts: TimeParts) -> int:
    """Returns after how many days a time without a date comes again: 1 for a clock time, 7 for a
    weekday; 0 for a date. In the future, such a time means the one before."""
    if parts.mark == "clock":
        return 1
    return 7 if parts.weekday and parts.month is None and parts.first is None else 0


def _calendar_day(
    parts: TimeParts, today: date, limit: date, day_first: bool | None
) -> tuple[date | None, int]:
    """Returns the date that the parts of a time mean, and its precision in seconds (a day, or a
    month if the day is missing). The date is None if the parts make no day, for example a month
    without a year; raises ValueError for a date that does not exist. `limit` is the latest date
    possible for a date without a year."""
    if parts.day_offset is not None:
        return today + timedelta(days=parts.day_offset), DAY
    if parts.first is not None and parts.second is not None:
        return _numeric_day(parts, limit, day_first), DAY
    if parts.month is None:
        if parts.weekday is None:
            return None, DAY
        return today - timedelta(days=(today.isoweekday() - parts.weekday) % 7), DAY
    if parts.day is None:
        return (date(parts.year, parts.month, 1), MONTH) if parts.year else (None, MONTH)
    if parts.year is not None:
        return date(parts.year, parts.month, parts.day), DAY
    return _without_year(parts.month, parts.day, parts.weekday, limit), DAY


def _numeric_day(parts: TimeParts, limit: date, day_first: bool | None) -> date | None:
    """Returns the date of two numbers like 03/04/2014; None if there is no such date. The order of
    day and month follows from `day_first` if the site's order is known, otherwise from the numbers,
    from the latest possible date `limit`, or from the usual order for the separator."""
    first, second = parts.first or 0, parts.second or 0
    if parts.year is None and parts.mark == "-":
        day_first = (
            first > 12 if day_first is None else day_first
        )  # 6-25 is June 25th: Chinese forums write the month first
    if first > 12 or second > 12:
        day_first = first > 12
    readings = [
        _numeric_reading(parts, day, month, limit)
        for day, month in ((first, second), (second, first))
    ]
    if day_first is None and None not in readings:
        late = [reading is not None and reading > limit for reading in readings]
        if late[0] != late[1]:
            day_first = late[1]
    if day_first is None:
        day_first = parts.mark == "." or (
            not parts.half and (parts.mark == "-" or parts.clock is not None)
        )
    return readings[0] if day_first else readings[1]


def _numeric_reading(parts: TimeParts, day: int, month: int, limit: date) -> date | None:
    """Returns the date with this day and month, and with the year of `parts`; if `parts` has no
    year, the latest such date up to `limit`. None if there is no such date."""
    try:
        if parts.year is None:
            return _without_year(month, day, parts.weekday, limit)
        year = parts.year if parts.year > 99 else parts.year + (2000 if parts.year < 70 else 1900)
        return date(year, month, day)
    except ValueError:
        return None


def _without_year(month: int, day: int, weekday: int | None, limit: date) -> date:
    """Returns the latest date with this month and day up to `limit`; with a weekday (1 to 7, Monday
    is 1) the latest one within twelve years that falls on it, if there is one. Raises ValueError
    for a day that no year has."""
    fitting: list[date] = []
    for year in range(limit.year, limit.year - 12, -1):
        try:
            candidate = date(year, month, day)
        except ValueError:
            continue  # 29 February, and this year has none
        if candidate <= limit:
            fitting.append(candidate)
    if not fitting:
        raise ValueError("no such day")
    same = [candidate for candidate in fitting if candidate.isoweekday() == weekday]
    return same[0] if same else fitting[0]


# Texts for which other languages than the page's are tried, which their letters suggest.
_MARKS = r"\u0300-\u036f\u200b-\u200f\u0900-\u0eff\u1000-\u109f\u135d-\u135f\u1780-\u17ff"
_ASK = re.compile(rf"(?=.*\d)[\w\s.,:/’'{_MARKS}-]{{6,40}}")
_DATED = re.compile(r"\b(?:19|20)\d\d\b|\b\d{1,2}:\d\d\b")
_LETTERS = re.compile(rf"[^\W\d_](?:[^\W\d_]|[{_MARKS}])*")
_MOST_WORDS = 4


def _in_other_languages(text: str, language: str) -> TimeParts | None:
    """Parses a text with unknown words in the languages that its letters suggest, for pages that
    declare none or another one. Returns None if it is no time in any of them."""
    if text.isascii() or not _ASK.fullmatch(text):
        # ASCII letters suggest no language; skipping them avoids misreading titles as dates
        return None
    others = by_letters(text)
    if others != ("th",) and not 1 <= len(_LETTERS.findall(text)) <= _MOST_WORDS:
        return None
    if len(others) > 1 and max(text) < "\u0370" and not _DATED.search(text):
        return None  # many languages have Latin letters with accents
    return next(
        (parts for one in others if one != language and (parts := whole_parts(text, one))), None
    )
