"""Decides whether the day or the month comes first in the numeric dates of a page, by its dates (in
texts and tooltips) and its language."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from lxml.html import HtmlElement

from crawlmgr.text.dates import decide_day_first
from crawlmgr.text.dates_words import date_order
from crawlmgr.web.pages.outline import Outline

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
