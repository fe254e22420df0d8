"""Alarms on silence: hourly, a forum that should have had news and had none is marked and told of once."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Max

from crawlmgr.services import events
from forums.models import Site
from forums.reads import silences


def watch(now: datetime) -> int:
    """Marks the sites that are silent and unmarks the others; returns how many are silent."""
    visited = Site.objects.annotate(last=Max("boards__complete_at")).filter(last__gt=now - silences.VISITED_WITHIN)
    marked = Site.objects.filter(silent_since__isnull=False)
    silent = 0
    for site in (visited | marked.annotate(last=Max("boards__complete_at"))).defer("structure", "rules").order_by("pk"):
        found = None if site.paused else silences.silence(site, now)
        if found is None:
            Site.objects.filter(pk=site.pk, silent_since__isnull=False).update(silent_since=None)
            continue
        silent += 1
        since = now - timedelta(hours=found.hours)
        if Site.objects.filter(pk=site.pk, silent_since__isnull=True).update(silent_since=since):
            events.warn("silent", f"{site.name}: {found.hours} h, {found.expected:.0f}", now=now, host_id=site.host_id)
    return silent
