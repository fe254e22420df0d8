"""The interface of a strategy: which URL next, and what a fetched page changes."""

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
"""The queue of links that a rule gave up. Nothing is taken out of it; a link that another page offers leaves it."""


@dataclass(frozen=True, slots=True)
class NoSettings:
    """For strategies without parameters."""


class Strategy:
    """Orders a crawl. The crawl loop calls `start` once, then `select` and after it `expand` or `fail`, again and again.

    A subclass names itself, says in a line what it does, declares its parameters as the fields of `Settings`, and
    fills in `expand`. What belongs to a URL goes into the graph's nodes (there may be millions, in a database); what
    belongs to the run stays in the object, is a function of the pages in the order they came and of `rng`, and is
    rebuilt by replaying them.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
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
        self.rng = rng or random.Random(1)  # noqa: S311 - draws of a search, no secret
        self.settings: Any = read_settings(self.Settings, values or {})
        self.history = history
        """Pages of an earlier run, for strategies that learn from one."""

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """What can be set, with default, range and meaning."""
        return parameters_of(cls.Settings)

    def start(self, seeds: Sequence[str]) -> None:
        """Puts the seeds into the frontier, in their order and before anything else."""
        for url in seeds:
            node = self.graph.add(url, 0, None)
            self.prepare_seed(node)
            self.graph.push(node, self.seed_priority(), self.seed_queue)

    seed_queue: ClassVar[str] = ""

    def seed_priority(self) -> float:
        """Seeds come first, whatever a page's links may score."""
        return 1e9

    def prepare_seed(self, node: Node) -> None:
        """Sets what the strategy keeps with a seed."""

    def select(self) -> Node | None:
        """The next node to fetch, taken out of the frontier; None when nothing waits."""
        return self.graph.pop()

    def expand(self, node: Node, page: Page) -> None:
        """A page arrived: gives its links their places."""
        raise NotImplementedError

    def fail(self, node: Node) -> None:
        """A URL could not be fetched, or leads to a page that was."""

    def open(self, node: Node, url: str) -> Node | None:
        """The node of a link on the node's page, made when new; None where nothing is left to order: fetched, failed, a seed."""
        child = self.graph.add(url, node.depth + 1, node.url)
        return None if child.state >= State.FETCHED or child.depth == 0 else child

    def unplaced(self, node: Node) -> bool:
        """Whether a link has no place yet: it is new, or a rule gave it up."""
        return node.state == State.KNOWN or node.queue == GIVEN_UP

    def give_up(self, node: Node, links: Iterable[str]) -> None:
        """Links of the node's page that a rule of the strategy leaves out, unless another page offers them."""
        for url in links:
            child = self.open(node, url)
            if child is not None and child.state == State.KNOWN:
                self.graph.push(child, 0.0, GIVEN_UP, node.url)

    @property
    def left_out(self) -> Mapping[str, str]:
        """Addresses that a rule took for another's duplicates before they were fetched, each with the one kept in its place."""
        return {}

    rule: ClassVar[str] = "given_up"
    """What ended a run that gave links up, as a code for `ending`."""

    def ending(self) -> str:
        """Why `select` has nothing to give: "frontier" where no known URL is left, else the rule by which links were given up."""
        return self.rule if self.graph.waiting(GIVEN_UP) else "frontier"

    sum_to_one: ClassVar[tuple[str, ...]] = ()
    """Parameters that are shares of one whole: the desk keeps their sum at 1."""

    resumable: ClassVar[bool] = False
    """Whether `state` holds all that the object knows beside the graph, so that a run goes on without replaying its pages."""

    one_at_a_time: ClassVar[bool] = False
    """Whether a page must have arrived before the next URL is selected."""

    def state(self) -> dict[str, Any]:
        """What the object knows beside the graph, as plain values; for `resume`."""
        return {}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Takes over what `state` gave."""

    def change(self, values: Mapping[str, Value]) -> None:
        """Other parameters from now on; what waits keeps its place until its score changes."""
        self.settings = read_settings(self.Settings, values)

    def mark(self, url: str, on_topic: bool | None) -> None:
        """The operator's word on a fetched page, None takes it back; for strategies that learn from the run's pages."""

    def explain(self, node: Node) -> Mapping[str, float]:
        """The parts of a waiting URL's priority by name, for the page that tells why it stands where it stands."""
        return {"priority": node.priority}
