"""The strategy `shark`, shark search (Hersovici et al. 1998): a link's score combines one inherited
from its page with one of its anchor text and the words around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from focused.graph import Node
from focused.pages import Link, Page
from focused.parameters import gettext_noop, parameter
from focused.strategies.base import Strategy


class Shark(Strategy):
    """Orders links by potential = gamma inherited + (1 - gamma) neighbourhood. Sim is the
    similarity to the topic.

    inherited is delta Sim(page) if Sim(page) > `similar`, otherwise delta times the page's own
    inherited score. neighbourhood is beta Sim(anchor) + (1 - beta) context. context is 1 if
    Sim(anchor) > 0, otherwise the Sim of the words around the link. Links of pages more than
    `depth` steps beyond the last similar page are dropped.
    """

    name = "shark"
    title = gettext_noop("Shark search")
    summary = gettext_noop("Links by inherited similarity, anchor text and the words around it.")
    resumable = True
    rule = "rule_depth"

    @dataclass(frozen=True, slots=True)
    class Settings:
        delta: float = parameter(
            0.5,
            gettext_noop("Factor by which a page's score is passed on to its links"),
            0,
            1,
            title=gettext_noop("Share passed on (δ)"),
        )
        beta: float = parameter(
            0.8,
            gettext_noop(
                "Weight of the anchor text in the neighbourhood score; the surrounding words get"
                " the rest"
            ),
            0,
            1,
            title=gettext_noop("Share of the anchor (β)"),
        )
        gamma: float = parameter(
            0.5,
            gettext_noop("Weight of the inherited score; the neighbourhood score gets the rest"),
            0,
            1,
            title=gettext_noop("Share inherited (γ)"),
        )
        depth: int = parameter(
            3,
            gettext_noop("Maximum number of steps over pages without similarity"),
            1,
            20,
            title=gettext_noop("Maximum steps off topic"),
        )
        similar: float = parameter(
            0.0,
            gettext_noop(
                "Similarity above which a page passes on its own score and the full depth limit"
            ),
            0,
            1,
            title=gettext_noop("Similarity threshold"),
        )

    settings: Settings

    def prepare_seed(self, node: Node) -> None:
        node.data.update(left=self.settings.depth, inherited=0.0)

    def expand(self, node: Node, page: Page) -> None:
        settings = self.settings
        similar = page.similarity > settings.similar
        left = settings.depth if similar else node.get("left", 0) - 1
        if left < 0:
            self.drop_links(node, (link.url for link in page.links))
            return
        inherited = settings.delta * (page.similarity if similar else node.get("inherited", 0.0))
        for link in page.links:
            child = self.open(node, link.url)
            if child is None:
                continue
            neighbourhood = self._neighbourhood(link)
            potential = settings.gamma * inherited + (1 - settings.gamma) * neighbourhood
            if left > child.get("left", -1):
                child.data["left"] = left
            if potential > child.priority or self.needs_queueing(child):
                child.data["inherited"], child.data["neighbourhood"] = inherited, neighbourhood
                self.graph.push(child, potential, parent=node.url)

    def explain(self, node: Node) -> Mapping[str, float]:
        parts = {name: node.get(name, 0.0) for name in ("inherited", "neighbourhood", "left")}
        return {"potential": node.priority, **parts}

    def _neighbourhood(self, link: Link) -> float:
        anchor = self.topic.text(link.anchor_words)
        context = 1.0 if anchor > 0 else self.topic.page(link.context)
        return self.settings.beta * anchor + (1 - self.settings.beta) * context
