"""Metrics for monitoring, with names for Prometheus: current values (gauges), and totals since the
installation was made (counters)."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db.models import Count, Min, Q, Sum

from crawlmgr.database import caches
from crawlmgr.models import ACTIVE, Host, Run
from crawlmgr.reads import status as status_reads
from crawlmgr.services import queue

MAX_ALARMS = 1000
"""Most alarms that are read for counting; the web interface lists only the first few."""
ENDED, ENDED_SECONDS = "metrics-ended-runs", 60.0


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: `values` maps label values, in the order of `labels`, to numbers. A `counter`
    only rises, unless rows of the database are deleted; other metrics are gauges."""

    name: str
    help: str
    values: dict[tuple[str, ...], float]
    labels: tuple[str, ...] = ()
    counter: bool = False


def _ended() -> dict[tuple[str, ...], int]:
    """Returns the number of ended runs by (kind, state), cached for a minute because the query
    reads all runs."""
    counted = (
        Run.objects.exclude(state__in=ACTIVE)
        .order_by()
        .values_list("kind", "state")
        .annotate(Count("id"))
    )
    return caches.remembered(
        ENDED, ENDED_SECONDS, lambda: {(kind, state): count for kind, state, count in counted}
    )


def metrics(now: datetime) -> Iterator[Metric]:
    """Yields all metrics, with a fixed number of queries on nodes, hosts and runs; of the table of
    pages only the last minute is read."""
    state = status_reads.status(now)
    yield Metric("crawlmgr_nodes", "Worker nodes with a recent heartbeat.", {(): state.nodes})
    yield Metric(
        "crawlmgr_nodes_silent",
        "Nodes that sent heartbeats within the last day but do not now.",
        {(): state.silent},
    )
    yield Metric("crawlmgr_workers", "Worker processes of the living nodes.", {(): state.workers})
    yield Metric(
        "crawlmgr_tasks_queued", "Tasks that are waiting or in progress.", {(): queue.length()}
    )
    yield Metric(
        "crawlmgr_pages_last_minute",
        "Pages fetched in the last minute.",
        {(): state.pages_a_minute},
    )
    runs = {**_ended(), **Counter(Run.objects.at_work().values_list("kind", "state"))}
    yield Metric("crawlmgr_runs", "Runs by kind and state.", runs, ("kind", "state"))
    oldest = Run.objects.at_work().aggregate(at=Min("progressed"))["at"]
    idle = max(0.0, (now - oldest).total_seconds()) if oldest else 0.0
    yield Metric(
        "crawlmgr_run_idle_seconds",
        "Longest time since an active run last made progress, in seconds.",
        {(): idle},
    )
    host = Host.objects.aggregate(
        requests=Sum("requests", default=0),
        bytes=Sum("bytes", default=0),
        errors=Sum("errors", default=0),
        robots=Sum("refused_by_robots", default=0),
        hosts=Count("id"),
        waiting=Count(
            "id", filter=Q(next_at__gt=now) & (Q(failures__gt=0) | Q(retry_after_until__gt=now))
        ),
    )
    yield Metric("crawlmgr_hosts", "Hosts that have ever been requested.", {(): host["hosts"]})
    yield Metric(
        "crawlmgr_hosts_held",
        "Hosts not requested for now: they failed or asked to wait.",
        {(): host["waiting"]},
    )
    yield Metric("crawlmgr_requests", "Requests sent.", {(): host["requests"]}, counter=True)
    yield Metric("crawlmgr_received_bytes", "Bytes received.", {(): host["bytes"]}, counter=True)
    yield Metric(
        "crawlmgr_request_errors", "Requests that failed.", {(): host["errors"]}, counter=True
    )
    yield Metric(
        "crawlmgr_refused_by_robots",
        "Addresses refused by robots.txt.",
        {(): host["robots"]},
        counter=True,
    )
    alarms: dict[tuple[str, ...], float] = {}
    for alarm in status_reads.alarms(now, limit=MAX_ALARMS):
        alarms[(alarm.code,)] = alarms.get((alarm.code,), 0) + 1
    yield Metric("crawlmgr_alarms", "Open problems that need attention.", alarms, ("code",))
    yield Metric(
        "crawlmgr_disk_free_bytes",
        "Free disk space for data, in bytes.",
        {(): shutil.disk_usage(settings.DATA_DIR).free},
    )
