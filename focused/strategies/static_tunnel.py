"""The strategy `static_tunnel` (Bergmark, Lagoze and Sbityakov 2002): follows links through
off-topic pages up to a fixed length."""

from __future__ import annotations

from dataclasses import dataclass

from focused.graph import Node
from focused.pages import Page
from focused.parameters import gettext_noop, parameter
from focused.strategies.tunnel import Tunnelling


class StaticTunnel(Tunnelling):
    """Follows links through up to `length` consecutive off-topic pages. Each link has a number k of
    remaining steps: `length` if its page is relevant, otherwise one less than the page's own k.
    Links of an off-topic page with k = 0 are dropped. Links are ordered by the similarity of their
    page to the topic."""

    name = "static_tunnel"
    title = gettext_noop("Fixed tunnels")
    summary = gettext_noop(
        "Best-first search that continues through a fixed number of off-topic pages."
    )
    resumable = True

    @dataclass(frozen=True, slots=True)
    class Settings:
        length: int = parameter(
            6,
            gettext_noop("Maximum number of consecutive off-topic pages"),
            0,
            50,
            title=gettext_noop("Length of tunnels (k)"),
        )

    settings: Settings

    def prepare_seed(self, node: Node) -> None:
        node.data["k"] = self.settings.length

    def expand(self, node: Node, page: Page) -> None:
        node.data["on_topic"] = page.relevant
        self.store_links(node, [(link.url, page.similarity) for link in page.links])
        self.propagate(node)

    def steps(self, node: Node, score: float) -> int | None:
        if node.get("on_topic"):
            return self.settings.length
        left = node.get("k", 0)
        return left - 1 if left > 0 else None

    def place(self, node: Node, child: Node, score: float) -> tuple[str, float]:
        return "", score
