"""Splits texts into query words as they are spelled on the site, which can be entered in its search
form and shown as names."""

from __future__ import annotations

import re
import unicodedata

from crawlmgr.text.stopwords import STOP_WORDS
from crawlmgr.text.tokens import HAN, normalise, segment

_HAS_HAN = re.compile(f"[{HAN}]")
_HAN_RUN = re.compile(f"[{HAN}]+")
_WORD = re.compile(rf"[{HAN}]+|[^\W_{HAN}]+(?:['’-][^\W_{HAN}]+)*")
MAX_LENGTH = 40


def query_words(text: str) -> list[str]:
    """Returns the content words of `text` in order, lower case but never stemmed and never changed
    to another script.

    Chinese is segmented in its simplified form, and the words are then taken from the original
    text, because a site that writes traditional characters finds nothing for simplified ones. Left
    out: stop words, bare numbers, single Latin letters, words longer than 40 characters.

    >>> query_words("Running the crawlers 網頁")
    ['running', 'crawlers', '網頁']
    """
    plain = unicodedata.normalize("NFKC", text).lower()
    if not _HAS_HAN.search(plain):
        return [word for word in _WORD.findall(plain) if _tells(word, word)]
    simple = normalise(plain)
    if len(simple) != len(
        plain
    ):  # The conversion changed the number of characters, so that positions no longer correspond.
        plain = simple
    found = []
    start = 0
    for piece in segment(simple):
        for match in _WORD.finditer(piece):
            word = plain[start + match.start() : start + match.end()]
            if _tells(word, match.group()):
                found.append(word)
        start += len(piece)
    return found


def _tells(word: str, simplified: str) -> bool:
    if simplified in STOP_WORDS or len(word) > MAX_LENGTH or word.isdecimal():
        return False
    return len(word) > 1 or bool(_HAS_HAN.match(word))


def substring_words(text: str) -> list[str]:
    """Returns the single Chinese characters of a text, the pairs of neighbouring ones, and the
    words of `query_words` that are not Chinese; each once, in order.

    For sites with substring search (SQL's LIKE), where a pair of characters is found even across
    the boundaries of dictionary words.

    >>> substring_words("春江水 flows")
    ['春', '江', '水', '春江', '江水', 'flows']
    """
    plain = unicodedata.normalize("NFKC", text).lower()
    runs = _HAN_RUN.findall(plain)
    single = [character for run in runs for character in run]
    pairs = [run[place : place + 2] for run in runs for place in range(len(run) - 1)]
    others = [word for word in query_words(_HAN_RUN.sub(" ", plain)) if word]
    return list(dict.fromkeys(single + pairs + others))
