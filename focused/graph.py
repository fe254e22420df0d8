"""The URL graph of a topic crawl: what is known, what waits in which order, which page links where. This one lives in memory."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

from crawlmgr.web.url import host_key

LOOKED_AT = 64
"""First nodes of a queue that are looked at for one whose host may be asked now."""


class State(IntEnum):
    """A URL is known, then waits in a queue, then is fetched or failed; dropped ones may come back to a queue."""

    KNOWN = 0
    WAITING = 1
    FETCHED = 2
    FAILED = 3


class Node:
    """One URL. `data` is the strategy's own: plain values (numbers, text, lists) by name, so that a database can hold them."""

    __slots__ = ("_data", "depth", "order", "parent", "priority", "queue", "state", "url", "version")

    def __init__(self, url: str, depth: int, parent: str | None) -> None:
        self.url = url
        self.depth = depth
        """Clicks from the nearest seed, seeds 0."""
        self.parent = parent
        """The page whose link gave the URL its present place; None for seeds."""
        self.state = State.KNOWN
        self.priority = 0.0
        self.queue = ""
        self.order = 0.0
        self.version = 0
        self._data: dict[str, Any] | None = None

    @property
    def data(self) -> dict[str, Any]:
        if self._data is None:
            self._data = {}
        return self._data

    @property
    def own(self) -> dict[str, Any] | None:
        """`data` as it is, None where nothing was ever put there."""
        return self._data

    def get(self, name: str, default: Any = None) -> Any:
        """A value of `data` without making room for it."""
        return default if self._data is None else self._data.get(name, default)


class OutLink(NamedTuple):
    """A stored link: where to, and what the strategy thought of it."""

    url: str
    score: float


class UrlGraph(Protocol):
    """What strategies need of a graph, in memory or in a database; one worker sees the same order in both."""

    def node(self, url: str) -> Node | None:
        """The URL's node, through aliases; None when never met."""

    def add(self, url: str, depth: int, parent: str | None) -> Node:
        """The URL's node, made when new; a smaller depth is taken over while it is not fetched."""

    def alias(self, url: str, node: Node) -> None:
        """Another spelling (the end of a redirect) that stands for the same node."""

    def push(self, node: Node, priority: float, queue: str = "", parent: str | None = None) -> None:
        """Puts the node into a queue or moves it there; the higher priority is popped first, then the earlier push."""

    resting: Collection[str]
    """Hosts (`host_key`) that may not be asked now, because enough of their addresses are being asked for already."""

    def pop(self, queue: str = "") -> Node | None:
        """Takes out the first node of a queue whose host is not resting, looking at the first `LOOKED_AT`; the nodes passed over
        keep their places. None when there is none."""

    def drop(self, node: Node) -> None:
        """Takes a waiting node out of its queue; it stays known."""

    def waiting(self, queue: str = "") -> int:
        """How many nodes wait in a queue."""

    def queued(self, queue: str = "") -> Iterator[Node]:
        """The nodes of a queue, in no order."""

    def reprioritise(self, score: Callable[[Node], float], queue: str = "") -> None:
        """Gives every node of a queue a new priority; equal ones keep the order of their last push."""

    def store_links(self, node: Node, links: Sequence[OutLink]) -> None:
        """Remembers a fetched page's links."""

    def links(self, node: Node) -> Sequence[OutLink]:
        """The links that were remembered for a page."""


def beginning(url: str) -> str:
    """An address up to its path."""
    return url[: url.index("/", 8) + 1] if "/" in url[8:] else url


class MemoryGraph:
    """Graph in dictionaries and one heap a queue; entries that were overtaken are left in the heap and skipped.

    Nodes of equal priority come in the order of their pushes; with `ties` (a random generator) in random order instead.
    """

    def __init__(self, ties: random.Random | None = None) -> None:
        self._nodes: dict[str, Node] = {}
        self._heaps: dict[str, list[tuple[float, float, int, Node]]] = {}
        self._waiting: dict[str, int] = {}
        self._links: dict[str, Sequence[OutLink]] = {}
        self._ties = ties
        self._pushes = 0
        self.resting: Collection[str] = ()
        self._site: str | None = None
        """The beginning of every address so far, as long as all are of one host."""

    def __len__(self) -> int:
        return len(self._nodes)

    def node(self, url: str) -> Node | None:
        return self._nodes.get(url)

    def add(self, url: str, depth: int, parent: str | None) -> Node:
        node = self._nodes.get(url)
        if node is None:
            node = self._nodes[url] = Node(url, depth, parent)
            if self._site is None:
                self._site = beginning(url)
            elif self._site and not url.startswith(self._site):
                self._site = ""
        elif depth < node.depth and node.state < State.FETCHED:
            node.depth = depth
        return node

    def alias(self, url: str, node: Node) -> None:
        self._nodes[url] = node

    def push(self, node: Node, priority: float, queue: str = "", parent: str | None = None) -> None:
        if node.state == State.WAITING:
            self._waiting[node.queue] -= 1
        self._pushes += 1
        node.state = State.WAITING
        node.priority = priority
        node.queue = queue
        node.version += 1
        node.order = self._ties.random() if self._ties else float(self._pushes)
        if parent is not None:
            node.parent = parent
        self._waiting[queue] = self._waiting.get(queue, 0) + 1
        heap = self._heaps.setdefault(queue, [])
        heapq.heappush(heap, (-priority, node.order, node.version, node))
        if len(heap) > 64 and len(heap) > 3 * self._waiting[queue]:
            self._rebuild(queue)

    def pop(self, queue: str = "") -> Node | None:
        heap = self._heaps.get(queue)
        if self.resting and self._site and host_key(self._site) in self.resting:
            return None
        passed: list[tuple[float, float, int, Node]] = []
        found = None
        while heap and len(passed) < LOOKED_AT:
            entry = heapq.heappop(heap)
            node = entry[3]
            if node.version != entry[2] or node.state != State.WAITING:
                continue
            if self.resting and host_key(node.url) in self.resting:
                passed.append(entry)
                continue
            self._waiting[queue] -= 1
            node.state = State.KNOWN
            found = node
            break
        for entry in passed:
            heapq.heappush(self._heaps[queue], entry)
        return found

    def drop(self, node: Node) -> None:
        if node.state == State.WAITING:
            self._waiting[node.queue] -= 1
            node.state = State.KNOWN
            node.version += 1

    def waiting(self, queue: str = "") -> int:
        return self._waiting.get(queue, 0)

    def queued(self, queue: str = "") -> Iterator[Node]:
        for _, _, version, node in self._heaps.get(queue, ()):
            if node.version == version and node.state == State.WAITING:
                yield node

    def reprioritise(self, score: Callable[[Node], float], queue: str = "") -> None:
        for node in self.queued(queue):
            node.priority = score(node)
        self._rebuild(queue)

    def _rebuild(self, queue: str) -> None:
        entries = [(-node.priority, node.order, node.version, node) for node in self.queued(queue)]
        heapq.heapify(entries)
        self._heaps[queue] = entries

    def store_links(self, node: Node, links: Sequence[OutLink]) -> None:
        self._links[node.url] = links

    def links(self, node: Node) -> Sequence[OutLink]:
        return self._links.get(node.url, ())
