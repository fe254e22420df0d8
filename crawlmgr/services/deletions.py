"""Deleting from a list: what is ticked leaves the list at once, goes for good some minutes later, and comes back until then."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils.module_loading import import_string

from crawlmgr.models import Deletion
from crawlmgr.services import events, runs

UNDO = timedelta(minutes=10)
AGAIN = timedelta(minutes=1)  # where something is at work on what shall go


def ask(kind: str, names: Mapping[int, str], now: datetime, user: Any = None) -> int:
    """Has these go in UNDO, by key and name; for how many that was not asked before."""
    known = set(Deletion.objects.filter(kind=kind, target__in=list(names)).values_list("target", flat=True))
    rows = [
        Deletion(kind=kind, target=pk, name=name[:200], asked=now, due=now + UNDO, by=user)
        for pk, name in names.items() if pk not in known
    ]
    Deletion.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def pending(kind: str) -> QuerySet[Deletion]:
    """What of a kind is to go."""
    return Deletion.objects.filter(kind=kind)


def undo(kind: str) -> int:
    """Takes all deletions of a kind back that have not begun; how many those were."""
    return int(pending(kind).filter(begun=False).delete()[0])


def carry_out(now: datetime) -> int:
    """Deletes what is due, as its kind is deleted; what is in use is tried again later. Killed in between, the next round goes
    on: a kind's function does nothing where its row is gone."""
    done = 0
    for row in list(Deletion.objects.filter(due__lte=now).select_related("by")):
        if not Deletion.objects.filter(pk=row.pk, due=row.due).update(begun=True, due=now + AGAIN):
            continue  # it was taken back, or another dispatcher is at it
        try:
            import_string(settings.DELETABLE[row.kind])(row.target, now, row.by)
        except runs.Busy:
            continue
        Deletion.objects.filter(pk=row.pk).delete()
        events.note("deleted_from_list", row.name, now=now)
        done += 1
    return done
