"""The metrics page for monitoring, in Prometheus' text format, for clients with the token
settings.METRICS_TOKEN and for users who may see runs."""

from __future__ import annotations

from collections.abc import Iterable
from secrets import compare_digest
from typing import Any

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from crawlmgr.reads import metrics as metric_reads
from crawlmgr.services import nodes

REFUSED = (
    "Send the header 'Authorization: Bearer TOKEN' with the token set in CRAWLMGR_METRICS_TOKEN, or"
    " log in.\n"
)


class _Figures:
    def collect(self) -> Iterable[Metric]:
        for one in metric_reads.metrics(timezone.now()):
            family = (CounterMetricFamily if one.counter else GaugeMetricFamily)(
                one.name, one.help, labels=one.labels
            )
            for labels, value in one.values.items():
                family.add_metric(labels, value)
            yield family


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
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
