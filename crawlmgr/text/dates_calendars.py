"""Dates of other calendars, written as dates of ours: years of the Buddhist era (Thailand), of
reigns (Japan), of the Republic (Taiwan), and the Persian calendar."""

from __future__ import annotations

import re
from datetime import date

from crawlmgr.text.dates_words import fold

WITH_CALENDARS = frozenset(("fa", "ja", "ps", "th", "zh"))  # languages, besides their letters
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "民國": 1911, "民国": 1911}
_ERA = re.compile(rf"({'|'.join(_ERAS)}) ?(元|\d{{1,3}}) ?(?:年|(?=[./-]))")
_INITIALS = {"r": 2018, "h": 1988, "s": 1925}
_INITIAL = re.compile(r"\b([rhs])(\d{1,2})(?=[./-]\d{1,2}[./-]\d{1,2}(?!\d))")
_REPUBLIC = re.compile(r"(?<![\d./-])(1[0-4]\d|[89]\d)(?=([./-])\d{1,2}\2\d{1,2}(?!\d))")
BUDDHIST_NUMBERS = re.compile(r"(?<=\d[./-])25[3-9]\d(?![\d./-])|(?<![\d./-])25[3-9]\d(?=[/-]\d)")
_BUDDHIST = re.compile(r"(?<![\d.:])25[3-9]\d(?![\d.:])")
_BUDDHIST_SHORT = re.compile(r"(?<=[/. \u0e00-\u0e7f-])[5-7]\d(?=$|,? \d{1,2}[:.]\d)")
_BUDDHIST_YEARS = 543
_ARABIC = re.compile("[\u0600-\u06ff]")
_THAI = re.compile("[\u0e00-\u0e7f]")
_PERSIAN_MONTHS = (
    "فروردین اردیبهشت خرداد تیر مرداد|امرداد شهریور مهر آبان آذر دی بهمن اسفند".split()
)
_PERSIAN_YEAR = r"(?P<year>1[34]\d\d)"
_PERSIAN = (
    re.compile(rf"(?<!\d){_PERSIAN_YEAR}(?P<mark>[./-])(?P<month>\d\d?)(?P=mark)(?P<day>\d\d?)\b"),
    re.compile(rf"\b(?P<day>\d\d?)(?P<mark>[./-])(?P<month>\d\d?)(?P=mark){_PERSIAN_YEAR}(?!\d)"),
    re.compile(
        rf"\b(?P<day>\d\d?) ?(?P<name>{'|'.join(_PERSIAN_MONTHS)}) ?(?:ماه)?,? ?{_PERSIAN_YEAR}"
    ),
)
# ordinal of the day before 1 Farvardin of the year 0, by the count of leap years below
_BEFORE_PERSIAN = 226_142


def gregorian(text: str, language: str) -> str:
    """Returns a text, folded (see `dates_words.fold`), with the dates of other calendars replaced.
    Numbers alone count as such where the page's `language` or their size leaves no doubt.

    >>> gregorian("令和7年9月22日", "ja"), gregorian("22/09/2568 21:05", "")
    ('2025年9月22日', '22/09/2025 21:05')
    >>> gregorian("114/10/01 14:00", "zh-tw"), gregorian("1404/06/31, 21:05", "fa")
    ('2025/10/01 14:00', '2025-09-22, 21:05')
    """
    arabic = language.startswith(("fa", "ps")) or _ARABIC.search(text)
    text = fold(text)
    text = _ERA.sub(lambda m: f"{_ERAS[m[1]] + (1 if m[2] == '元' else int(m[2]))}年", text)
    if language.startswith("ja"):
        text = _INITIAL.sub(lambda m: str(_INITIALS[m[1]] + int(m[2])), text)
    elif language in ("zh-tw", "zh-hant", "zh-hant-tw"):
        text = _REPUBLIC.sub(lambda m: str(1911 + int(m[1])), text)
    elif arabic:
        for pattern in _PERSIAN:
            text = pattern.sub(_of_persian, text)
    thai = language.startswith("th") or _THAI.search(text)
    if thai:
        text = _BUDDHIST_SHORT.sub(lambda m: str(2500 + int(m.group())), text)
    buddhist = _BUDDHIST if thai else BUDDHIST_NUMBERS
    return buddhist.sub(lambda m: str(int(m.group()) - _BUDDHIST_YEARS), text)


def _of_persian(match: re.Match[str]) -> str:
    """Returns the Gregorian date of a Persian one in ISO form; the text itself for no such day."""
    parts = match.groupdict()
    month = int(parts.get("month") or 0) or next(
        at for at, name in enumerate(_PERSIAN_MONTHS, 1) if parts["name"] in name.split("|")
    )
    day = int(parts["day"])
    if not (1 <= month <= 12 and 1 <= day <= (31 if month < 7 else 30)):
        return match.group()
    return persian_day(int(parts["year"]), month, day).isoformat()


def persian_day(year: int, month: int, day: int) -> date:
    """Returns the Gregorian date of a day of the Persian calendar (years 1244 to 1472, in which a
    cycle of 33 years with 8 leap years holds).

    >>> persian_day(1404, 1, 1), persian_day(1403, 12, 30), persian_day(1370, 1, 1)
    (datetime.date(2025, 3, 21), datetime.date(2025, 3, 20), datetime.date(1991, 3, 21))
    """
    leaps = (year + 1595) // 33 * 8 + ((year + 1595) % 33 + 3) // 4
    before = (month - 1) * 31 if month < 7 else (month - 7) * 30 + 186
    return date.fromordinal(_BEFORE_PERSIAN + 365 * year + leaps + before + day)
