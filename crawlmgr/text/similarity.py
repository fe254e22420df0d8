"""Weights of words by TF-IDF, and similarity of texts: cosine of the weights, semantic similarity
of weighted word lists, and equal or nearly equal texts by digests and 64-bit SimHash
fingerprints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from math import log, sqrt
from typing import Generic, TypeVar

import numpy as np

WordSimilarity = Callable[[str, str], float]
"""Type of functions that return the similarity of two words in [0, 1]: 1 only for equal words, or
an ontology's similarity of their concepts."""


def norm(vector: Mapping[str, float]) -> float:
    """Returns the Euclidean length of a vector, given as weights by word."""
    return sqrt(sum(weight * weight for weight in vector.values()))


def dot(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """Returns the inner product of two vectors, given as weights by word."""
    if len(a) > len(b):
        a, b = b, a
    return sum(weight * b[word] for word, weight in a.items() if word in b)


def cosine(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """Returns the cosine of two vectors given as weights by word, sum_i a_i b_i / (|a| |b|), eq.
    (1) of the tunnelling paper. It is in [0, 1] for weights >= 0, and 0 if a vector is empty."""
    product = dot(a, b)
    if product == 0.0:
        return 0.0
    return min(1.0, product / (norm(a) * norm(b)))


def bigrams(text: str) -> set[str]:
    """Returns the pairs of neighbouring characters in a text; for a text of one character, this
    character."""
    return {text[i : i + 2] for i in range(len(text) - 1)} or ({text} if text else set())


def same_word(a: str, b: str) -> float:
    """Returns 1 for equal words, otherwise 0."""
    return 1.0 if a == b else 0.0


def semantic(
    topic: Mapping[str, float],
    page: Mapping[str, float],
    alike: WordSimilarity = same_word,
    *,
    greedy: bool = True,
    among: Collection[str] | None = None,
) -> float:
    """Returns Sem(T, U), eq. (8) of the ant colony paper: the similarity in [0, 1] of two weighted
    word lists, `topic` with weights t_i and `page` with weights u_j; s_ij = `alike`(i, j) is the
    similarity of topic word i and page word j.

    With `greedy`: sum_i t_i max_j(u_j s_ij) / sum_i t_i u_j*, where j* is the page word that gives
    the maximum for i; if no page word is similar to i, u_j* is the weight of the page's heaviest
    word. A text compared with itself gives 1.

    Without `greedy`: the sum over all pairs, sum_ij t_i u_j s_ij / sum_ij t_i u_j, which is below 1
    even for a text compared with itself.

    `among` saves time with `greedy`: words that are not in it are compared only with themselves
    (None: each word is compared with all). If one of the lists is empty, the result is 0.
    """
    if not topic or not page:
        return 0.0
    if not greedy:
        pairs = dot(topic, page) if alike is same_word else _all_pairs(topic, page, alike)
        return pairs / (sum(topic.values()) * sum(page.values()))
    heaviest = max(page.values())
    others = (
        page if among is None else {word: weight for word, weight in page.items() if word in among}
    )
    above = below = 0.0
    for word, weight in topic.items():
        score, partner = _best(word, page, others if among is None or word in among else {}, alike)
        above += weight * score
        below += weight * (partner or heaviest)
    return above / below


def _all_pairs(
    topic: Mapping[str, float], page: Mapping[str, float], alike: WordSimilarity
) -> float:
    """Returns the sum over all pairs of a topic word and a page word of the product of their
    weights and their similarity."""
    return sum(t * u * alike(a, b) for a, t in topic.items() for b, u in page.items())


def _best(
    word: str, page: Mapping[str, float], others: Mapping[str, float], alike: WordSimilarity
) -> tuple[float, float]:
    """Finds the page word that matches the topic word `word` best: with the largest product of its
    weight and its similarity to `word`. Returns this product and the weight, (0, 0) if no word is
    similar. `page` maps the page's words to weights; only `word` itself and the words of `others`,
    a part of `page`, are candidates."""
    own = page.get(word, 0.0)
    if alike is same_word:
        return own, own
    itself = (own * alike(word, word), own) if own else (0.0, 0.0)
    score, partner = max(
        ((weight * alike(word, other), weight) for other, weight in others.items()), default=itself
    )
    score, partner = max((score, partner), itself)
    return (score, partner) if score > 0 else (0.0, 0.0)


Vector = Mapping[str, float]
"""A sparse vector: weights by word."""


def smooth_idf(documents: int, frequency: int) -> float:
    """Returns the inverse document frequency of a word: ln((N + 1) / (df + 1)) + 1 for N
    `documents`, df of which (`frequency`) contain the word; at least 1. It is eq. (2) of the
    tunnelling paper, smoothed so that it is stable with few documents.
    """
    return log((documents + 1) / (frequency + 1)) + 1


@dataclass(frozen=True, slots=True)
class Idf:
    """An unchanging copy of document frequencies: the number of documents, and in how many of them
    each word occurs (0 for unknown words)."""

    documents: int
    frequencies: Mapping[str, int]

    def __call__(self, word: str) -> float:
        """Returns the word's inverse document frequency by `smooth_idf`."""
        return smooth_idf(self.documents, self.frequencies.get(word, 0))

    def weigh(self, counts: Mapping[str, float]) -> dict[str, float]:
        """Returns tf * idf of every word of a document; `counts` are the numbers of occurrences tf
        by word."""
        frequencies, documents = self.frequencies, self.documents
        return {
            word: count * smooth_idf(documents, frequencies.get(word, 0))
            for word, count in counts.items()
        }


class DocumentFrequencies:
    """Counts in how many documents each word occurs, and provides these frequencies as an `Idf`, a
    copy that stays unchanged (frozen) until it is renewed.

    The copy is renewed whenever 5 % more documents have been added, but at least `least` and at
    most `most` of them: often while frequencies still change much, rarely once copying them is
    expensive. `add` returns True when it was renewed, so that the caller can compute weights again.
    """

    def __init__(self, least: int = 25, most: int = 500) -> None:
        self._least = least
        self._most = most
        self._documents = 0
        self._counts: Counter[str] = Counter()
        self._idf = Idf(0, {})

    @property
    def idf(self) -> Idf:
        """The current copy of the document frequencies; documents added later do not change it (see
        the class)."""
        return self._idf

    @property
    def documents(self) -> int:
        """The number of all documents added, including recent ones that the frozen frequencies
        `idf` do not count yet."""
        return self._documents

    def add(self, words: Iterable[str]) -> bool:
        """Counts the distinct words of one document; returns True if this brought the frozen
        frequencies `idf` up to date, so that weights computed from them should be computed again.
        """
        self._counts.update(set(words))
        self._documents += 1
        if self._documents - self._idf.documents >= max(
            self._least, min(self._most, self._idf.documents // 20)
        ):
            self.update_idf()
            return True
        return False

    def restore(self, frozen: Idf) -> None:
        """Sets the counts to those of `frozen`, a copy taken earlier; documents added since are no
        longer counted."""
        self._documents, self._counts, self._idf = (
            frozen.documents,
            Counter(frozen.frequencies),
            frozen,
        )

    def update_idf(self) -> Idf:
        """Replaces the copy that `idf` returns by the current frequencies, and returns it; called
        after samples were added."""
        self._idf = Idf(self._documents, dict(self._counts))
        return self._idf


def heaviest(vector: Vector, top: int) -> dict[str, float]:
    """Returns the `top` words of greatest weight with their weights, heaviest first; ties in
    alphabetical order, for repeatable results."""
    return dict(sorted(vector.items(), key=lambda item: (-item[1], item[0]))[:top])


def mean_vector(vectors: Iterable[Vector]) -> dict[str, float]:
    """Returns the arithmetic mean of sparse vectors; an empty vector if there are none."""
    total: dict[str, float] = {}
    number = 0
    for vector in vectors:
        number += 1
        for word, weight in vector.items():
            total[word] = total.get(word, 0.0) + weight
    return {word: weight / number for word, weight in total.items()}


NEAR = 3
"""Number of bits in which the fingerprints of near-duplicates may differ."""

_BLOCKS = 4
_BITS = 64
_MASK = (1 << _BITS) - 1

T = TypeVar("T")


@lru_cache(maxsize=32768)
def _signs(token: str) -> np.ndarray:
    """Returns the 64 bits of a word's hash as an array of shape (64,): +1 for a set bit, -1 for an
    unset one."""
    digest = blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return np.unpackbits(np.frombuffer(digest, dtype=np.uint8)).astype(np.float32) * 2 - 1


def simhash(tokens: Iterable[str]) -> int:
    """Returns the 64-bit SimHash of a text, given as its words or a Counter of them; as a signed
    integer, so that it fits a database's bigint.

    Bit b is 1 where the sum over words of count * (+1 if bit b of the word's hash is set, else -1)
    is positive. Without words the result is 0; callers leave such texts out of comparisons.
    """
    counts = Counter(tokens)
    if not counts:
        return 0
    signs = np.stack([_signs(token) for token in counts])
    sums = np.fromiter(counts.values(), dtype=np.float32, count=len(counts)) @ signs
    return int.from_bytes(np.packbits(sums > 0).tobytes(), "big", signed=True)


def distance(a: int, b: int) -> int:
    """Returns the number of bits, 0 to 64, in which two fingerprints differ; each may be signed or
    unsigned."""
    return ((a ^ b) & _MASK).bit_count()


def blocks(fingerprint: int) -> tuple[int, int, int, int]:
    """Returns the four 16-bit blocks of a fingerprint, highest bits first. Two fingerprints at
    distance <= 3 have at least one equal block; the database stores each block in an indexed
    column."""
    value = fingerprint & _MASK
    return value >> 48, value >> 32 & 0xFFFF, value >> 16 & 0xFFFF, value & 0xFFFF


class SimHashIndex(Generic[T]):
    """An index of (fingerprint, name) entries that finds all entries whose fingerprints differ from
    a given one in at most `NEAR` bits.

    A search compares the given fingerprint only with entries that have a 16-bit block in common
    with it: of n random entries about n / 16,384.
    """

    def __init__(self) -> None:
        self._tables: tuple[dict[int, list[int]], ...] = tuple({} for _ in range(_BLOCKS))
        self._entries: dict[int, list[T]] = {}

    def __len__(self) -> int:
        return sum(len(names) for names in self._entries.values())

    def add(self, fingerprint: int, name: T) -> None:
        """Adds one entry; several entries may have the same fingerprint."""
        value = fingerprint & _MASK
        names = self._entries.get(value)
        if names is not None:
            names.append(name)
            return
        self._entries[value] = [name]
        for table, block in zip(self._tables, blocks(value), strict=True):
            table.setdefault(block, []).append(value)

    def near(self, fingerprint: int, limit: int = NEAR) -> Iterator[tuple[int, T]]:
        """Yields (distance, name) of all entries whose fingerprints differ in at most `limit` bits,
        in no particular order. Raises ValueError for a limit above 3, for which comparing blocks
        would miss entries."""
        if limit > NEAR:
            raise ValueError(f"the index finds distances up to {NEAR}, not {limit}")
        value = fingerprint & _MASK
        seen: set[int] = set()
        for table, block in zip(self._tables, blocks(value), strict=True):
            for candidate in table.get(block, ()):
                apart = (candidate ^ value).bit_count()
                if apart <= limit and candidate not in seen:
                    seen.add(candidate)
                    for name in self._entries[candidate]:
                        yield apart, name

    def nearest(self, fingerprint: int) -> tuple[int, T] | None:
        """Returns (distance, name) of the closest entry within `NEAR` bits, one of the closest if
        there are several; None if there is none."""
        return min(self.near(fingerprint), key=lambda pair: pair[0], default=None)
