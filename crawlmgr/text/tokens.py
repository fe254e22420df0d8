"""Splits text into comparable words: Unicode normalisation (NFKC), simplified Chinese, word
segmentation, stop words, English stems. Used wherever words are matched.
Keywords of a text are found by TextRank (Mihalcea and Tarau 2004).

Chinese is segmented by rjieba, which is some forty times as fast as jieba and splits Chinese into
the same words; a tokenizer with user words uses jieba, because only jieba takes them reliably."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import opencc
import snowballstemmer

from crawlmgr.text.stopwords import STOP_WORDS

if TYPE_CHECKING:
    import jieba

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Ranges of Chinese characters, for use inside a regular expression's brackets."""

# Pinyin that a converter inserted after a character: "網(wǎng)" or "網(wang)". NFKC has already
# replaced full-width brackets.
_PINYIN = re.compile(f"(?<=[{HAN}])\\([a-zāáǎàēéěèīíǐìōóǒòūúǔùǖǘǚǜü]{{1,7}}\\)")
_TONES = frozenset("āáǎàēéěèīíǐìōóǒòūúǔùǖǘǚǜ")
_INVISIBLE = re.compile(
    "[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff\x00-\x08\x0b\x0c\x0e-\x1f]"
)
_CONTROLS = dict.fromkeys(
    (*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20))
)  # control characters in ASCII
_WORD = re.compile(rf"[{HAN}]+|[a-z]\+\+|[a-z]#|[^\W_{HAN}]+(?:'[^\W\d_]+)*")
_MARKS = "'+#"  # characters that a word may contain besides letters and digits
_ASCII = {
    n: chr(n).lower() if chr(n).isalnum() or chr(n) in _MARKS else " " for n in range(128)
} | _CONTROLS
_HAS_HAN = re.compile(f"[{HAN}]")
_DIGITS = re.compile(r"\d+")
LONGEST_WORD = (
    100  # longer runs of letters are truncated: no language has such words, but encoded data has
)
MEMO_WORDS = 200_000  # a tokenizer caches the words of about this many pieces of text


@cache
def _simplifier() -> opencc.OpenCC:
    return opencc.OpenCC("t2s")


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    stem: str = _STEMMER.stemWord(word)
    return stem


_STEMMER = snowballstemmer.stemmer("english")


def _strip_pinyin(match: re.Match[str]) -> str:
    """Returns the replacement for a match of `_PINYIN`: "" if it has a tone mark, otherwise the
    matched text."""
    return "" if any(letter in _TONES for letter in match.group()) else match.group()


def normalise(text: str) -> str:
    """Normalises text for matching: NFKC, lower case, no invisible characters, no inserted pinyin,
    simplified Chinese. Returns the new text.

    Pinyin in brackets is removed only if it has a tone mark, so that "函数(int)" keeps its word.

    >>> normalise("資訊檢索 ＡＢＣ")
    '资讯检索 abc'
    """
    if text.isascii():
        return text.translate(_CONTROLS).lower()
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).lower()
    if not _HAS_HAN.search(text):
        return text
    simplified: str = _simplifier().convert(_PINYIN.sub(_strip_pinyin, text))
    return simplified


def segment(text: str) -> list[str]:
    """Returns a Chinese text split into words by rjieba."""
    import rjieba  # imported on first use: its dictionary takes a quarter of a second and 30 MB

    return rjieba.cut(text)


def jieba_with(words: Iterable[str]) -> jieba.Tokenizer:
    """Returns a separate jieba tokenizer that also knows `words`; built from the packaged
    dictionary without a cache file."""
    import jieba  # imported on first use: it loads slowly, and is needed only with user words

    tokenizer = jieba.Tokenizer()
    # jieba would write its prefix table to the shared folder for temporary files; reading the
    # dictionary again takes about as long as loading that file
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    for word in words:
        tokenizer.add_word(word)
    return tokenizer


class _Memo(dict[str, str | None]):
    """A cache from each piece of text to the word under which it is compared (None for a piece that
    is left out), filled on first use by the function `make`."""

    def __init__(self, make: Callable[[str], str | None]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, piece: str) -> str | None:
        word = self[piece] = self._make(piece)
        return word


