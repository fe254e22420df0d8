"""Worker nodes (a node is one cluster of worker processes): registers them by name, records their
heartbeats, and frees the runs of processes that died. Tells the state of the installation:
workers, speed, active runs and problems."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from crawlmgr import __version__, environment
from crawlmgr.clock import Clock
from crawlmgr.database import sql
from crawlmgr.database.caches import once
from crawlmgr.models import Event, Hold, Host, Node, NodeState, Page, Run, RunState, events
from crawlmgr.runs.run_reads import all_active
from crawlmgr.workers import queue, ranking
from crawlmgr.workers.supervisor import alive

HISTORY_MINUTES = 60
"""Number of minutes for which a node's pages per minute are stored; its weight is computed from the
last five."""

LONGEST_LABEL = 60
ROUND_SHARE = 0.8
"""Fraction of settings.TICK_SECONDS for which no node begins a round of the dispatcher after one
node has begun one."""
TICK = (
    "UPDATE crawlmgr_node SET heartbeat = %s, dispatched = CASE WHEN EXISTS"
    " (SELECT 1 FROM crawlmgr_node other WHERE other.dispatched > %s AND other.dispatched <= %s)"
    " THEN dispatched ELSE %s END WHERE name = %s RETURNING dispatched"
)
MAX_AHEAD_SECONDS = 1.0
"""A machine whose clock differs from the database server's by more than this is refused."""


class Refused(Exception):
    """A node may not start; the text says why and what to do."""


def own_name() -> str:
    """Returns the name of this machine's node: the environment variable CRAWLMGR_NODE, otherwise
    the host name."""
    return environment.given("CRAWLMGR_NODE") or socket.gethostname()


def holder() -> str:
    """Returns the name by which this process holds leases of runs: node and process id."""
    return f"{own_name()}:{os.getpid()}"


def admit(names: Iterable[str], clock: Clock) -> None:
    """Checks whether nodes of this machine may start beside the existing ones. Raises Refused if
    this machine's clock is wrong, if a living node has another version, if one has the same name on
    another machine, and on SQLite if a node on another machine is alive."""
    own, machine = set(names), socket.gethostname()
    ahead = seconds_ahead(clock)
    if abs(ahead) > MAX_AHEAD_SECONDS:
        way = "ahead of" if ahead > 0 else "behind"
        raise Refused(
            f"This machine's clock is {abs(ahead):.1f} s {way} the database server's, and crawl"
            " delays depend on both: synchronise them by NTP."
        )
    held = ranking.runs_in_hand(clock.now())
    for node in living(clock.now()):
        elsewhere = bool(node.machine) and node.machine != machine
        if elsewhere and connection.vendor == "sqlite":
            raise Refused(
                f"Node {node.name} works on {node.machine}, and SQLite serves one machine only: set"
                " DATABASE_URL to a PostgreSQL database for several."
            )
        if elsewhere and node.name in own:
            raise Refused(
                f"A node {node.name} works on {node.machine} already; name this one with --name."
            )
        over = (
            node.state == NodeState.DRAINING and not held[node.name]
        )  # the node has finished all its runs and takes no more
        if node.version and node.version != __version__ and node.name not in own and not over:
            raise Refused(
                f"Node {node.name} is of version {node.version}, this program of {__version__}:"
                " drain the nodes of one version (`node drain NAME`) before starting nodes of"
                " another."
            )


def seconds_ahead(clock: Clock) -> float:
    """Returns the seconds by which this machine's clock is ahead of the database server's
    (negative: behind); 0 on SQLite, which is on this machine. It matters because crawl delays
    compare times written by different machines.
    """
    if connection.vendor == "sqlite":
        return 0.0
    before = clock.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        there: datetime = cursor.fetchone()[0]
    after = clock.now()
    return (
        (before + (after - before) / 2 - there).total_seconds()
        if not before <= there <= after
        else 0.0
    )


