"""Common base of the two tunnelling strategies, which follow links through a limited number of
off-topic pages. Each URL has a number of remaining steps; when that of a page increases after its
fetch, its links get new numbers too.
"""

from __future__ import annotations

from collections.abc import Sequence

from focused.graph import Node, OutLink, State
from focused.strategies.base import Strategy


class Tunnelling(Strategy):
    """Follows links through off-topic pages as long as steps remain. With each URL it stores `k`,
    the greatest number of remaining steps that any page linking to the URL allows, so that the
    order in which these pages arrive does not matter.

    If k of a fetched off-topic page increases, its stored links are processed again with the new k;
    the page is not fetched again. Subclasses define the number of steps that remain after a link
    (`steps`) and the queue in which it waits (`place`).
    """

    rule = "rule_tunnel"

    def steps(self, node: Node, score: float) -> int | None:
        """Returns the number k of steps that remain after a link on the page of `node`; None if the
        link is to be dropped. `score` is the value that the strategy stored for the link
        (`store_links`)."""
        raise NotImplementedError

    def place(self, node: Node, child: Node, score: float) -> tuple[str, float]:
        """Returns the name of the queue and the priority for the URL of `child`, to which the page
        of `node` links with the score `score`.
        """
        raise NotImplementedError

    def inherit(self, node: Node, child: Node, steps: int) -> None:
        """Called when k of `child` has increased to `steps` by a link on the page `node`. A
        subclass may copy other values that it keeps per page to `child` here. Does nothing by
        default.
        """

    def store_links(self, node: Node, links: Sequence[tuple[str, float]]) -> None:
        """Stores the links of a fetched page, given as (URL, score), in the graph; `propagate`
        processes them."""
        self.graph.store_links(node, [OutLink(url, score) for url, score in links])

    def propagate(self, node: Node) -> None:
        """Processes the stored links of a page: sets their k (the remaining number of steps through
        off-topic pages), and queues or drops them. If this increases k of an off-topic page already
        fetched, that page's stored links are processed as well.
        """
        again = [node]
        while again:
            page = again.pop()
            for link in self.graph.links(page):
                steps = self.steps(page, link.score)
                if steps is None:
                    self.drop_links(page, [link.url])
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
        if (
            self.needs_queueing(child)
            or queue < child.queue
            or (queue == child.queue and priority > child.priority)
        ):
            self.graph.push(child, priority, queue, page.url)
