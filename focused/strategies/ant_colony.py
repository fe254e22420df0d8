"""The ant colony strategy (Liu and Lü; Dong, Liu and Liu): simulated ants follow links and leave
pheromone on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from crawlmgr.text.similarity import WordSimilarity, same_word, semantic
from focused.graph import Node, State
from focused.judge.ontology import Ontology, OntologySimilarity
from focused.pages import Link, Page
from focused.parameters import gettext_noop, parameter
from focused.strategies.base import GIVEN_UP, Strategy
from focused.strategies.link_table import LinkTable, Rows, Vector
from focused.strategies.pareto import best_spread
from focused.strategies.pheromone import TAU_MAX, TAU_MIN, Pheromone, transition

MIN_OVERLAP = 0.9


"""Value of IFCo from which two concepts count as the same."""


class OnePerConcept:
    """Keeps only the first link to each concept. A link is dropped if its anchor names nearly the
    same concept as that of a kept link to another address: the overlap factor IFCo of the two
    concepts (eq. (10) of the ant colony paper) is at least 0.9. Links whose anchors name no concept
    are kept.

    The rule treats pages on the same subject as duplicates although their contents may differ;
    `left_out` lists what it dropped, so that the loss can be measured.
    """

    def __init__(self, measure: OntologySimilarity) -> None:
        self._measure = measure
        self._kept: dict[str, str] = {}
        """The address of the kept link, by concept: each concept that its anchor names, and each
        that nearly equals one of these."""
        self._same = lru_cache(maxsize=10_000)(
            lambda concept: measure.overlapping(concept, MIN_OVERLAP)
        )
        self.left_out: dict[str, str] = {}
        """Dropped addresses, each with the address that was kept instead."""

    def kept(self, links: Iterable[Link]) -> list[Link]:
        """Returns those of the links that the rule keeps, in their order. The addresses of the
        dropped ones are added to `left_out`.
        """
        found = []
        for link in links:
            concepts = self._concepts(link)
            other = next(
                (self._kept[one] for one in concepts if self._kept.get(one, link.url) != link.url),
                None,
            )
            if other is not None:
                self.left_out.setdefault(link.url, other)
                continue
            for concept in concepts:
                for same in self._same(concept):
                    self._kept.setdefault(same, link.url)
            found.append(link)
        return found

    def _concepts(self, link: Link) -> Mapping[str, None]:
        return dict.fromkeys(
            concept for word in link.anchor_words for concept in self._measure.concepts_of(word)
        )


ENOUGH_SCORES = 20


"""As long as fewer links are known, eta, the least score for fetching a link, keeps its initial
value."""


STILL_CYCLES = 3


@dataclass(slots=True)
class Ant:
    """One ant's walk in one cycle: its page, and the indices of the pages it visited (`tabu`) and
    links it took (`path`)."""

    page: str
    tabu: set[int]
    path: list[int]


class AntColony(Strategy):
    """Lets ants start on chosen pages and take up to `depth` links each. A link that an ant chooses
    is fetched if its score is at least eta, a quantile of the waiting links' scores.

    - Score of link l: R(l) = h1 R(anchor) + h2 R(page) + h3 R(target), R being relevance. Until the
      target is fetched, R(target) is estimated from pages whose URLs have the same pattern and from
      the page's other links.
    - Pheromone of a link, within [0.01, 5]: after each cycle, tau becomes (1 - rho) tau + the sum,
      over the ants that took it, of the mean relevance of their paths.
    - Start pages: the visited pages whose best open links are on the best Pareto fronts, spread as
      widely as possible. All ants together have `starts` of them; in the paper each ant has its
      own.
    - After a cycle that fetched nothing, the best of all open links is fetched.
    - Links to fetched pages are followed only from pages that have no others, unless `revisit` is
      set.
    """

    name = "ant_colony"
    title = gettext_noop("Ant colony")
    summary = gettext_noop(
        "Ant colony: simulated ants follow promising links and the pheromone of earlier walks; they"
        " start on pages with the best links by anchor, page and target."
    )
    one_at_a_time = True
    rule = "rule_concepts"

    @dataclass(frozen=True, slots=True)
    class Settings:
        ants: int = parameter(
            10, gettext_noop("Ants in a cycle"), 1, 1000, title=gettext_noop("Ants")
        )
        depth: int = parameter(
            5,
            gettext_noop("Links an ant takes in a cycle"),
            1,
            100,
            title=gettext_noop("Links per ant"),
        )
        alpha: float = parameter(
            1.0,
            gettext_noop("Weight of the pheromone (exponent)"),
            0,
            10,
            title=gettext_noop("Exponent of the pheromone (α)"),
        )
        beta: float = parameter(
            2.0,
            gettext_noop("Weight of the link's own relevance (exponent)"),
            0,
            10,
            title=gettext_noop("Exponent of the relevance (β)"),
        )
        rho: float = parameter(
            0.1,
            gettext_noop("Share of the pheromone that evaporates in a cycle"),
            0,
            1,
            title=gettext_noop("Evaporation (ρ)"),
        )
        q0: float = parameter(
            0.5,
            gettext_noop("Probability of taking the best link instead of a random one"),
            0,
            1,
            title=gettext_noop("Probability of following the best link (q₀)"),
        )
        initial: float = parameter(
            1.0,
            gettext_noop("Pheromone of a new link"),
            TAU_MIN,
            TAU_MAX,
            title=gettext_noop("Initial pheromone"),
        )
        local: float = parameter(
            0.0,
            gettext_noop("Share by which a step draws the pheromone back to its initial value"),
            0,
            1,
            title=gettext_noop("Local evaporation"),
        )
        pool: int = parameter(
            50,
            gettext_noop("Number of pages from which start pages are chosen"),
            1,
            10_000,
            title=gettext_noop("Candidates for start pages"),
        )
        starts: int = parameter(
            3,
            gettext_noop("Number of start pages"),
            1,
            1000,
            title=gettext_noop("Start pages per cycle"),
        )
        h1: float = parameter(
            0.2,
            gettext_noop("Weight of the anchor in a link's relevance"),
            0,
            1,
            title=gettext_noop("Weight of the anchor (h₁)"),
        )
        h2: float = parameter(
            0.2,
            gettext_noop("Weight of the page with the link"),
            0,
            1,
            title=gettext_noop("Weight of the page (h₂)"),
        )
        h3: float = parameter(
            0.6,
            gettext_noop("Weight of the page that the link leads to"),
            0,
            1,
            title=gettext_noop("Weight of the target (h₃)"),
        )
        quantile: float = parameter(
            0.6,
            gettext_noop("Share of the waiting links, lowest scores first, that are not fetched"),
            0,
            1,
            title=gettext_noop("Share of links not fetched"),
        )
        threshold: float = parameter(
            0.3,
            gettext_noop("Minimum score of a link before there are scores to compare it with"),
            0,
            1,
            title=gettext_noop("Minimum score"),
        )
        prior: float = parameter(
            2.0,
            gettext_noop(
                "Number of fetched pages that a link's words count as when its target's relevance"
                " is estimated"
            ),
            0.1,
            1000,
            title=gettext_noop("Weight of a link's words"),
        )
        siblings: bool = parameter(
            True,
            gettext_noop(
                "Predict a link's relevance from the pages that other links of the same page led to"
            ),
            title=gettext_noop("Links of the same page"),
        )
        revisit: bool = parameter(
            False,
            gettext_noop(
                "Let ants follow links to fetched pages like any other link; off: only from pages"
                " that have no other link"
            ),
            title=gettext_noop("Links to fetched pages"),
        )
        similarity: str = parameter(
            "cosine",
            gettext_noop(
                "Relevance of a text: cosine of word weights, or semantic similarity (Sem) word by"
                " word"
            ),
            choices=("cosine", "words"),
            title=gettext_noop("Kind of similarity"),
        )
        one_per_concept: bool = parameter(
            False,
            gettext_noop(
                "Of links whose anchors name the same concept of the ontology keep the first only"
                " (IFCo 0.9, as published)"
            ),
            title=gettext_noop("One link per concept"),
        )
        stop: bool = parameter(
            False,
            gettext_noop(
                "End after three cycles in a row in which nothing was fetched and the pheromone"
                " favoured no link (as in the original paper)"
            ),
            title=gettext_noop("Early end"),
        )

    settings: Settings

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._alike: WordSimilarity = same_word
        self._among: Collection[str] | None = None
        self._concepts: OnePerConcept | None = None
        if self.topic.topic.ontology and (
            self.settings.similarity == "words" or self.settings.one_per_concept
        ):
            measure = OntologySimilarity(
                Ontology.from_json(self.topic.topic.ontology), self.topic.tokenizer
            )
            self._concepts = OnePerConcept(measure)
            if self.settings.similarity == "words":
                self._alike, self._among = measure, measure.words
        self._draw = np.random.default_rng(self.rng.getrandbits(64))
        self._links = LinkTable(self.settings.prior, siblings=self.settings.siblings)
        self._pheromone = Pheromone(self._links, self.settings.initial, self.settings.rho)
        self._light = np.zeros(256, dtype=bool)
        """For each row of the link table, True if an ant chose the link in this cycle and its score
        was too low to fetch it."""
        self._too_light: Counter[int] = Counter()
        """The number of links rejected in this cycle for a low score, by page number."""
        self._eta = self.settings.threshold
        self._fetched = 0
        self._waiting: dict[str, None] = {}
        self._walk: Iterator[Node] = iter(())
        self._still = False
        """True if the stopping rule has ended the crawl."""

    def start(self, seeds: Sequence[str]) -> None:
        super().start(seeds)
        self._walk = self._cycles()

    def select(self) -> Node | None:
        node = self.graph.pop() or next(self._walk, None)
        if (
            node is None and not self._still and len(self._links.open_rows())
        ):  # links were added after the last cycle ended
            self._walk = self._cycles()
            node = next(self._walk, None)
        return node

    def ending(self) -> str:
        return "no_direction" if self._still and len(self._links.open_rows()) else super().ending()

    def expand(self, node: Node, page: Page) -> None:
        self._fetched += 1
        relevance = self._relevance(page.content.words, page.similarity)
        links = self._kept(node, page)
        for link in links:
            child = self.graph.add(link.url, node.depth + 1, node.url)
            if child.queue == GIVEN_UP:
                self.graph.drop(child)
        anchors = [self._relevance(Counter(link.anchor_words)) for link in links]
        priors = [
            max(anchor, self._relevance(link.context))
            for anchor, link in zip(anchors, links, strict=True)
        ]
        first = len(self._links)
        urls = [link.url for link in links]
        self._links.add(node.url, relevance, urls, anchors, priors, page.content.url)
        self._pheromone.lay(node.url, first)
        while len(self._light) < len(self._links):
            self._light = np.concatenate([self._light, np.zeros_like(self._light)])

    def _kept(self, node: Node, page: Page) -> Sequence[Link]:
        if self._concepts is None or not self.settings.one_per_concept:
            return page.links
        kept = self._concepts.kept(page.links)
        self.drop_links(
            node, {link.url for link in page.links}.difference(link.url for link in kept)
        )
        return kept

    @property
    def left_out(self) -> Mapping[str, str]:
        return self._concepts.left_out if self._concepts is not None else {}

    def fail(self, node: Node) -> None:
        self._links.close(node.url)

    def score(self, rows: Rows) -> Vector:
        """Returns the scores R(l), eq. (9) of the ant colony paper, of the links with these row
        numbers (h1 to h3 sum to 1)."""
        weights = np.array([self.settings.h1, self.settings.h2, self.settings.h3])
        scores: Vector = self._links.objectives(rows) @ (weights / max(weights.sum(), 1e-12))
        return scores

    def explain(self, node: Node) -> Mapping[str, float]:
        parent = node.parent or ""
        row = self._links.row_of(parent, node.url) if parent in self._links else None
        if row is None:
            return {}
        rows = np.array([row])
        anchor, page, target = self._links.objectives(rows)[0].tolist()
        score = float(self.score(rows)[0])
        return {
            "worth": score,
            "anchor": anchor,
            "page": page,
            "target": target,
            "pheromone": float(self._pheromone.tau[row]),
        }

    def _relevance(self, words: Mapping[str, float], cosine: float | None = None) -> float:
        if self.settings.similarity == "words":
            heaviest = max(words.values(), default=1)
            shares = {word: n / heaviest for word, n in words.items()}
            return semantic(self.topic.vector, shares, self._alike, among=self._among)
        return self.topic.page(words) if cosine is None else cosine

    def _cycles(self) -> Iterator[Node]:
        """Runs cycles of walks and yields each node that is to be fetched. The caller resumes the
        generator after it has called `expand` or `fail` for the node. Ends when no start pages are
        left, or by the setting `stop`.
        """
        still = 0
        while starts := self._starts():
            self._pheromone.cycle += 1
            self._light[:] = False
            self._too_light.clear()
            self._weigh()
            pages = [starts[i % len(starts)] for i in range(self.settings.ants)]
            ants = [Ant(page, {self._links.number(page)}, []) for page in pages]
            before = self._fetched
            for _ in range(self.settings.depth):
                for ant in ants:
                    yield from self._step(ant)
            self._pheromone.deposit([ant.path for ant in ants])
            idle = self._fetched == before
            still = still + 1 if idle and self._directionless(ants) else 0
            if self.settings.stop and still >= STILL_CYCLES:
                self._still = True
                return
            if idle:
                yield from self._best_open()

    def _weigh(self) -> None:
        """Sets eta, the score below which links are not fetched, to the quantile `quantile` of the
        open links' scores; leaves it unchanged if fewer than ENOUGH_SCORES links are known or none
        is open."""
        rows = self._links.open_rows()
        if len(self._links) >= ENOUGH_SCORES and len(rows):
            self._eta = float(np.quantile(self.score(rows), self.settings.quantile))

    def _directionless(self, ants: Sequence[Ant]) -> bool:
        """Tells whether the pheromone is nearly equal on all links of the pages that the ants
        visited."""
        pages = {self._links.page_of(row) for ant in ants for row in ant.path} | {
            ant.page for ant in ants
        }
        return self._pheromone.flat(
            np.concatenate([self._links.rows(page) for page in sorted(pages)])
        )

    def _best_open(self) -> Iterator[Node]:
        """Yields the node of the open link with the highest score, if any. Called after a cycle in
        which no link was fetched."""
        rows = self._links.open_rows()
        if len(rows):
            row = int(rows[self.score(rows).argmax()])
            node = self._unfetched(row)
            if node is not None:
                page = node.parent = self._links.page_of(row)
                self._waiting[page] = None
                yield node
                self._wait(node)

    def _unfetched(self, row: int) -> Node | None:
        """Returns the node of the open link in row `row`; if its target is fetched already, closes
        the link and returns None."""
        url = self._links.urls[row]
        node = self.graph.node(url)
        if node is not None and node.state < State.FETCHED:
            return node
        self._links.close(url)
        return None

    def _wait(self, node: Node) -> bool:
        """Adds a page to those on which ants may start in the next cycle; returns False if the page
        could not be fetched."""
        if node.url not in self._links:
            return False
        self._waiting[node.url] = None
        return True

    def _step(self, ant: Ant) -> Iterator[Node]:
        """Moves one ant along a link chosen by pheromone and score. If the link's target is not
        fetched yet, yields its node to be fetched; an ant whose link scores below eta, or whose
        page could not be fetched, stays on its page.
        """
        links, settings = self._links, self.settings
        rows = self._candidates(ant)
        if not len(rows):
            return
        self._pheromone.evaporate(ant.page)
        scores = self.score(rows)
        draw, pick = self._draw.random(2).tolist()
        chosen = transition(
            self._pheromone.tau[rows],
            scores + 1e-3,
            settings.q0,
            settings.alpha,
            settings.beta,
            draw,
            pick,
        )
        row = int(rows[chosen])
        self._pheromone.draw_back(row, settings.local)
        new = bool(links.is_open(rows[chosen : chosen + 1])[0])
        if new:
            if scores[chosen] < self._eta:
                self._light[row] = True
                self._too_light[links.number(ant.page)] += 1
                return
            node = self._unfetched(row)
            if node is None:
                return
            node.parent = ant.page
            yield node
            if not self._wait(node):
                return
            ant.page = node.url
        else:
            ant.page = links.name(int(links.targets(rows[chosen : chosen + 1])[0]))
            self._waiting[ant.page] = None
        ant.tabu.add(links.number(ant.page))
        ant.path.append(row)

    def _candidates(self, ant: Ant) -> Rows:
        """Returns the row numbers of the links that an ant may follow from its page: open links
        that were not rejected in this cycle. If there are none, or with `revisit`, also links to
        fetched pages that the ant has not visited in this cycle and that contain such open links.
        """
        links = self._links
        rows = links.rows(ant.page)
        fresh = rows[links.is_open(rows) & ~self._light[rows]]
        if len(fresh) and not self.settings.revisit:
            return fresh
        rows = rows[links.targets(rows) >= 0]
        pages = links.targets(rows)
        reached = zip(rows, pages.tolist(), links.open_of(pages).tolist(), strict=True)
        on = [
            row
            for row, page, left in reached
            if page not in ant.tabu and left > self._too_light[page]
        ]
        return np.concatenate([fresh, np.array(on, dtype=np.intp)])

    def _starts(self) -> list[str]:
        """Returns the URLs of the pages on which ants start in the next cycle: pages visited by
        ants whose best open links are on the best Pareto fronts of (R(anchor), R(page), R(target)),
        spread as widely as possible. If these have no open links, all pages with open links are
        candidates; an empty list if no link is open."""
        waiting = [page for page in self._waiting if self._links.leads_on(page)]
        rows = (
            np.concatenate([self._links.rows(page) for page in waiting])
            if waiting
            else self._links.open_rows()
        )
        rows = self._best_of_pages(rows[self._links.is_open(rows)])
        if not len(rows):
            return []
        objectives = self._links.objectives(rows)
        pool = best_spread(objectives, self.settings.pool)
        pages = [self._links.page_of(int(row)) for row in rows]
        self._waiting = dict.fromkeys(pages[i] for i in pool)
        return [pages[pool[i]] for i in best_spread(objectives[pool], self.settings.starts)]

    def _best_of_pages(self, rows: Rows) -> Rows:
        """Returns for each page the row number of its best link among `rows`; pages in the order of
        their fetches."""
        pages = self._links.page_numbers(rows)
        order = np.lexsort((self.score(rows), pages))
        last = np.append(pages[order][1:] != pages[order][:-1], True)
        return rows[order[last]] if len(rows) else rows
