"""Keywords of a text by TextRank (Mihalcea and Tarau 2004), as implemented in jieba, applied to
normalised text in Chinese and English."""

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
"""Parts of speech that are ranked: jieba's default (places, nouns, verbal nouns, verbs), and words
in Latin letters."""


@cache
def _ranker() -> jieba.analyse.TextRank:
    """Returns jieba's TextRank with this project's stop words added; made on first use."""
    # Imported on first use: both modules load their dictionaries on import, which takes a second.
    import jieba.analyse
    import jieba.posseg

    ranker = jieba.analyse.TextRank()
    ranker.tokenizer = ranker.postokenizer = jieba.posseg.POSTokenizer(jieba_with(()))
    ranker.stop_words = ranker.stop_words | STOP_WORDS
    return ranker


# at most this many characters of a text are ranked; the beginning of a longer text is
# representative
MAX_CHARS = 6_000
_LONG_WORD = re.compile(r"[^\W_]{101,}", re.ASCII)


def keywords(
    text: str, top: int = 20, parts_of_speech: tuple[str, ...] = PARTS_OF_SPEECH
) -> dict[str, float]:
    """Returns the `top` words of a text by TextRank with weights in (0, 1], the best having 1, best
    first. Only words of the `parts_of_speech`, given by jieba's codes, are ranked.

    Window of 5 words, damping 0.85, ten iterations. Words with the same stem are counted as one:
    they get the greatest of their weights, and are returned in the form that occurs most often in
    the text (simplified Chinese, lower case). Words of one character are not ranked. Words of more
    than a hundred letters are removed, and only the first 6,000 characters are used. Ranking takes
    some 16 ms per 1,000 characters: affordable for samples of a topic, not for every page of a
    crawl.
    """
    # twice as many words as wanted are ranked, because several may have the same stem
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
    """Returns the stem of a word as `tokenize` gives it; the word itself if `tokenize` leaves it
    out (stop words)."""
    return " ".join(tokenize(word)) or word


def merge(lists: Iterable[dict[str, float]], top: int = 100) -> dict[str, float]:
    """Merges the keywords of several pages, each given as weights by word: scales each page's
    weights to sum 1, adds them up, and returns the `top` words of greatest weight, best first,
    scaled so that the best has 1.

    Words with the same stem are added up and returned in the form with the greatest weight.
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
    shown = {
        stem: min(forms[stem], key=lambda form: (-forms[stem][form], len(form), form))
        for stem, _ in chosen
    }
    return {shown[stem]: weight / chosen[0][1] for stem, weight in chosen}
