"""Metrics for monitoring: current values (gauges), and totals since the installation was made
(counters). Their page, in Prometheus' text format, is for clients with the token
settings.METRICS_TOKEN and for users who may see runs; `healthz` is for everyone."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from secrets import compare_digest
from typing import Any

from django.conf import settings
from django.db import DatabaseError
from django.db.models import Count, Min, Q, Sum
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.core import Metric as MetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from crawlmgr.database import caches
from crawlmgr.models import ACTIVE, Host, Run
from crawlmgr.workers import nodes, queue

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
    state = nodes.status(now)
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
    for alarm in nodes.alarms(now, limit=MAX_ALARMS):
        alarms[(alarm.code,)] = alarms.get((alarm.code,), 0) + 1
    yield Metric("crawlmgr_alarms", "Open problems that need attention.", alarms, ("code",))
    yield Metric(
        "crawlmgr_disk_free_bytes",
        "Free disk space for data, in bytes.",
        {(): shutil.disk_usage(settings.DATA_DIR).free},
    )


REFUSED = (
    "Send the header 'Authorization: Bearer TOKEN' with the token set in CRAWLMGR_METRICS_TOKEN, or"
    " log in.\n"
)


class _Figures:
    def collect(self) -> Iterable[MetricFamily]:
        for one in metrics(timezone.now()):
            family = (CounterMetricFamily if one.counter else GaugeMetricFamily)(
                one.name, one.help, labels=one.labels
            )
            for labels, value in one.values.items():
                family.add_metric(labels, value)
            yield family


@never_cache
@require_safe
def metrics_page(request: HttpRequest) -> HttpResponse:
    """Returns 200 with all metrics; 401 if the request has neither the token nor a login that may
    see runs."""
    if not _may_see(request):
        return HttpResponse(
            REFUSED,
            status=401,
            content_type="text/plain; charset=utf-8",
            headers={"WWW-Authenticate": "Bearer"},
        )
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Figures())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _may_see(request: HttpRequest) -> bool:
    scheme, _space, token = request.headers.get("Authorization", "").partition(" ")
    wanted = settings.METRICS_TOKEN.encode()
    if wanted and scheme.lower() == "bearer" and compare_digest(token.strip().encode(), wanted):
        return True
    user = request.user
    return user.is_active and user.is_staff and user.has_perm("crawlmgr.view_run")


@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Returns the state of database and workers as JSON, with status 200 if the database answers
    and a heartbeat of some worker node is recent enough that the node does not count as lost,
    otherwise with 503."""
    now = timezone.now()
    try:
        living = nodes.living(now)
    except DatabaseError:
        return _answer({"database": False, "workers": False, "nodes": []}, 503)
    beats = [
        {"name": node.name, "heartbeat_seconds": round((now - node.heartbeat).total_seconds(), 1)}
        for node in living
        if node.heartbeat is not None
    ]
    return _answer(
        {"database": True, "workers": bool(beats), "nodes": beats}, 200 if beats else 503
    )


def _answer(fields: dict[str, Any], status: int) -> JsonResponse:
    response = JsonResponse(fields, status=status)
    # tells Django not to log the response: the check is polled every second and would fill the log
    # with identical lines
    # read by django.utils.log.log_response
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response
