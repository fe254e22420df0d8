"""Worker nodes: known by name, heard through the tasks they take, restarted when they fall silent."""

from __future__ import annotations

import os
import socket
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet

from crawlmgr.models import Node, Run, RunState
from crawlmgr.services import events, queue
from crawlmgr.supervisor import alive

WINDOW_MINUTES = 5


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


def beat(name: str, now: datetime, pages: int = 0) -> None:
    """A worker of this node took a task or got so many pages since its last sign of life."""
    if not pages:
        Node.objects.filter(name=name).update(heartbeat=now)
        return
    with transaction.atomic():
        node = Node.objects.select_for_update().filter(name=name).first()
        if node is not None:
            minute = _minute(now)
            recent = {at: count for at, count in node.minutes if at > minute - WINDOW_MINUTES}
            recent[minute] = recent.get(minute, 0) + pages
            node.heartbeat, node.pages, node.minutes = now, node.pages + pages, sorted(recent.items())
            node.save(update_fields=["heartbeat", "pages", "minutes"])


def _minute(now: datetime) -> int:
    return int(now.timestamp()) // 60


def _recent_pages(node: Node, now: datetime) -> int:
    return sum(count for at, count in node.minutes if at > _minute(now) - WINDOW_MINUTES)


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
    """Every node with its heartbeat, the runs it has in hand, its pages a minute over the last five minutes and, as its weight,
    its share in the pages of all nodes in that time (None where there was none)."""
    outstanding = Counter(holder.rpartition(":")[0] for holder in _held(now).values_list("lease_holder", flat=True))
    nodes = list(Node.objects.all())
    recent = {node.name: _recent_pages(node, now) for node in nodes}
    total = sum(recent.values())
    minutes = WINDOW_MINUTES - 1 + now.timestamp() % 60 / 60
    return [
        {
            "name": node.name,
            "heartbeat": node.heartbeat,
            "pages_a_minute": round(recent[node.name] / minutes, 1),
            "weight": round(recent[node.name] / total, 3) if total else None,
            "outstanding": outstanding[node.name],
            "pages": node.pages,
            "workers": node.workers,
            "queue": node.queues,
            "restarts": node.restarts,
            "started": node.started,
        }
        for node in nodes
    ]
