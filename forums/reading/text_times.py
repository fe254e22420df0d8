"""Finds times inside longer texts: where each begins and ends, and the text right before it."""

from __future__ import annotations

import re
from collections.abc import Callable

from crawlmgr.text.dates import Moment
from forums.reading.words import text_roles

MAX_WORDS = 40
_FIELDS = re.compile(r"[|·•;(（]|\s[-–—]\s")
Find = Callable[[str], Moment | None]


def inner_times(text: str, find: Find) -> list[tuple[Moment, str]]:
    """Returns the first times in a text (at most three), in order, as (time, text before it). The
    text before a time begins after the last separator between fields, such as a bar. The search
    ends when the rest contains no word for creation or last reply. Empty if there is no time or the
    text has more than 40 words.

    `find` returns the first time of a text, or None."""
    found: list[tuple[Moment, str]] = []
    words = text.split()
    if len(words) > MAX_WORDS:
        return found
    while words and len(found) < 3 and (span := _span(words, find)) is not None:
        moment, start, end = span
        before = " ".join([*words[:start], re.split(r"\d", words[start], maxsplit=1)[0]])
        found.append((moment, _FIELDS.split(before)[-1].strip(" ,")))
        words = words[end:]
        if not text_roles(" ".join(words)) & {"last", "created"}:
            break
    return found


def time_words(text: str, find: Find) -> tuple[int, int] | None:
    """Returns where the first time of a text begins and ends, as character positions in the text
    with white space collapsed; None if there is none or the text has more than 40 words. `find`
    returns the first time of a text, or None.
    """
    words = text.split()
    span = _span(words, find) if len(words) <= MAX_WORDS else None
    if span is None:
        return None
    start = len(" ".join(words[: span[1]])) + (span[1] > 0)
    return start, len(" ".join(words[: span[2]]))


def _span(words: list[str], find: Find) -> tuple[Moment, int, int] | None:
    """Returns the first time among words, and the range (start, end) of the words that form it;
    None if there is none."""
    moment = find(" ".join(words))
    if moment is None:
        return None
    low, high = 0, len(words) - 1
    while low < high:  # binary search for the last word that the time can begin with
        middle = (low + high + 1) // 2
        if find(" ".join(words[middle:])) == moment:
            low = middle
        else:
            high = middle - 1
    start, low, high = low, low + 1, len(words)
    while low < high:  # binary search for the first word that the time can end with
        middle = (low + high) // 2
        if find(" ".join(words[start:middle])) == moment:
            high = middle
        else:
            low = middle + 1
    return moment, start, low
