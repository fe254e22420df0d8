"""The crawl loop of a topic without network or database: strategy, source of pages, budget, and a trail of what happened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from crawlmgr.text.duplicates import SimHashIndex
from focused.graph import State, UrlGraph
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

    @property
    def fetched(self) -> int:
        """Fetches, failed ones too: what a budget counts."""
        return len(self.steps) + self.failed


def crawl(
    strategy: Strategy,
    graph: UrlGraph,
    source: Source,
    seeds: Sequence[str],
    pages: int,
    on_page: Callable[[Page], None] | None = None,
) -> Trail:
    """Fetches up to `pages` pages in the strategy's order; stopped_by is "pages" or "frontier" (nothing waits any more).

    Two URLs that lead to one page are fetched once. A page whose SimHash is within 3 bits of an earlier one's is a
    duplicate: counted and gone through all the same. `on_page` sees every page before the strategy does.
    """
    trail = Trail()
    prints: SimHashIndex[int] = SimHashIndex()
    own_urls: dict[str, str] = {}
    strategy.start(seeds)
    while trail.fetched < pages:
        node = strategy.select()
        if node is None:
            trail.stopped_by = "frontier"
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
            node.state = State.FAILED
            strategy.fail(node)
            continue
        if content.url != node.url:
            known = graph.node(content.url)
            if known is not None and known.state == State.FETCHED:
                node.state = State.FAILED
                strategy.fail(node)
                continue
            if known is not None:
                graph.drop(known)
            graph.alias(content.url, node)
        node.state = State.FETCHED
        topic = strategy.topic
        topic.learn(content.words)
        similarity = topic.page(content.words)
        page = Page(node.url, node.depth, content, similarity, similarity >= topic.threshold)
        duplicate = bool(content.words) and prints.nearest(content.fingerprint) is not None
        prints.add(content.fingerprint, len(trail.steps))
        own_urls[node.url] = content.url
        parent = own_urls.get(node.parent) if node.parent else None
        trail.steps.append(Step(content.url, parent, node.depth, similarity, page.relevant, duplicate))
        if on_page is not None:
            on_page(page)
        strategy.expand(node, page)
    trail.stopped_by = "pages"
    return trail
