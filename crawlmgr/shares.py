"""Sharing of work among worker nodes in proportion to their recent speed, at most a minute's work ahead. No Django.

Speed, weight and threshold are eqs. (1) and (2) of the paper on load-balanced topic crawling. A task is one fetched address:
slices last equally long on slow and fast nodes, so that counting them would measure nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

WINDOW_MINUTES = 5
"""k of eq. (2) of the ant colony paper: minutes that the weight looks back."""
HORIZON_MINUTES = 1.0
"""H, in minutes: a node holds at most the tasks that it does in this time."""
LEAST_IN_HAND = 2
"""Tasks that even the slowest node may hold: a node without any would never be measured again."""


def speed(tasks: float, minutes: float) -> float:
    """Eq. (1): v = n / t, in tasks a minute; 0 if no time has passed.

    >>> speed(90, 1.5), speed(0, 3), speed(5, 0)
    (60.0, 0.0, 0.0)
    """
    return tasks / minutes if minutes > 0 else 0.0


def trailing(buckets: Mapping[int, float], minute: float, window: int = WINDOW_MINUTES) -> list[float]:
    """n_1 … n_k: tasks in the last 1 … k minutes before `minute` (since any epoch, with its fraction), from counts by whole
    minute. Of the oldest minute of each window the part inside counts, as if its tasks had come evenly.

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
    """Eq. (2): W = (1/k) sum over i = 1 … k of n_i / i, with n_i the tasks in the last i minutes: the mean of the trailing
    averages, in which the last minute counts most. i is at most the node's uptime. In tasks per minute; None for a node
    that has been up for less than a minute.

    >>> weight([60, 100, 120, 160, 200], 30.0), weight([60, 90, 90], 1.5), weight([10], 0.2)
    (46.0, 60.0, None)
    """
    if uptime_minutes < 1 or not counts:
        return None
    averages = [speed(tasks, min(i, uptime_minutes)) for i, tasks in enumerate(counts, 1)]
    return sum(averages) / len(averages)


def filled(weights: Mapping[str, float | None]) -> dict[str, float]:
    """The weights, with unknown ones set to the mean of the known ones; if none is known, all get the weight that LEAST_IN_HAND
    corresponds to.

    >>> filled({"a": 90.0, "b": None, "c": 30.0})
    {'a': 90.0, 'b': 60.0, 'c': 30.0}
    """
    known = [one for one in weights.values() if one is not None]
    mean = sum(known) / len(known) if known else LEAST_IN_HAND / HORIZON_MINUTES
    return {name: mean if one is None else one for name, one in weights.items()}


def shares(weights: Mapping[str, float]) -> dict[str, float]:
    """Each node's part of the work: W_j / sum of all W, in [0, 1]; equal parts if no work was done.

    >>> shares({"a": 30.0, "b": 90.0}), shares({"a": 0.0, "b": 0.0})
    ({'a': 0.25, 'b': 0.75}, {'a': 0.5, 'b': 0.5})
    """
    total = sum(weights.values())
    return {name: one / total if total else 1 / len(weights) for name, one in weights.items()}


def threshold(weight: float, horizon_minutes: float = HORIZON_MINUTES) -> int:
    """The most tasks a node may hold: Q = ceil(W H), W its weight in tasks per minute, H the horizon; at least LEAST_IN_HAND.

    >>> threshold(90.5), threshold(0.3), threshold(90.5, 0.5)
    (91, 2, 46)
    """
    return max(LEAST_IN_HAND, ceil(weight * horizon_minutes))


@dataclass(slots=True)
class _Node:
    weight: float
    in_hand: float = 0.0
    version: int = 0
    """Raised with every change; heap entries of an earlier version are out of date."""


class Dispatcher:
    """Chooses the node for the next task: among those below their threshold, the one with the least load (tasks held) / (W H).

    Choosing the largest free credit, W H - (tasks held), is equivalent while there is enough work for all. With less work it
    would give everything to the nodes that did most so far: the others do nothing, and their weights go to 0. By load every node
    gets a part in proportion to its weight (`bench nodes --simulate` compares both). H must be longer than a node holds a batch
    of one host; otherwise threshold and speed would reduce each other.

    A choice costs O(log n) for n nodes, so that the same code serves three nodes live and a thousand in a simulation.
    """

    def __init__(self, horizon_minutes: float = HORIZON_MINUTES) -> None:
        self.horizon = horizon_minutes
        self._nodes: dict[str, _Node] = {}
        self._heap: list[tuple[tuple[float, float], str, int]] = []
        self._changes = 0

    def join(self, name: str, weight: float, in_hand: float = 0.0) -> None:
        """Adds a node, or changes its weight."""
        node = self._nodes.get(name)
        if node is None:
            node = self._nodes[name] = _Node(weight, in_hand)
        node.weight = weight
        self._changed(name)

    def leave(self, name: str) -> None:
        """Removes a node."""
        self._nodes.pop(name, None)

    def give(self, name: str, tasks: float) -> None:
        """Records that a node got `tasks` tasks."""
        self._nodes[name].in_hand += tasks
        self._changed(name)

    def done(self, name: str, tasks: float) -> None:
        """Records that `tasks` tasks of a node have ended; ignored if the node has left."""
        if name in self._nodes:
            self._nodes[name].in_hand = max(0.0, self._nodes[name].in_hand - tasks)
            self._changed(name)

    def load(self, name: str) -> float:
        """The node's unfinished tasks divided by the number it completes in the horizon H at weight W (eq. (2))."""
        node = self._nodes[name]
        return node.in_hand / max(node.weight * self.horizon, 1.0)

    def has_room(self, name: str) -> bool:
        """Tells whether the node is below its threshold."""
        node = self._nodes[name]
        return node.in_hand < threshold(node.weight, self.horizon)

    def best(self) -> str | None:
        """The node for the next task; None if all are at their threshold."""
        while self._heap:
            _rank, name, version = self._heap[0]
            node = self._nodes.get(name)
            if node is not None and node.version == version:
                return name
            heapq.heappop(self._heap)
        return None

    def ranking(self) -> list[str]:
        """All nodes below their threshold, in the order in which tasks are given out."""
        open_ = [name for name in self._nodes if self.has_room(name)]
        return sorted(open_, key=lambda name: (self.rank(name), name))

    def rank(self, name: str) -> tuple[float, float]:
        """Sort key, smallest first: by load, then the faster node."""
        return self.load(name), -self._nodes[name].weight

    def _changed(self, name: str) -> None:
        node = self._nodes[name]
        self._changes += 1
        node.version = self._changes
        if self.has_room(name):
            heapq.heappush(self._heap, (self.rank(name), name, node.version))
