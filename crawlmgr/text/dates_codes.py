"""Replaces the words in the text of a time by codes, so that a few regular expressions cover all
languages. The codes are listed in `dates_words`. Years and days of other
calendars are written as those of ours."""

from __future__ import annotations

import re
from datetime import date
from functools import partial

from crawlmgr.text.dates_words import (
    DAY,
    EAST_ASIAN,
    LONGEST_EAST_ASIAN,
    OURS,
    VOCABULARY,
    YEAR,
    Words,
    chinese_value,
    fold,
)

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
_THAI_ERA = re.compile(r"[คพ]\.ศ\. ?")
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
        text = _THAI_ERA.sub("", text)
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


# an abbreviation with dots inside: p. m., μ.μ., ก.ย.
_ABBREVIATED = re.compile(
    r"(?<![^\W\d_])(?<!\.)((?:[^\W\d_][\u0e31-\u0e4e]*){1,3})\. ?([^\W\d_]{1,2})\b\.?"
)
_NUMERALS = "〇零一二两兩三四五六七八九十"
_CHINESE_NUMBER = re.compile(
    rf"(?<![周週期拜{_NUMERALS}])[{_NUMERALS}]{{1,4}}(?=[年月日号號天时時点點分秒个個小周週])"
)
_PAREN_WEEKDAY = re.compile(r"[(（][月火水木金土日一二三四五六월화수목금토일][)）]")
_SPACED = re.compile(
    r"(?<=\d) (?=[年月日時时分])|(?<=\d[年月時时]) (?=\d)"
)  # the spaces in a date such as 2026 年 10 月 22 日
_SHORT_YEAR_NAMED = re.compile(r"(?<!\d)([0-3]\d)(?=[年년]\d{1,2}[月월]\d)")
_GLUED = re.compile(r"(?<=\d)t(?=\d\d:?\d\d)")
_NUMBER_BEFORE = re.compile(r"(?<![\d:.])\d+(?:[.,]\d+)? ?$")
_YEAR_BEFORE = re.compile(r"(?<!\d)(?:19|20)\d\d(?:[ .-]{0,2}|\(\w{1,2}\)|\()$")
_DATE_AFTER = re.compile(r"\)\w|[.,]{0,2} (?:\d{1,2}[ .-]{0,2})?[^\W\d_]{3}")
_LONGEST_AT = 4  # letters of an unknown word before a clock time, such as "at" in other languages
_CLOCK_AFTER = re.compile(r" \d{1,2}[:.]\d\d")


def _code(words: Words, match: re.Match[str]) -> str:
    """Returns the code (see `dates_words`) of a word: "?" if it is unknown, a space for one to be
    ignored, such as "at" or "of"."""
    word, text = match.group(), match.string
    if not words.is_ours and _marks_year(match):
        return " "
    if word in words.units and _NUMBER_BEFORE.search(text, 0, match.start()):
        return words.units[word]
    code = words.code(word)
    if code is None and max(word) >= "ぁ":
        return _east_asian(word)
    code = words.inflected(word) if code is None else code
    if code in (None, "?"):
        at = not words.is_ours and len(word) <= _LONGEST_AT and match.start()
        return " " if at and _CLOCK_AFTER.match(text, match.end()) else "?"
    if code == "A" and word == "am" and not text[: match.start()].rstrip()[-1:].isdigit():
        return " "  # "am" means before noon only after a number: German "am 3. Mai"
    return code or " "


def _marks_year(match: re.Match[str]) -> bool:
    """Tells whether a word is a mark of the year before it: a short one between a year and a day or
    month (2025 m. rugsėjo 22 d., 2025. gada 22. sept., 2025(e)ko ira. 22)."""
    return (
        len(match.group()) <= _LONGEST_AT
        and _YEAR_BEFORE.search(match.string, 0, match.start()) is not None
        and _DATE_AFTER.match(match.string, match.end()) is not None
    )


def _abbreviation(words: Words, match: re.Match[str]) -> str:
    """Returns an abbreviation without its dots, if it is a word then."""
    whole = match[1] + match[2]
    return whole if words.code(whole) is not None else match.group()


def _east_asian(run: str) -> str:
    """Returns the codes of a run of East Asian characters without spaces, joined: at each position
    the code of the longest known word, "?" for characters that belong to none."""
    codes: list[str] = []
    at = 0
    while at < len(run):
        for length in range(min(LONGEST_EAST_ASIAN, len(run) - at), 0, -1):
            if run[at : at + length] in EAST_ASIAN:
                codes.append(VOCABULARY[run[at : at + length]] or " ")
                at += length
                break
        else:
            if codes[-1:] != ["?"]:
                codes.append("?")
            at += 1
    return "".join(codes)


