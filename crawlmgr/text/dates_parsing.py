"""First step of parsing a time: splits its text, in which words have been replaced by codes
(`dates_codes`), into year, month, day, clock time and so on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from crawlmgr.text.dates_codes import canonical
from crawlmgr.text.dates_words import DAY, MONTH, PHRASES, SHORT_UNITS, WORD, YEAR, words_of

MINUTE, HOUR = 60, 3600


@dataclass(frozen=True, slots=True)
class TimeParts:
    """The parts of a time that were found in a text, before the point in time is computed; None for
    missing parts.

    `first` and `second` are two numbers that are day and month in an unknown order, separated by
    `mark`. `day_offset` is the number of days from today (-1 for yesterday), `weekday` is 1 for
    Monday. `clock` is (hour, minute, second), `half` "A" or "P" for am and pm, `offset_minutes` the
    offset from UTC written beside it. `ago_seconds` is the duration in "5 hours ago",
    `precision_seconds` its smallest unit. `epoch` is the time in seconds since 1970.
    """

    year: int | None = None
    month: int | None = None
    day: int | None = None
    first: int | None = None
    second: int | None = None
    mark: str = ""
    day_offset: int | None = None
    weekday: int | None = None
    clock: tuple[int, int, int] | None = None
    half: str = ""
    clock_precision_seconds: int = MINUTE
    offset_minutes: int | None = None
    ago_seconds: float | None = None
    precision_seconds: int = 0
    epoch: float | None = None


LONGEST_WHOLE = 90
# a text without any digit, such as "less than a minute ago", is a time only if it has at most this
# many characters
_LONGEST_WORDS = 40
_MEASURE = re.compile(r"\d+(?: [a-z]| ?[A-Z])")  # measures such as 100 m or 3D, which are not times
_PARTS_OF_PHRASES = frozenset(WORD.findall(" ".join(PHRASES))) | {"t", "p", "r"}
_DIGIT = re.compile(r"\d")
_EPOCH = re.compile(r"\d{10}(?:\.\d{1,6})?|\d{13}")


_YEAR4 = r"(?P<year>(?:19|20)\d\d)"
_YEAR2 = r"(?P<year>(?:19|20)\d\d(?!\d)|['’]\d\d)"
# A two-digit year as in 19 Sep 26, but not in 19 Sep 26:10 or 19 Sep 26 replies: the end, a
# punctuation mark or a clock time must follow.
_SHORT_YEAR = (
    r"(?P<year>[0-3]\d|9[5-9])(?= *(?:$|[,;|()\[\]·•@-]|[EX] ?\d|\d{1,2}(?: ?[:.H]|"
    r" ?[AP](?!\w))))(?! ?[:.]\d)"
)
# (character, expression): the expression is only tried on texts that contain the character ("": on
# all)
_DATES = tuple(
    (sign, re.compile(pattern))
    for sign, pattern in (
        (
            "",
            (
                rf"(?<![\d.]){_YEAR4}(?P<mark>[-/.]) ?(?P<month>\d{{1,2}})(?P=mark)"
                r" ?(?P<day>\d{1,2})(?!\d|\.\d)\.?"
            ),
        ),
        (
            "M",
            (
                rf"(?<![\d.]){_YEAR4}Y?[ ]{{0,2}}[-,./]?[ ]?M(?P<month>\d\d)["
                r" ./-]*(?P<day>\d{1,2})(?![\d:])D?"
            ),
        ),
        (
            "M",
            rf"(?<![\d.]){_YEAR4}[ .,-]+(?P<day>\d{{1,2}})(?!\d)[ .-]*M(?P<month>\d\d)"
            r"(?![\d:]|[ .,/-]*(?:19|20)\d\d(?!\d))",
        ),
        ("M", rf"(?<![\d.:])(?P<day>\d{{1,2}}), ?M(?P<month>\d\d)[ .,]*{_YEAR4}(?!\d)"),
        ("M", rf"(?<![\w.:])(?P<day>\d{{1,2}})[ ./-]*M(?P<month>\d\d)[ .,/-]*{_SHORT_YEAR}"),
        ("M", rf"M(?P<month>\d\d)[. ]*(?P<day>\d{{1,2}})(?![\d:])D?\.? ?[, ] ?{_SHORT_YEAR}"),
        (
            "M",
            r"(?<![\d.:])(?P<day>\d{1,2})(?!\d)[ .]*(?:E )?[ ./-]*M(?P<month>\d\d)[ .,/-]*"
            rf"(?:{_YEAR2})?(?![\d:])Y?",
        ),
        (
            "M",
            (
                r"M(?P<month>\d\d)[. ]*(?P<day>\d{1,2})(?![\d:])D?\.?(?: ?[, ]"
                rf" ?(?:{_YEAR2})(?![\d:]))?"
            ),
        ),
        ("M", rf"M(?P<month>\d\d)[., ]*{_YEAR2}(?![\d:])"),
        ("Y", rf"(?<![\d.]){_YEAR4}Y ?M(?P<month>\d\d)(?! ?\d)"),
        (
            "",
            r"(?<![\d./-])(?P<first>\d{1,2})(?P<mark>[-/.]) ?(?P<second>\d{1,2})(?P=mark) ?"
            r"(?P<year>(?:19|20)\d\d|\d\d)(?![\d/-]|\.\d)",
        ),
        ("-", r"(?<![\d./-])(?P<year>\d\d)-(?P<month>\d{1,2})-(?P<day>\d)(?![\d-])"),
        ("-", r"(?<![\d./:-])(?P<first>\d{1,2})(?P<mark>-)(?P<second>\d{1,2})(?![\d/.:-])"),
        ("/", r"(?<![\d./:-])(?P<first>\d{1,2})(?P<mark>/)(?P<second>\d{1,2})(?![\d/.:-])"),
        (".", r"(?<![\d./:-])(?P<first>\d{1,2})(?P<mark>\.)(?P<second>\d{1,2})\.(?![\d/:-])"),
        ("R", r"R(?P<day_offset>-?\d);"),
        ("W", r"(?:V ?)?W(?P<weekday>\d)"),
    )
)
_CLOCK = re.compile(
    r"(?:(?P<before>[AP])[ ,.]{0,2})?(?<![\d.,:/-])"
    r"(?:(?P<hour>\d{1,2})(?: ?H ?| ?: ?|(?P<dot>\.))(?P<minute>\d\d|\d(?= ?I))(?!\d)"
    r"(?:(?: ?(?:I|U60;) ?|:|(?(dot)\.|:))(?P<second>\d\d)(?!\d)(?:[.,]\d+)?)?(?(dot)(?= ?X))"
    r"(?: ?[IS])?(?: ?X| ?H(?! ?\d))?(?: ?(?P<after>[AP])(?!\w))?"
    r"|(?P<whole>\d{1,2})(?: ?(?P<half>[AP])(?!\w)| ?X| ?H(?! ?\d))|K(?P<named>\d\d))"
    r"(?P<zone> ?\(?(?:(?:Z0;)? ?(?P<sign>[+-])"
    r" ?(?P<oh>\d{1,2})(?::?(?P<om>\d\d))?(?![\d:])|Z(?P<zm>-?\d+);)\)?)?"
)
# a clock time with dots, after a date with its year or a day: 11.10.2026 18.56, eilen 11.50
_DOTTED_CLOCK = re.compile(r"(?:[01]?\d|2[0-3])\.[0-5]\d(?:\.[0-5]\d)?(?![\d.]|\s*[€$£%])")
# value of `TimeParts.mark` for a short date that counts only with a clock time: 3/4 9:31PM is a
# date, 3/4 alone a fraction
_NEEDS_CLOCK = "/ "
_CTIME = re.compile(r"(M\d\d \d{1,2}) (\d{1,2}:\d\d(?::\d\d)?(?: Z-?\d+;)?) ((?:19|20)\d\d)\b")
_COMPACT = re.compile(r"\b((?:19|20)\d\d)(\d\d)(\d\d)[ T](\d\d)(\d\d)(\d\d)?")
_BETWEEN = re.compile(
    r"(?:[\s,.;|()\[\]·•@-]|(?<=\s)(?:::?|[/»~])(?=\s))*(?:(?:W\d|E|X)[\s,.;|()·•-]*)*"
)
_REST = re.compile(r"(?:[\s,.;:()\[\]|·•»«~<>*'\"@-]|W\d|E|L|X|V|Y)*")
_NUMBER = r"(?:(?P<n{0}>\d{{1,4}}(?:[.,]5)?)|(?P<w{0}>[EBF](?: ?E)?)) ?"
_UNIT = r"(?:U(?P<u{0}>\d+);|(?P<c{0}>[HIDYS]|O))\.?"
_PAIR = (
    _NUMBER.format(1) + _UNIT.format(1) + r"(?:[ ,]*" + _NUMBER.format(2) + _UNIT.format(2) + ")?"
)
_AGO = (
    re.compile(_PAIR + r"[ ,]*G"),
    re.compile(r"G ?" + _PAIR),
    re.compile(_UNIT.format(1) + r" ?" + _NUMBER.format(1) + "G"),
    re.compile(r"(?P<v1>V) ?" + _UNIT.format(1)),
)
_BARE_AGO = (re.compile(_PAIR), re.compile(_UNIT.format(1) + " ?G"))
_SHORT = re.compile(r"(\d{1,3})(s|m|h|d|w|mo|y)")
_LETTER_UNITS = {"S": 1, "I": MINUTE, "H": HOUR, "D": DAY, "O": MONTH, "Y": YEAR}


@lru_cache(maxsize=16384)
def whole_parts(text: str, language: str = "") -> TimeParts | None:
    """Returns the parts of a text in a language that consists of a time; None for any other text.
    Cached with bounded memory, since forums repeat their times."""
    text = text.strip()
    if len(text) > (LONGEST_WHOLE if _DIGIT.search(text) else _LONGEST_WORDS) or _MEASURE.fullmatch(
        text
    ):
        return None
    words = words_of(language)
    if words.is_ours and text.isascii() and not _all_known(text, words.codes):
        return None
    if _EPOCH.fullmatch(text):
        return TimeParts(epoch=float(text) if len(text) != 13 else int(text) / 1000)
    short = _SHORT.fullmatch(text)
    if short:
        unit = SHORT_UNITS[short.group(2)]
        return TimeParts(ago_seconds=float(int(short.group(1)) * unit), precision_seconds=unit)
    coded = canonical(text, words, language)
    if "?" in coded:
        return None
    return _read(coded, whole=True)


def _all_known(text: str, codes: Mapping[str, str]) -> bool:
    """Tells whether each word of an ASCII text is known, or a part of a phrase: a cheap check that
    most titles fail."""
    return all(word in codes or word in _PARTS_OF_PHRASES for word in WORD.findall(text.lower()))


@lru_cache(maxsize=4096)
def inner_parts(text: str, language: str = "") -> TimeParts | None:
    """Returns the parts of the first time inside a longer text in a language; None if there is
    none."""
    if not _DIGIT.search(text):
        return None
    return _read(canonical(text, words_of(language), language), whole=False)


def _read(coded: str, whole: bool) -> TimeParts | None:
    """Returns the parts of the first time in a text whose words have been replaced by codes; None
    if there is none. With `whole`, the text must contain nothing else."""
    coded = _CTIME.sub(r"\1, \3 \2", coded)
    coded = _COMPACT.sub(lambda m: "{}-{}-{} {}:{}:{}".format(*m.groups(default="00")), coded)
    ago = _read_ago(coded, whole)
    if ago is not None:
        return ago
    for sign, pattern in _DATES:
        if sign not in coded:
            continue
        for found in pattern.finditer(coded):
            time = _dated(found)
            if time is None:
                continue
            time = _with_clock(coded, found, time, whole)
            if time is not None:
                return time
    if not whole:
        return None
    clock = _CLOCK.fullmatch(coded.strip())
    if clock is None or clock.group("named") or clock.group("whole"):
        return None
    return _timed(TimeParts(day_offset=0, mark="clock"), clock)


def _dated(found: re.Match[str]) -> TimeParts | None:
    """Returns the date in one match of an expression in `_DATES`; None if the numbers cannot be a
    date."""
    parts = found.groupdict()
    if parts.get("day_offset") is not None:
        return TimeParts(day_offset=int(parts["day_offset"]))
    if parts.get("weekday") is not None:
        return TimeParts(weekday=int(parts["weekday"]))
    year = _full_year(parts.get("year"))
    if parts.get("first") is not None:
        first, second = int(parts["first"]), int(parts["second"])
        if not (1 <= first <= 31 and 1 <= second <= 31 and min(first, second) <= 12):
            return None
        if (
            parts.get("year")
            and len(parts["year"]) == 2
            and parts["mark"] == "."
            and len(found.group()) < 8
        ):
            return None  # short dotted numbers such as 1.2.30 are version numbers
        if not year and parts["mark"] == "/" and len(found.group()) < 5:
            return TimeParts(first=first, second=second, mark=_NEEDS_CLOCK)
        return TimeParts(year=year, first=first, second=second, mark=parts["mark"])
    month = int(parts["month"])
    day = int(parts["day"]) if parts.get("day") else None
    if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
        return None
    return TimeParts(year=year, month=month, day=day, mark=parts.get("mark") or "")


def _full_year(text: str | None) -> int | None:
    """Returns a year with its century (two digits: 00 to 69 are in the 21st, 70 to 99 in the 20th);
    None for a missing one."""
    if not text:
        return None
    number = int(text.strip("'’"))
    return number if number > 99 else number + (2000 if number < 70 else 1900)


def _with_clock(coded: str, found: re.Match[str], time: TimeParts, whole: bool) -> TimeParts | None:
    """Returns `time`, the date matched by `found` in the text `coded` (see `canonical`), completed
    by a clock time or weekday next to it. None if the clock time is impossible or the parts are too
    few to be a time. With `whole`, also None if the text contains anything but a date, a clock
    time, a weekday, punctuation and labels such as "Posted".
    """
    gap = _BETWEEN.match(coded, found.end())
    after = gap.end() if gap else found.end()
    clock = _CLOCK.match(coded, after)
    told = time.year is not None or whole and time.day_offset is not None
    if clock is None and told and after > found.end():
        dotted = _DOTTED_CLOCK.match(coded, after)
        if dotted is not None:
            coded = coded[:after] + dotted.group().replace(".", ":") + coded[dotted.end() :]
            clock = _CLOCK.match(coded, after)
    start, end = found.start(), found.end()
    if clock is not None:
        end = clock.end()
    else:
        for clock in _CLOCK.finditer(coded, 0, start):
            gap = _BETWEEN.fullmatch(coded, clock.end(), start)
            if gap is not None:
                start = clock.start()
                break
        else:
            clock = None
    if clock is not None:
        timed = _timed(time, clock)
        if timed is None:
            return None
        time = timed
    if whole:
        rest = coded[:start] + " " + coded[end:]
        weekday = re.search(r"W(\d)", rest)
        if weekday and time.weekday is None:
            time = replace(time, weekday=int(weekday.group(1)))
        if _REST.fullmatch(rest) is None:
            return None
        return time if _enough_whole(time) else None
    weekday = re.search(r"W(\d)[ ,.]*$", coded[:start])
    if weekday and time.weekday is None:
        time = replace(time, weekday=int(weekday.group(1)))
    return time if _enough_inside(time) else None


def _enough_whole(time: TimeParts) -> bool:
    """Tells whether a text that is only `time` counts as a time: a weekday or a date like 3/4 does
    not without a clock time."""
    if time.mark == _NEEDS_CLOCK:
        return time.clock is not None
    if time.day_offset is not None:
        return True
    if time.weekday is not None and time.month is None and time.first is None:
        return time.clock is not None
    return True


def _enough_inside(time: TimeParts) -> bool:
    """Tells whether a date inside other text is complete enough to be a time: it needs its year or
    a clock time."""
    if time.clock is not None:
        return True
    has_day = time.day is not None or time.first is not None
    return has_day and time.year is not None


def _timed(time: TimeParts, clock: re.Match[str]) -> TimeParts | None:
    """Returns `time` with the hour, minute, second and UTC offset of the match `clock` added; None
    if these are not a time of day."""
    parts = clock.groupdict()
    half = parts["before"] or parts["after"] or parts["half"] or ""
    if parts["named"]:
        hour, minute, second, half = int(parts["named"]), 0, 0, ""
    else:
        hour = int(parts["hour"] or parts["whole"])
        minute, second = int(parts["minute"] or 0), int(parts["second"] or 0)
    if hour > 24 or minute > 59 or second > 60 or (hour == 24 and minute):
        return None
    if half == "P" and hour < 12:
        hour += 12
    elif half == "A" and hour == 12:
        hour = 0
    offset = None
    if parts["oh"]:
        offset = (int(parts["oh"]) * 60 + int(parts["om"] or 0)) * (
            -1 if parts["sign"] == "-" else 1
        )
        if abs(offset) > 14 * 60:
            return None
    elif parts["zm"]:
        offset = int(parts["zm"])
    precision = 1 if parts["second"] else MINUTE
    return replace(
        time,
        clock=(hour, minute, min(second, 59)),
        half=half,
        clock_precision_seconds=precision,
        offset_minutes=offset,
    )


def _read_ago(coded: str, whole: bool) -> TimeParts | None:
    """Parses a text like "2 hours ago", in either word order; None if it is none. If `whole` is
    False, other text may surround it. A number of days with a clock time ("2 days ago, 12:30")
    gives that day and time. `coded`: the text as returned by `canonical`."""
    if "G" not in coded and "V" not in coded and not whole:
        return None
    if coded.strip(" J.!") == "" and "J" in coded:
        return TimeParts(ago_seconds=0.0, precision_seconds=MINUTE)
    for pattern in (*_AGO, *_BARE_AGO) if whole else _AGO[:3]:
        found = pattern.search(coded)
        if found is None:
            continue
        time = _counted(found)
        if not whole:
            return time
        rest = coded[: found.start()] + " " + coded[found.end() :]
        if time.precision_seconds >= DAY and time.ago_seconds is not None:
            clock = _CLOCK.search(rest)
            if clock is not None and not clock.group("zone"):
                dated = _timed(TimeParts(day_offset=-round(time.ago_seconds / DAY)), clock)
                if dated is not None and time.precision_seconds == DAY:
                    time, rest = dated, rest[: clock.start()] + rest[clock.end() :]
        if _REST.fullmatch(rest.replace("G", " ")) is not None:
            return time
    return None


def _counted(found: re.Match[str]) -> TimeParts:
    """Returns the duration in a text like "2 hours 5 minutes ago": the sum of the counted units.
    Its precision is the last unit given, times 3 for "a few", halved for "half"."""
    parts = found.groupdict()
    total, precision = 0.0, 0
    for index in ("1", "2"):
        unit = (
            int(parts[f"u{index}"])
            if parts.get(f"u{index}")
            else _LETTER_UNITS.get(parts.get(f"c{index}") or "", 0)
        )
        if not unit:
            continue
        number, word = parts.get(f"n{index}"), parts.get(f"w{index}") or ""
        amount = (
            float(number.replace(",", "."))
            if number
            else 0.5
            if "B" in word
            else 3.0
            if "F" in word
            else 1.0
        )
        total += amount * unit
        precision = round(unit * amount) if "B" in word else unit * 3 if "F" in word else unit
    return TimeParts(ago_seconds=total, precision_seconds=precision)
