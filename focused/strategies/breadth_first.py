"""Breadth first: pages in the order in which they were found."""

from __future__ import annotations

from focused.graph import Node, State
from focused.pages import Page
from focused.strategies.base import Strategy


class BreadthFirst(Strategy):
    """Fewest clicks from the seeds first, then first found; sees no relevance."""

    name = "breadth_first"
    summary = "First found, first fetched; the yardstick without any judgement."
    resumable = True

    def expand(self, node: Node, page: Page) -> None:
        for link in page.links:
            child = self.open(node, link.url)
            if child is not None and child.state == State.KNOWN:
                self.graph.push(child, -float(child.depth))  # depth by depth, also where ties are drawn at random
