"""Ant colony (Liu and Lü; Dong, Liu and Liu): ants walk links, pheromone keeps what paid, three objectives choose starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crawlmgr.text.similarity import WordSimilarity, same_word, semantic
from focused.graph import Node, State
from focused.pages import Page
from focused.parameters import parameter
from focused.strategies.base import Strategy
from focused.strategies.link_table import LinkTable, Rows
from focused.strategies.pareto import best_spread

Vector = NDArray[np.float64]
TAU_MIN = 0.01
TAU_MAX = 5.0
ENOUGH_SCORES = 20
"""Link scores from which on the threshold is drawn from them."""
STILL_CYCLES = 3
STILL = 1e-3


@dataclass(slots=True)
class Ant:
    """One walk of one cycle: where it is, where it was, and the rows of the links that it took."""

    page: str
    tabu: set[str]
    path: list[int]


def transition(pheromone: Vector, promise: Vector, q0: float, alpha: float, beta: float, draw: float, pick: float) -> int:
    """Pseudo-random proportional rule, eq. (3): the index of the chosen link.

    With draw <= q0 the greatest tau^alpha * eta^beta, else link j with probability proportional to it; `pick` in [0, 1)
    is the second random number.
    """
    weights = pheromone**alpha * promise**beta
    if draw <= q0:
        return int(weights.argmax())
    steps = weights.cumsum()
    return int(min(np.searchsorted(steps, pick * steps[-1], side="right"), len(steps) - 1))


class AntColony(Strategy):
    """Ants start on chosen pages and take up to `depth` links each; only links worth eta are fetched, and each once for all.

    R(l) = h1 R(anchor) + h2 R(page) + h3 R(target), the target's expected from its URL's kin until it is fetched.
    After a cycle tau <- (1 - rho) tau + sum over ants of the mean relevance of their path, within [0.01, 5]; the next
    starts are spread over the best fronts of the pages found worth waiting at. After a cycle that fetches nothing the
    best of all links is fetched, and links that were too light are weighed again. The sources give no q0 and no quantile
    for eta; 0.9 and 0.3 found more of the targets of recorded sites than 0.5 and 0.6.
    """

    name = "ant_colony"
    summary = "Ants that follow promising links and the pheromone of earlier walks; starts spread over three objectives."
    one_at_a_time = True

    @dataclass(frozen=True, slots=True)
    class Settings:
        ants: int = parameter(10, "Ants in a cycle", 1, 1000)
        depth: int = parameter(5, "Links an ant takes in a cycle", 1, 100)
        alpha: float = parameter(1.0, "Weight of the pheromone (exponent)", 0, 10)
        beta: float = parameter(2.0, "Weight of the link's own promise (exponent)", 0, 10)
        rho: float = parameter(0.1, "Share of the pheromone that evaporates in a cycle", 0, 1)
        q0: float = parameter(0.9, "Probability of taking the best link instead of drawing one", 0, 1)
        initial: float = parameter(1.0, "Pheromone of a new link", TAU_MIN, TAU_MAX)
        local: float = parameter(0.0, "Share by which a step draws the pheromone back to its initial value", 0, 1)
        pool: int = parameter(50, "Pages that starts are chosen from", 1, 10_000)
        starts: int = parameter(10, "Start pages of a cycle", 1, 1000)
        h1: float = parameter(0.5, "Weight of the anchor in a link's relevance", 0, 1)
        h2: float = parameter(0.2, "Weight of the page with the link", 0, 1)
        h3: float = parameter(0.3, "Weight of the page that the link leads to", 0, 1)
        quantile: float = parameter(0.3, "Share of the link scores so far that are too light to fetch", 0, 1)
        threshold: float = parameter(0.3, "The least score to fetch before there are scores to compare with", 0, 1)
        similarity: str = parameter(
            "cosine", "Relevance of text: cosine of word weights, or Sem word by word", choices=("cosine", "words")
        )
        stop: bool = parameter(True, "Stop after three cycles without a fetch or a direction in the pheromone")

    settings: Settings
    alike: WordSimilarity = staticmethod(same_word)
    """How alike two words are in Sem; an ontology's measure may take its place."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._draw = np.random.default_rng(self.rng.getrandbits(64))
        self._links = LinkTable()
        self._pheromone = np.zeros(256)
        self._stamps: dict[str, int] = {}
        self._light: dict[str, set[str]] = {}
        self._scores: list[float] = []
        self._eta = self.settings.threshold
        self._cycle = 0
        self._fetched = 0
        self._waiting: dict[str, Vector] = {}
        self._walk: Iterator[Node] = iter(())

    def start(self, seeds: Sequence[str]) -> None:
        super().start(seeds)
        self._walk = self._cycles()

    def select(self) -> Node | None:
        return self.graph.pop() or next(self._walk, None)

    def expand(self, node: Node, page: Page) -> None:
        self._fetched += 1
        relevance = self._relevance(page.content.words, page.similarity)
        for link in page.links:
            self.graph.add(link.url, node.depth + 1, node.url)
        anchors = [self._relevance(Counter(link.anchor_words)) for link in page.links]
        priors = [max(anchor, self._relevance(link.context)) for anchor, link in zip(anchors, page.links, strict=True)]
        first = len(self._links)
        urls = [link.url for link in page.links]
        self._links.add(node.url, relevance, urls, anchors, priors, page.content.url)
        while len(self._pheromone) < len(self._links):
            self._pheromone = np.concatenate([self._pheromone, np.zeros_like(self._pheromone)])
        self._pheromone[first : len(self._links)] = self.settings.initial
        self._stamps[node.url] = self._cycle
        self._scores.extend(self.worth(self._links.rows(node.url)).tolist())

    def fail(self, node: Node) -> None:
        self._links.close(node.url)

    def worth(self, rows: Rows) -> Vector:
        """R(l) of links, eq. (9), the weights made to sum 1."""
        weights = np.array([self.settings.h1, self.settings.h2, self.settings.h3])
        return self._links.objectives(rows) @ (weights / max(weights.sum(), 1e-12))

    def explain(self, node: Node) -> Mapping[str, float]:
        parent = node.parent or ""
        row = self._links.row_of(parent, node.url) if parent in self._links else None
        if row is None:
            return {}
        rows = np.array([row])
        anchor, page, target = self._links.objectives(rows)[0].tolist()
        worth = float(self.worth(rows)[0])
        return {"worth": worth, "anchor": anchor, "page": page, "target": target, "pheromone": float(self._pheromone[row])}

    def _relevance(self, words: Mapping[str, float], cosine: float | None = None) -> float:
        if self.settings.similarity == "words":
            heaviest = max(words.values(), default=1)
            return semantic(self.topic.vector, {word: n / heaviest for word, n in words.items()}, self.alike)
        return self.topic.page(words) if cosine is None else cosine

    def _cycles(self) -> Iterator[Node]:
        """Yields nodes to fetch; when it goes on, the page has arrived (`expand`), or could not be had (`fail`)."""
        still = 0
        while starts := self._starts():
            self._cycle += 1
            if len(self._scores) >= ENOUGH_SCORES:
                self._eta = float(np.quantile(self._scores, self.settings.quantile))
            ants = [Ant(page, {page}, []) for page in (starts[i % len(starts)] for i in range(self.settings.ants))]
            before = self._fetched
            for _ in range(self.settings.depth):
                for ant in ants:
                    yield from self._step(ant)
            self._deposit(ants)
            idle = self._fetched == before
            still = still + 1 if idle and self._directionless(ants) else 0
            if self.settings.stop and still >= STILL_CYCLES:
                return
            if idle:
                yield from self._best_open()

    def _directionless(self, ants: Sequence[Ant]) -> bool:
        """Whether the pheromone of the links that ants had to choose from says nothing: all but equal."""
        pages = {self._links.pages[row] for ant in ants for row in ant.path} | {ant.page for ant in ants}
        rows = np.concatenate([self._links.rows(page) for page in sorted(pages)])
        return bool(self._pheromone[rows].std() < STILL) if len(rows) else True

    def _best_open(self) -> Iterator[Node]:
        """The most promising of all links, after a cycle that found none worth a fetch; what was too light counts again."""
        self._light.clear()
        rows = self._links.open_rows()
        if len(rows):
            row = int(rows[self.worth(rows).argmax()])
            node = self.graph.node(self._links.urls[row])
            if node is not None and node.state < State.FETCHED:
                node.parent = self._links.pages[row]
                self._waiting[node.parent] = self._links.objectives(np.array([row]))[0]
                yield node
            else:  # reached under another spelling
                self._links.close(self._links.urls[row])

    def _step(self, ant: Ant) -> Iterator[Node]:
        """One link of one ant: chosen, weighed, fetched where it is new and worth it."""
        links, settings, page = self._links, self.settings, ant.page
        rows = links.rows(page)
        barred = ant.tabu | self._light.get(page, set())
        rows = rows[[links.urls[row] not in barred and self._leads_on(links.urls[row]) for row in rows]]
        if not len(rows):
            return
        self._evaporate(page)
        worth = self.worth(rows)
        draw, pick = self._draw.random(2).tolist()
        chosen = transition(self._pheromone[rows], worth + 1e-3, settings.q0, settings.alpha, settings.beta, draw, pick)
        row = int(rows[chosen])
        url = links.urls[row]
        self._pheromone[row] += settings.local * (settings.initial - self._pheromone[row])
        ant.tabu.add(url)
        node = self.graph.node(url)
        if node is None:
            return
        if node.state < State.FETCHED:
            if worth[chosen] < self._eta:
                self._light.setdefault(page, set()).add(url)
                return
            node.parent = page
            yield node
        if node.url in links:
            ant.path.append(row)
            ant.page = node.url
            self._waiting[node.url] = links.objectives(np.array([row]))[0]

    def _leads_on(self, url: str) -> bool:
        """Whether a link is worth an ant's step: not fetched yet, or a page that still has links to fetch."""
        node = self.graph.node(url)
        if node is None or node.state == State.FAILED:
            return False
        return node.state < State.FETCHED or self._links.leads_on(node.url)

    def _evaporate(self, page: str) -> None:
        """Makes up for the evaporation of a page's links since they were last looked at."""
        cycles = self._cycle - self._stamps[page]
        if cycles > 0:
            rows = self._links.rows(page)
            self._pheromone[rows] = np.clip(self._pheromone[rows] * (1 - self.settings.rho) ** cycles, TAU_MIN, TAU_MAX)
            self._stamps[page] = self._cycle

    def _deposit(self, ants: Sequence[Ant]) -> None:
        """Eq. (4): walked links evaporate and gain the mean relevance of each ant's path; the rest evaporates when met."""
        gains: dict[int, float] = {}
        for ant in ants:
            if ant.path:
                mean = float(self._links.objectives(np.array(ant.path))[:, 2].mean())
                for row in ant.path:
                    gains[row] = gains.get(row, 0.0) + mean
        for page in {self._links.pages[row] for row in gains}:
            self._stamps[page] -= 1
            self._evaporate(page)
            self._stamps[page] = self._cycle + 1
        for row, gain in gains.items():
            self._pheromone[row] = min(TAU_MAX, self._pheromone[row] + gain)

    def _starts(self) -> list[str]:
        """The next cycle's start pages, spread over the objectives of those that ants came to and that have open links."""
        self._waiting = {page: vector for page, vector in self._waiting.items() if self._links.leads_on(page)}
        if not self._waiting:
            self._waiting = self._open_pages()
        if not self._waiting:
            return []
        pages = list(self._waiting)
        rows = np.array([self._waiting[page] for page in pages])
        pool = best_spread(rows, self.settings.pool)
        self._waiting = {pages[i]: self._waiting[pages[i]] for i in pool}
        return [pages[pool[i]] for i in best_spread(rows[pool], self.settings.starts)]

    def _open_pages(self) -> dict[str, Vector]:
        """Pages with links to fetch, each with its best open link's objectives."""
        rows = self._links.open_rows()
        order = rows[np.argsort(self.worth(rows), kind="stable")]
        objectives = self._links.objectives(order)
        return {self._links.pages[row]: objectives[i] for i, row in enumerate(order)}
