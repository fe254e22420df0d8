"""State of the whole installation: workers, speed, active runs and problems; lists of nodes
and events."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from crawlmgr.database.caches import once
from crawlmgr.models import Event, Hold, Host, Node, NodeState, Page, Run, RunState
from crawlmgr.runs.run_reads import all_active
from crawlmgr.workers import ranking

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
