"""The strategy `breadth_first`: fetches pages in the order in which their links were found."""

from __future__ import annotations

from focused.graph import Node, State
from focused.pages import Page
from focused.parameters import gettext_noop
from focused.strategies.base import Strategy


class BreadthFirst(Strategy):
    """Orders links by the number of clicks from the seeds, fewest first, then by the order in which
    they were found; ignores relevance.
    """

    name = "breadth_first"
    title = gettext_noop("Breadth first")
    summary = gettext_noop(
        "Links are fetched in the order they were found; the baseline without any relevance"
        " judgement."
    )
    resumable = True

    def expand(self, node: Node, page: Page) -> None:
        for link in page.links:
            child = self.open(node, link.url)
            if child is not None and child.state == State.KNOWN:
                # by depth and not by time of discovery alone, so that the order holds even if ties
                # are broken at random
                self.graph.push(child, -float(child.depth))
