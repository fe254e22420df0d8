"""Words as a site spells them: what can be typed into its search form and shown as a name."""

from __future__ import annotations

import re
import unicodedata

import rjieba

from crawlmgr.text.stopwords import STOP_WORDS
from crawlmgr.text.tokens import HAN, normalise

_HAS_HAN = re.compile(f"[{HAN}]")
_WORD = re.compile(rf"[{HAN}]+|[^\W_{HAN}]+(?:['’-][^\W_{HAN}]+)*")
MAX_LENGTH = 40


def query_words(text: str) -> list[str]:
    """The content words of `text` in order, lower case but never stemmed and never changed to another script.

    Chinese is segmented in its simplified form and then cut from the text as it stands, because a site that writes
    traditional characters finds nothing for simplified ones. Left out: stop words, bare numbers, single Latin letters,
    words longer than 40 characters.

    >>> query_words("Running the crawlers 網頁")
    ['running', 'crawlers', '網頁']
    """
    plain = unicodedata.normalize("NFKC", text).lower()
    if not _HAS_HAN.search(plain):
        return [word for word in _WORD.findall(plain) if _tells(word, word)]
    simple = normalise(plain)
    if len(simple) != len(plain):  # the change of script took or gave characters: no place stands for a place
        plain = simple
    found = []
    start = 0
    for piece in rjieba.cut(simple):
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
