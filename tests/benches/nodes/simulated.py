"""Simulation of many nodes on a virtual clock: `bench nodes --simulate` uses it to test the
dispatcher of `crawlmgr.workers.work_sharing`."""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

from crawlmgr.workers.work_sharing import HORIZON_MINUTES, Dispatcher, filled, trailing, weight

BEAT_SECONDS = 5.0
ANSWER_SECONDS = 0.1
LEASE_SECONDS = 90.0


class Policy(Protocol):
    """A rule that chooses the node for the next task. Its methods are those of
    `crawlmgr.workers.work_sharing.Dispatcher`, the rule that the program itself uses."""

    def join(self, name: str, weight: float, in_hand: float = 0.0) -> None: ...

    def leave(self, name: str) -> None: ...

    def give(self, name: str, tasks: float) -> None: ...

    def done(self, name: str, tasks: float) -> None: ...

    def best(self) -> str | None: ...


class RoundRobin:
    """Chooses the nodes in turn. A node that already holds `bound` tasks is skipped; with `strict`
    it keeps its turn, and no node gets a task until it has room."""

    def __init__(self, bound: float, strict: bool) -> None:
        self.bound, self.strict = bound, strict
        self.line: deque[str] = deque()
        self.full: set[str] = (
            set()
        )  # nodes that are skipped until they have room; stays empty with `strict`
        self.in_hand: dict[str, float] = {}

    def join(self, name: str, weight: float, in_hand: float = 0.0) -> None:
        if name not in self.in_hand:
            self.in_hand[name] = in_hand
            self.line.append(name)

    def leave(self, name: str) -> None:
        if self.in_hand.pop(name, None) is not None:
            if name in self.full:
                self.full.discard(name)
            else:
                self.line.remove(name)

    def give(self, name: str, tasks: float) -> None:
        self.in_hand[name] += tasks

    def done(self, name: str, tasks: float) -> None:
        if name in self.in_hand:
            self.in_hand[name] -= tasks
            if name in self.full and self.in_hand[name] < self.bound:
                self.full.discard(name)
                self.line.append(name)

    def best(self) -> str | None:
        while self.line:
            name = self.line[0]
            if self.in_hand[name] < self.bound:
                self.line.rotate(-1)
                return name
            if self.strict:
                return None
            self.full.add(self.line.popleft())
        return None


class LargestCredit(Dispatcher):
    """The dispatcher with another rule, used only in this benchmark: the next task goes to the node
    with the largest free capacity, W H - (tasks held), with weight W and horizon H as in
    `crawlmgr.workers.work_sharing`."""

    def rank(self, name: str) -> tuple[float, float]:
        node = self._nodes[name]
        return node.in_hand - node.weight * self.horizon, 0.0


@dataclass(frozen=True, slots=True)
class World:
    """What is simulated. `speeds`: addresses per second of each node; `sizes`: number of addresses
    of each host; `batch`: addresses leased at once. A node fails every `failure_minutes` on average
    (0: never) and is away for `away_minutes`; its tasks wait until their leases expire."""

    speeds: Sequence[float]
    sizes: Sequence[int]
    minutes: float
    delay_seconds: float = 1.0
    batch: int = 20
    failure_minutes: float = 0.0
    away_minutes: float = 3.0
    seed: int = 1


@dataclass(slots=True)
class _Node:
    name: str
    speed: float
    draw: random.Random  # random numbers for the node's failures, the same under every policy
    up_since: float = 0.0
    busy_until: float = 0.0
    up_seconds: float = 0.0  # time that the node was up within the measured period
    done: float = 0.0  # addresses fetched within the measured period
    up: bool = True
    minutes: dict[int, int] = field(default_factory=dict)
    batches: dict[int, tuple[int, int, float, float, float]] = field(default_factory=dict)
    """The node's batches by number: host's number, number of addresses, and times of assignment,
    start and end in seconds."""