def register(
    name: str, *, pid: int, workers: int, queues: str, now: datetime, joins: bool = False
) -> Node:
    """Records that a node's cluster is about to start, and frees what its dead processes left:
    their runs and, if no other node uses the queue, the tasks taken from it. With `joins` an
    operator has started the node itself (its cluster was not merely restarted): if it was draining,
    it takes work again."""
    values = {
        "pid": pid,
        "workers": workers,
        "queues": queues,
        "started": now,
        "version": __version__,
        "machine": socket.gethostname()[:255],
    }
    node, _ = Node.objects.update_or_create(name=name, defaults=values)
    if joins and node.state == NodeState.DRAINING:
        Node.objects.filter(pk=node.pk).update(state=NodeState.ACTIVE)
    queue.forget_node(name, queues)
    for run in (
        _held(now).filter(lease_holder__startswith=f"{name}:").only("pk", "fence", "lease_holder")
    ):
        holder = run.lease_holder.rpartition(":")[2]
        if holder.isdigit() and not alive(int(holder)):
            _free(run, f"{name}: process {holder} is gone", now)
    lately = now - timedelta(seconds=settings.RETRY_SECONDS)
    if not Node.objects.exclude(pk=node.pk).filter(queues=queues, heartbeat__gt=lately).exists():
        queue.release_all(queues, now)
    return node


def process_ended(name: str, pid: int, why: str, now: datetime) -> None:
    """Records the unexpected end of one of a node's processes as an event, and frees the runs that
    the process held, so that other workers can take them."""
    Node.objects.filter(name=name).update(restarts=F("restarts") + 1)
    held = list(_held(now).filter(lease_holder=f"{name}:{pid}").only("pk", "fence", "lease_holder"))
    for run in held:
        _free(run, f"{name}: {why}", now)
        queue.hand_on(run.pk)
    if not held:
        events.warn("worker_ended", f"{name}: {why}", now=now)


def _free(run: Run, text: str, now: datetime) -> None:
    """Ends the lease that a dead process has on a run, so that another worker can take the run
    before the lease expires, and records an event with the message `text`."""
    if Run.objects.filter(pk=run.pk, fence=run.fence).update(lease_until=None, lease_holder=""):
        events.warn("worker_ended", text, now=now, run_id=run.pk)


def request_state(node: Node, state: str, now: datetime) -> None:
    """Sets the state that is requested of a node: to take work, to pause, or to drain (finish its
    runs and take no more)."""
    if Node.objects.filter(pk=node.pk).exclude(state=state).update(state=state):
        events.note("node_state", f"{node.name}: {state}", now=now)


def rename(node: Node, label: str) -> bool:
    """Sets the label under which a node is displayed; with "" or its own name, the name is
    displayed. Returns False if the label is too long or not printable."""
    label = " ".join(label.split())
    if len(label) > LONGEST_LABEL or not label.isprintable():
        return False
    Node.objects.filter(pk=node.pk).update(label="" if label == node.name else label)
    return True


def drained(names: Iterable[str], now: datetime) -> bool:
    """Tells whether all these nodes are draining and their workers hold no run any more."""
    wanted = set(names)
    states = list(Node.objects.filter(name__in=wanted).values_list("state", flat=True))
    if len(states) < len(wanted) or any(state != NodeState.DRAINING for state in states):
        return False
    return not wanted & set(ranking.runs_in_hand(now))


def tick(name: str, now: datetime) -> bool:
    """Records a heartbeat of a node, which its supervisor requested by a task. Returns True if this
    node should execute a round of the dispatcher now: of all nodes, the first to call in each
    interval of settings.TICK_SECONDS.
    """
    lately, ahead = (
        now - timedelta(seconds=ROUND_SHARE * settings.TICK_SECONDS),
        now + timedelta(seconds=MAX_AHEAD_SECONDS),
    )
    rows = sql.fetch(TICK, (now, lately, ahead, now, name))
    return not rows or sql.moment(rows[0][0]) == now


def measured(name: str, now: datetime, memory_bytes: int) -> None:
    """Records the memory of a node's cluster and how many runs its workers hold; for the charts,
    the last values of each minute are kept."""
    minute = _minute(now)
    with transaction.atomic():
        node = Node.objects.select_for_update().filter(name=name).first()
        if node is not None:
            recent = {at: rest for at, *rest in node.levels if at > minute - HISTORY_MINUTES}
            recent[minute] = [ranking.runs_in_hand(now)[name], memory_bytes]
            node.memory_bytes, node.levels = (
                memory_bytes,
                [[at, *rest] for at, rest in sorted(recent.items())],
            )
            node.save(update_fields=["memory_bytes", "levels"])


