"""Compares worker nodes by speed, weight and load, and decides how long a node leaves tasks to less
loaded nodes before it takes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.db.models import F, Q

from crawlmgr.models import Node, NodeState, Run, RunState
from crawlmgr.workers import work_sharing

STEP_SECONDS = 0.3
"""Seconds by which a node leaves a task that any node may take in the queue for longer than the
node before it in the ranking does; longer than the time between two queries of the queue by a
cluster."""
LONGEST_SECONDS = 2.0
"""Any node, however loaded, may take a task that has waited for so many seconds, so that no worker
is idle while tasks wait."""


@dataclass(frozen=True, slots=True)
class NodeLoad:
    """A node in comparison with others. `speed` is its recent speed in pages per minute; `weight`,
    in the same unit, is the number in proportion to which work is divided (see
    `crawlmgr.workers.work_sharing.weight`; None if nothing is known yet); `runs` is the number of
    runs that its workers hold."""

    name: str
    workers: int
    speed: float
    weight: float | None
    runs: int
    open: bool
    """True if it sends heartbeats and takes work."""


class Turn(NamedTuple):
    """How long a node has to wait before it takes a task of a queue that any node may take.
    `seconds` is the minimum time that the task has been queued, or None if the node may take none.
    `alone` is True if no other node takes tasks.
    """

    seconds: float | None
    alone: bool


def lost_before(now: datetime) -> datetime:
    """Returns the time from which a heartbeat counts as recent: a node whose last one is earlier is
    lost."""
    return now - timedelta(seconds=settings.STALL_SECONDS)


def are_alive(now: datetime) -> Q:
    """Returns the condition for a query of `Node` that selects the nodes for which `alive` is
    true."""
    return Q(heartbeat__gt=lost_before(now), heartbeat__gte=F("started"))


def alive(node: Node, now: datetime) -> bool:
    """Tells whether a node sent a heartbeat recently, and since its cluster was started."""
    return (
        node.heartbeat is not None
        and node.heartbeat > lost_before(now)
        and node.heartbeat >= node.started
    )


def condition(node: Node, now: datetime) -> str:
    """Returns the state of a node for display: its requested state while it is alive, otherwise
    "drained" if it was asked to drain, else "lost"."""
    if alive(node, now):
        return node.state
    return "drained" if node.state == NodeState.DRAINING else "lost"


def runs_in_hand(now: datetime) -> Counter[str]:
    """Returns the number of runs that the workers of each node hold, by the node's name."""
    held = Run.objects.filter(lease_until__gt=now, state=RunState.RUNNING).values_list(
        "lease_holder", flat=True
    )
    return Counter(holder.rpartition(":")[0] for holder in held)


def of(nodes: Sequence[Node], now: datetime) -> list[NodeLoad]:
    """Compares nodes; returns a `NodeLoad` for each, in the given order."""
    held, minute = runs_in_hand(now), now.timestamp() / 60
    found = []
    for node in nodes:
        counts = work_sharing.trailing(dict(node.minutes), minute)
        uptime = max(0.0, minute - node.started.timestamp() / 60)
        speed = (
            work_sharing.speed(counts[-1], min(len(counts), uptime))
            if uptime >= 1
            else work_sharing.speed(counts[-1], 1)
        )
        open_ = node.state == NodeState.ACTIVE and alive(node, now)
        found.append(
            NodeLoad(
                node.name,
                node.workers,
                speed,
                work_sharing.weight(counts, uptime),
                held[node.name],
                open_,
            )
        )
    return found


class Row(NamedTuple):
    """A node for display. `state` is its requested state, "lost" or "drained"; `share` is its part
    of the weights of all nodes that take work, in [0, 1]; None if it takes none or the weights are
    unknown."""

    node: Node
    state: str
    load: NodeLoad
    share: float | None


def rows(nodes: Sequence[Node], now: datetime) -> list[Row]:
    """Returns for each node, in the given order, what the web interface shows of it: its state and
    its share of the work."""
    found = of(nodes, now)
    weights = {one.name: one.weight for one in found if one.open}
    parts = work_sharing.shares(work_sharing.filled(weights)) if any(weights.values()) else {}
    return [
        Row(node, condition(node, now), one, parts.get(node.name))
        for node, one in zip(nodes, found, strict=True)
    ]


def ranking(found: Sequence[NodeLoad]) -> list[str]:
    """Returns the names of the nodes that take work, in the order in which they should get the next
    run: the one with the least load in proportion to its weight first. The load of a run is the
    mean number of pages per slice over all workers, whichever node works on it."""
    takers = [one for one in found if one.open]
    weights = work_sharing.filled({one.name: one.weight for one in takers})
    workers = sum(one.workers for one in takers)
    minutes = settings.SLICE_SECONDS / 60
    slice_pages = max(1.0, sum(weights.values()) * minutes / workers if workers else 0.0)
    dispatcher = work_sharing.Dispatcher()
    for one in takers:
        dispatcher.join(one.name, weights[one.name], one.runs * slice_pages)
    return dispatcher.ranking()


def turn(own: str, queue: str, now: datetime) -> Turn:
    """Tells when the node `own` may take those tasks of a queue that any node may take. A node that
    is not registered or the only one may take them at once; a draining or paused one may take none.
    """
    near = Node.objects.filter(queues=queue).filter(Q(name=own) | are_alive(now))
    nodes = {node.name: node for node in near}
    me = nodes.pop(own, None)
    if me is not None and me.state != NodeState.ACTIVE:
        return Turn(None, False)
    others = [node for node in nodes.values() if node.state == NodeState.ACTIVE]
    if me is None or not others or not alive(me, now):
        return Turn(0.0, True)
    order = ranking(of([me, *others], now))
    return Turn(
        min(LONGEST_SECONDS, order.index(own) * STEP_SECONDS) if own in order else LONGEST_SECONDS,
        False,
    )
