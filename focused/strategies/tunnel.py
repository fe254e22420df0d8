"""Common parts of both tunnelling strategies: links carry remaining steps, and pages whose steps increase pass their links on
again."""

from __future__ import annotations

from collections.abc import Sequence

from focused.graph import Node, OutLink, State
from focused.strategies.base import Strategy


class Tunnelling(Strategy):
    """A URL stores `k`, the greatest number of steps from any of its parents, so that the order of the parents does not matter.

    A fetched off-topic page whose k increases passes its stored links on again, without being fetched again. Subclasses define a
    link's steps (`steps`) and its queue (`place`).
    """

    rule = "rule_tunnel"

    def steps(self, node: Node, score: float) -> int | None:
        """The steps k that a link on the node's page gets; None if the link is dropped."""
        raise NotImplementedError

    def place(self, node: Node, child: Node, score: float) -> tuple[str, float]:
        """The queue and the priority of a link on the node's page."""
        raise NotImplementedError

    def inherit(self, node: Node, child: Node, steps: int) -> None:
        """Sets other values that a link takes from its page, besides k."""

    def remember(self, node: Node, links: Sequence[tuple[str, float]]) -> None:
        """Stores a page's links with their scores."""
        self.graph.store_links(node, [OutLink(url, score) for url, score in links])

    def hand_on(self, node: Node) -> None:
        """Passes on the stored links of a page, and those of pages behind it whose k increases as a result."""
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