class Tokenizer:
    """Splits text into words that can be compared. Calling it with a text returns the words.

    `user_words` are kept whole (and make jieba the segmenter), `stop_words` are left out, `stem`
    reduces Latin words to English stems, `numbers` keeps words of digits only. Single Latin letters
    are left out (except user words), single Chinese characters stay unless they are stop words.
    Instances do not change and may be shared between threads.
    """

    __slots__ = ("_cut", "_memo", "_numbers", "_stem", "_stop", "_user")

    def __init__(
        self,
        user_words: Iterable[str] = (),
        *,
        stop_words: Collection[str] = STOP_WORDS,
        stem: bool = True,
        numbers: bool = False,
    ) -> None:
        self._user = frozenset(filter(None, (normalise(word).strip() for word in user_words)))
        self._stop = frozenset(stop_words)
        self._stem = stem
        self._numbers = numbers
        self._memo = _Memo(self._word)
        self._cut: Callable[[str], list[str]] = (
            _reference_cutter(self._user) if self._user else segment
        )

    @property
    def user_words(self) -> frozenset[str]:
        """The words added by the user, in normalised form; they are never split."""
        return self._user

    def __call__(self, text: str) -> list[str]:
        """Returns the words of `text` in order, repeated as often as they occur."""
        if not self._user and text.isascii():
            return self._compared(_ascii_words(text))
        return self.words(normalise(text))

    def words(self, normalised: str) -> list[str]:
        """Returns the words of a text that has already been normalised (`normalise`), in order,
        repeated as often as they occur."""
        return self._compared(list(self._pieces(normalised)))

    def written(self, text: str) -> Iterator[tuple[str, str]]:
        """Yields the words of `text` in order, each as a pair: the form for comparison (stemmed),
        and the form in the text (simplified Chinese, lower case, not stemmed).

        >>> list(Tokenizer().written("Crawlers crawl 網頁"))
        [('crawler', 'crawlers'), ('crawl', 'crawl'), ('网页', '网页')]
        """
        memo = self._remembered()
        for piece in self._pieces(normalise(text)):
            word = memo[piece]
            if word is not None:
                yield word, piece if piece in self._user else piece.partition("'")[0][:LONGEST_WORD]

    def _compared(self, pieces: list[str]) -> list[str]:
        """Returns the words under which pieces of text are compared (see `_word`), in order,
        without stop words and other ignored pieces."""
        return list(filter(None, map(self._remembered().__getitem__, pieces)))

    def _remembered(self) -> _Memo:
        """Returns the cache of words, emptied if it has grown too large."""
        memo = self._memo
        if len(memo) > MEMO_WORDS:
            memo = self._memo = _Memo(
                self._word
            )  # replaced, not cleared: another thread may be reading the old one
        return memo

    def _word(self, piece: str) -> str | None:
        """Returns the form under which a piece of text is compared with others; None if it is left
        out, as stop words are."""
        if piece in self._user:
            return piece
        if piece in self._stop:
            return None
        if piece[0] >= "\u3040":  # kana, Chinese and Hangul have no stems
            return piece[:LONGEST_WORD]
        return self._latin(piece)

    def _latin(self, word: str) -> str | None:
        """Returns the form under which a word in Latin or similar letters is compared with others;
        None if it is left out."""
        if _DIGITS.fullmatch(word):
            return word if self._numbers else None
        word = word.partition("'")[0][:LONGEST_WORD]
        if len(word) < 2 or word in self._stop:
            return None
        return _stem(word) if self._stem else word

    def _pieces(self, normalised: str) -> Iterable[str]:
        """Yields the pieces of a normalised text that may be words: user words, segmented Chinese
        words, runs of other letters."""
        # jieba and rjieba agree except on where Latin words and numbers end; those are split here
        # by `_WORD` instead.
        if self._user:
            return self._split(normalised)
        if normalised.isascii():
            return _ascii_words(normalised)
        return self._split(normalised) if _HAS_HAN.search(normalised) else _WORD.findall(normalised)

    def _split(self, normalised: str) -> Iterator[str]:
        """Yields the words of a text after segmentation; words that the user listed (`user_words`)
        are not split."""
        for piece in self._cut(normalised) if _HAS_HAN.search(normalised) else (normalised,):
            if piece in self._user:
                yield piece
            else:
                yield from _WORD.findall(piece)


def _ascii_words(text: str) -> list[str]:
    """Returns the words that the expression `_WORD` finds in normalised ASCII text, but takes a
    third of its time."""
    pieces = text.translate(_ASCII).split()
    if "'" not in text and "+" not in text and "#" not in text:
        return pieces
    words: list[str] = []
    for piece in pieces:
        if piece.isalnum():
            words.append(piece)
        else:
            words.extend(_WORD.findall(piece))
    return words


@lru_cache(maxsize=4)  # few are kept, since a jieba dictionary takes some 60 MB
def _reference_cutter(user_words: frozenset[str]) -> Callable[[str], list[str]]:
    """Returns the segmentation function of a jieba tokenizer with these user words."""
    cut: Callable[[str], list[str]] = jieba_with(sorted(user_words)).lcut
    return cut


def wording(texts: Iterable[str], tokenizer: Tokenizer) -> dict[str, str]:
    """Returns for each stemmed word the form in which to display it: its most frequent form in the
    texts, the shortest in ties.

    >>> wording(["crawlers and crawlers, a crawler"], Tokenizer())
    {'crawler': 'crawlers'}
    """
    forms: dict[str, Counter[str]] = {}
    for text in texts:
        for word, form in tokenizer.written(text):
            forms.setdefault(word, Counter())[form] += 1
    return {
        word: min(counts, key=lambda form: (-counts[form], len(form), form))
        for word, counts in forms.items()
    }


@cache
def _plain() -> Tokenizer:
    return Tokenizer()


def tokenize(text: str) -> list[str]:
    """Returns the content words of a text in order: normalised, segmented, without stop words and
    bare numbers, English words as stems.

    >>> tokenize("The crawlers crawl 網頁")
    ['crawler', 'crawl', '网页']
    """
    return _plain()(text)


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
