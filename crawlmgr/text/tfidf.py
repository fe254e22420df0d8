"""Word weights by TF-IDF. Document frequencies are counted during a crawl; weights are computed
from a copy of the counts, which is renewed from time to time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log

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
