"""Keywords of a text by TextRank (Mihalcea and Tarau 2004): jieba's, on normalised text, English words included."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from crawlmgr.text.stopwords import STOP_WORDS
from crawlmgr.text.tokens import Tokenizer, jieba_with, normalise, tokenize, wording

if TYPE_CHECKING:
    import jieba.analyse

PARTS_OF_SPEECH = ("ns", "n", "vn", "v", "eng")
"""jieba's default (places, nouns, verbal nouns, verbs), and words in Latin letters."""


@cache
def _ranker() -> jieba.analyse.TextRank:
    # Imported when needed: both load their dictionaries on import, which takes a second.
    import jieba.analyse
    import jieba.posseg

    ranker = jieba.analyse.TextRank()
    ranker.tokenizer = ranker.postokenizer = jieba.posseg.POSTokenizer(jieba_with(()))
    ranker.stop_words = ranker.stop_words | STOP_WORDS
    return ranker


MAX_CHARS = 6_000  # characters of a text that are ranked; the beginning of a longer text is representative
_LONG_WORD = re.compile(r"[^\W_]{101,}", re.ASCII)


def keywords(text: str, top: int = 20, parts_of_speech: tuple[str, ...] = PARTS_OF_SPEECH) -> dict[str, float]:
    """The `top` TextRank words of a text with weights in (0, 1], the best being 1, best first.

    Span 5, damping 0.85, ten iterations. Words with one stem are one: they keep the greatest weight, and the form that stands
    most often in the text (simplified, lower case). Words of one character are not ranked.
    Costs some 16 ms for 1,000 characters, of which it takes the first 6,000 (words of more than a hundred letters left out): for host pages and samples, not for every page of a crawl.
    """
    # More than `top` words are taken, because several may have the same stem.
    beginning = normalise(_LONG_WORD.sub(" ", text)[:MAX_CHARS])
    ranked = _ranker().textrank(beginning, topK=2 * top, withWeight=True, allowPOS=parts_of_speech)
    best: dict[str, float] = {}
    for word, weight in ranked:
        for token in tokenize(word):
            best[token] = max(best.get(token, 0.0), weight)
    chosen = sorted(best.items(), key=lambda item: (-item[1], item[0]))[:top]
    heaviest = chosen[0][1] if chosen else 1.0
    shown = wording([beginning], Tokenizer())
    return {shown.get(word, word): weight / heaviest for word, weight in chosen}


def stem_of(word: str) -> str:
    """The stem of a word as texts are compared; the word itself if it is not compared (stop words)."""
    return " ".join(tokenize(word)) or word


def merge(lists: Iterable[dict[str, float]], top: int = 100) -> dict[str, float]:
    """Keywords of several pages in one list: each page's weights sum to 1 and are added; `top` heaviest, best = 1.

    Forms of one word are added up, and the one with the greatest share is shown.
    """
    total: defaultdict[str, float] = defaultdict(float)
    forms: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for weights in lists:
        mass = sum(weights.values())
        for word, weight in weights.items():
            stem = stem_of(word)
            total[stem] += weight / mass
            forms[stem][word] += weight / mass
    chosen = sorted(total.items(), key=lambda item: (-item[1], item[0]))[:top]
    shown = {stem: min(forms[stem], key=lambda form: (-forms[stem][form], len(form), form)) for stem, _ in chosen}
    return {shown[stem]: weight / chosen[0][1] for stem, weight in chosen}
