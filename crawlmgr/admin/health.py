"""The health check for load balancers and scripts, which is cheap and needs no login."""

from typing import Any

from django.db import DatabaseError
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from crawlmgr.services import nodes


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
