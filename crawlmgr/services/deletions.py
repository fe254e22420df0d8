"""Deleting from a list: selected rows leave the list at once, are deleted some minutes later, and can be restored until then."""

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
AGAIN = timedelta(minutes=1)  # delay before the next try if the row is in use


def ask(kind: str, names: Mapping[int, str], now: datetime, user: Any = None) -> int:
    """Schedules the deletion of rows (`names` by primary key) after UNDO; returns how many were not scheduled before."""
    known = set(Deletion.objects.filter(kind=kind, target__in=list(names)).values_list("target", flat=True))
    rows = [
        Deletion(kind=kind, target=pk, name=name[:200], asked=now, due=now + UNDO, by=user)
        for pk, name in names.items() if pk not in known
    ]
    Deletion.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def pending(kind: str) -> QuerySet[Deletion]:
    """The scheduled deletions of a kind."""
    return Deletion.objects.filter(kind=kind)


def undo(kind: str) -> int:
    """Cancels all deletions of a kind that have not begun; returns how many."""
    return int(pending(kind).filter(begun=False).delete()[0])


def carry_out(now: datetime) -> int:
    """Deletes what is due, by its kind's function in settings.DELETABLE; what is in use is tried again later. If the process is
    killed in between, the next round continues: the functions do nothing where the row is gone."""
    done = 0
    for row in list(Deletion.objects.filter(due__lte=now).select_related("by")):
        if not Deletion.objects.filter(pk=row.pk, due=row.due).update(begun=True, due=now + AGAIN):
            continue  # it was undone, or another dispatcher is carrying it out
        try:
            import_string(settings.DELETABLE[row.kind])(row.target, now, row.by)
        except runs.Busy:
            continue
        Deletion.objects.filter(pk=row.pk).delete()
        events.note("deleted_from_list", row.name, now=now)
        done += 1
    return done
