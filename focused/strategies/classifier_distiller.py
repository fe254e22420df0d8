"""The focused crawler of Chakrabarti, van den Berg and Dom (1999): a classifier estimates the
relevance of pages, and a distiller finds hubs, pages that link to many relevant pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crawlmgr.web.url import host_key
from focused.graph import Node, State
from focused.pages import Page
from focused.parameters import gettext_noop, parameter
from focused.strategies.base import Strategy

if TYPE_CHECKING:
    from scipy import sparse
    from sklearn.naive_bayes import MultinomialNB

FEATURES = 2**15
ITERATIONS = 20
MANY_HOSTS = 5
"""If the fetched pages are on at least this many hosts, links inside one host are left out of the
hub scores."""


class ClassifierDistiller(Strategy):
    """Orders links by (1 - h) R(page) + h hub(page), where R is the classifier's probability that
    the link's page is on topic, hub the page's hub score, and h the parameter `hub`.

    The classifier (naive Bayes) is trained on the topic's samples and on the pages fetched so far,
    which are labelled relevant if their similarity reaches the topic's threshold. Until it has been
    trained, R is the similarity. Hub scores are those of HITS over the pages fetched so far, each
    link weighted by the relevance of the page at its other end; they are scaled so that the best is
    1.
    """

    name = "classifier_distiller"
    title = gettext_noop("Classifier and distiller")
    summary = gettext_noop(
        "Links come first if a classifier, trained during the run, judges their page on topic, or"
        " if their page is a good hub (links to many pages on topic)."
    )

    @dataclass(frozen=True, slots=True)
    class Settings:
        hub: float = parameter(
            0.3,
            gettext_noop("Share of a page's hub score in its links' priority"),
            0,
            1,
            title=gettext_noop("Share of the hub score"),
        )
        every: int = parameter(
            100,
            gettext_noop(
                "Number of pages between two updates of the classifier and the hub scores"
            ),
            10,
            100_000,
            title=gettext_noop("Pages between trainings"),
        )
        smoothing: float = parameter(
            0.1,
            gettext_noop("Laplace smoothing of the classifier"),
            0.0001,
            10,
            title=gettext_noop("Smoothing"),
        )

    settings: Settings

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # imported here because the import takes a second and is needed only when a crawl begins
        from sklearn.feature_extraction import FeatureHasher

        super().__init__(*args, **kwargs)
        self._hasher = FeatureHasher(FEATURES, alternate_sign=False)
        self._rows: list[sparse.csr_matrix] = []
        self._answers: list[bool] = []
        for text in self.topic.topic.documents:
            self._sample(dict.fromkeys(self.topic.tokenizer(text), 1), True)
        self._classifier: MultinomialNB | None = None
        self._relevance: dict[str, float] = {}
        self._hubs: dict[str, float] = {}
        self._edges: list[tuple[str, str]] = []

    def expand(self, node: Node, page: Page) -> None:
        row = self._sample(page.content.words, page.relevant)
        known = self._classifier
        relevance = page.similarity if known is None else float(known.predict_proba(row)[0, 1])
        self._relevance[node.url] = relevance
        node.data["relevance"] = relevance
        for link in page.links:
            self._edges.append((node.url, link.url))
            child = self.open(node, link.url)
            if child is None:
                continue
            score = self._score(node.url)
            if child.state == State.KNOWN or score > child.priority:
                self.graph.push(child, score, parent=node.url)
        if len(self._relevance) % self.settings.every == 0:
            self._train()
            self._distil()
            self.graph.reprioritise(
                lambda child: self._score(child.parent) if child.parent else child.priority
            )

    def explain(self, node: Node) -> Mapping[str, float]:
        parent = node.parent or ""
        return {"relevance": self._relevance.get(parent, 0.0), "hub": self._hubs.get(parent, 0.0)}

    def _score(self, parent: str) -> float:
        h = self.settings.hub
        return (1 - h) * self._relevance[parent] + h * self._hubs.get(parent, 0.0)

    def _sample(self, words: Mapping[str, int], relevant: bool) -> sparse.csr_matrix:
        # Words count as present or absent: with their numbers of occurrences, long pages would
        # outweigh the short samples.
        row = self._hasher.transform([dict.fromkeys(words, 1)])
        self._rows.append(row)
        self._answers.append(relevant)
        return row

    def _train(self) -> None:
        # loaded with what __init__ imports
        from scipy import sparse
        from sklearn.naive_bayes import MultinomialNB

        if len(set(self._answers)) == 2:
            classifier = MultinomialNB(alpha=self.settings.smoothing, fit_prior=False)
            self._classifier = classifier.fit(sparse.vstack(self._rows), self._answers)

    def _distil(self) -> None:
        # loaded with what __init__ imports
        from scipy import sparse

        hosts = {host_key(url) for url in self._relevance}
        keep_inside = len(hosts) < MANY_HOSTS
        numbers = {url: i for i, url in enumerate(self._relevance)}
        edges = [
            (numbers[a], numbers[b])
            for a, b in self._edges
            if b in numbers and a != b and (keep_inside or host_key(a) != host_key(b))
        ]
        if not edges:
            return
        relevance = np.fromiter(self._relevance.values(), dtype=float)
        start, end = np.array(edges).T
        shape = (len(numbers), len(numbers))
        # a hub's score is raised by the relevant pages it links to
        forward = sparse.csr_matrix((relevance[end], (start, end)), shape=shape)
        # an authority's score is raised by the relevant pages that link to it
        backward = sparse.csr_matrix((relevance[start], (start, end)), shape=shape)
        hubs = np.ones(len(numbers))
        for _ in range(ITERATIONS):
            authorities = backward.T @ hubs
            hubs = forward @ (authorities / max(authorities.max(), 1e-12))
            hubs /= max(hubs.max(), 1e-12)
        self._hubs = dict(zip(numbers, hubs.tolist(), strict=True))
