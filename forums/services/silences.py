"""Alarms on missing posts, checked hourly: a forum with no posts (silence) or far fewer than
expected (drop) is marked and reported once."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timedelta

from django.db.models import Max, Q

from crawlmgr.models import events
from forums.models import Site
from forums.reads import silences
from forums.silence import Drop


def watch(now: datetime) -> int:
    """Marks the sites that are silent or have far fewer posts than usual, and unmarks the others;
    returns the number of silent ones."""
    visited = Site.objects.annotate(last=Max("boards__complete_at")).filter(
        last__gt=now - silences.VISITED_WITHIN
    )
    marked = Site.objects.filter(Q(silent_since__isnull=False) | ~Q(drop={}))
    silent = 0
    for site in (
        (visited | marked.annotate(last=Max("boards__complete_at")))
        .defer("structure", "rules")
        .order_by("pk")
    ):
        record = None if site.paused else silences.record(site, now)
        found = None if record is None else record.silence()
        _mark_drop(site, None if record is None or found is not None else record.drop(), now)
        if found is None:
            Site.objects.filter(pk=site.pk, silent_since__isnull=False).update(silent_since=None)
            continue
        silent += 1
        since = now - timedelta(hours=found.hours)
        if Site.objects.filter(pk=site.pk, silent_since__isnull=True).update(silent_since=since):
            events.warn(
                "silent",
                f"{site.name}: {found.hours} h, {found.expected:.0f}",
                now=now,
                host_id=site.host_id,
            )
    return silent


def _mark_drop(site: Site, found: Drop | None, now: datetime) -> None:
    """Stores the drop in a site's number of new posts, or None if the number is as usual; reports a
    drop when it begins. Callers pass None for a site without any new posts, because its silence is
    reported instead."""
    drop = {} if found is None else asdict(found)
    if drop == site.drop:
        return
    Site.objects.filter(pk=site.pk).update(drop=drop)
    if found is not None and not site.drop:
        events.warn(
            "drop", f"{site.name}: {found.items} / {found.usual:.0f}", now=now, host_id=site.host_id
        )
