"""Causes of alarms in forums: silence, visits that are late, a layout that changed, reading in doubt."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Count, Min
from django.utils.translation import gettext_noop

from crawlmgr.services.alarm_causes import Cause
from forums.models import Board, Doubt, Site

LATE = timedelta(hours=1)
MOST = 100  # of each kind


def causes(now: datetime) -> list[Cause]:
    """What is wrong with forums now."""
    return [*_silent(), *_late(now), *_layouts(), *_doubts()]


def _silent() -> list[Cause]:
    text = gettext_noop("%(site)s gives nothing new although it should.")
    rows = Site.objects.filter(silent_since__isnull=False, paused=False).only("name").order_by("pk")[:MOST]
    return [Cause(f"silent {site.pk}", "silence", text, {"site": site.name}, f"/admin/forums/site/{site.pk}/") for site in rows]


def _late(now: datetime) -> list[Cause]:
    text = gettext_noop("Visits of %(site)s are late: %(count)s boards, the first by %(hours)s hours.")
    late = Board.objects.filter(enabled=True, site__paused=False, next_visit__lt=now - LATE)
    rows = late.values("site", "site__name").annotate(count=Count("pk"), first=Min("next_visit")).order_by("site")[:MOST]
    found = []
    for row in rows:
        hours = int((now - row["first"]).total_seconds() // 3600)
        facts = {"site": row["site__name"], "count": row["count"], "hours": hours}
        found.append(Cause(f"late {row['site']}", "late", text, facts, f"/admin/forums/site/{row['site']}/"))
    return found


def _layouts() -> list[Cause]:
    text = gettext_noop("The layout of %(site)s has changed and could not be learned anew.")
    rows = Site.objects.filter(layout__state="disagrees").only("name").order_by("pk")[:MOST]
    return [
        Cause(f"layout {site.pk}", "layout", text, {"site": site.name}, f"/admin/forums/site/{site.pk}/model/") for site in rows
    ]


def _doubts() -> list[Cause]:
    text = gettext_noop("Reading %(site)s is in doubt: %(count)s doubts to look at.")
    rows = Doubt.objects.filter(settled_at__isnull=True).values("site", "site__name").annotate(count=Count("pk")).order_by("site")
    return [
        Cause(f"doubt {row['site']}", "doubt", text, {"site": row["site__name"], "count": row["count"]},
              f"/admin/forums/site/{row['site']}/model/")
        for row in rows[:MOST]
    ]
