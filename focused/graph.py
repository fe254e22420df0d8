"""The URL graph of a topic crawl: known URLs, ordered queues of waiting ones, and the links of
pages. Defines the interface, and the implementation in memory.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

from crawlmgr.web.url import host_key

LOOKED_AT = 64
"""Number of nodes at the front of a queue that are searched for one whose host can be requested
now. If none of them is on such a host, no node is taken, although one may wait further back."""


class State(IntEnum):
    """State of a URL: known (found, but not in a queue), waiting in a queue, fetched, or failed."""

    KNOWN = 0
    WAITING = 1
    FETCHED = 2
    FAILED = 3


class Node:
    """One URL of the graph. `data` belongs to the strategy: plain values (numbers, text, lists) by
    name, so that a database can store them.
    """

    __slots__ = (
        "_data",
        "depth",
        "order",
        "parent",
        "priority",
        "queue",
        "state",
        "url",
        "version",
    )

    def __init__(self, url: str, depth: int, parent: str | None) -> None:
        self.url = url
        self.depth = depth
        """Number of clicks from the nearest seed; 0 for seeds."""
        self.parent = parent
        """The page whose link determined the URL's current depth and priority; None for seeds."""
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
        """The dictionary `data`, or None if nothing was ever stored in it. Reading `data` would
        create it; reading this does not."""
        return self._data

    def get(self, name: str, default: Any = None) -> Any:
        """Returns the value stored under `name` in `data`, or `default`. Does not create `data`."""
        return default if self._data is None else self._data.get(name, default)


class OutLink(NamedTuple):
    """A stored link of a page: the URL it leads to, and the strategy's score of it."""

    url: str
    score: float


class UrlGraph(Protocol):
    """The interface of the URL graph for strategies. Implementations keep it in memory or in a
    database; with one worker, URLs come in the same order from either.
    """

    def node(self, url: str) -> Node | None:
        """Returns the URL's node, also if the URL is another address of the node (`alias`); None if
        the URL is unknown."""

    def add(self, url: str, depth: int, parent: str | None) -> Node:
        """Returns the URL's node, created with this depth and parent if new. A `depth` smaller than
        that of an existing node replaces its depth, unless the URL has been fetched."""

    def alias(self, url: str, node: Node) -> None:
        """Registers `url`, the address at the end of a redirect, as another address of the node."""

    def push(self, node: Node, priority: float, queue: str = "", parent: str | None = None) -> None:
        """Adds the node to a queue, or moves it there from another queue. `parent`, if given,
        becomes the node's parent. Nodes leave a queue by priority, highest first; of equal
        priorities the one added earliest.
        """

    resting: Collection[str]
    """Hosts (`host_key`) that cannot be requested now, because enough of their addresses are in
    progress."""

    def pop(self, queue: str = "") -> Node | None:
        """Removes the first node of a queue whose host is not in `resting` (hosts that cannot be
        requested now) and returns it; skipped nodes keep their places. Returns None if the queue is
        empty or its first LOOKED_AT nodes are all on such hosts.
        """

    def drop(self, node: Node) -> None:
        """Removes a waiting node from its queue; its URL stays known."""

    def waiting(self, queue: str = "") -> int:
        """Returns the number of nodes waiting in a queue."""

    def queued(self, queue: str = "") -> Iterator[Node]:
        """Yields the nodes of a queue, in no particular order."""

    def reprioritise(self, score: Callable[[Node], float], queue: str = "") -> None:
        """Gives every node of a queue the priority that `score` returns for it; of equal
        priorities, the one added earliest still comes first.
        """

    def store_links(self, node: Node, links: Sequence[OutLink]) -> None:
        """Stores the links of a fetched page; an earlier list is replaced."""

    def links(self, node: Node) -> Sequence[OutLink]:
        """Returns the stored links of a page; an empty sequence if none were stored."""


def origin(url: str) -> str:
    """Returns the origin of an address, up to and including the "/" that begins its path: scheme
    and host."""
    return url[: url.index("/", 8) + 1] if "/" in url[8:] else url


class MemoryGraph:
    """Keeps the URL graph in dictionaries, with one heap per queue; outdated heap entries stay and
    are skipped.

    Nodes of equal priority are popped in the order of their pushes; with `ties` (a random
    generator) in random order.
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
        """The common scheme and host of all addresses so far; None without any, "" if they have
        several hosts."""

    def __len__(self) -> int:
        return len(self._nodes)

    def node(self, url: str) -> Node | None:
        return self._nodes.get(url)

    def add(self, url: str, depth: int, parent: str | None) -> Node:
        node = self._nodes.get(url)
        if node is None:
            node = self._nodes[url] = Node(url, depth, parent)
            if self._site is None:
                self._site = origin(url)
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
        # entries of earlier pushes stay in their heaps, and are told by their older version
        node.version += 1
        node.order = self._ties.random() if self._ties else float(self._pushes)
        if parent is not None:
            node.parent = parent
        self._waiting[queue] = self._waiting.get(queue, 0) + 1
        heap = self._heaps.setdefault(queue, [])
        heapq.heappush(heap, (-priority, node.order, node.version, node))
        # outdated entries would otherwise fill the memory of strategies that push again and again
        if len(heap) > 64 and len(heap) > 3 * self._waiting[queue]:
            self._rebuild(queue)

    def pop(self, queue: str = "") -> Node | None:
        heap = self._heaps.get(queue)
        # all addresses are of one host, which rests: no need to look through the heap
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
        # the hosts that rest now may be the best choice of the next call
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
