"""What a run holds of each page while it goes on: the probability that the page is on topic, by its
place among the run's pages in a ranking by contrast with the samples."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from focused.judge.feedback import Feedback
from focused.judge.relevance import Relevance
from focused.pages import Content, HashedWords

Vector = NDArray[np.float64]


PRIOR = (-1.5, 1.0)


"""Mean of a and b before any mark: a quarter of the pages, those ranked highest, is then more
probably on topic than not."""


PRECISION = 0.1


"""Inverse variance of a and of b before any mark."""


SPREAD = 3.0


"""Places in a ranking are scaled to [-SPREAD, SPREAD]."""


LEAST_MARKS = 10


"""Number of marks from which a share is stated (all pages, if there are fewer)."""


TAIL, NORMAL = 0.035, 1.81


"""Probability that the share is below its interval, and that it is above; the distance of that
bound from the mean of a normal distribution, in standard deviations."""


_A, _B = (
    grid.ravel() for grid in np.meshgrid(np.linspace(-12.0, 8.0, 61), np.linspace(0.0, 8.0, 33))
)


_PRIOR = -PRECISION / 2 * ((_A - PRIOR[0]) ** 2 + (_B - PRIOR[1]) ** 2)


def places(scores: Vector, ranked: Vector | None = None) -> Vector:
    """Returns the place of each score among the scores `ranked` (None: among themselves), scaled to
    [-SPREAD, SPREAD]; the middle one for equal scores.

    >>> places(np.array([0.1, 0.7, 0.4])).tolist()
    [-2.0, 2.0, 0.0]
    """
    ordered = np.sort(scores if ranked is None else ranked)
    below, upto = (np.searchsorted(ordered, scores, side) for side in ("left", "right"))
    found: Vector = SPREAD * ((below + upto) / max(1, len(ordered)) - 1)
    return found


class Posterior:
    """Posterior of p = 1 / (1 + exp(-(a + b place))), the probability that a page is on topic, with
    Gaussian priors of a and b and b >= 0, on a grid. `marked` are the places of the marked pages,
    `marks` tells whether they are on topic."""

    def __init__(self, marked: Sequence[float] = (), marks: Sequence[bool] = ()) -> None:
        self.line = PRIOR
        """The means of a and b."""
        if not len(marks):
            return
        z = _A[:, None] + _B[:, None] * np.asarray(marked, dtype=float)
        fit = _PRIOR - np.logaddexp(0, np.where(np.asarray(marks, dtype=bool), -z, z)).sum(axis=1)
        weights = np.exp(fit - fit.max())
        kept = weights > 1e-5
        self._a, self._b = _A[kept], _B[kept]
        self._weights = weights[kept] / weights[kept].sum()
        self.line = (float(self._weights @ self._a), float(self._weights @ self._b))

    def number(self, unmarked: Vector) -> tuple[float, float, float]:
        """Returns how many of the pages at the places `unmarked` are on topic: low, mean, high. The
        bounds join two uncertainties: of a and b, and of each page given its probability."""
        each = probability(unmarked, self._a[:, None], self._b[:, None])
        sums = each.sum(axis=1)
        order = np.argsort(sums)
        mass = np.cumsum(self._weights[order])
        mean = float(self._weights @ sums)
        chance = float(self._weights @ (each * (1 - each)).sum(axis=1)) * NORMAL**2
        bounds = []
        for tail, side in ((TAIL, -1), (1 - TAIL, 1)):
            at = min(len(order) - 1, int(np.searchsorted(mass, tail)))
            bounds.append(mean + side * sqrt((float(sums[order[at]]) - mean) ** 2 + chance))
        return max(0.0, bounds[0]), mean, min(float(len(unmarked)), bounds[1])


def probability(at: Vector, a: Vector | float, b: Vector | float) -> Vector:
    """Returns 1 / (1 + exp(-(a + b at))) of each place `at`."""
    found: Vector = 1 / (1 + np.exp(-np.clip(a + b * at, -500, 500)))
    return found


def to_mark(scores: Vector, marked: Collection[int], number: int) -> list[int]:
    """Returns the numbers of up to `number` pages whose marks would tell most: one of each tenth of
    the ranking that has no marked page, highest first, then of each twentieth and so on."""
    order = np.argsort(-scores, kind="stable")
    chosen: dict[int, None] = {}
    parts, left = LEAST_MARKS, len(order) - len(marked)
    while len(chosen) < min(number, left):
        for part in np.array_split(order, parts):
            if len(part) and not any(int(page) in chosen or int(page) in marked for page in part):
                chosen[int(part[len(part) // 2])] = None
        parts *= 2
    return list(chosen)[:number]


FIRST = 10


"""Number of pages before the first ranking, and at least between two rankings."""


GROWTH = 1.25


"""The pages are ranked again when their number has grown by this factor."""


MAX_PAGES = 2000


"""Number of pages, the first ones, from which the ranking is learned; later pages are placed among
these."""


FEW_WORDS = 60


"""Pages with fewer words are not checked for being stuffed with words."""


WRITTEN, DRAWN = 1.2, 0.8


"""Number of different words relative to n ** 0.65, n being the number of words, from which a page
is certainly written, and up to which it is certainly drawn from a list of words."""


def reward(similarity: float, threshold: float) -> float:
    """Returns min(1, Sim / 2 tau), with Sim a page's `similarity` to the topic: one half at the
    `threshold` tau."""
    return 1.0 if similarity >= 2 * threshold else float(similarity / (2 * threshold))


def stuffed(words: HashedWords) -> float:
    """Returns in [0, 1] how surely a page is stuffed with words, by how few of its n words differ.
    Of pages written by people, in English as in Chinese, one in a hundred has fewer than 1.3
    n ** 0.65."""
    number = float(np.exp(words.weights - 1).sum())
    if number < FEW_WORDS:
        return 0.0
    ratio = len(words.numbers) / float(number**0.65)
    return min(1.0, max(0.0, (WRITTEN - ratio) / (WRITTEN - DRAWN)))


class Judge:
    """Judges the pages of a run one by one. If the topic has a threshold of its own, or before the
    first ranking, by `reward`; else by the page's place among the pages so far and by `line`, the
    constants a and b of `posterior`, which the operator's marks change. Without marks, this orders
    pages for strategies and measures nothing."""

    def __init__(self, topic: Relevance) -> None:
        self.topic = topic
        self.line = PRIOR
        own = topic.topic.threshold is not None
        self._contrast = None if own else Feedback(topic.samples, topic.marked)
        self._ranked = np.zeros(0)
        self._due = FIRST

    def see(self, words: HashedWords) -> None:
        """Learns from a page that is no copy, and ranks all pages again when that is due. Learns
        nothing from pages stuffed with words, which would pass for typical of the topic."""
        if self._contrast is None or stuffed(words) >= 0.5:
            return
        if len(self._contrast) < MAX_PAGES:
            self._contrast.add(words)
            if len(self._contrast) >= self._due:
                self._ranked = np.sort(self._contrast.rank())
                self._due = max(self._due + FIRST, int(GROWTH * self._due))

    def __call__(self, words: HashedWords, similarity: float) -> float:
        """Returns the probability that a page with these words is on topic; the doubt whether it is
        stuffed with words lowers it."""
        written = 1 - stuffed(words)
        if self._contrast is None or not len(self._ranked):
            return written * reward(similarity, self.topic.threshold)
        at = places(np.array([self._contrast.score_of(words)]), self._ranked)
        return written * float(probability(at, *self.line)[0])


def judged(topic: Relevance, pages: Iterable[Content]) -> Sequence[float]:
    """Returns the probability of each of several pages, which are ranked together."""
    contents = list(pages)
    judge = Judge(topic)
    for page in contents:
        judge.see(page.hashed)
    return [judge(page.hashed, topic.page(page.words)) for page in contents]
