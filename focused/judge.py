"""A judge that learns from the crawl's own pages: relevance feedback without an operator, and with one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Vector = NDArray[np.float64]

MOST_SIMILAR = 20
"""Pages whose centroid stands for the topic, at most a fifth of all."""
EVERY = 50
"""Pages between two rankings; beyond a thousand pages a twentieth of them, so that ranking costs the same a page."""
FIRST = 10
"""Pages before the first ranking, and between rankings until there are fifty."""
SAMPLES_SHARE = 0.5
"""What the topic's own samples count beside those pages."""
OFF_TOPIC_SHARE = 0.5
"""What the operator's pages off topic count; those on topic count as much as all that the judge goes by without marks."""


def two_levels(scores: Vector) -> tuple[float, float]:
    """Means of the two groups that a cut tells apart best (Otsu): what pages off topic score, and what those on topic do."""
    ordered = np.sort(scores)
    size = len(ordered)
    sums = np.cumsum(ordered)
    below = np.arange(1, size)
    low = sums[:-1] / below
    high = (sums[-1] - sums[:-1]) / (size - below)
    between = below * (size - below) * (high - low) ** 2
    cut = int(np.argmax(between))
    return float(low[cut]), float(high[cut])


class Feedback:
    """Pages in the order in which they came; `rank` judges them anew by what the most similar ones share and the others do not.

    Rocchio without a judge: v = half the centroid of the samples and half that of the 20 pages nearest to it - the centroid of
    all, over (1 + ln f) idf weights of length 1; a page's score is its inner product with v. Of pages that the operator
    marked (`mark`), the centroid of those on topic is added, and half that of those off topic taken off, each less that of all.
    """

    def __init__(self, samples: Sequence[Mapping[str, float]]) -> None:
        self.ranked = 0
        """Pages that the last ranking knew."""
        self._vocabulary: dict[str, int] = {}
        self._indices: list[NDArray[np.int32]] = []
        self._weights: list[Vector] = []
        self._marks: dict[int, bool] = {}
        self._samples = [self._row(counts) for counts in samples if counts]
        self._direction = np.zeros(0)
        self._idf = np.zeros(0)
        self._levels = (0.0, 1.0)

    def __len__(self) -> int:
        return len(self._indices)

    def add(self, words: Mapping[str, float]) -> None:
        """A page arrived."""
        indices, weights = self._row(words)
        self._indices.append(indices)
        self._weights.append(weights)

    def mark(self, number: int, on_topic: bool | None) -> None:
        """The operator's word on a page by its number; None takes it back."""
        if on_topic is None:
            self._marks.pop(number, None)
        else:
            self._marks[number] = on_topic

    def due(self) -> bool:
        """Whether it is time to rank again."""
        return len(self) - self.ranked >= (FIRST if len(self) <= EVERY else max(EVERY, self.ranked // 20))

    def rank(self) -> Vector:
        """The score of every page: comparable among them only."""
        matrix = self._matrix()
        everything = np.asarray(matrix.mean(axis=0)).ravel()
        samples = self._sample_centroid(len(everything))
        weights = np.zeros(len(self))
        most = min(MOST_SIMILAR, max(3, len(self) // 5))
        weights[np.argsort(-(matrix @ (samples - everything)), kind="stable")[:most]] = 1.0
        share = SAMPLES_SHARE if self._samples else 0.0
        near = matrix.T @ (weights / max(weights.sum(), 1e-12))
        self._direction = share * samples + (1 - share) * near - everything
        for on_topic, factor in ((True, 1.0), (False, -OFF_TOPIC_SHARE)):
            marked = [number for number, word in self._marks.items() if word == on_topic]
            if marked:
                self._direction += factor * (np.asarray(matrix[marked].mean(axis=0)).ravel() - everything)
        scores = matrix @ self._direction
        self.ranked = len(self)
        self._levels = two_levels(scores)
        return scores

    def to_mark(self, scores: Vector, number: int) -> list[int]:
        """The pages without a mark of which the operator's word tells the most: those nearest the cut between both levels."""
        unsure = np.argsort(np.abs(scores - sum(self._levels) / 2), kind="stable").tolist()
        return [page for page in unsure if page not in self._marks][:number]

    def worth(self, scores: Vector) -> Vector:
        """Scores in [0, 1]: 0 for the level of pages off topic, 1 for the level of those on topic."""
        low, high = self._levels
        return np.clip((scores - low) / max(high - low, 1e-9), 0.0, 1.0)

    def score(self, number: int) -> float:
        """The score of one page by the last ranking, which may not have known it."""
        indices, values = self._weighed(self._indices[number], self._weights[number])
        known = indices < len(self._direction)
        return float((values[known] * self._direction[indices[known]]).sum())

    def _row(self, words: Mapping[str, float]) -> tuple[NDArray[np.int32], Vector]:
        known = self._vocabulary
        indices = np.fromiter((known.setdefault(word, len(known)) for word in words), np.int32, len(words))
        return indices, 1 + np.log(np.maximum(np.fromiter(words.values(), float, len(words)), 1.0))

    def _weighed(self, indices: NDArray[np.int32], weights: Vector) -> tuple[NDArray[np.int32], Vector]:
        """A row times idf (a word that no ranking knew counts as standing on no page), of length 1."""
        known = indices < len(self._idf)
        values = weights * np.log(self.ranked + 1) + weights
        values[known] = weights[known] * self._idf[indices[known]]
        return indices, values / max(float(np.sqrt((values**2).sum())), 1e-12)

    def _sample_centroid(self, size: int) -> Vector:
        found = np.zeros(size)
        for sample in self._samples:
            indices, values = self._weighed(*sample)
            found[indices] += values / len(self._samples)
        return found

    def _matrix(self) -> sparse.csr_matrix:
        """Pages x words: (1 + ln f) (ln((N + 1) / (n + 1)) + 1), rows of length 1."""
        lengths = [len(row) for row in self._indices]
        indices = np.concatenate([*self._indices, np.zeros(0, dtype=np.int32)])
        size = len(self._vocabulary)
        frequencies = np.bincount(indices, minlength=size)
        self._idf = np.log((len(self) + 1) / (frequencies + 1)) + 1
        data = np.concatenate([*self._weights, np.zeros(0)]) * self._idf[indices]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        rows = np.repeat(np.arange(len(self)), lengths)
        length = np.sqrt(np.bincount(rows, weights=data * data, minlength=len(self)))
        return sparse.csr_matrix((data / np.maximum(length[rows], 1e-12), indices, starts), shape=(len(self), size))
