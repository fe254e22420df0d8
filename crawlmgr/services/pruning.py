"""Pruning: rows that only tell of the past go after a while, so that the desk stays as fast as on its first day."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import QuerySet

from crawlmgr.models import Event, HostHour, Node, RunState, Url
from crawlmgr.services import queue

BATCH = 500  # rows of one transaction: nobody waits long for the database


class Kind(NamedTuple):
    """What leaves: its name, for how many days it is kept (0: for ever), how many rows are past that."""

    kind: str
    keep_days: int
    rows: int


def _nodes(before: datetime) -> QuerySet[Any]:
    return Node.objects.filter(started__lt=before).exclude(heartbeat__gt=before)


def _addresses(before: datetime) -> QuerySet[Any]:
    """Of runs that ended for good; one that failed may yet go on."""
    return Url.objects.filter(run__state__in=(RunState.FINISHED, RunState.STOPPED), run__finished__lt=before)


_OLD: Mapping[str, Callable[[datetime], QuerySet[Any]]] = {
    "events": lambda before: Event.objects.filter(at__lt=before),
    "failed_logins": lambda before: AccessAttempt.objects.filter(attempt_time__lt=before),
    "tasks": queue.ended,
    "nodes": _nodes,
    "hours": lambda before: HostHour.objects.filter(hour__lt=before),
    "addresses": _addresses,
}
"""What is past its time, by kind (the keys of settings.KEEP_DAYS)."""


def prune(now: datetime) -> dict[str, int]:
    """Drops what is past its time and sessions that ran out, some rows at a time; tells how many of each kind."""
    gone = {kind: _drop(_OLD[kind](now - timedelta(days=days))) for kind, days in settings.KEEP_DAYS.items() if days}
    return {**gone, "sessions": _drop(Session.objects.filter(expire_date__lt=now))}


def frees(now: datetime) -> list[Kind]:
    """What pruning would drop now."""
    kept = settings.KEEP_DAYS.items()
    return [Kind(kind, days, _OLD[kind](now - timedelta(days=days)).count() if days else 0) for kind, days in kept]


def _drop(rows: QuerySet[Any]) -> int:
    number = 0
    while keys := list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH]):
        rows.model._default_manager.filter(pk__in=keys).delete()
        number += len(keys)
    return number
