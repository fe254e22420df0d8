"""What a run holds of each page while it goes on: the probability that the page is on topic, by its
place among the run's pages in a ranking by contrast with the samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from focused.judge.feedback import Feedback
from focused.judge.posterior import PRIOR, places, probability
from focused.judge.relevance import Relevance
from focused.pages import Content, HashedWords

FIRST = 10
"""Number of pages before the first ranking, and at least between two rankings."""
GROWTH = 1.25
"""The pages are ranked again when their number has grown by this factor."""
MAX_PAGES = 2000
"""Number of pages, the first ones, from which the ranking is learned; later pages are placed among
these."""


def reward(similarity: float, threshold: float) -> float:
    """Returns min(1, Sim / 2 tau), with Sim a page's `similarity` to the topic: one half at the
    `threshold` tau."""
    return min(1.0, similarity / (2 * max(threshold, 1e-9)))


class Judge:
    """Judges the pages of a run one by one. If the topic has a threshold of its own, or before the
    first ranking, by `reward`; else by the page's place among the pages so far and by `line`, the
    constants a and b of `posterior`, which the operator's marks change. Without marks, this orders
    pages for strategies and measures nothing."""

    def __init__(self, topic: Relevance) -> None:
        self.topic = topic
        self.line = PRIOR
        self._contrast = Feedback(topic.samples, topic.marked)
        self._ranked = np.zeros(0)
        self._due = FIRST

    def see(self, words: HashedWords) -> None:
        """Learns from a page that is no copy, and ranks all pages again when that is due."""
        if self.topic.topic.threshold is None and len(self._contrast) < MAX_PAGES:
            self._contrast.add(words)
            if len(self._contrast) >= self._due:
                self._ranked = np.sort(self._contrast.rank())
                self._due = max(self._due + FIRST, int(GROWTH * self._due))

    def __call__(self, words: HashedWords, similarity: float) -> float:
        """Returns the probability that a page with these words is on topic."""
        if not len(self._ranked):
            return reward(similarity, self.topic.threshold)
        at = places(np.array([self._contrast.score_of(words)]), self._ranked)
        return float(probability(at, *self.line)[0])


def judged(topic: Relevance, pages: Iterable[Content]) -> Sequence[float]:
    """Returns the probability of each of several pages, which are ranked together."""
    contents = list(pages)
    judge = Judge(topic)
    for page in contents:
        judge.see(page.hashed)
    return [judge(page.hashed, topic.page(page.words)) for page in contents]