def beat(name: str, now: datetime, pages: int = 0) -> None:
    """Records a heartbeat: a worker of this node took a task, or fetched `pages` pages since the
    last one."""
    if not pages:
        Node.objects.filter(name=name).update(heartbeat=now)
        return
    with transaction.atomic():
        node = Node.objects.select_for_update().filter(name=name).first()
        if node is not None:
            minute = _minute(now)
            recent = {at: count for at, count in node.minutes if at > minute - HISTORY_MINUTES}
            recent[minute] = recent.get(minute, 0) + pages
            node.heartbeat, node.pages, node.minutes = (
                now,
                node.pages + pages,
                sorted(recent.items()),
            )
            node.save(update_fields=["heartbeat", "pages", "minutes"])


def _minute(now: datetime) -> int:
    return int(now.timestamp()) // 60


class Signs(NamedTuple):
    """The observed state of a node's cluster: time of the last heartbeat, whether a worker holds a
    run, number of processes that died, and whether the node was asked to drain."""

    heartbeat: datetime | None
    busy: bool
    restarts: int
    draining: bool


def signs(name: str, now: datetime) -> Signs:
    """Returns the observed state of a node's cluster, for its supervisor."""
    held = Exists(_held(now).filter(lease_holder__startswith=f"{name}:"))
    found = (
        Node.objects.filter(name=name)
        .annotate(busy=held)
        .values_list("heartbeat", "busy", "restarts", "state")
        .first()
    )
    return (
        Signs(*found[:3], found[3] == NodeState.DRAINING) if found else Signs(None, False, 0, False)
    )


def _held(now: datetime) -> QuerySet[Run]:
    return Run.objects.filter(lease_until__gt=now, state=RunState.RUNNING)


def restarted(name: str, why: str, now: datetime) -> None:
    """Counts an unexpected restart of the worker processes (cluster) of the node `name`, and
    records it with its reason as an event."""
    Node.objects.filter(name=name).update(restarts=F("restarts") + 1)
    events.warn("cluster_restarted", f"{name}: {why}", now=now)


def web_restarted(why: str, now: datetime) -> None:
    """Records an unexpected end of a web server as an event."""
    events.warn("web_restarted", why, now=now)


def living(now: datetime) -> list[Node]:
    """Returns the nodes that are running: their worker processes sent a heartbeat recently, and not
    before the node's last start."""
    return list(Node.objects.filter(ranking.are_alive(now)))


def listing(now: datetime) -> list[dict[str, Any]]:
    """Returns all nodes as JSON documents, among others with the state, the speed in pages per
    minute over the last five minutes, "weight" (the node's share in the weights of all nodes that
    take work; None if it takes none or no weight is known), and "outstanding" (the number of runs
    that its workers hold)."""
    return [
        {
            "name": row.node.name,
            "label": str(row.node),
            "state": row.state,
            "heartbeat": row.node.heartbeat,
            "pages_a_minute": round(row.load.speed, 1),
            "weight": None if row.share is None else round(row.share, 3),
            "outstanding": row.load.runs,
            "pages": row.node.pages,
            "workers": row.node.workers,
            "queue": row.node.queues,
            "memory_bytes": row.node.memory_bytes,
            "version": row.node.version,
            "machine": row.node.machine,
            "restarts": row.node.restarts,
            "started": row.node.started,
        }
        for row in ranking.rows(list(Node.objects.all()), now)
    ]


RECENT = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Status:
    """The numbers in the status bar of the web interface. `nodes` counts the living nodes and
    `workers` their workers; `silent` counts nodes that sent heartbeats within a day but do not now;
    `waiting` counts those of the `running` runs that wait for a host or for their working hours;
    `queued` runs wait for a worker. `last_error` is the newest error that still matters (see
    `_errors`)."""

    nodes: int
    workers: int
    silent: int
    pages_a_minute: int
    running: int
    waiting: int
    queued: int
    paused: int
    last_error: Event | None


@dataclass(frozen=True, slots=True)
class Alarm:
    """A current problem: a code that the web interface translates, and, as far as the problem has
    them, a count, the run or host that it concerns, and a time."""

    code: str
    count: int = 1
    run: Run | None = None
    host: Host | None = None
    at: datetime | None = None


