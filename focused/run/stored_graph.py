"""The URL graph of a run in the database, for runs too large for memory. With one worker the order
of URLs is the same as in memory.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from django.db import connection

from crawlmgr.database import sql
from crawlmgr.web.url import host_key, url_hash
from focused.graph import LOOKED_AT, Node, OutLink, State

_COLUMNS = (
    "url",
    "alias_of",
    "parent",
    "depth",
    "state",
    "queue",
    "priority",
    "position",
    "data",
    "links",
)
# only constant names
_SELECT = (
    f"SELECT url_hash, {', '.join(_COLUMNS)} FROM focused_graphnode"  # noqa: S608
    " WHERE run_id = %s"
)
_NEXT = _SELECT + " AND queue = %s AND state = 1 ORDER BY priority DESC, position LIMIT %s"
_SAVE = (
    # only constant names
    f"INSERT INTO focused_graphnode (run_id, url_hash, {', '.join(_COLUMNS)})"  # noqa: S608
    f" VALUES ({', '.join(['%s'] * (len(_COLUMNS) + 2))}) ON CONFLICT (run_id, url_hash)"
    f" DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _COLUMNS)}"
)
_SOME = 500
_ABSENT = object()

Row = tuple[str | None, int, int, str, float, float, str, str]


class DatabaseGraph:
    """Keeps the URL graph of one run in the database. Nodes are read when requested and cached;
    changes are written by `flush`, which `pop` calls first.

    The caller calls `settle` in the transaction that stores the page. `pushes` is the number of
    pushes so far: each push increases it and gives the node this number as its position in the
    queue. `cached` is the number of nodes above which `settle` empties the cache."""

    def __init__(self, run_id: int, pushes: int = 0, cached: int = 50_000) -> None:
        self.pushes = pushes
        self.resting: Collection[str] = ()
        self._run = run_id
        self._cached = cached
        self._empty()

    def __len__(self) -> int:
        """The number of nodes in memory."""
        return len(self._nodes)

    def _empty(self) -> None:
        self._nodes: dict[int, Node | object] = {}
        self._hashes: dict[Node, int] = {}
        self._stored: dict[int, Row] = {}
        self._touched: dict[int, Node] = {}
        self._links: dict[int, str] = {}
        self._aliases: dict[int, tuple[str, int]] = {}
        self._known_aliases: dict[int, int] = {}
        self._waiting: Counter[str] | None = None

    def prepare(self, urls: Iterable[str]) -> None:
        """Loads the nodes of these URLs into the cache with few queries; also caches which of them
        are unknown."""
        wanted = [
            key
            for key in {url_hash(url) for url in urls}
            if key not in self._nodes and key not in self._known_aliases
        ]
        for start in range(0, len(wanted), _SOME):
            part = wanted[start : start + _SOME]
            places = ", ".join(["%s"] * len(part))
            for row in sql.fetch(f"{_SELECT} AND url_hash IN ({places})", (self._run, *part)):
                self._take(row)
            for key in part:
                if key not in self._known_aliases:
                    self._nodes.setdefault(key, _ABSENT)

    def node(self, url: str) -> Node | None:
        key = url_hash(url)
        if key not in self._nodes and key not in self._known_aliases:
            self.prepare([url])
        key = self._known_aliases.get(key, key)
        if key not in self._nodes:
            self._read([key])
        node = self._nodes.get(key)
        if not isinstance(node, Node):
            return None
        self._touched[key] = node
        return node

    def add(self, url: str, depth: int, parent: str | None) -> Node:
        node = self.node(url)
        if node is None:
            node = Node(url, depth, parent)
            key = url_hash(url)
            self._nodes[key] = self._touched[key] = node
            self._hashes[node] = key
        elif depth < node.depth and node.state < State.FETCHED:
            node.depth = depth
        return node

    def alias(self, url: str, node: Node) -> None:
        key, target = url_hash(url), self._hashes[node]
        self._aliases[key] = (url, target)
        self._known_aliases[key] = target

    def push(self, node: Node, priority: float, queue: str = "", parent: str | None = None) -> None:
        waiting = self._counts()
        if node.state == State.WAITING:
            waiting[node.queue] -= 1
        self.pushes += 1
        node.state, node.priority, node.queue, node.order = (
            State.WAITING,
            priority,
            queue,
            float(self.pushes),
        )
        node.version += 1
        if parent is not None:
            node.parent = parent
        waiting[queue] += 1
        self._touched[self._hashes[node]] = node

    def pop(self, queue: str = "") -> Node | None:
        if not self._counts()[queue]:
            return None
        self.flush()
        row = self._first(queue)
        if row is None:
            return None
        node = self._take(row)
        self._counts()[queue] -= 1
        node.state = State.KNOWN
        self._touched[self._hashes[node]] = node
        return node

    def _first(self, queue: str) -> tuple[Any, ...] | None:
        """Returns the database row of the first node of a queue whose host is not in `resting`
        (hosts that cannot be requested now); None if the queue is empty or its first LOOKED_AT
        nodes are all on such hosts."""
        for looked_at in (1, LOOKED_AT) if self.resting else (1,):
            rows = sql.fetch(_NEXT, (self._run, queue, looked_at))
            for row in rows:
                if not self.resting or host_key(row[1]) not in self.resting:
                    return row
            if len(rows) < looked_at:
                break
        return None

    def drop(self, node: Node) -> None:
        if node.state == State.WAITING:
            self._counts()[node.queue] -= 1
            node.state = State.KNOWN
            self._touched[self._hashes[node]] = node

    def waiting(self, queue: str = "") -> int:
        return self._counts()[queue]

    def queued(self, queue: str = "") -> Iterator[Node]:
        self.flush()
        for row in sql.fetch(f"{_SELECT} AND queue = %s AND state = 1", (self._run, queue)):
            yield self._take(row)

    def reprioritise(self, score: Callable[[Node], float], queue: str = "") -> None:
        for node in self.queued(queue):
            node.priority = score(node)
            self._touched[self._hashes[node]] = node
        self.flush()

    def store_links(self, node: Node, links: Sequence[OutLink]) -> None:
        key = self._hashes[node]
        self._links[key] = json.dumps(links)
        self._touched[key] = node

    def links(self, node: Node) -> Sequence[OutLink]:
        return [OutLink(*pair) for pair in json.loads(self._links.get(self._hashes[node]) or "[]")]

    def settle(self) -> None:
        """Writes the changes and, if the cache is full, empties it. Called at the end of a step,
        when no node object is in use any more."""
        self.flush()
        if len(self._nodes) > self._cached:
            for kept in (self._nodes, self._hashes, self._stored, self._links, self._known_aliases):
                kept.clear()

    def flush(self) -> None:
        """Writes the changes since the last call."""
        rows: list[tuple[Any, ...]] = []
        for key, node in self._touched.items():
            row = self._row(key, node)
            if self._stored.get(key) != row:
                self._stored[key] = row
                rows.append((self._run, key, node.url, None, *row))
        for key, (url, target) in self._aliases.items():
            rows.append((self._run, key, url, target, None, 0, 0, "", 0.0, 0.0, "", ""))
            self._forget(key)
        self._touched.clear()
        self._aliases.clear()
        if rows:
            with connection.cursor() as cursor:
                cursor.executemany(_SAVE, rows)

    def clear(self) -> None:
        """Deletes all nodes of the run, for a run whose stored pages are processed again from the
        first one."""
        sql.execute("DELETE FROM focused_graphnode WHERE run_id = %s", (self._run,))
        self.pushes = 0
        self._empty()

    def _counts(self) -> Counter[str]:
        if self._waiting is None:
            query = (
                "SELECT queue, COUNT(*) FROM focused_graphnode WHERE run_id = %s AND state = 1"
                " GROUP BY queue"
            )
            self._waiting = Counter(dict(sql.fetch(query, (self._run,))))
        return self._waiting

    def _read(self, keys: Sequence[int]) -> None:
        places = ", ".join(["%s"] * len(keys))
        for row in sql.fetch(f"{_SELECT} AND url_hash IN ({places})", (self._run, *keys)):
            self._take(row)

    def _take(self, row: tuple[Any, ...]) -> Node:
        """Returns the node of a database row and caches it. If it is cached already, the cached
        node is returned, because it may contain changes not written yet. For a row that is another
        address of a node, registers this address.
        """
        key, url, alias_of, parent, depth, state, queue, priority, position, data, links = row
        if alias_of is not None:
            self._known_aliases[key] = alias_of
            return Node(url, depth, parent)
        node = self._nodes.get(key)
        if isinstance(node, Node):
            return node
        node = Node(url, depth, parent)
        node.state, node.queue, node.priority, node.order = State(state), queue, priority, position
        if data:
            node.data.update(json.loads(data))
        if links:
            self._links[key] = links
        self._nodes[key] = node
        self._hashes[node] = key
        self._stored[key] = (parent, depth, state, queue, priority, position, data, links)
        return node

    def _row(self, key: int, node: Node) -> Row:
        own = node.own
        data = json.dumps(own, ensure_ascii=False) if own else ""
        state = int(node.state)
        return (
            node.parent,
            node.depth,
            state,
            node.queue,
            node.priority,
            node.order,
            data,
            self._links.get(key, ""),
        )

    def _forget(self, key: int) -> None:
        node = self._nodes.pop(key, None)
        self._stored.pop(key, None)
        if isinstance(node, Node):
            self._hashes.pop(node, None)
