"""The strategy `best_first`: orders links by the similarity of their page and of their anchor text
to the topic."""

from __future__ import annotations

from dataclasses import dataclass

from focused.graph import Node
from focused.pages import Page
from focused.parameters import gettext_noop, parameter
from focused.strategies.base import Strategy

RESERVE = "reserve"


class BestFirst(Strategy):
    """Orders links by pv = (1 - a) Sim(page) + a Sim(anchor), where Sim is the similarity to the
    topic and a the parameter `anchor`. If several pages link to a URL, the greatest of the values
    is its priority. The parameter `off_topic` determines whether links of off-topic pages are
    ordered like all others, follow after all others, or are dropped.

    With a = 0 all links of a page have the same priority, as in the tunnelling paper."""

    name = "best_first"
    title = gettext_noop("Best first")
    summary = gettext_noop("Links of the most similar pages first.")
    resumable = True
    rule = "rule_off_topic"

    @dataclass(frozen=True, slots=True)
    class Settings:
        anchor: float = parameter(
            0.4,
            gettext_noop("Weight of the anchor text's similarity in a link's score"),
            0,
            1,
            title=gettext_noop("Share of the anchor"),
        )
        off_topic: str = parameter(
            "follow",
            gettext_noop(
                "Links on off-topic pages: followed in order of score; followed last, when no other"
                " link is waiting; or dropped (pure best first)"
            ),
            choices=("follow", "reserve", "drop"),
            title=gettext_noop("Links on off-topic pages"),
        )

    settings: Settings

    def select(self) -> Node | None:
        return self.graph.pop() or self.graph.pop(RESERVE)

    def expand(self, node: Node, page: Page) -> None:
        if not page.relevant and node.parent is not None and self.settings.off_topic == "drop":
            self.drop_links(node, (link.url for link in page.links))
            return
        reserve = not page.relevant and self.settings.off_topic == "reserve"
        a = self.settings.anchor
        for link in page.links:
            child = self.open(node, link.url)
            if child is None:
                continue
            score = page.similarity
            if a:
                score = (1 - a) * score + a * self.topic.text(link.anchor_words)
            queue = RESERVE if reserve else ""
            if (
                self.needs_queueing(child)
                or (child.queue == queue and score > child.priority)
                or child.queue > queue
            ):
                self.graph.push(child, score, queue, node.url)
