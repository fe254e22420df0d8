"""Time zones of sites: names of zones, and the guess of a site's zone from its pages."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_OFFSET = re.compile(r"(?:UTC|GMT)?\s*([+-])(\d{1,2})(?::?(\d\d))?", re.I)
_STEP = 15 * 60
_LARGEST = 14 * 3600


@lru_cache(maxsize=256)
def zone(name: str) -> tzinfo:
    """Returns the time zone of an IANA name or of an offset ("+08:00", "UTC+8"). Raises ValueError
    for anything else.

    >>> zone("UTC+8").utcoffset(None)
    datetime.timedelta(seconds=28800)
    """
    if name in ("", "UTC", "Z"):
        return UTC
    offset = _OFFSET.fullmatch(name.strip())
    if offset:
        seconds = int(offset[2]) * 3600 + int(offset[3] or 0) * 60
        if seconds > _LARGEST:
            raise ValueError(f"no such offset: {name}")
        return timezone(timedelta(seconds=-seconds if offset[1] == "-" else seconds))
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError, ValueError) as error:
        raise ValueError(f"no such time zone: {name}") from error


class Pair(NamedTuple):
    """Evidence for a site's time zone: a time that a page gives twice, once as local time and once
    as relative time ("5 hours ago") or in UTC.

    `naive` is the local time, read as if it were UTC; `true` is the latest time in UTC that it can
    mean; `slack_seconds` tells how much earlier than `true` it can be (3,600 if the page says "5
    hours ago").
    """

    naive: datetime
    true: datetime
    slack_seconds: int


class ZoneGuess(NamedTuple):
    """A time zone: its name (IANA), its offset from UTC, the kind of evidence it was derived from,
    and the confidence in it, in [0, 1].

    Kinds of evidence: `stated`, the page names its zone; `pairs`, times are shown in absolute and
    relative form; `future`, another offset would put times in the future; `language`, the usual
    zone of the pages' language; `given`, set by the operator; `none`.
    """

    name: str
    offset_seconds: int
    evidence: str
    confidence: float


_ABOUT_TIMES = (
    r"times?\b|zeit|heures?\b|horaires?|horas?\b|horarios?|zona|fuso|orari|врем|час\w*"
    r" пояс|czas|strefa|tijd"
    r"|时间|時間|时区|時區|時刻|시간"
)
_STATED = re.compile(
    rf"(?:(?:{_ABOUT_TIMES})[^<>\d]{{0,40}}?(?:\b(?:UTC|GMT)\b|(?=[+-]\d{{4}}\b))"
    rf"|^\W*GMT(?=\s?[+-]\d))"
    r"\s*(?:([+-])\s*(\d{1,2})(?::?(\d\d))?)?(?P<dst>[^<>\[\]]{0,12}\[ ?DST ?\])?",
    re.I,
)
_NAMED = re.compile(
    r"\b(?:Africa|America|Asia|Atlantic|Australia|Europe|Indian|Pacific)/[A-Z]\w+(?:/[A-Z]\w+)?\b"
)
_PAGE_CLOCK = re.compile(
    r"(?:it is currently|current (?:date and )?time(?: is)?|(?:the )?time now(?: is)?|time is"
    r" now|server time"
    r"|aktuelles datum(?: und uhrzeit)?|aktuelle (?:zeit|uhrzeit)|es ist jetzt|nous sommes"
    r" (?:actuellement )?le"
    r"|date actuelle|fecha actual"
    r"|data atual|ora attuale|oggi è|текущее время|сейчас:?|aktualny czas|obecny czas|het is"
    r" nu|现在的?时间是?|现在是"
    r"|當前時間|当前时间|現在時間|現在の?(?:時刻|日時)|GMT ?\+\d{1,2}(?= ?,"
    r" ?\d{4}-))\W{0,4}(?P<time>.{4,45})",
    re.I,
)
_BY_LANGUAGE = {
    "zh": ("Asia/Shanghai",),
    "zh-tw": ("Asia/Taipei",),
    "zh-hant": ("Asia/Taipei",),
    "ja": ("Asia/Tokyo",),
    "ko": ("Asia/Seoul",),
    "de": ("Europe/Berlin",),
    "fr": ("Europe/Paris",),
    "it": ("Europe/Rome",),
    "pl": ("Europe/Warsaw",),
    "nl": ("Europe/Amsterdam",),
    "ru": ("Europe/Moscow", "Asia/Yekaterinburg"),
    "es": ("Europe/Madrid", "America/Argentina/Buenos_Aires", "America/Mexico_City"),
    "pt": ("America/Sao_Paulo", "Europe/Lisbon"),
    "en": (
        "UTC",
        "America/New_York",
        "America/Chicago",
        "America/Denver",
        "America/Los_Angeles",
        "Australia/Sydney",
    ),
}
_ODD_OFFSETS = {
    19800: "Asia/Kolkata",
    12600: "Asia/Tehran",
    16200: "Asia/Kabul",
    20700: "Asia/Kathmandu",
    23400: "Asia/Yangon",
    34200: "Australia/Darwin",
    -12600: "America/St_Johns",
    37800: "Australia/Lord_Howe",
    31500: "Australia/Eucla",
    -34200: "Pacific/Marquesas",
    45900: "Pacific/Chatham",
}
_ONE_ZONE = frozenset({"zh", "zh-tw", "zh-hant", "ja", "ko", "de", "fr", "it", "pl", "nl"})


def stated_offset(text: str) -> int | None:
    """Returns the offset from UTC in seconds (positive east) that a page states for its times; None
    if it states none.

    >>> stated_offset("All times are GMT +8. The time now is 03:12 PM.")
    28800
    >>> stated_offset("All times are UTC - 5 hours [ DST ]")
    -14400
    """
    found = _STATED.search(text.replace("−", "-"))
    if found is None:
        return None
    sign, hours, minutes = found[1], int(found[2] or 0), int(found[3] or 0)
    seconds = (hours * 3600 + minutes * 60) * (-1 if sign == "-" else 1) + (
        3600 if found["dst"] else 0
    )
    return seconds if abs(seconds) <= _LARGEST else None


def page_clock(text: str) -> str | None:
    """Returns the text of the current time that a page shows, as in "It is currently Tue Nov 21,
    2026 4:06 am"; None if it shows none."""
    found = _PAGE_CLOCK.search(text)
    return found["time"].strip() if found else None


def zone_name(offset_seconds: int, language: str, at: datetime) -> str:
    """Returns the IANA name of a zone with this offset (in seconds) at the time `at`: that of a
    country where the language is spoken if one has this offset, otherwise a zone with a fixed
    offset. An offset that no zone has is rounded to the nearest hour."""
    for key in (language.lower(), language.lower().partition("-")[0]):
        for name in _BY_LANGUAGE.get(key, ()):
            offset = at.astimezone(zone(name)).utcoffset()
            if offset is not None and offset.total_seconds() == offset_seconds:
                return name
    if offset_seconds == 0:
        return "UTC"
    if offset_seconds % 3600 == 0 and -12 <= offset_seconds // 3600 <= 14:
        return f"Etc/GMT{-offset_seconds // 3600:+d}"
    return _ODD_OFFSETS.get(offset_seconds) or f"Etc/GMT{-round(offset_seconds / 3600):+d}"


def offset_of_pairs(pairs: Iterable[Pair]) -> tuple[int, float] | None:
    """Returns the offset from UTC that the pairs (see `Pair`) support most, and its share of the
    total weight, in [0, 1].

    The offset is in seconds, a multiple of 15 minutes. A pair allows the offsets from naive - true
    to naive - true + slack_seconds, with a tolerance of about a minute on either side. Pairs with
    less slack have more weight; those with more than six hours of slack are not usable. Of equally
    good offsets, whole hours are preferred. None if no usable pair allows one.
    """
    votes: defaultdict[int, float] = defaultdict(float)
    weight_of_all = 0.0
    for pair in pairs:
        low = (pair.naive - pair.true).total_seconds() - 90
        high = low + pair.slack_seconds + 150
        if high < -_LARGEST or low > _LARGEST or pair.slack_seconds > 6 * 3600:
            continue
        weight = 1 / (1 + pair.slack_seconds / 600)
        weight_of_all += weight
        first = -int(-low // _STEP) * _STEP
        for offset in range(first, int(high) + 1, _STEP):
            votes[offset] += weight
    if not votes:
        return None
    best = max(votes, key=lambda offset: (votes[offset], offset % 3600 == 0, -abs(offset)))
    return best, votes[best] / weight_of_all


def guess_timezone_offset(
    fetched_at: datetime,
    texts: Iterable[str] = (),
    pairs: Iterable[Pair] = (),
    newest: datetime | None = None,
    language: str = "",
    recent: Sequence[datetime] = (),
) -> ZoneGuess:
    """Guesses the time zone of a site's pages from the strongest evidence available; UTC with the
    kind `none` if there is none.

    - `texts`: short texts of the pages that may state the zone, such as footers. `pairs`: times
      given twice (see `Pair`).
    - `newest`: the newest time on the pages, read as UTC. An offset that would place it after
      `fetched_at` is too small.
    - `language` of the interface ("zh-hans", "de"): decides among zones that fit. A language of one
      zone is the last resort.
    - `recent`: newest distinct times of lists, read as UTC. The language's zone is not used if by
      it the site had been silent for improbably long."""
    ahead = (newest - fetched_at).total_seconds() if newest is not None else -float(_LARGEST)
    for text in texts:
        named = _NAMED.search(text)
        offset = stated_offset(text)
        if offset is None or ahead - offset > 600:
            continue
        name = named[0] if named and _known(named[0]) else zone_name(offset, language, fetched_at)
        return ZoneGuess(name, offset, "stated", 0.95)
    voted = offset_of_pairs(pairs)
    if voted is not None and voted[1] > 0.5:
        return ZoneGuess(
            zone_name(voted[0], language, fetched_at), voted[0], "pairs", 0.5 + voted[1] * 0.4
        )
    least = -int(-(ahead - 300) // 3600) * 3600 if 300 < ahead < _LARGEST else 0
    usual = _one_zone(language, fetched_at)
    if usual is not None and usual[1] >= least and (least or not _too_silent(usual[1], recent)):
        return ZoneGuess(*usual, "future", 0.7) if least else ZoneGuess(*usual, "language", 0.3)
    if least:
        return ZoneGuess(zone_name(least, language, fetched_at), least, "future", 0.6)
    return ZoneGuess("UTC", 0, "none", 0.1)


def _one_zone(language: str, at: datetime) -> tuple[str, int] | None:
    """Returns, for a language that is spoken in one time zone only, the zone's name and its offset
    in seconds at the time `at`; None for other languages."""
    for key in (language.lower(), language.lower().partition("-")[0]):
        if key in _ONE_ZONE:
            name = _BY_LANGUAGE[key][0]
            local = at.astimezone(zone(name)).utcoffset()
            return name, int(local.total_seconds()) if local is not None else 0
    return None


def _too_silent(longer_seconds: int, recent: Sequence[datetime]) -> bool:
    """Tells whether it is unlikely that a site with events at the times `recent` had none for
    `longer_seconds`: True if more than three events would be expected in that time, since the
    probability of none is then below 5 % (e**-3).

    The expected number follows from the mean gap between the newest twelve distinct times in
    `recent`. If there are fewer than five, returns False.
    """
    times = sorted(set(recent), reverse=True)[:12]
    if longer_seconds <= 0 or len(times) < 5:
        return False
    gap = (times[0] - times[-1]).total_seconds() / (len(times) - 1)
    return longer_seconds > 3 * gap


def _known(name: str) -> bool:
    try:
        zone(name)
    except ValueError:
        return False
    return True
