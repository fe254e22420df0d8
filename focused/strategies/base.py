"""The interface of strategies: which URL is fetched next, and how a fetched page changes the order."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from focused.graph import Node, State, UrlGraph
from focused.pages import Page
from focused.parameters import Parameter, Value, parameters_of, read_settings
from focused.relevance import Relevance

GIVEN_UP = "given_up"
"""Queue of links dropped by a rule of the strategy. Nothing is fetched from it; a link found again on another page leaves it."""


@dataclass(frozen=True, slots=True)
class NoSettings:
    """Settings of strategies without parameters."""


class Strategy:
    """Orders a crawl. The crawl loop calls `start` once, then repeatedly `select`, and `expand` or `fail` for each node
    selected.

    A subclass sets its name, title and a one-line summary, declares its parameters as the fields of `Settings`, and implements
    `expand`. Its texts are English, marked by `gettext_noop`; the desk shows them in the user's language. What a strategy
    stores for a URL is kept in the graph's nodes (there may be millions, in a database). What it stores for the run is kept in
    the object; it must depend only on `rng` and on the pages in the order of arrival, so that replaying these restores it.
    """

    name: ClassVar[str]
    """The identifier in commands, settings and stored runs."""
    title: ClassVar[str] = ""
    """The strategy's display name; without one its identifier is shown."""
    summary: ClassVar[str]
    words: ClassVar[Mapping[str, str]] = {}
    """Display names of what only this strategy has: choices of its parameters, parts of a score (`explain`), and queues."""
    Settings: ClassVar[type] = NoSettings

    def __init__(
        self,
        topic: Relevance,
        graph: UrlGraph,
        rng: random.Random | None = None,
        values: Mapping[str, Value] | None = None,
        history: Sequence[Page] = (),
    ) -> None:
        self.topic = topic
        self.graph = graph
        self.rng = rng or random.Random(1)  # noqa: S311 - random order in a search, not a secret
        self.settings: Any = read_settings(self.Settings, values or {})
        self.history = history
        """Pages of an earlier run, for strategies that learn from one."""

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """The strategy's parameters with default, range and meaning."""
        return parameters_of(cls.Settings)

    def start(self, seeds: Sequence[str]) -> None:
        """Adds the seeds to the queue, in their order and before anything else."""
        for url in seeds:
            node = self.graph.add(url, 0, None)
            self.prepare_seed(node)
            self.graph.push(node, self.seed_priority(), self.seed_queue)

    seed_queue: ClassVar[str] = ""

    def seed_priority(self) -> float:
        """The priority of seeds: above that of any link."""
        return 1e9

    def prepare_seed(self, node: Node) -> None:
        """Sets in a seed's node the values that the strategy needs there."""

    def select(self) -> Node | None:
        """Removes and returns the next node to fetch; None if nothing is waiting."""
        return self.graph.pop()

    def expand(self, node: Node, page: Page) -> None:
        """Handles an arrived page: queues its links."""
        raise NotImplementedError

    def fail(self, node: Node) -> None:
        """Handles a URL that could not be fetched, or leads to a page already fetched."""

    def open(self, node: Node, url: str) -> Node | None:
        """The node of the link to `url` on the node's page, created if new; None if the strategy need not order it, because it
        is fetched, failed, or a seed.
        """
        child = self.graph.add(url, node.depth + 1, node.url)
        return None if child.state >= State.FETCHED or child.depth == 0 else child

    def unplaced(self, node: Node) -> bool:
        """Tells whether a link still has to be queued: its URL is new, or was dropped by a rule of the strategy."""
        return node.state == State.KNOWN or node.queue == GIVEN_UP

    def give_up(self, node: Node, links: Iterable[str]) -> None:
        """Drops these links of the node's page because of a rule of the strategy, except those that another page contains as
        well.
        """
        for url in links:
            child = self.open(node, url)
            if child is not None and child.state == State.KNOWN:
                self.graph.push(child, 0.0, GIVEN_UP, node.url)

    @property
    def left_out(self) -> Mapping[str, str]:
        """For each address that a rule skipped before fetching as a duplicate: the address that was kept instead."""
        return {}

    rule: ClassVar[str] = "given_up"
    """Code for the rule that dropped links, used by `ending`."""

    def ending(self) -> str:
        """Why `select` returns None: "frontier" if no known URL is left, otherwise the rule that dropped links."""
        return self.rule if self.graph.waiting(GIVEN_UP) else "frontier"

    sum_to_one: ClassVar[tuple[str, ...]] = ()
    """Parameters that are shares of one whole: the desk keeps their sum at 1."""

    resumable: ClassVar[bool] = False
    """True if `state` and the graph hold everything, so that a run can continue without replaying its pages."""

    one_at_a_time: ClassVar[bool] = False
    """True if a page must have arrived before the next URL is selected."""

    def state(self) -> dict[str, Any]:
        """What the strategy knows besides the graph, as plain values from which `resume` restores it."""
        return {}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Restores what the strategy knew when `state` returned these values."""

    def change(self, values: Mapping[str, Value]) -> None:
        """Changes parameters; waiting links keep their priority until their score changes."""
        self.settings = read_settings(self.Settings, values)

    def mark(self, url: str, on_topic: bool | None) -> None:
        """Handles the operator's mark of a fetched page (None removes it), for strategies that learn from the run's pages."""

    def explain(self, node: Node) -> Mapping[str, float]:
        """The parts of a waiting URL's priority by name, for the page that explains its position."""
        return {"priority": node.priority}
