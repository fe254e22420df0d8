"""The strategy of web space evolution (Liu, Li and Jiang 2019): keeps a library of links, which new
links enter if they are near reference points in the space of three objectives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from focused.graph import Node, State
from focused.pages import Page
from focused.parameters import gettext_noop, parameter
from focused.strategies.base import Strategy
from focused.strategies.link_table import LinkTable
from focused.strategies.pareto import best_spread, nearest_farthest

Vector = NDArray[np.float64]


def enter(tests: Vector, library: Vector, seeds: Vector) -> NDArray[np.bool_]:
    """Tells which links enter the library: those nearer to the reference points than its members
    are on average.

    Parameters
    ----------
    tests, library, seeds : (m, objectives), (l, objectives) and (s, objectives): vectors of the
        links to test, of the library's members and of the reference points.

    Returns
    -------
    entered : (m,), True if the Euclidean distance to the nearest row of `seeds` is below the mean
        of these distances for the rows of `library`. Every link enters an empty library.

    References
    ----------
    The library of web space evolution (Liu, Li and Jiang 2019).
    """
    if len(library) == 0:
        return np.ones(len(tests), dtype=bool)
    near: NDArray[np.bool_] = to_seeds(tests, seeds) < to_seeds(library, seeds).mean()
    return near


def to_seeds(points: Vector, seeds: Vector) -> Vector:
    """Returns the distance of each row of `points` to the nearest row of `seeds`."""
    nearest: Vector = np.linalg.norm(points[:, None, :] - seeds[None, :, :], axis=2).min(axis=1)
    return nearest


class SpaceEvolution(Strategy):
    """Evolves a library of links in cycles. Each cycle
    - tests the open links on the fetched pages of the library, or all open links if there are none;
    - adds those that pass (`enter`) and keeps the library's best links by Pareto rank;
    - fetches up to `pages` unfetched links of the library whose objectives are far apart. The
      objectives of a link, as in the ant colony strategy, are the relevances R of its anchor, page
      and target (estimated).
    """

    name = "space_evolution"
    title = gettext_noop("Space evolution")
    summary = gettext_noop(
        "Evolutionary search: keeps a library of the links that are closest to a reference in the"
        " relevance of anchor, page and target."
    )
    one_at_a_time = True

    @dataclass(frozen=True, slots=True)
    class Settings:
        library: int = parameter(
            50,
            gettext_noop("Links in the library"),
            2,
            10_000,
            title=gettext_noop("Size of the link library"),
        )
        pages: int = parameter(
            10,
            gettext_noop("Pages fetched in a cycle"),
            1,
            1000,
            title=gettext_noop("Pages per cycle"),
        )
        toward: str = parameter(
            "samples",
            gettext_noop(
                "What the relevance of a link's anchor, page and target is compared with: the"
                " topic's samples (the highest relevance), or the seed pages"
            ),
            choices=("samples", "seeds"),
            title=gettext_noop("Reference for links"),
        )

    settings: Settings

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._links = LinkTable()
        self._seeds: list[Sequence[float]] = []
        self._toward_seeds = self.settings.toward == "seeds"
        if not self._toward_seeds:
            self._seeds.append((1.0, 1.0, 1.0))
        self._library: dict[str, Sequence[float]] = {}
        self._walk: Iterator[Node] = iter(())

    def start(self, seeds: Sequence[str]) -> None:
        super().start(seeds)
        self._walk = self._cycles()

    def select(self) -> Node | None:
        node = self.graph.pop() or next(self._walk, None)
        if node is None and len(
            self._links.open_rows()
        ):  # links were added after the last cycle ended
            self._walk = self._cycles()
            node = next(self._walk, None)
        return node

    def expand(self, node: Node, page: Page) -> None:
        if node.parent is None:
            title = self.topic.text(self.topic.tokenizer(page.content.title))
            vector = (title, page.similarity, page.similarity)
            if self._toward_seeds:
                self._seeds.append(vector)
            self._library[node.url] = vector
        for link in page.links:
            self.graph.add(link.url, node.depth + 1, node.url)
        anchors = [self.topic.page(Counter(link.anchor_words)) for link in page.links]
        priors = [
            max(anchor, self.topic.page(link.context))
            for anchor, link in zip(anchors, page.links, strict=True)
        ]
        urls = [link.url for link in page.links]
        self._links.add(node.url, page.similarity, urls, anchors, priors, page.content.url)

    def fail(self, node: Node) -> None:
        self._links.close(node.url)
        self._library.pop(node.url, None)

    def explain(self, node: Node) -> Mapping[str, float]:
        objectives = self._library.get(node.url)
        return (
            {}
            if objectives is None
            else dict(zip(("anchor", "page", "target"), map(float, objectives), strict=True))
        )

    def _cycles(self) -> Iterator[Node]:
        while True:
            tests = self._tests()
            if tests:
                self._evolve(tests)
            chosen = self._chosen()
            if not chosen:
                return
            for node in chosen:
                if (
                    node.state < State.FETCHED
                ):  # its page may have been fetched earlier in this cycle, through a redirect
                    yield node

    def _tests(self) -> dict[str, tuple[Sequence[float], str]]:
        """Returns the links to test: for each target URL, the objectives of the link and the URL of
        the page that contains it. Of several links to one URL, this is the link with the largest
        sum of objectives.

        These are the open links of the library's pages; if there are none, the open links of all
        pages.
        """
        spans = [self._links.rows(url) for url in self._library if url in self._links]
        rows = np.concatenate(spans) if spans else np.zeros(0, dtype=np.intp)
        rows = rows[self._links.is_open(rows)]
        if not len(rows):
            rows = self._links.open_rows()
        objectives = self._links.objectives(rows)
        # in ascending order, so that the best link to a URL overwrites the others
        order = np.argsort(objectives.sum(axis=1), kind="stable")
        return {
            self._links.urls[rows[i]]: (objectives[i].tolist(), self._links.page_of(rows[i]))
            for i in order
        }

    def _evolve(self, tests: dict[str, tuple[Sequence[float], str]]) -> None:
        urls = list(tests)
        vectors = np.array([vector for vector, _ in tests.values()])
        seeds = np.array(self._seeds).reshape(-1, 3)
        welcome = enter(vectors, np.array(list(self._library.values())).reshape(-1, 3), seeds)
        if not welcome.any() and not any(self._unfetched(url) for url in self._library):
            welcome[to_seeds(vectors, seeds).argsort(kind="stable")[: self.settings.pages]] = True
        for i in np.flatnonzero(welcome):
            vector, parent = tests[urls[i]]
            self._library[urls[i]] = vector
            node = self.graph.node(urls[i])
            if node is not None:
                node.parent = parent
        self._trim()

    def _trim(self) -> None:
        """Reduces the library to its maximum size (parameter `library`) by keeping the links of the
        best Pareto fronts. If all kept links are fetched already, up to `pages` (a parameter)
        unfetched links replace the last of them.
        """
        names = list(self._library)
        kept = [
            names[i]
            for i in best_spread(np.array(list(self._library.values())), self.settings.library)
        ]
        if not any(self._unfetched(url) for url in kept):
            fresh = [url for url in names if self._unfetched(url)][: self.settings.pages]
            kept = [*kept[: max(0, self.settings.library - len(fresh))], *fresh]
        self._library = {url: self._library[url] for url in kept}

    def _chosen(self) -> list[Node]:
        waiting = [url for url in self._library if self._unfetched(url)]
        rows = np.array([self._library[url] for url in waiting]).reshape(-1, 3)
        nodes = [self.graph.node(waiting[i]) for i in nearest_farthest(rows, self.settings.pages)]
        return [node for node in nodes if node is not None]

    def _unfetched(self, url: str) -> bool:
        node = self.graph.node(url)
        return node is not None and node.state < State.FETCHED
