"""The tunnelling strategies, which follow links through a limited number of off-topic pages:
`static_tunnel` (Bergmark, Lagoze and Sbityakov 2002) and `dynamic_tunnel` (Jiang, Zhu and Wang).
Each URL has a number of remaining steps; when that of a page increases after its fetch, its links
get new numbers too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crawlmgr.web.url import host_key
from focused.graph import Node, OutLink, State
from focused.judge.relevance import NEAR_SHARE
from focused.pages import Link, Page
from focused.parameters import gettext_noop, parameter
from focused.strategies.base import Strategy
from focused.strategies.best_first import RESERVE


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

    def queue_and_priority(self, node: Node, child: Node, score: float) -> tuple[str, float]:
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
        queue, priority = self.queue_and_priority(page, child, score)
        if (
            self.needs_queueing(child)
            or queue < child.queue
            or (queue == child.queue and priority > child.priority)
        ):
            self.graph.push(child, priority, queue, page.url)


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

    def queue_and_priority(self, node: Node, child: Node, score: float) -> tuple[str, float]:
        return "", score


UNSET = 1_000_000
"""Value of k (remaining steps) of URLs outside any tunnel; infinity in the paper."""
TUNNEL = "tunnel"


class DynamicTunnel(Tunnelling):
    """Orders a crawl by two queues: links of relevant pages by Sim(page), the page's similarity to
    the topic; links of off-topic pages by R(link), the link's relevance, and Sim(page). By default
    a tenth of the fetches goes to the second queue.

    R = w1 R_anchor + w2 R_context + w3 R_url, eq. (3) of the tunnelling paper, over the topic's
    words and the near-topic lexicon. k is the number of off-topic steps that may still follow:

    - A relevant page makes it infinite.
    - The first off-topic page after it sets k to the parameter `depth` and subtracts one for every
      link.
    - Each further off-topic page subtracts one for a link unless R(link) >= tau_u (the parameter
      `hold`).

    Links for which k is used up, or which follow `cap` consecutive off-topic pages, are kept until
    no other link waits, or dropped (parameter `beyond`). Links of off-topic pages to hosts with
    `host_budget` off-topic pages since their last relevant one are kept until no other link waits.
    """

    name = "dynamic_tunnel"
    title = gettext_noop("Dynamic tunnels")
    summary = gettext_noop(
        "Best-first search on topic, with tunnels off topic that continue as long as their links"
        " are promising."
    )
    resumable = True

    @dataclass(frozen=True, slots=True)
    class Settings:
        depth: int = parameter(
            12,
            gettext_noop("Initial length of a tunnel (steps)"),
            1,
            100,
            title=gettext_noop("Length of a tunnel (k)"),
        )
        anchor: float = parameter(
            0.5,
            gettext_noop("Weight of the anchor text in a link's relevance"),
            0,
            1,
            title=gettext_noop("Weight of the anchor"),
        )
        context: float = parameter(
            0.3,
            gettext_noop("Weight of the words around the link"),
            0,
            1,
            title=gettext_noop("Weight of the context"),
        )
        url: float = parameter(
            0.2,
            gettext_noop("Weight of the URL's own words"),
            0,
            1,
            title=gettext_noop("Weight of the URL"),
        )
        hold: float = parameter(
            0.3,
            gettext_noop(
                "Link relevance at or above which following a link uses up no step of the tunnel"
            ),
            0,
            1,
            title=gettext_noop("Relevance without step cost"),
        )
        first_predict: bool = parameter(
            False,
            gettext_noop(
                "Promising links use up no step on the first off-topic page of a tunnel either"
            ),
            title=gettext_noop("No step cost on the first page"),
        )
        near: float = parameter(
            NEAR_SHARE,
            gettext_noop("Weight of a near-topic word relative to a word of the topic"),
            0,
            1,
            title=gettext_noop("Near-topic words"),
        )
        mode: str = parameter(
            "share",
            gettext_noop(
                "How tunnels are scheduled: with a share of the fetches, or depth first until the"
                " next page on topic (as in the original paper)"
            ),
            choices=("share", "literal"),
            title=gettext_noop("Scheduling of tunnels"),
        )
        share: float = parameter(
            0.1,
            gettext_noop("Share of the fetches for tunnels while both queues hold links"),
            0,
            1,
            title=gettext_noop("Share for tunnels"),
        )
        order: str = parameter(
            "promise",
            gettext_noop(
                "Order within a tunnel: highest promise first (relevance of the link and its page"
                " minus the cost of steps), or deepest first"
            ),
            choices=("promise", "level"),
            title=gettext_noop("Order of links in a tunnel"),
        )
        page: float = parameter(
            1.0,
            gettext_noop(
                "Weight of the page's similarity in a link's promise, relative to the link's own"
                " relevance"
            ),
            0,
            10,
            title=gettext_noop("Weight of the page"),
        )
        step: float = parameter(
            0.02,
            gettext_noop(
                "Amount by which each off-topic page on the path to a link lowers the link's"
                " priority"
            ),
            0,
            1,
            title=gettext_noop("Cost of a step"),
        )
        width: int = parameter(
            3,
            gettext_noop(
                "Number of links followed from an off-topic page if tunnels are scheduled as in the"
                " original paper"
            ),
            1,
            100,
            title=gettext_noop("Links followed in a tunnel"),
        )
        cap: int = parameter(
            36,
            gettext_noop(
                "Maximum number of consecutive off-topic pages, including those reached at no step"
                " cost"
            ),
            1,
            1000,
            title=gettext_noop("Longest tunnel"),
        )
        host_budget: int = parameter(
            50,
            gettext_noop("Maximum off-topic pages of one host since its last page on topic"),
            1,
            1_000_000,
            title=gettext_noop("Budget of a host"),
        )
        beyond: str = parameter(
            "reserve",
            gettext_noop(
                "Links on the last page of a tunnel: followed last, when no other link is waiting;"
                " or dropped"
            ),
            choices=("reserve", "drop"),
            title=gettext_noop("Links after the end of a tunnel"),
        )

    settings: Settings

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._credit = 0.0
        self._inside = False
        self._off_topic: Counter[str] = Counter()

    def state(self) -> dict[str, Any]:
        return {"credit": self._credit, "inside": self._inside, "off_topic": dict(self._off_topic)}

    def resume(self, state: Mapping[str, Any]) -> None:
        self._credit, self._inside, self._off_topic = (
            state["credit"],
            state["inside"],
            Counter(state["off_topic"]),
        )

    def prepare_seed(self, node: Node) -> None:
        node.data["k"] = UNSET

    def select(self) -> Node | None:
        tunnels, others = self.graph.waiting(TUNNEL), self.graph.waiting()
        if self.settings.mode == "literal":
            due = self._inside
        else:
            self._credit += self.settings.share
            due = self._credit >= 1.0 - 1e-9  # because ten times 0.1 is slightly less than 1
        turn = bool(tunnels) and (due or not others)
        self._credit = max(0.0, self._credit - 1.0) if turn else min(1.0, self._credit)
        if turn:
            return self.graph.pop(TUNNEL)
        return self.graph.pop() or self.graph.pop(RESERVE)

    def expand(self, node: Node, page: Page) -> None:
        host = host_key(page.url)
        node.data.update(on_topic=page.relevant, sim=page.similarity)
        self._inside = not page.relevant
        if page.relevant:
            self._off_topic[host] = 0
            links = [(link.url, page.similarity) for link in page.links]
        else:
            self._off_topic[host] += 1
            node.data["run"] = node.get("run", 0) + 1
            links = [(link.url, self.relevance(link)) for link in page.links]
            if self.settings.mode == "literal":
                links = sorted(links, key=lambda pair: -pair[1])[: self.settings.width]
        self.store_links(node, links)
        self.propagate(node)

    def relevance(self, link: Link) -> float:
        """Returns R(l) of a link, in [0, 1], eq. (3) of the tunnelling paper, with the weights
        scaled to the sum 1; 0 if all weights are 0.
        """
        settings = self.settings
        total = settings.anchor + settings.context + settings.url
        if total == 0:
            return 0.0
        anchor = self._fit(Counter(link.anchor_words))
        context = self._fit(link.context)
        return (
            settings.anchor * anchor
            + settings.context * context
            + settings.url * self.topic.url(link.url)
        ) / total

    def steps(self, node: Node, score: float) -> int | None:
        settings = self.settings
        if node.get("on_topic"):
            return UNSET
        k = node.get("k", 0)
        held = score >= settings.hold
        if k == UNSET:
            left = settings.depth if held and settings.first_predict else settings.depth - 1
        elif k <= 0 or node.get("run", 0) >= settings.cap:
            left = -1
        else:
            left = k if held else k - 1
        if left < 0:
            return 0 if settings.beyond == "reserve" else None
        return left

    def queue_and_priority(self, node: Node, child: Node, score: float) -> tuple[str, float]:
        if node.get("on_topic"):
            return "", score
        run = node.get("run", 0)
        promise = self.settings.order == "promise"
        promised = score + self.settings.page * node.get("sim", 0.0) - self.settings.step * run
        priority = promised if promise else run + 0.999 * score
        spent = node.get("k", 0) <= 0 or run >= self.settings.cap
        if spent or self._off_topic[host_key(child.url)] >= self.settings.host_budget:
            return RESERVE, priority
        return TUNNEL, priority

    def inherit(self, node: Node, child: Node, steps: int) -> None:
        child.data["run"] = 0 if node.get("on_topic") else node.get("run", 0)

    def explain(self, node: Node) -> Mapping[str, float]:
        k = node.get("k", 0)
        return {
            "priority": node.priority,
            "off_topic_before": node.get("run", 0),
            **({} if k == UNSET else {"steps_left": k}),
        }

    def _fit(self, counts: Mapping[str, float]) -> float:
        if not counts:
            return 0.0
        return max(self.topic.page(counts), self.settings.near * self.topic.near(counts))
