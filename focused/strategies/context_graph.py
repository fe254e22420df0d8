"""The strategy of context graphs (Diligenti et al. 2000): a classifier, trained on the links that
lead to relevant pages, predicts from a page's words how many clicks the page is away from a
relevant one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crawlmgr.text.similarity import heaviest, mean_vector
from focused.graph import Node, State
from focused.pages import Page
from focused.parameters import gettext_noop, parameter
from focused.strategies.base import Strategy

if TYPE_CHECKING:
    from sklearn.naive_bayes import MultinomialNB

OTHER = "other"
PAGES_A_LAYER = 300


def layers(pages: Iterable[Page], depth: int) -> dict[str, int]:
    """Returns for each page, by URL, the number of clicks along links to the nearest relevant page;
    0 for relevant pages. Pages that need more than `depth` clicks, or from which no relevant page
    can be reached, are omitted.
    """
    pages = list(pages)
    known = {page.url for page in pages}
    back: dict[str, list[str]] = {}
    for page in pages:
        for link in page.links:
            if link.url in known:
                back.setdefault(link.url, []).append(page.url)
    found = {page.url: 0 for page in pages if page.relevant}
    rim = list(found)
    for layer in range(1, depth + 1):
        outside = dict.fromkeys(
            url for target in rim for url in back.get(target, ()) if url not in found
        )
        found.update(dict.fromkeys(outside, layer))
        rim = list(outside)
    return found


class ContextGraph(Strategy):
    """Predicts how many clicks a page is away from the nearest page on topic (the page's layer), by
    a naive Bayes classifier over the topic's words. The links of a page of layer n wait in the
    queue of layer n - 1; lower layers are fetched first. The links of pages for which no layer is
    predicted with at least the probability `confidence` are fetched last.

    The classifier is trained on the pages of an earlier run (`history`) if there is one, otherwise
    on this run's own pages, for the first time after `first` pages and again each time their number
    has doubled. Until then links are ordered by the similarity of their page."""

    name = "context_graph"
    title = gettext_noop("Context graph")
    summary = gettext_noop(
        "Links are ordered by the estimated number of clicks from their page to a page on topic."
    )

    @dataclass(frozen=True, slots=True)
    class Settings:
        layers: int = parameter(
            3, gettext_noop("Layers around the pages on topic"), 1, 8, title=gettext_noop("Layers")
        )
        terms: int = parameter(
            40,
            gettext_noop("Number of words used to distinguish the layers"),
            5,
            2000,
            title=gettext_noop("Words to distinguish layers"),
        )
        confidence: float = parameter(
            0.5,
            gettext_noop("Probability below which a page is assigned to no layer"),
            0,
            1,
            title=gettext_noop("Minimum probability of a layer"),
        )
        first: int = parameter(
            50,
            gettext_noop(
                "Number of pages of this run to fetch before training, if there is no earlier run"
            ),
            5,
            100_000,
            title=gettext_noop("Pages before learning"),
        )

    settings: Settings

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._pages: list[Page] = []
        self._model: MultinomialNB | None = None
        self._terms: dict[str, int] = {}
        self._next = self.settings.first
        self._queues = [f"layer{i}" for i in range(self.settings.layers + 1)] + [OTHER]
        if self.history:
            self._learn(self.history)

    def select(self) -> Node | None:
        for queue in ("", *self._queues):
            if (node := self.graph.pop(queue)) is not None:
                return node
        return None

    def expand(self, node: Node, page: Page) -> None:
        if not self.history:
            self._pages.append(page)
            if len(self._pages) >= self._next:
                self._next = 2 * len(self._pages)
                self._learn(self._pages)
                self._move()
        queue, priority = self._place(page)
        for link in page.links:
            child = self.open(node, link.url)
            if child is None:
                continue
            if child.state == State.WAITING and (child.queue, -child.priority) <= (
                queue,
                -priority,
            ):
                continue
            self.graph.push(child, priority, queue, node.url)

    def _place(self, page: Page) -> tuple[str, float]:
        if self._model is None:
            return OTHER, page.similarity
        probabilities = self._model.predict_proba([self._features(page.content.words)])[0]
        best = int(probabilities.argmax())
        layer = int(self._model.classes_[best])
        if probabilities[best] < self.settings.confidence or layer > self.settings.layers:
            return OTHER, page.similarity
        return self._queues[max(0, layer - 1)], float(probabilities[best])

    def _move(self) -> None:
        """Moves every waiting link to the queue for the layer that is now predicted for its page.
        Called after the classifier has been trained again."""
        places = {page.url: self._place(page) for page in self._pages}
        for child in [child for queue in self._queues for child in self.graph.queued(queue)]:
            if child.parent in places:
                queue, priority = places[child.parent]
                self.graph.push(child, priority, queue)

    def _learn(self, pages: Iterable[Page]) -> None:
        # takes a second to import, needed only for training
        from sklearn.naive_bayes import MultinomialNB

        pages = list(pages)
        found = layers(pages, self.settings.layers)
        outside = self.settings.layers + 1
        chosen: dict[int, list[Mapping[str, int]]] = {}
        for page in reversed(pages):  # of each layer only the newest pages are used
            members = chosen.setdefault(found.get(page.url, outside), [])
            if len(members) < PAGES_A_LAYER:
                members.append(page.content.words)
        if 0 not in chosen or len(chosen) < 2:
            return
        target = mean_vector(self.topic.idf.weigh(words) for words in chosen[0])
        self._terms = {word: i for i, word in enumerate(heaviest(target, self.settings.terms))}
        rows = [
            (self._features(words), layer)
            for layer, members in sorted(chosen.items())
            for words in members
        ]
        self._model = MultinomialNB(fit_prior=False).fit([x for x, _ in rows], [y for _, y in rows])

    def _features(self, words: Mapping[str, int]) -> np.ndarray:
        row = np.zeros(len(self._terms))
        for word, count in words.items():
            if (place := self._terms.get(word)) is not None:
                row[place] = count
        return row
