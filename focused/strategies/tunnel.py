"""What both tunnelling strategies share: links carry the steps left, and pages that get more hand their links on again."""

from __future__ import annotations

from collections.abc import Sequence

from focused.graph import Node, OutLink, State
from focused.strategies.base import Strategy


class Tunnelling(Strategy):
    """A URL keeps `k`, the greatest number of steps any of its parents left it, so that the order of the parents does not matter.

    A fetched page off topic that gets a greater k hands its stored links on once more, without being fetched again.
    Subclasses say what a link gets (`steps`) and where it waits (`place`).
    """

    rule = "rule_tunnel"

    def steps(self, node: Node, score: float) -> int | None:
        """k of a link on the node's page; None where the link is given up."""
        raise NotImplementedError

    def place(self, node: Node, child: Node, score: float) -> tuple[str, float]:
        """Queue and priority of a link on the node's page."""
        raise NotImplementedError

    def inherit(self, node: Node, child: Node, steps: int) -> None:
        """Sets what else a link takes from its page, beside k."""

    def remember(self, node: Node, links: Sequence[tuple[str, float]]) -> None:
        """Stores a page's links with the scores that were given them."""
        self.graph.store_links(node, [OutLink(url, score) for url, score in links])

    def hand_on(self, node: Node) -> None:
        """Offers the stored links of a page, and those of pages behind it whose k grows by that."""
        again = [node]
        while again:
            page = again.pop()
            for link in self.graph.links(page):
                steps = self.steps(page, link.score)
                if steps is None:
                    self.give_up(page, [link.url])
                    continue
                child = self.graph.add(link.url, page.depth + 1, page.url)
                known = child.get("k", -1)
                if steps > known:
                    child.data["k"] = steps
                    self.inherit(page, child, steps)
                    if child.state == State.FETCHED and not child.get("on_topic"):
                        again.append(child)
                if child.state < State.FETCHED and child.depth:
                    self._offer(page, child, link.score)

    def _offer(self, page: Node, child: Node, score: float) -> None:
        queue, priority = self.place(page, child, score)
        if self.unplaced(child) or queue < child.queue or (queue == child.queue and priority > child.priority):
            self.graph.push(child, priority, queue, page.url)
