"""Addresses that a site lists in its sitemap, as candidate links of a topic crawl. They are judged
by the words in the address, the only thing known of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from crawlmgr.text.similarity import simhash
from focused.graph import State
from focused.loop import Walk
from focused.pages import Content, Link, Page
from focused.parse import Parser

_BETWEEN = re.compile(r"[\W\d_]+")


def address_text(url: str) -> str:
    """Returns the words of an address without its host, separated by spaces.

    >>> address_text("http://a.example/topics/focused-crawler_2.html?page=3")
    'topics focused crawler html page'
    """
    parts = urlsplit(url)
    return " ".join(_BETWEEN.sub(" ", unquote(f"{parts.path} {parts.query}")).split())


def best(walk: Walk, parser: Parser, urls: Sequence[str], most: int) -> list[str]:
    """Returns the `most` addresses (the maximum number) whose words are most similar to the topic,
    best first; equal ones in the given order."""
    return sorted(urls, key=lambda url: -walk.strategy.topic.text(parser.words(address_text(url))))[
        :most
    ]


def queue(walk: Walk, parser: Parser, source: str, urls: Sequence[str]) -> None:
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
        node, Page(source, 0, content, max(topic.page(words), topic.threshold), True)
    )
