"""Decides whether the day or the month comes first in the numeric dates of a page, by its dates (in
texts and tooltips) and its language."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from lxml.html import HtmlElement

from crawlmgr.text.dates import decide_day_first
from crawlmgr.web.outline import Outline

_NUMERIC_DATE = re.compile(r"\b\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})\b")
_DAY_FIRST = frozenset(
    "ar bg ca cs da de el es et fi fr gl he hr id it lv nb nl no pl pt ro ru sk sl sr sv tr uk"
    " vi".split()
)
LONGEST = 90


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


def is_day_first(root: HtmlElement, shown: Outline) -> bool | None:
    """Returns whether the day comes first in the numeric dates of a page (True) or the month
    (False); None if neither the dates nor the declared language show it.

    If the language has a known order, it decides unless a date contradicts it, as 13/5 contradicts
    the month first. Otherwise the dates decide. `root` is the page's tree, `shown` its outline.
    """
    texts = _dated([*(piece.text for piece in shown.pieces), *root.xpath("//@title")])
    language = (root.get("lang") or "").lower().replace("_", "-")
    told = True if language[:2] in _DAY_FIRST else False if language == "en-us" else None
    if told is not None and not any(decide_day_first([text]) is (not told) for text in set(texts)):
        return told
    return decide_day_first(texts)