@dataclass(slots=True)
class Outcome:
    """The result of a simulation. `throughput`: addresses fetched in the measured period, divided
    by what all nodes could fetch while they were up; `utilisation`: the same by node. `repeated`:
    pages fetched again after failures. `too_soon`: batches begun before the host's delay was over.
    `held`: seconds for which each batch was leased. `warm_seconds`: time to the end of the first
    minute with at least 90 % of the full speed, None without one."""

    fetched: int = 0
    repeated: int = 0
    too_soon: int = 0
    failures: int = 0
    dispatched: int = 0
    ended: float = 0.0
    throughput: float = 0.0
    warm_seconds: float | None = None
    utilisation: list[float] = field(default_factory=list)
    held: list[float] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        """Returns the rounded figures to print: shares of the possible throughput (0 to 1), times
        in seconds, and counts."""
        used, held = sorted(self.utilisation), sorted(self.held)
        return {
            "throughput": round(self.throughput, 3),
            "slowest_twentieth": round(used[len(used) // 20], 3) if used else None,
            "warm_seconds": self.warm_seconds,
            "held_median_seconds": round(held[len(held) // 2], 1) if held else None,
            "held_p95_seconds": round(held[int(0.95 * len(held))], 1) if held else None,
            "fetched": self.fetched,
            "repeated": self.repeated,
            "too_soon": self.too_soon,
            "failures": self.failures,
            "seconds": round(self.ended),
        }


def zipf_sizes(hosts: int, total: int, exponent: float = 1.0) -> list[int]:
    """Returns the numbers of addresses of `hosts` hosts, largest first, about `total` in all: that
    of the r-th host is proportional to 1 / r^exponent, rounded, and at least 1."""
    parts = [1 / rank**exponent for rank in range(1, hosts + 1)]
    scale = total / sum(parts)
    return [max(1, round(scale * part)) for part in parts]


def unequal_speeds(nodes: int, draw: random.Random, mean: float = 10.0) -> list[float]:
    """Returns random speeds of nodes in addresses per second: uniformly distributed between a
    quarter of a maximum and this maximum, then scaled to the given mean."""
    raw = [draw.uniform(0.25, 1.0) for _ in range(nodes)]
    return [mean * one * nodes / sum(raw) for one in raw]


class Simulation:
    """One simulated crawl. A batch of a host's addresses is leased to a node, which requests one
    every `delay_seconds`, or more slowly if the node is too slow for that; until the batch is done,
    no other node gets addresses of the host. Measurements begin after `warm_minutes`."""

    def __init__(self, world: World, policy: Policy, warm_minutes: float = 0.0) -> None:
        self.world, self.policy, self.from_ = world, policy, 60 * warm_minutes
        self.draw = random.Random(world.seed)
        self.nodes: dict[str, _Node] = {}
        for place, speed in enumerate(world.speeds):
            draw = random.Random(f"{world.seed} {place}")
            self.nodes[f"n{place:04d}"] = _Node(f"n{place:04d}", speed, draw)
        self.left = list(world.sizes)
        self.last_sent = [-1e9] * len(self.left)
        order = list(range(len(self.left)))
        self.draw.shuffle(order)
        self.ready: deque[int] = deque(order)
        self.open = sum(self.left)
        self.events: list[tuple[float, int, str, Any]] = []
        self.number = count()
        self.now = 0.0
        self.by_minute: dict[int, int] = {}
        self.outcome = Outcome()

    def run(self) -> Outcome:
        """Runs the simulation until its time is over or no work is left, and returns the result."""
        for node in self.nodes.values():
            self.policy.join(node.name, filled({node.name: None})[node.name])
            self._may_fail(node)
        self._at(BEAT_SECONDS, "beat", None)
        self._hand_out()
        end = 60 * self.world.minutes
        while self.events and self.open:
            at, _number, kind, what = heapq.heappop(self.events)
            if at > end:
                break
            self.now = at
            getattr(self, f"_{kind}")(what)
            self._hand_out()
        return self._outcome(self.now if not self.open else end)

    def _at(self, at: float, kind: str, what: Any) -> None:
        heapq.heappush(self.events, (at, next(self.number), kind, what))

    def _hand_out(self) -> None:
        while self.ready and (name := self.policy.best()) is not None:
            self._give(self.nodes[name], self.ready.popleft())

    def _give(self, node: _Node, host: int) -> None:
        size = min(self.world.batch, self.left[host])
        self.outcome.too_soon += self.now - self.last_sent[host] < self.world.delay_seconds - 1e-6
        began = max(
            node.busy_until, self.now
        )  # time at which the first page of the batch is requested
        node.busy_until = began + size / node.speed
        ends = max(
            node.busy_until, self.now + (size - 1) * self.world.delay_seconds + ANSWER_SECONDS
        )
        number = next(self.number)
        node.batches[number] = (host, size, self.now, began, ends)
        self.policy.give(node.name, size)
        self.outcome.dispatched += 1
        self._at(ends, "end", (node.name, number))

    def _end(self, what: tuple[str, int]) -> None:
        node = self.nodes[what[0]]
        batch = node.batches.pop(what[1], None)
        if batch is None:
            return  # the batch was lost when its node failed
        host, size, given, began, ends = batch
        self._commit(node, host, size, began)
        self.policy.done(node.name, size)
        self.last_sent[host] = ends - ANSWER_SECONDS
        self.outcome.held.append(ends - given)
        if self.left[host]:
            self._at(self.last_sent[host] + self.world.delay_seconds, "wake", host)

    def _commit(self, node: _Node, host: int, size: int, began: float) -> None:
        self.left[host] -= size
        self.open -= size
        self.outcome.fetched += size
        minute = int(self.now // 60)
        node.minutes[minute] = node.minutes.get(minute, 0) + size
        self.by_minute[minute] = self.by_minute.get(minute, 0) + size
        node.done += size * self._inside(began, self.now)

    def _inside(self, began: float, ended: float) -> float:
        """Returns the share of the time from `began` to `ended` that lies in the measured period,
        which begins at `from_`; in [0, 1]."""
        return (
            max(0.0, min(1.0, (ended - self.from_) / (ended - began)))
            if ended > began
            else float(ended >= self.from_)
        )

    def _wake(self, host: int) -> None:
        self.ready.append(host)

    def _beat(self, _what: None) -> None:
        """Handles the moment at which all nodes report their finished pages: computes the weights
        of the nodes again."""
        minute = self.now / 60
        found = {node.name: self._weight(node, minute) for node in self.nodes.values() if node.up}
        for name, own in filled(found).items():
            self.policy.join(name, own)
        self._at(self.now + BEAT_SECONDS, "beat", None)

    def _weight(self, node: _Node, minute: float) -> float | None:
        return weight(trailing(node.minutes, minute), minute - node.up_since / 60)

    def _may_fail(self, node: _Node) -> None:
        if self.world.failure_minutes:
            self._at(
                self.now + node.draw.expovariate(1 / (60 * self.world.failure_minutes)),
                "fail",
                node.name,
            )

    def _fail(self, name: str) -> None:
        """Handles the failure of a node. Its finished pages stay. The page that it was fetching
        from each of its hosts is fetched again by another node once the lease has expired; results
        that the failed node delivers later are refused, because its lease is no longer valid."""
        node = self.nodes[name]
        self.outcome.failures += 1
        self._count_up(node)
        node.up = False
        self.policy.leave(name)
        for host, size, _given, began, ends in node.batches.values():
            got = max(0, min(size - 1, int(size * (self.now - began) / (ends - began))))
            if got:
                self._commit(node, host, got, began)
            self.outcome.repeated += began < self.now
            self.last_sent[host] = self.now
            self._at(self.now + LEASE_SECONDS, "wake", host)
        node.batches.clear()
        node.busy_until = 0.0
        self._at(self.now + 60 * self.world.away_minutes, "back", name)

    def _back(self, name: str) -> None:
        node = self.nodes[name]
        node.up, node.up_since, node.minutes = True, self.now, {}
        weights = {
            other.name: self._weight(other, self.now / 60)
            for other in self.nodes.values()
            if other.up
        }
        self.policy.join(name, filled(weights)[name])
        self._may_fail(node)

    def _count_up(self, node: _Node) -> None:
        node.up_seconds += max(0.0, self.now - max(node.up_since, self.from_))

    def _outcome(self, end: float) -> Outcome:
        self.now = end
        for node in self.nodes.values():
            if node.up:
                self._count_up(node)
            for _host, size, _given, began, ends in node.batches.values():
                node.done += size * max(0.0, end - max(began, self.from_)) / (ends - began)
        able = sum(node.speed * node.up_seconds for node in self.nodes.values())
        self.outcome.throughput = (
            sum(node.done for node in self.nodes.values()) / able if able else 0.0
        )
        self.outcome.utilisation = [
            node.done / (node.speed * node.up_seconds)
            for node in self.nodes.values()
            if node.up_seconds
        ]
        self.outcome.ended = end
        full = 60 * sum(self.world.speeds)
        warm = [minute for minute in sorted(self.by_minute) if self.by_minute[minute] >= 0.9 * full]
        self.outcome.warm_seconds = 60.0 * (warm[0] + 1) if warm else None
        return self.outcome


def policies(speeds: Sequence[float]) -> dict[str, Policy]:
    """Returns the policies to compare, by name: the dispatcher ("weights"), its alternative rule
    ("largest credit"), and round robin with HORIZON_MINUTES of work per node at the mean speed,
    skipping full nodes ("round robin") or waiting for them ("strict turns")."""
    bound = 60 * HORIZON_MINUTES * sum(speeds) / len(speeds)
    return {
        "weights": Dispatcher(),
        "largest credit": LargestCredit(),
        "round robin": RoundRobin(bound, False),
        "strict turns": RoundRobin(bound, True),
    }
