"""Common parts of the two tunnelling strategies: links have a number of remaining steps, and when that of a fetched page
increases, it is passed on to the page's links again."""

from __future__ import annotations

from collections.abc import Sequence

from focused.graph import Node, OutLink, State
from focused.strategies.base import Strategy


class Tunnelling(Strategy):
    """Stores with each URL `k`, the greatest number of remaining steps from any page that links to it, so that the order in
    which these pages arrive does not matter.

    If k of a fetched off-topic page increases, its stored links are processed again with the new k; the page is not fetched
    again. Subclasses define the steps of a link (`steps`) and the queue in which it waits (`place`).
    """

    rule = "rule_tunnel"

    def steps(self, node: Node, score: float) -> int | None:
        """The number k of remaining steps for a link on the node's page; None if the link is dropped. `score` is the
        strategy's score of the link.
        """
        raise NotImplementedError

    def place(self, node: Node, child: Node, score: float) -> tuple[str, float]:
        """The queue and the priority of a link on the node's page."""
        raise NotImplementedError

    def inherit(self, node: Node, child: Node, steps: int) -> None:
        """Sets in the node of a link the values other than k that it takes over from its page."""

    def remember(self, node: Node, links: Sequence[tuple[str, float]]) -> None:
        """Stores the links of a page with the strategy's scores of them, for `hand_on`."""
        self.graph.store_links(node, [OutLink(url, score) for url, score in links])

    def hand_on(self, node: Node) -> None:
        """Processes the stored links of a page whose k has increased, and then those of the fetched pages behind it whose k
        increases as a result.
        """
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
