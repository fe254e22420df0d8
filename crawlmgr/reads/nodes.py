"""Reads of worker nodes and events."""

from __future__ import annotations

from collections.abc import Mapping

from django.db.models import F

from crawlmgr.models import Event, Node
from crawlmgr.reads.paging import Slice, cut


def nodes(limit: int) -> list[Node]:
    """Nodes with the newest sign of life first."""
    return list(Node.objects.order_by(F("heartbeat").desc(nulls_last=True), "name")[:limit])


def events(query: Mapping[str, str], *, least: int = 0, size: int = 50) -> Slice:
    """Events, newest first, of at least a level."""
    rows = Event.objects.select_related("run", "host").defer("run__parameters", "run__result", "host__robots_text")
    return cut(rows.filter(level__gte=least) if least else rows, size=size, query=query)
