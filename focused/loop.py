"""The crawl loop of a topic without network or database: what a page changes, and a run over a source with its trail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from crawlmgr.text.duplicates import SimHashIndex
from focused.graph import Node, State, UrlGraph
from focused.pages import Content, Page
from focused.strategies.base import Strategy


class Outside(Exception):
    """The URL is in no record of the source: no page, and no fetch either."""


class Source(Protocol):
    """Where pages come from: an archive, the network, or both."""

    def get(self, url: str) -> Content | None:
        """The page; None when it could not be had (that costs a fetch). Raises Outside where no fetch happens at all."""


@dataclass(frozen=True, slots=True)
class Step:
    """One fetched page: how it was reached and what it was worth to the crawler."""

    url: str
    parent: str | None
    depth: int
    similarity: float
    relevant: bool
    duplicate: bool


@dataclass(slots=True)
class Trail:
    """A run in the order of its fetches. `url` in its steps is the page's own, after redirects; `parent` likewise."""

    steps: list[Step] = field(default_factory=list)
    failed: int = 0
    outside: int = 0
    stopped_by: str = ""
    left_out: int = 0
    """Addresses that a rule of the strategy took for duplicates before they were fetched."""
    left_out_wrongly: int = 0
    """Those of them whose pages all but repeat no page that was kept in their place, as far as the source has both."""

    @property
    def fetched(self) -> int:
        """Fetches, failed ones too: what a budget counts."""
        return len(self.steps) + self.failed


class Walk:
    """What every topic crawl does between two fetches, live or over an archive; the caller brings the pages.

    The caller selects a node, then calls `failed`, or `judge` and with its answer `expand`.
    """

    def __init__(self, strategy: Strategy, graph: UrlGraph) -> None:
        self.strategy = strategy
        self.graph = graph
        self.prints: SimHashIndex[int] = SimHashIndex()
        self.pages = 0

    def failed(self, node: Node) -> None:
        """A URL could not be had, or leads to a page that was fetched before."""
        node.state = State.FAILED
        self.strategy.fail(node)

    def judge(self, node: Node, content: Content) -> tuple[Page, int | None] | None:
        """The page with its score, and the number (from 0) of the page that it all but repeats; learns its words.

        Two URLs that lead to one page are one: for the second, None. A page whose SimHash is within 3 bits of an
        earlier one's is a duplicate: counted, and expanded by its new links only (`expand`).
        """
        if content.url != node.url:
            known = self.graph.node(content.url)
            if known is not None and known.state == State.FETCHED:
                self.failed(node)
                return None
            if known is not None:
                self.graph.drop(known)
            self.graph.alias(content.url, node)
        node.state = State.FETCHED
        topic = self.strategy.topic
        topic.learn(content.words)
        similarity = topic.page(content.words)
        nearest = self.prints.nearest(content.fingerprint) if content.words else None
        self.prints.add(content.fingerprint, self.pages)
        self.pages += 1
        page = Page(node.url, node.depth, content, similarity, similarity >= topic.threshold)
        return page, nearest[1] if nearest else None

    def expand(self, node: Node, page: Page, repeats: int | None = None) -> None:
        """Gives the page's links their places; of a page that all but repeats an earlier one (by its number) only those that
        have none yet, for the others have been offered already."""
        if repeats is not None:
            new = tuple(link for link in page.links if self._has_no_place(link.url))
            page = replace(page, content=replace(page.content, links=new))
        self.strategy.expand(node, page)

    def _has_no_place(self, url: str) -> bool:
        known = self.graph.node(url)
        return known is None or self.strategy.unplaced(known)


def crawl(
    strategy: Strategy,
    graph: UrlGraph,
    source: Source,
    seeds: Sequence[str],
    pages: int,
    on_page: Callable[[Page], None] | None = None,
) -> Trail:
    """Fetches up to `pages` pages in the strategy's order; stopped_by is "pages", or what the strategy says of its end
    ("frontier": nothing waits any more).

    `on_page` sees every page before the strategy does.
    """
    trail = Trail()
    walk = Walk(strategy, graph)
    own_urls: dict[str, str] = {}
    strategy.start(seeds)
    while trail.fetched < pages:
        node = strategy.select()
        if node is None:
            trail.stopped_by = strategy.ending()
            return trail
        try:
            content = source.get(node.url)
        except Outside:
            trail.outside += 1
            content = None
        else:
            if content is None:
                trail.failed += 1
        if content is None:
            walk.failed(node)
            continue
        judged = walk.judge(node, content)
        if judged is None:
            continue
        page, repeated = judged
        own_urls[node.url] = content.url
        parent = own_urls.get(node.parent) if node.parent else None
        trail.steps.append(Step(content.url, parent, node.depth, page.similarity, page.relevant, repeated is not None))
        if on_page is not None:
            on_page(page)
        walk.expand(node, page, repeated)
    trail.stopped_by = "pages"
    return trail
