"""Worker nodes: known by name, heard through the tasks they take, restarted when they fall silent."""

from __future__ import annotations

import os
import socket
from collections import Counter
from datetime import datetime, timedelta
from typing import Any, NamedTuple

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
    for run in _held(now).filter(lease_holder__startswith=f"{name}:").only("pk", "fence", "lease_holder"):
        pid = run.lease_holder.rpartition(":")[2]
        if pid.isdigit() and not alive(int(pid)):
            _free(run, f"{name}: process {pid} is gone", now)
    lately = now - timedelta(seconds=settings.RETRY_SECONDS)
    if not Node.objects.exclude(pk=node.pk).filter(queues=queues, heartbeat__gt=lately).exists():
        queue.give_back(queues, now)
    return node


def process_ended(name: str, pid: int, why: str, now: datetime) -> None:
    """A process of this node's cluster ended that nobody had asked to: told with the runs that it held, which others may take
    at once, and counted."""
    Node.objects.filter(name=name).update(restarts=F("restarts") + 1)
    held = list(_held(now).filter(lease_holder=f"{name}:{pid}").only("pk", "fence", "lease_holder"))
    for run in held:
        _free(run, f"{name}: {why}", now)
        queue.hand_on(run.pk)
    if not held:
        events.warn("worker_ended", f"{name}: {why}", now=now)


def _free(run: Run, text: str, now: datetime) -> None:
    """Ends the lease of a dead process, so that its run need not wait for the lease to run out."""
    if Run.objects.filter(pk=run.pk, fence=run.fence).update(lease_until=None, lease_holder=""):
        events.warn("worker_ended", text, now=now, run_id=run.pk)


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


class Signs(NamedTuple):
    """What a node's cluster shows of itself: its last sign of life, whether a worker is at a run, processes that died so far."""

    heartbeat: datetime | None
    busy: bool
    restarts: int


def signs(name: str, now: datetime) -> Signs:
    """What is known of a node's cluster."""
    found = Node.objects.filter(name=name).values_list("heartbeat", "restarts").first() or (None, 0)
    return Signs(found[0], _held(now).filter(lease_holder__startswith=f"{name}:").exists(), found[1])


def _held(now: datetime) -> QuerySet[Run]:
    return Run.objects.filter(lease_until__gt=now, state=RunState.RUNNING)


def restarted(name: str, why: str, now: datetime) -> None:
    """Counts a restart that nobody asked for and tells why."""
    Node.objects.filter(name=name).update(restarts=F("restarts") + 1)
    events.warn("cluster_restarted", f"{name}: {why}", now=now)


def web_restarted(why: str, now: datetime) -> None:
    """Tells of a web server that ended although nobody asked for it."""
    events.warn("web_restarted", why, now=now)


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
