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
