"""Shares work among worker nodes in proportion to their recent speed. A node holds at most the
tasks that it completes in a minute. This module does not use Django.

A node is a cluster of worker processes, usually one per machine. Speed and weight are by eqs. (1)
and (2) of the ant colony paper; as there, each task goes to the node with the most free capacity. A
task is one fetched address. Slices are not counted, because they take the same time on slow and
fast nodes."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

WINDOW_MINUTES = 5
"""k of eq. (2) of the ant colony paper: number of minutes from which a node's weight is computed.
"""
HORIZON_MINUTES = 1.0
"""H, in minutes: a node holds at most the tasks that it completes in this time."""
MIN_IN_HAND = 2
"""Number of tasks that even the slowest node may hold: the speed of a node without any could never
be measured again."""


def speed(tasks: float, minutes: float) -> float:
    """Returns the speed of a node by eq. (1): v = n / t, in tasks per minute; 0 if no time has
    passed.

    >>> speed(90, 1.5), speed(0, 3), speed(5, 0)
    (60.0, 0.0, 0.0)
    """
    return tasks / minutes if minutes > 0 else 0.0


def trailing(
    buckets: Mapping[int, float], minute: float, window: int = WINDOW_MINUTES
) -> list[float]:
    """Returns the list n_1 … n_k of tasks completed in the last 1 … k minutes before `minute`,
    where k is `window`.

    `buckets`: numbers of tasks by whole minute. `minute`: current time in minutes since any epoch,
    with its fraction. If only part of a whole minute is inside a period, the same part of its tasks
    is counted.

    >>> trailing({9: 60, 10: 30}, 10.5, 2)
    [60.0, 90.0]
    """
    whole = int(minute)
    outside = 1.0 - (minute - whole)
    sums, total = [], float(buckets.get(whole, 0))
    for back in range(1, window + 1):
        earlier = buckets.get(whole - back, 0)
        sums.append(total + outside * earlier)
        total += earlier
    return sums


def weight(counts: Sequence[float], uptime_minutes: float) -> float | None:
    """Returns a node's weight by eq. (2), in tasks per minute: W = (1/k) sum over i = 1 … k of n_i
    / i, where n_i is the number of tasks in the last i minutes. It is the mean of the averages over
    the last 1 … k minutes, so that the last minute counts most. If the node has been up for less
    than i minutes, n_i is divided by its uptime instead. None for a node that has been up for less
    than a minute.

    >>> weight([60, 100, 120, 160, 200], 30.0), weight([60, 90, 90], 1.5), weight([10], 0.2)
    (46.0, 60.0, None)
    """
    if uptime_minutes < 1 or not counts:
        return None
    averages = [speed(tasks, min(i, uptime_minutes)) for i, tasks in enumerate(counts, 1)]
    return sum(averages) / len(averages)


def filled(weights: Mapping[str, float | None]) -> dict[str, float]:
    """Returns the weights (tasks per minute, by node) with unknown ones (None) set to the mean of
    the known ones; if none is known, all get MIN_IN_HAND tasks per HORIZON_MINUTES.

    >>> filled({"a": 90.0, "b": None, "c": 30.0})
    {'a': 90.0, 'b': 60.0, 'c': 30.0}
    """
    known = [one for one in weights.values() if one is not None]
    mean = sum(known) / len(known) if known else MIN_IN_HAND / HORIZON_MINUTES
    return {name: mean if one is None else one for name, one in weights.items()}


def shares(weights: Mapping[str, float]) -> dict[str, float]:
    """Returns each node's share of the work, W_j / sum of all W, in [0, 1], by node; equal shares
    if all weights are 0.

    >>> shares({"a": 30.0, "b": 90.0}), shares({"a": 0.0, "b": 0.0})
    ({'a': 0.25, 'b': 0.75}, {'a': 0.5, 'b': 0.5})
    """
    total = sum(weights.values())
    return {name: one / total if total else 1 / len(weights) for name, one in weights.items()}


def threshold(weight: float, horizon_minutes: float = HORIZON_MINUTES) -> int:
    """Returns the maximum number of tasks that a node may hold: Q = ceil(W H) with its weight W in
    tasks per minute and the horizon H in minutes; at least MIN_IN_HAND.

    >>> threshold(90.5), threshold(0.3), threshold(90.5, 0.5)
    (91, 2, 46)
    """
    return max(MIN_IN_HAND, ceil(weight * horizon_minutes))


@dataclass(slots=True)
class _Node:
    """A node with its weight in tasks per minute and the number of tasks it holds."""

    weight: float
    in_hand: float = 0.0
    version: int = 0
    """Increased with every change; heap entries of an earlier version are out of date."""


class Dispatcher:
    """Chooses the node for the next task: of the nodes that hold fewer tasks than their threshold,
    the one with the lowest load, (tasks held) / (W H), where W is the node's weight and H the
    horizon. A choice costs O(log n) for n nodes.

    So every node gets a share in proportion to its weight, even if there is little work. By the
    largest free capacity, W H - (tasks held), the nodes that did most so far would then get all of
    it (`bench nodes --simulate` compares both).

    H must be longer than the time for which a node holds a batch of addresses of one host.
    Otherwise the threshold limits the node's measured speed, which lowers its weight and so the
    threshold further."""

    def __init__(self, horizon_minutes: float = HORIZON_MINUTES) -> None:
        self.horizon = horizon_minutes
        self._nodes: dict[str, _Node] = {}
        self._heap: list[tuple[tuple[float, float], str, int]] = []
        self._changes = 0

    def join(self, name: str, weight: float, in_hand: float = 0.0) -> None:
        """Adds a node that holds `in_hand` tasks, or changes the weight of a known node."""
        node = self._nodes.get(name)
        if node is None:
            node = self._nodes[name] = _Node(weight, in_hand)
        node.weight = weight
        self._changed(name)

    def leave(self, name: str) -> None:
        """Removes a node; unknown names are ignored."""
        self._nodes.pop(name, None)

    def give(self, name: str, tasks: float) -> None:
        """Records that a node received `tasks` tasks."""
        self._nodes[name].in_hand += tasks
        self._changed(name)

    def done(self, name: str, tasks: float) -> None:
        """Records that `tasks` tasks of a node have ended; ignored if the node has been removed."""
        if name in self._nodes:
            self._nodes[name].in_hand = max(0.0, self._nodes[name].in_hand - tasks)
            self._changed(name)

    def load(self, name: str) -> float:
        """Returns the node's unfinished tasks divided by W H: the number of tasks that it can
        complete within the horizon H (in minutes) at its weight W (tasks per minute)."""
        node = self._nodes[name]
        return node.in_hand / max(node.weight * self.horizon, 1.0)

    def has_room(self, name: str) -> bool:
        """Tells whether the node holds fewer tasks than its threshold."""
        node = self._nodes[name]
        return node.in_hand < threshold(node.weight, self.horizon)

    def best(self) -> str | None:
        """Returns the node for the next task; None if all nodes hold as many tasks as their
        threshold."""
        while self._heap:
            _rank, name, version = self._heap[0]
            node = self._nodes.get(name)
            if node is not None and node.version == version:
                return name
            heapq.heappop(self._heap)
        return None

    def ranking(self) -> list[str]:
        """Returns all nodes below their threshold, the one that gets the next task first."""
        open_ = [name for name in self._nodes if self.has_room(name)]
        return sorted(open_, key=lambda name: (self.rank(name), name))

    def rank(self, name: str) -> tuple[float, float]:
        """Returns the sort key of a node, smallest first: lower load, then greater weight."""
        return self.load(name), -self._nodes[name].weight

    def _changed(self, name: str) -> None:
        """Updates the heap after a node has changed: a new version makes the node's earlier entries
        invalid, and an entry of this version is added if the node is below its threshold."""
        node = self._nodes[name]
        self._changes += 1
        node.version = self._changes
        if self.has_room(name):
            heapq.heappush(self._heap, (self.rank(name), name, node.version))
