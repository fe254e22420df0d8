"""The strategy `pagerank`, with which the tunnelling paper compares its own: a fetched page passes
its score on to the pages it links to, in equal parts.
"""

from __future__ import annotations

from dataclasses import dataclass

from focused.graph import Node
from focused.pages import Page
from focused.parameters import gettext_noop, parameter
from focused.strategies.base import Strategy
from focused.strategies.best_first import RESERVE

START = 1.0
"""Score of a URL when it is first found; only the ratios of scores matter."""


class PageRank(Strategy):
    """Orders URLs by a score PR, which is 1 when the URL is first found. When another page that
    links to it is fetched, that page's score, divided by the number of its links, is added. Links
    of off-topic pages wait behind all others, or are dropped, or treated alike (parameter
    `off_topic`)."""

    name = "pagerank"
    title = gettext_noop("PageRank")
    summary = gettext_noop("Pages linked from many well-linked pages on topic come first.")
    resumable = True
    rule = "rule_off_topic"

    @dataclass(frozen=True, slots=True)
    class Settings:
        off_topic: str = parameter(
            "reserve",
            gettext_noop(
                "Links on off-topic pages: followed last, when no other link is waiting; dropped,"
                " as in the original paper; or followed like others"
            ),
            choices=("reserve", "drop", "follow"),
            title=gettext_noop("Links on off-topic pages"),
        )

    settings: Settings

    def prepare_seed(self, node: Node) -> None:
        node.data["score"] = START

    def select(self) -> Node | None:
        return self.graph.pop() or self.graph.pop(RESERVE)

    def expand(self, node: Node, page: Page) -> None:
        off_topic = not page.relevant and node.parent is not None
        if off_topic and self.settings.off_topic == "drop":
            self.drop_links(node, (link.url for link in page.links))
            return
        queue = RESERVE if off_topic and self.settings.off_topic == "reserve" else ""
        share = node.get("score", START) / max(1, len(page.links))
        for link in page.links:
            child = self.open(node, link.url)
            if child is None:
                continue
            first = self.needs_queueing(child)
            score = START if first else child.data["score"] + share
            child.data["score"] = score
            self.graph.push(child, score, queue if first else min(queue, child.queue), node.url)
