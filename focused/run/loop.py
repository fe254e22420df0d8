"""The crawl loop of a topic, without network or database: how a page is scored and its links
queued, and a complete run over a source of pages that returns the trail of its fetches. Also how
addresses that a site lists in its sitemap, of which only their words are known, become candidates.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol
from urllib.parse import unquote, urlsplit

from crawlmgr.text.similarity import SimHashIndex, simhash
from crawlmgr.web.traps import Copies
from focused.graph import Node, State, UrlGraph
from focused.judge.probability import Judge
from focused.pages import Content, Link, Page
from focused.run.parse import Parser
from focused.strategies.base import Strategy

COPIES_QUEUE = "copies"
_BETWEEN_WORDS = re.compile(r"[\W\d_]+")


class Outside(Exception):
    """Raised for a URL of which the source has no record: neither a page nor a failed fetch."""


class Source(Protocol):
    """A source of pages: an archive, the network, or both."""

    def get(self, url: str) -> Content | None:
        """Returns the page at a URL; None if it could not be fetched (which counts as a fetch).
        Raises Outside if the source knows nothing of the URL, so that no fetch takes place.
        """


@dataclass(frozen=True, slots=True)
class Step:
    """One fetched page of a run. `parent` is the URL of the page through which it was reached,
    `similarity` and `relevant` the crawler's judgement, `duplicate` tells whether it nearly
    duplicates an earlier page.
    """

    url: str
    parent: str | None
    depth: int
    similarity: float
    relevant: bool
    duplicate: bool


@dataclass(slots=True)
class Trail:
    """A run as the list of its fetches in order. `url` and `parent` of a step are addresses at the
    end of redirects. `failed` counts failed fetches, `outside` URLs that the source did not know;
    `stopped_by` is the reason for the end.
    """

    steps: list[Step] = field(default_factory=list)
    failed: int = 0
    outside: int = 0
    stopped_by: str = ""
    left_out: int = 0
    """Number of addresses that a rule of the strategy skipped as duplicates before fetching."""
    left_out_wrongly: int = 0
    """Number of skipped addresses (`left_out`) whose pages are not near-duplicates of the page kept
    instead; only pairs of which the source has both pages."""

    @property
    def fetched(self) -> int:
        """Number of fetches, including failed ones, as a budget counts them."""
        return len(self.steps) + self.failed


class Walk:
    """Processes the result of each fetch, in live crawls and in crawls over an archive: scores the
    page, recognises duplicates, and passes page and links to the strategy. The caller selects nodes
    and fetches the pages.

    For each selected node, the caller calls `failed` if the fetch failed, otherwise `judge` and,
    unless this returns None, `expand` with its result."""

    def __init__(self, strategy: Strategy, graph: UrlGraph) -> None:
        self.strategy = strategy
        self.graph = graph
        self.prints: SimHashIndex[int] = SimHashIndex()
        self.probability = Judge(strategy.topic)
        self.copies = Copies()
        self.pages = 0

    def select(self) -> Node | None:
        """Returns the strategy's next node. Addresses that are likely to lead to copies of fetched
        pages go to the back: they are returned, in the strategy's order, when it has no others. A
        strategy that selects one node at a time decides alone."""
        while (node := self.strategy.select()) is not None:
            if self.strategy.one_at_a_time or not self.copies.is_likely(node.url):
                return node
            self.graph.push(node, 0.0, COPIES_QUEUE)
        return self.graph.pop(COPIES_QUEUE)

    def failed(self, node: Node) -> None:
        """Reports to the strategy that a selected URL could not be fetched, or leads to a page
        already fetched."""
        node.state = State.FAILED
        self.strategy.fail(node)

    def judge(self, node: Node, content: Content) -> tuple[Page, int | None] | None:
        """Scores the page that was fetched for a node, and adds its words to the topic's document
        frequencies. Returns the page, and the number (from 0) of the earlier page that it nearly
        duplicates: one whose SimHash differs in at most 3 bits (None without one).

        Returns None instead of the pair if the node's URL redirects to a page that was already
        fetched; the node has then failed."""
        if content.url != node.url:
            known = self.graph.node(content.url)
            if known is not None and known.state == State.FETCHED:
                self.failed(node)
                return None
            # the page is here now: its own address need not be fetched any more
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
        self.copies.see(content.url, nearest is not None)
        probable = 0.0
        if nearest is None and content.words:
            self.probability.see(content.hashed)
            probable = self.probability(content.hashed, similarity)
        page = Page(node.url, node.depth, content, similarity, probable >= 0.5, probable)
        return page, nearest[1] if nearest else None

    def expand(self, node: Node, page: Page, repeats: int | None = None) -> None:
        """Passes the page to the strategy, which queues its links. `repeats` is the number of an
        earlier page that this page nearly duplicates. In this case, links that the strategy has
        queued already are left out; those passed on are new URLs and URLs that the strategy dropped
        (see `needs_queueing`). The strategy sees such a page as one without similarity: a copy is
        no success.
        """
        if repeats is not None:
            new = tuple(link for link in page.links if self._has_no_place(link.url))
            page = replace(page, content=replace(page.content, links=new), similarity=0.0)
        self.strategy.expand(node, page)

    def _has_no_place(self, url: str) -> bool:
        known = self.graph.node(url)
        return known is None or self.strategy.needs_queueing(known)


def crawl(
    strategy: Strategy,
    graph: UrlGraph,
    source: Source,
    seeds: Sequence[str],
    pages: int,
    on_page: Callable[[Page], None] | None = None,
) -> Trail:
    """Fetches up to `pages` pages (failed fetches included) from the source in the strategy's
    order, and returns the list of fetches. Its `stopped_by` is "pages", or the strategy's reason
    ("frontier": nothing is waiting).

    `on_page` is called with every page before the strategy handles it."""
    trail = Trail()
    walk = Walk(strategy, graph)
    own_urls: dict[str, str] = {}
    strategy.start(seeds)
    while trail.fetched < pages:
        node = walk.select()
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
        trail.steps.append(
            Step(
                content.url,
                parent,
                node.depth,
                page.similarity,
                page.relevant,
                repeated is not None,
            )
        )
        if on_page is not None:
            on_page(page)
        walk.expand(node, page, repeated)
    trail.stopped_by = "pages"
    return trail


def address_text(url: str) -> str:
    """Returns the words of an address without its host, separated by spaces.

    >>> address_text("http://a.example/topics/focused-crawler_2.html?page=3")
    'topics focused crawler html page'
    """
    parts = urlsplit(url)
    return " ".join(_BETWEEN_WORDS.sub(" ", unquote(f"{parts.path} {parts.query}")).split())


def best_listed(walk: Walk, parser: Parser, urls: Sequence[str], most: int) -> list[str]:
    """Returns the `most` addresses (the maximum number) whose words are most similar to the topic,
    best first; equal ones in the given order."""
    return sorted(urls, key=lambda url: -walk.strategy.topic.text(parser.words(address_text(url))))[
        :most
    ]


def queue_listed(walk: Walk, parser: Parser, source: str, urls: Sequence[str]) -> None:
    """Passes addresses listed in the sitemap `source` to the strategy, as if they were the links of
    a page without text, each with the words of its address as anchor. That page counts as relevant,
    because some strategies ignore links of other pages. Addresses that are already fetched or
    waiting are left out."""
    links = []
    for url in urls:
        text = address_text(url)
        known = walk.graph.node(url)
        if known is None or walk.strategy.needs_queueing(known):
            links.append(Link(url, text, parser.words(text), {}))
    words = Counter(word for link in links for word in link.anchor_words)
    content = Content(source, "", words, tuple(links), simhash(words))
    node = walk.graph.add(source, 0, None)
    node.state = State.FETCHED
    topic = walk.strategy.topic
    walk.strategy.expand(
        node, Page(source, 0, content, max(topic.page(words), topic.threshold), True, 1.0)
    )