def canonical(text: str, words: Words = OURS, language: str = "") -> str:
    """Returns the text of a time in a form that does not depend on its language: `words` are
    replaced by their codes (M03 March, P pm, U60; a minute, G ago), years of other calendars by
    those of ours; the rest of the text is put in lower case.

    >>> canonical("Tue Mar 04, 2014 10:22 pm"), canonical("3分钟前"), canonical("vor 2 Stunden")
    ('W2 M03 04, 2014 10:22 P', '3U60;G', 'G 2 U3600;')
    """
    if not text.isascii() or language[:2] in WITH_CALENDARS or BUDDHIST_NUMBERS.search(text):
        text = gregorian(text, language)
        text = _SPACED.sub("", _PAREN_WEEKDAY.sub(" ", text))
        text = _CHINESE_NUMBER.sub(
            lambda m: str(chinese_value(m.group())), _SHORT_YEAR_NAMED.sub(r"20\1", text)
        )
    # "(mo)" in brackets is the German abbreviation of Monday and can be left out; "mo" would be
    # read as month
    text = " ".join(_GLUED.sub(" ", text.lower()).split()).replace("(mo)", " ")
    for pattern, replacement in words.changes:
        text = pattern.sub(replacement, text)
    if "." in text:
        text = _ABBREVIATED.sub(partial(_abbreviation, words), text)
    coded = _GAP.sub("", words.pattern.sub(partial(_code, words), text))
    return _settle(coded)


_GAP = re.compile(
    r"(?<=\d) +(?=,)"
)  # the space that is left when "th" is removed from "18 th, 2024"
_CHINESE_MONTH = re.compile(r"(?<!\d)(\d{1,2}) ?O(?! ?G)")
_NAMED_YEAR = re.compile(
    rf"(?<=\b(?:19|20)\d\d) ?U{YEAR};\.?"
)  # years followed by a word for "year": "2024 года", "2024 г."
_NAMED_DAY = re.compile(rf"(M\d\d[. ]*\d{{1,2}}) ?U{DAY};\.?(?! ?G)")  # rugsėjo 22 d.
# marks without a meaning of their own: 22(a), ספט׳, "hour" before a clock time
_MARKS = re.compile(
    r"(?<=\d)\((?:E|a| )\)|(?<=M\d\d)'(?!\d)|(?<![\d ])[ ,]*U3600;(?= \d{1,2}[:.]\d\d)"
)
_NAMED_CLOCK = re.compile(r"K(12|00) ?(?=(\d{1,2}) ?[:H])")
_NOW_NUMBER = re.compile(r"J(?= ?[\dE])")
_YEARWORD = re.compile(r"(?<=[\dE]) ?a(?![a-z])")


def _settle(coded: str) -> str:
    """Replaces ambiguous codes in `coded` (see `dates_words`) by those that fit the codes beside
    them: `Q` ("ago" or August), `N` (March or Tuesday), `a` ("one" or "year"). A number before `O`
    becomes the code of that month. A word for "year" after a year is removed."""
    coded = _MARKS.sub("", _NAMED_DAY.sub(r"\1", _NAMED_YEAR.sub("", coded)))
    if "K" in coded:
        coded = _NAMED_CLOCK.sub(_half, coded)
    if "J" in coded:
        coded = _NOW_NUMBER.sub("G", coded)  # Romanian "acum": now, or ago before a number
    if "Q" in coded:
        coded = re.sub(r"(U\d+;|[HIDYS]) ?Q", r"\1 G", coded).replace("Q", "M08")
    if "N" in coded:
        if "M" not in coded:
            before, after = coded.rsplit("N", 1)
            coded = f"{before}M03{after}"
        coded = coded.replace("N", "W2")
    if "a" in coded:
        coded = _YEARWORD.sub(f"U{YEAR};", coded).replace("a", "E")
    if "O" in coded:
        coded = _CHINESE_MONTH.sub(lambda m: f"M{int(m.group(1)):02d} ", coded)
    return coded


def _half(named: re.Match[str]) -> str:
    """Returns the half of the day of a clock time that noon or midnight stands before: 12:05 and
    1:30 at noon are after it, 11:30 before; 12:05 at midnight is after it."""
    hour = int(named[2])
    return "P " if (named[1] == "12") == (hour < 6 or hour == 12) else "A "
