"""Pruning: rows that only tell of the past go after a while, so that the desk stays as fast as on its first day."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.contrib.sessions.models import Session

from crawlmgr.models import Event, Node
from crawlmgr.services import queue

EVENTS_DAYS = 90
TASKS_DAYS = 30
NODES_DAYS = 30


def prune(now: datetime) -> dict[str, int]:
    """Drops old events, stored task results, sessions that ran out and nodes that have been gone for long; tells how many."""
    return {
        "events": Event.objects.filter(at__lt=now - timedelta(days=EVENTS_DAYS)).delete()[0],
        "tasks": queue.prune(now - timedelta(days=TASKS_DAYS)),
        "sessions": Session.objects.filter(expire_date__lt=now).delete()[0],
        "nodes": Node.objects.filter(started__lt=now - timedelta(days=NODES_DAYS))
        .exclude(heartbeat__gt=now - timedelta(days=NODES_DAYS)).delete()[0],
    }