@once
def all_paused() -> bool:
    """Tells whether all crawling is paused by an operator."""
    return Hold.objects.exists()


def _later_success(kind: str = "kind", target: str = "target", pk: str = "pk") -> Exists:
    """Returns a subquery that tells whether a later run (with a higher key) of the same kind and
    target has finished successfully. The arguments name the fields of the outer query that hold
    kind, target and key of the earlier run.
    """
    later = Run.objects.filter(
        kind=OuterRef(kind), target=OuterRef(target), pk__gt=OuterRef(pk), state=RunState.FINISHED
    )
    return Exists(later)


def _errors(now: datetime) -> QuerySet[Event]:
    """Returns the errors of the last day that still matter, newest first: errors of a run no longer
    do once it, or a later run of the same kind on the same target, has finished successfully."""
    told = Event.objects.filter(level__gte=Event.Level.ERROR, at__gte=now - RECENT).select_related(
        "run"
    )
    over = Q(run__isnull=False) & (
        Q(run__state=RunState.FINISHED) | _later_success("run__kind", "run__target", "run_id")
    )
    return told.exclude(over).order_by("-at")


def status(now: datetime) -> Status:
    """Returns the numbers of the status bar, in seven small queries whatever the size of the
    tables."""
    # a draining node that sends no heartbeats has ended as requested
    gone = Q(state=NodeState.DRAINING) & ~ranking.are_alive(now)
    nodes = (
        Node.objects.filter(heartbeat__gte=now - RECENT)
        .exclude(gone)
        .only("heartbeat", "started", "workers")[:1000]
    )
    alive = [node.workers for node in nodes if ranking.alive(node, now)]
    wait = Q(state=RunState.RUNNING, waiting_until__gt=now)
    states = dict(Run.objects.at_work().values_list("state").annotate(Count("id")).order_by())
    return Status(
        nodes=len(alive),
        workers=sum(alive),
        silent=len(nodes) - len(alive),
        pages_a_minute=Page.objects.filter(
            fetched_at__gt=now - timedelta(minutes=1), fetched_at__lte=now
        ).count(),
        running=states.get(RunState.RUNNING, 0),
        waiting=Run.objects.at_work().filter(wait).count() if states.get(RunState.RUNNING) else 0,
        queued=states.get(RunState.QUEUED, 0),
        paused=states.get(RunState.PAUSED, 0),
        last_error=_errors(now).first(),
    )


def alarms(now: datetime, limit: int = 8) -> list[Alarm]:
    """Returns current problems, most severe first: at most `limit` failed runs and `limit` failing
    hosts, 2 * `limit` in all. On the home page the crawlers add problems of their own."""
    found: list[Alarm] = []
    nodes = Node.objects.aggregate(
        seen=Count("id"), alive=Count("id", filter=ranking.are_alive(now))
    )
    if not nodes["alive"] and (
        nodes["seen"] or any(run.state != RunState.PAUSED for run in all_active())
    ):
        found.append(Alarm("no_workers"))
    if not settings.CONTACT:
        found.append(Alarm("no_contact"))
    if shutil.disk_usage(settings.DATA_DIR).free < settings.MIN_FREE_BYTES:
        found.append(Alarm("disk_low"))
    failed = Run.objects.filter(
        ~_later_success(), state=RunState.FAILED, finished__gte=now - RECENT
    )
    failed = failed.order_by("-finished")[:limit]
    found += [Alarm("run_failed", run=run, at=run.finished) for run in failed]
    held = Host.objects.filter(failures__gte=3, next_at__gt=now).order_by("-failures")[:limit]
    found += [
        Alarm("host_backs_off", host=host, count=host.failures, at=host.next_at) for host in held
    ]
    return found[: 2 * limit]


def node_list(limit: int) -> list[Node]:
    """Returns at most `limit` nodes, those with the most recent heartbeat first."""
    return list(Node.objects.order_by(F("heartbeat").desc(nulls_last=True), "name")[:limit])


def event_list() -> QuerySet[Event]:
    """Returns all events with their run and host."""
    return Event.objects.select_related("run", "host").defer(
        "run__parameters", "run__result", "host__robots_text"
    )
