"""Parses single values in a row of a list: counts, names, and words such as "by" before names.
Tells whether a page writes the day before the month."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate

from lxml.html import HtmlElement

from crawlmgr.text.dates import decide_day_first
from crawlmgr.text.dates_words import date_order
from crawlmgr.web.pages.outline import Outline
from forums.reading.words import AUTHOR, BY, TOPICS, text_roles

_SCALE = {
    "k": 1_000,
    "m": 1_000_000,
    "w": 10_000,
    "万": 10_000,
    "萬": 10_000,
    "千": 1_000,
    "亿": 100_000_000,
    "億": 100_000_000,
    "тыс": 1_000,
    "mil": 1_000,
    "млн": 1_000_000,
    "tsd": 1_000,
    "만": 10_000,
    "천": 1_000,
}
_NUMBER = r"\d{1,3}(?:[.,'’\u00a0\u202f ]\d{3})+|\d+(?:[.,]\d{1,2})?"
_COUNT = re.compile(
    rf"^[\s(\[:：（/|]*({_NUMBER})\s*(k|m|w|万|萬|千|亿|億|тыс|млн|mil|tsd|만|천)?\.?\s*\+?[\s)\]）,;·•|]*$",
    re.I,
)
_INNER = re.compile(
    rf"(?<![\w.,:/#-])({_NUMBER})\s*(k|m|万|萬|千|亿|億|тыс|млн|tsd|만|천)?"
    # A letter "k" or "m" after the number is no scale if it begins a word, as in "5 men".
    r"(?![\d:]|(?<=[a-zа-я])[a-zа-я])(?!\s*[:/.-]\s*\d)",
    re.I,
)
_PAIR = re.compile(rf"^\s*({_NUMBER})\s*[/|｜]\s*({_NUMBER})\s*$")
NAME_MAX = 48


def _value(number: str, scale: str | None) -> int:
    factor = _SCALE.get((scale or "").lower(), 1)
    if factor > 1 and re.fullmatch(r"\d+[.,]\d{1,2}", number):
        return round(float(number.replace(",", ".")) * factor)
    if re.fullmatch(r"\d+[.,]\d{1,2}", number):
        return int(re.split(r"[.,]", number)[0])
    return int(re.sub(r"\D", "", number)) * factor


@lru_cache(maxsize=8_192)
def count(text: str) -> int | None:
    """Returns the number if the whole text is a count, as in "1,234", "(12)", "1.2k" and "3.4万";
    None for anything else.

    >>> count("1.2k"), count("12:30")
    (1200, None)
    """
    if len(text) > 20:
        return None
    found = _COUNT.match(text)
    if not found:
        return None
    if not found.group(2) and re.fullmatch(r"\d+[.,]\d{1,2}", found.group(1)):
        return None
    value = _value(found.group(1), found.group(2))
    return value if value < 10**10 else None


def pair(text: str) -> tuple[int, int] | None:
    """Returns the two numbers of a text such as "12 / 345"; None if it has another form."""
    found = _PAIR.match(text)
    return (_value(found.group(1), None), _value(found.group(2), None)) if found else None


def inner_counts(text: str) -> list[tuple[int, int, int]]:
    """Returns the numbers inside a label such as "Replies: 12" or "12 回复", as (value, start, end)
    with character positions; an empty list for texts of more than 160 characters."""
    return (
        [(_value(f.group(1), f.group(2)), f.start(), f.end()) for f in _INNER.finditer(text)]
        if len(text) <= 160
        else []
    )


def exact_count(text: str) -> int | None:
    """Returns the only number inside a title attribute such as "4,017 comments"; None where there
    is none or several."""
    found = inner_counts(text)
    return found[0][0] if len(found) == 1 else None


_EDGES = ' \t\u00a0:：,，;；·•|｜/»«›‹→←>-–—()[]（）【】"“”*'
_BY_WORD = r"(?:by|von|par|por|door|przez|da|de|di|av|af|от|od)"
_BEGUN_BY = re.compile(rf"^(?:[^\W\d_]+\s+){{1,3}}{_BY_WORD}(?=\s|[:：]|$)\s*[:：]?\s*", re.I)
_AUTHOR_IS = re.compile(r"^([^\W\d_]+(?:\s[^\W\d_]+)?)\s*[:：]\s*")


def _after_by(text: str) -> str:
    """Returns the text after a leading "by", "Author:" or "Started by" in any language; the whole
    text if it does not begin with such words."""
    shorter = BY.sub("", text, count=1)
    if shorter != text:
        return shorter
    begun = _BEGUN_BY.match(text)
    if begun and text_roles(begun.group()) & {"created", "last"}:
        return text[begun.end() :]
    named = _AUTHOR_IS.match(text)
    return (
        text[named.end() :]
        if named and text_roles(named.group(1)) & {"author", "created"}
        else text
    )


@lru_cache(maxsize=8_192)
def clean_name(text: str) -> str:
    """Returns a name without "by" and the like before it, and without colons, brackets and other
    punctuation around it."""
    text = _without_edges(" ".join(text.split()))
    return _without_edges(_after_by(text)) or text


def _without_edges(text: str) -> str:
    """Returns a text without punctuation at its beginning and end, except a closing bracket whose
    opening one is inside: "Hill [Ret.]"."""
    inner = text.strip(_EDGES)
    at = text.find(inner) + len(inner)
    for opening, closing in ("[]", "()"):
        if inner.count(opening) > inner.count(closing) and text[at : at + 1] == closing:
            return inner + closing
    return inner


@lru_cache(maxsize=8_192)
def starts_by(text: str) -> bool:
    """Tells whether a text begins with a word such as "by" that precedes a name."""
    text = text.strip(_EDGES)
    return _after_by(text) != text


@lru_cache(maxsize=8_192)
def ends_by(text: str) -> bool:
    """Tells whether a text is, or ends in, a word such as "by", so that a name is expected in the
    next element."""
    tail = text.strip().rstrip(":： ").split()
    return bool(tail) and (
        bool(BY.fullmatch(" ".join(tail[-1:])))
        or bool(BY.fullmatch(" ".join(tail[-2:])))
        or tail[-1].lower() in ("by", "von", "par", "por", "от")
        or (
            len(tail) <= 4
            and (AUTHOR.fullmatch(" ".join(tail)) is not None or _begins(" ".join(tail)))
        )
        # words for the author of a thread, such as "Автор темы"
        or (
            len(tail) == 2
            and AUTHOR.fullmatch(tail[0]) is not None
            and TOPICS.fullmatch(tail[1]) is not None
        )
    )


def _begins(text: str) -> bool:
    """Tells whether a text consists only of words such as "Started by"."""
    found = _BEGUN_BY.fullmatch(text)
    return found is not None and bool(text_roles(text) & {"created", "last"})


@lru_cache(maxsize=8_192)
def is_name(text: str) -> bool:
    """Tells whether a text can be the name of a forum user: at most 48 characters and five words,
    with a letter or digit, and not a long text that ends in "?" or "…"."""
    text = text.strip()
    if not 1 <= len(text) <= NAME_MAX or len(text.split()) > 5:
        return False
    if text.endswith(("…", "...", "?", "？")) and len(text) > 25:
        return False
    return any(unicodedata.category(char)[0] in "LN" for char in text)


_NUMERIC_DATE = re.compile(r"\b\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})\b")
LONGEST = 90
_TAG = re.compile(r"[a-z]{2,3}(?:-[a-z0-9]{1,8})*")
_LONGEST_TAG = 35  # characters, as in RFC 5646
_XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def _dated(texts: list[str]) -> list[str]:
    """Returns the short texts that contain a numeric date, in order. All texts are searched as one
    string, which is about three times as fast as searching each."""
    short = [text for text in texts if len(text) < LONGEST]
    starts = list(accumulate((len(text) + 1 for text in short), initial=0))
    found = {
        bisect_right(starts, match.start()) - 1
        for match in _NUMERIC_DATE.finditer("\n".join(short))
    }
    return [short[at] for at in sorted(found)]


def is_day_first(root: HtmlElement, shown: Outline, language: str) -> bool | None:
    """Returns whether the day comes first in the numeric dates of a page (True) or the month
    (False); None if neither the dates nor the declared language show it.

    If the language has a known order, it decides unless a date contradicts it, as 13/5 contradicts
    the month first. Otherwise the dates decide. `root` is the page's tree, `shown` its outline,
    `language` the declared one.
    """
    texts = _dated([*(piece.text for piece in shown.pieces), *root.xpath("//@title")])
    told = {"DMY": True, "MDY": False}.get(date_order(language))
    if language.startswith("en") and language != "en-us":
        told = None  # written by half of the world for the other half
    if told is not None and not any(decide_day_first([text]) is (not told) for text in set(texts)):
        return told
    return decide_day_first(texts)


def declared_language(root: HtmlElement) -> str:
    """Returns the language that a page declares, as a tag in lower case such as "pt-br"; "" if it
    declares none."""
    html = next(root.iter("html"), root)
    told = html.get("lang") or html.get("xml:lang") or html.get(_XML_LANGUAGE) or ""
    told = str(told).strip()[:_LONGEST_TAG].lower().replace("_", "-")
    return told if _TAG.fullmatch(told) else ""
