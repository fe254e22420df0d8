"""Replaces the words in the text of a time by codes, so that a few regular expressions cover all
languages. The codes are listed in `dates_words`."""

from __future__ import annotations

import re
import unicodedata

from crawlmgr.text.dates_words import (
    EAST_ASIAN,
    LONGEST_EAST_ASIAN,
    PHRASES,
    SHORT_UNITS,
    VOCABULARY,
    YEAR,
    chinese_value,
)

_AM_PM = re.compile(r"\b([ap])\.\s?m\b\.?", re.I)
_NUMERALS = "〇零一二两兩三四五六七八九十"
_CHINESE_NUMBER = re.compile(
    rf"(?<![周週期拜{_NUMERALS}])[{_NUMERALS}]{{1,4}}(?=[年月日号號天时時点點分秒个個小周週])"
)
_PAREN_WEEKDAY = re.compile(r"[(（][月火水木金土日一二三四五六월화수목금토일][)）]")
_SPACED = re.compile(
    r"(?<=\d) (?=[年月日時时分])|(?<=\d[年月時时]) (?=\d)"
)  # the spaces in a date such as 2026 年 10 月 22 日
_SHORT_YEAR_NAMED = re.compile(r"(?<!\d)([0-3]\d)(?=[年년]\d{1,2}[月월]\d)")
_PHRASES = re.compile("|".join(rf"(?<!\w){re.escape(text)}(?!\w)" for text in PHRASES))
_DASHES = str.maketrans(
    "–—‐‑−〜～、\u00a0\u202f\u2009\u3000", "------ ," + "    ", "\u200b\u200e\u200f\ufeff\u00ad"
)
_GLUED = re.compile(r"(?<=\d)[Tt](?=\d\d:?\d\d)")
WORD = re.compile(r"[^\W\d_]+")


def _code(match: re.Match[str]) -> str:
    """Returns the code (see `dates_words`) of a word: "?" if it is unknown, a space for one to be
    ignored, such as "at" or "of"."""
    word = match.group()
    text = match.string
    before = text[match.start() - 1] if match.start() else ""
    if before.isdigit() and word in ("mo", "y"):
        return f"U{SHORT_UNITS[word]};"
    code = VOCABULARY.get(word)
    if code is None:
        return _east_asian(word) if max(word) >= "ぁ" else "?"
    if code == "A" and word == "am" and not text[: match.start()].rstrip()[-1:].isdigit():
        return " "  # "am" means before noon only after a number: German "am 3. Mai"
    return code or " "


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


def canonical(text: str) -> str:
    """Returns the text of a time in a form that does not depend on its language: words that
    `dates_words` knows are replaced by their codes (M03 March, P pm, U60; a minute, G ago); the
    rest of the text is put in lower case.

    >>> canonical("Tue Mar 04, 2014 10:22 pm"), canonical("3分钟前"), canonical("vor 2 Stunden")
    ('W2 M03 04, 2014 10:22 P', '3U60;G', 'G 2 U3600;')
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_DASHES)
        text = _SPACED.sub("", _PAREN_WEEKDAY.sub(" ", text))
        text = _CHINESE_NUMBER.sub(
            lambda m: str(chinese_value(m.group())), _SHORT_YEAR_NAMED.sub(r"20\1", text)
        )
    # "(mo)" in brackets is the German abbreviation of Monday and can be left out; "mo" would be
    # read as month
    text = " ".join(_GLUED.sub(" ", text).lower().split()).replace("(mo)", " ")
    text = _AM_PM.sub(r"\1m", _DOTTED.sub(r"\1 \2:\3", text))
    if any(phrase in text for phrase in PHRASES):
        text = _PHRASES.sub(lambda m: PHRASES[m.group()], text)
    coded = _GAP.sub("", WORD.sub(_code, text))
    return _settle(coded)


# dates whose clock time is written with a dot: 11 October 2026, 18.56
_DOTTED = re.compile(r"\b((?:19|20)\d\d,?) ([01]?\d|2[0-3])\.([0-5]\d)(?![\d.]|\s*[€$£%])")
_GAP = re.compile(
    r"(?<=\d) +(?=,)"
)  # the space that is left when "th" is removed from "18 th, 2024"
_CHINESE_MONTH = re.compile(r"(?<!\d)(\d{1,2}) ?O(?! ?G)")
_NAMED_YEAR = re.compile(
    rf"(?<=\b(?:19|20)\d\d) ?U{YEAR};\.?"
)  # years followed by a word for "year": "2024 года", "2024 г."
_YEARWORD = re.compile(r"(?<=[\dE]) ?a(?![a-z])")


def _settle(coded: str) -> str:
    """Replaces ambiguous codes in `coded` (see `dates_words`) by those that fit the codes beside
    them: `Q` ("ago" or August), `N` (March or Tuesday), `a` ("one" or "year"). A number before `O`
    becomes the code of that month. A word for "year" after a year is removed."""
    coded = _NAMED_YEAR.sub("", coded)
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
