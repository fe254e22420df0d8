"""Queries on worker nodes and events."""

from __future__ import annotations

from django.db.models import F, QuerySet

from crawlmgr.models import Event, Node


def nodes(limit: int) -> list[Node]:
    """Returns at most `limit` nodes, those with the most recent heartbeat first."""
    return list(Node.objects.order_by(F("heartbeat").desc(nulls_last=True), "name")[:limit])


def events() -> QuerySet[Event]:
    """Returns all events with their run and host."""
    return Event.objects.select_related("run", "host").defer(
        "run__parameters", "run__result", "host__robots_text"
    )
