"""Worker nodes: known by name, heard through the tasks they take, restarted when they fall silent."""

from __future__ import annotations

import os
import socket
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, QuerySet

from crawlmgr.models import Node, Run, RunState
from crawlmgr.services import events, queue
from crawlmgr.supervisor import alive


def own_name() -> str:
    """This machine's node: CRAWLMGR_NODE, else the host name."""
    return os.environ.get("CRAWLMGR_NODE", "").strip() or socket.gethostname()


def register(name: str, *, pid: int, workers: int, queues: str, now: datetime) -> Node:
    """Notes that a node's cluster is about to start; what it held in an earlier life is given back."""
    values = {"pid": pid, "workers": workers, "queues": queues, "started": now}
    node, _ = Node.objects.update_or_create(name=name, defaults=values)
    queue.forget_node(name, queues)
    _free_leases(name, now)
    lately = now - timedelta(seconds=settings.RETRY_SECONDS)
    if not Node.objects.exclude(pk=node.pk).filter(queues=queues, heartbeat__gt=lately).exists():
        queue.give_back(queues, now)
    return node


def _free_leases(name: str, now: datetime) -> None:
    """Ends the leases of this machine's dead processes, so that their runs need not wait for the leases to run out."""
    for run in _held(now).filter(lease_holder__startswith=f"{name}:").only("pk", "fence", "lease_holder"):
        pid = run.lease_holder.rpartition(":")[2]
        if pid.isdigit() and not alive(int(pid)):
            Run.objects.filter(pk=run.pk, fence=run.fence).update(lease_until=now)


def beat(name: str, now: datetime) -> None:
    """A worker of this node took a task or got a page."""
    Node.objects.filter(name=name).update(heartbeat=now)


def signs(name: str, now: datetime) -> tuple[datetime | None, bool]:
    """The node's last sign of life and whether one of its workers is at a run."""
    heartbeat = Node.objects.filter(name=name).values_list("heartbeat", flat=True).first()
    return heartbeat, _held(now).filter(lease_holder__startswith=f"{name}:").exists()


def _held(now: datetime) -> QuerySet[Run]:
    return Run.objects.filter(lease_until__gt=now, state=RunState.RUNNING)


def restarted(name: str, why: str, now: datetime) -> None:
    """Counts a restart that nobody asked for and tells why."""
    Node.objects.filter(name=name).update(restarts=F("restarts") + 1)
    events.warn("cluster_restarted", f"{name}: {why}", now=now)


def living(now: datetime) -> list[Node]:
    """Nodes that gave a sign of life lately, and since their cluster was started."""
    return list(Node.objects.filter(heartbeat__gt=now - timedelta(seconds=settings.STALL_SECONDS), heartbeat__gte=F("started")))


def listing(now: datetime) -> list[dict[str, Any]]:
    """Every node with its heartbeat and the number of runs it has in hand."""
    outstanding = Counter(holder.rpartition(":")[0] for holder in _held(now).values_list("lease_holder", flat=True))
    return [
        {
            "name": node.name, "heartbeat": node.heartbeat, "started": node.started, "workers": node.workers,
            "queue": node.queues, "restarts": node.restarts, "outstanding": outstanding[node.name],
        }
        for node in Node.objects.all()
    ]
