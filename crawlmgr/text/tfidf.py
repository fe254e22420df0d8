"""Word weights: TF-IDF with document frequencies that grow during a crawl and are frozen between renewals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log

Vector = Mapping[str, float]
"""A sparse vector: word to weight."""


def smooth_idf(documents: int, frequency: int) -> float:
    """Inverse document frequency of a word: ln((N + 1) / (df + 1)) + 1 for N `documents`, df of which (`frequency`) contain
    the word; at least 1. It is eq. (2) of the tunnelling paper, smoothed so that it is stable with few documents."""
    return log((documents + 1) / (frequency + 1)) + 1


@dataclass(frozen=True, slots=True)
class Idf:
    """Document frequencies at one moment. Unknown words count as seen in no document."""

    documents: int
    frequencies: Mapping[str, int]

    def __call__(self, word: str) -> float:
        """The word's inverse document frequency by `smooth_idf`."""
        return smooth_idf(self.documents, self.frequencies.get(word, 0))

    def weigh(self, counts: Mapping[str, float]) -> dict[str, float]:
        """tf * idf of every word of a document; `counts` are the numbers of occurrences tf."""
        frequencies, documents = self.frequencies, self.documents
        return {word: count * smooth_idf(documents, frequencies.get(word, 0)) for word, count in counts.items()}


class DocumentFrequencies:
    """Counts in how many documents each word occurs, and provides these frequencies as an `Idf` that stays unchanged (frozen)
    until it is renewed.

    It is renewed after 5 % more documents, but after no fewer than `least` and no more than `most`: often while frequencies
    still change much, rarely once copying them is expensive. `add` returns True when it was renewed, so that the caller can
    compute weights again.
    """

    def __init__(self, least: int = 25, most: int = 500) -> None:
        self._least = least
        self._most = most
        self._documents = 0
        self._counts: Counter[str] = Counter()
        self._idf = Idf(0, {})

    @property
    def idf(self) -> Idf:
        """The frozen document frequencies."""
        return self._idf

    @property
    def documents(self) -> int:
        """The number of documents added, including those since the last renewal."""
        return self._documents

    def add(self, words: Iterable[str]) -> bool:
        """Counts the distinct words of one document; True if the frozen view was renewed."""
        self._counts.update(set(words))
        self._documents += 1
        if self._documents - self._idf.documents >= max(self._least, min(self._most, self._idf.documents // 20)):
            self.freeze()
            return True
        return False

    def restore(self, frozen: Idf) -> None:
        """Restores a frozen view that was handed out when nothing had been added since."""
        self._documents, self._counts, self._idf = frozen.documents, Counter(frozen.frequencies), frozen

    def freeze(self) -> Idf:
        """Renews the frozen view now, for instance after the samples of a topic."""
        self._idf = Idf(self._documents, dict(self._counts))
        return self._idf


def heaviest(vector: Vector, top: int) -> dict[str, float]:
    """The `top` heaviest words, heaviest first; ties in alphabetical order, for repeatable results."""
    return dict(sorted(vector.items(), key=lambda item: (-item[1], item[0]))[:top])


def mean_vector(vectors: Iterable[Vector]) -> dict[str, float]:
    """Arithmetic mean of sparse vectors; no vectors give an empty one."""
    total: dict[str, float] = {}
    number = 0
    for vector in vectors:
        number += 1
        for word, weight in vector.items():
            total[word] = total.get(word, 0.0) + weight
    return {word: weight / number for word, weight in total.items()}
