"""How worker nodes stand to each other: speed, weight and load of each, and how long one leaves work to those with less of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.db.models import F, Q

from crawlmgr import shares
from crawlmgr.models import Node, NodeState, Run, RunState

STEP_SECONDS = 0.3
"""How much longer than the one before it each node of the ranking waits for work that anybody may take: longer than a cluster
takes between two looks at the queue."""
LONGEST_SECONDS = 2.0
"""What nobody took for so long anybody takes, however loaded: no worker is idle while work waits."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A node as the dispatcher sees it: `weight` in pages a minute (eq. 2), None where nothing is known yet; `runs` in hand."""

    name: str
    workers: int
    speed: float
    weight: float | None
    runs: int
    open: bool
    """Whether it gives signs of life and takes work."""


class Turn(NamedTuple):
    """When a node may take work that anybody may take: once it has waited for `seconds`, None for not at all; `alone` where no
    other node takes any."""

    seconds: float | None
    alone: bool


def lost_before(now: datetime) -> datetime:
    """A node without a sign of life since then is lost."""
    return now - timedelta(seconds=settings.STALL_SECONDS)


def alive(node: Node, now: datetime) -> bool:
    """Whether a node gave a sign of life lately, and since its cluster was started."""
    return node.heartbeat is not None and node.heartbeat > lost_before(now) and node.heartbeat >= node.started


def condition(node: Node, now: datetime) -> str:
    """The node's state as people see it: "lost" without a sign of life, "drained" where that was asked for."""
    if alive(node, now):
        return node.state
    return "drained" if node.state == NodeState.DRAINING else "lost"


def runs_in_hand(now: datetime) -> Counter[str]:
    """Runs that the workers of each node hold."""
    held = Run.objects.filter(lease_until__gt=now, state=RunState.RUNNING).values_list("lease_holder", flat=True)
    return Counter(holder.rpartition(":")[0] for holder in held)


def of(nodes: Sequence[Node], now: datetime) -> list[Standing]:
    """How nodes stand, in their order."""
    held, minute = runs_in_hand(now), now.timestamp() / 60
    found = []
    for node in nodes:
        counts = shares.trailing(dict(node.minutes), minute)
        uptime = max(0.0, minute - node.started.timestamp() / 60)
        speed = shares.speed(counts[-1], min(len(counts), uptime)) if uptime >= 1 else shares.speed(counts[-1], 1)
        open_ = node.state == NodeState.ACTIVE and alive(node, now)
        found.append(Standing(node.name, node.workers, speed, shares.weight(counts, uptime), held[node.name], open_))
    return found


class Row(NamedTuple):
    """A node as people see it: `state` with "lost" and "drained", `share` its part in the weights of all that take work, None for
    others and where nothing is known."""

    node: Node
    state: str
    standing: Standing
    share: float | None


def rows(nodes: Sequence[Node], now: datetime) -> list[Row]:
    """All nodes with how they stand, in their order."""
    found = of(nodes, now)
    weights = {one.name: one.weight for one in found if one.open}
    parts = shares.shares(shares.filled(weights)) if any(weights.values()) else {}
    return [Row(node, condition(node, now), one, parts.get(node.name)) for node, one in zip(nodes, found, strict=True)]


def ranking(found: Sequence[Standing]) -> list[str]:
    """The nodes that may get a run now, the one that the next goes to first.

    A slice counts as many pages as one had on average lately over all workers: it is the same piece of work whoever takes it.
    """
    takers = [one for one in found if one.open]
    weights = shares.filled({one.name: one.weight for one in takers})
    workers = sum(one.workers for one in takers)
    minutes = settings.SLICE_SECONDS / 60
    slice_pages = max(1.0, sum(weights.values()) * minutes / workers if workers else 0.0)
    dispatcher = shares.Dispatcher()
    for one in takers:
        dispatcher.join(one.name, weights[one.name], one.runs * slice_pages)
    return dispatcher.ranking()


def turn(own: str, queue: str, now: datetime) -> Turn:
    """When a node of a queue may take what anybody may take. One that nobody registered takes it as if it were alone."""
    near = Node.objects.filter(queues=queue).filter(Q(name=own) | Q(heartbeat__gt=lost_before(now), heartbeat__gte=F("started")))
    nodes = {node.name: node for node in near}
    me = nodes.pop(own, None)
    if me is not None and me.state != NodeState.ACTIVE:
        return Turn(None, False)
    others = [node for node in nodes.values() if node.state == NodeState.ACTIVE]
    if me is None or not others or not alive(me, now):
        return Turn(0.0, True)
    order = ranking(of([me, *others], now))
    return Turn(min(LONGEST_SECONDS, order.index(own) * STEP_SECONDS) if own in order else LONGEST_SECONDS, False)
