"""The interface of crawl strategies. A strategy decides which URL is fetched next, and how a
fetched page changes the order of the URLs that wait.
"""

from __future__ import annotations

import importlib
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from focused.graph import Node, State, UrlGraph
from focused.judge.relevance import Relevance
from focused.pages import Page
from focused.parameters import Parameter, Value, parameters_of, read_settings

GIVEN_UP = "given_up"
"""Name of the queue of links that a rule of the strategy dropped. Nothing is fetched from this
queue; a link that is found again on another page leaves it."""


@dataclass(frozen=True, slots=True)
class NoSettings:
    """Settings of strategies without parameters."""


class Strategy:
    """Orders a crawl. The crawl loop calls `start` once, then repeatedly `select`, and for each
    node selected either `expand` (its page arrived) or `fail`.

    A subclass sets its name, title and a one-line summary, declares its parameters as the fields of
    `Settings`, and implements `expand`. Its texts are English, marked by `gettext_noop`; the web
    interface shows them in the user's language. What a strategy stores for a URL is kept in the
    graph's nodes (there may be millions, in a database). What it stores for the run is kept in the
    object; it must depend only on `rng` and on the pages in the order of arrival, so that passing
    the same pages to a new object restores it.
    """

    name: ClassVar[str]
    """The strategy's identifier in commands, settings and stored runs."""
    title: ClassVar[str] = ""
    """The strategy's display name; without one its identifier is shown."""
    summary: ClassVar[str]
    words: ClassVar[Mapping[str, str]] = {}
    """Display names, by identifier, of what only this strategy has: choices of its parameters,
    parts of a score (keys of the result of `explain`), and queues."""
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
        self.rng = rng or random.Random(1)  # noqa: S311 - must be repeatable, no security
        self.settings: Any = read_settings(self.Settings, values or {})
        self.history = history
        """Pages of an earlier run, in order of arrival, for strategies that learn from one; empty
        if there is none."""

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """Returns the strategy's parameters, each with its default, range and meaning."""
        return parameters_of(cls.Settings)

    def start(self, seeds: Sequence[str]) -> None:
        """Adds the seeds to the queue in their order. Called once, before any other URL is
        added."""
        for url in seeds:
            node = self.graph.add(url, 0, None)
            self.prepare_seed(node)
            self.graph.push(node, self.seed_priority(), self.seed_queue)

    seed_queue: ClassVar[str] = ""

    def seed_priority(self) -> float:
        """Returns the priority at which seeds are queued, which is above that of any link."""
        return 1e9

    def prepare_seed(self, node: Node) -> None:
        """Sets the values that the strategy needs in the node of a seed. Called by `start` for each
        seed; does nothing by default.
        """

    def select(self) -> Node | None:
        """Removes the next node to fetch from the queue and returns it; returns None if nothing is
        waiting."""
        return self.graph.pop()

    def expand(self, node: Node, page: Page) -> None:
        """Handles the arrival of the page of a selected node: adds the page's links to the queue
        with their priorities."""
        raise NotImplementedError

    def fail(self, node: Node) -> None:
        """Handles a selected URL that could not be fetched, or that leads to a page already
        fetched."""

    def open(self, node: Node, url: str) -> Node | None:
        """Returns the node of the URL `url`, to which the page of `node` links; creates it if the
        URL is new. Returns None if the strategy need not order the URL, because it was fetched,
        failed, or is a seed.
        """
        child = self.graph.add(url, node.depth + 1, node.url)
        return None if child.state >= State.FETCHED or child.depth == 0 else child

    def needs_queueing(self, node: Node) -> bool:
        """Tells whether a URL still has to be queued: it is new, or a rule of the strategy dropped
        it (it is in the queue GIVEN_UP).
        """
        return node.state == State.KNOWN or node.queue == GIVEN_UP

    def drop_links(self, node: Node, links: Iterable[str]) -> None:
        """Drops the URLs `links`, found on the page of `node`, because of a rule of the strategy.
        Does not affect URLs that are already queued.
        """
        for url in links:
            child = self.open(node, url)
            if child is not None and child.state == State.KNOWN:
                self.graph.push(child, 0.0, GIVEN_UP, node.url)

    @property
    def left_out(self) -> Mapping[str, str]:
        """The addresses that a rule of the strategy took for duplicates and left out before they
        were fetched, each with the address that was kept instead."""
        return {}

    rule: ClassVar[str] = "given_up"
    """Identifier of the rule by which the strategy drops links; `ending` returns it."""

    def ending(self) -> str:
        """Returns a code that tells why `select` has returned None: "frontier" if every known URL
        was selected; if the strategy dropped some, the value of its attribute `rule`, which names
        the rule by which it did so."""
        return self.rule if self.graph.waiting(GIVEN_UP) else "frontier"

    sum_to_one: ClassVar[tuple[str, ...]] = ()
    """Names of parameters that are shares of one whole; the web interface keeps their sum at 1."""

    resumable: ClassVar[bool] = False
    """True if `state` and the graph hold everything that the strategy knows, so that an interrupted
    run can continue from them. Otherwise a new object is given all pages of the run again."""

    one_at_a_time: ClassVar[bool] = False
    """True if the page of a selected URL must have arrived before the next URL is selected."""

    def state(self) -> dict[str, Any]:
        """Returns what the strategy knows besides the graph, as plain values that can be stored as
        JSON. `resume` restores them.
        """
        return {}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Restores the strategy from the values that `state` returned when the run was
        interrupted."""

    def change(self, values: Mapping[str, Value]) -> None:
        """Changes the values of parameters during a run. Waiting links keep their priority until
        their score is computed again."""
        self.settings = read_settings(self.Settings, values)

    def mark(self, url: str, on_topic: bool | None) -> None:
        """Handles the operator's mark of a fetched page as on topic (True) or off topic (False), or
        the removal of the mark (None). Only strategies that learn from the run's pages use it.
        """

    def explain(self, node: Node) -> Mapping[str, float]:
        """Returns the parts of a waiting URL's priority by name; the web interface shows them to
        explain the URL's position in the queue.
        """
        return {"priority": node.priority}


_CLASS = re.compile(r"class (\w+)\(")
_NAME = re.compile(r' {4}name = "(\w+)"$')


def find(folder: Path, package: str) -> dict[str, str]:
    """Finds the strategies in the files of `folder`, which is the Python package named `package`.
    Returns a dictionary, sorted by name, from the strategy's name to the dotted name of its class.

    A strategy is a class with a line `name = "..."`. The files are read, not imported, so that
    listing the names loads none of the libraries that strategies compute with. Raises ValueError if
    two classes have the same name.
    """
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.py")):
        owner = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if started := _CLASS.match(line):
                owner = f"{package}.{path.stem}.{started[1]}"
            elif owner and (named := _NAME.match(line)):
                if named[1] in found:
                    raise ValueError(
                        f"two strategies are named {named[1]}: {found[named[1]]} and {owner}"
                    )
                found[named[1]] = owner
    return dict(sorted(found.items()))


BUILT_IN: Mapping[str, str] = find(Path(__file__).parent, "focused.strategies")

DEFAULT = "adaptive"
"""The strategy of topics that do not name one."""


def strategy_class(name: str, further: Mapping[str, str] | None = None) -> type[Strategy]:
    """Imports and returns the class of the strategy `name`. `further` maps the names of strategies
    outside this package to dotted class names. Raises ValueError if the name is unknown or does not
    belong to a subclass of Strategy.
    """
    known = {**BUILT_IN, **(further or {})}
    if name not in known:
        raise ValueError(f"no strategy {name}; there are: {', '.join(known)}")
    module, _, attribute = known[name].rpartition(".")
    found = getattr(importlib.import_module(module), attribute)
    if not (isinstance(found, type) and issubclass(found, Strategy)):
        raise ValueError(f"{known[name]} is no strategy")
    return found
