"""Deletions from lists in the web interface: the chosen items disappear from the list at once, are
deleted ten minutes later, and can be restored until then."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils.module_loading import import_string

from crawlmgr.models import Deletion, events
from crawlmgr.services import runs

UNDO = timedelta(minutes=10)
AGAIN = timedelta(minutes=1)  # delay before the next try if the item is in use


def ask(kind: str, names: Mapping[int, str], now: datetime, user: Any = None) -> int:
    """Schedules the deletion of items, which takes place after the time UNDO; returns how many were
    not scheduled before. `kind` is a key of settings.DELETABLE; `names` are the names of the items
    by primary key."""
    known = set(
        Deletion.objects.filter(kind=kind, target__in=list(names)).values_list("target", flat=True)
    )
    rows = [
        Deletion(kind=kind, target=pk, name=name[:200], asked=now, due=now + UNDO, by=user)
        for pk, name in names.items()
        if pk not in known
    ]
    Deletion.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def pending(kind: str) -> QuerySet[Deletion]:
    """Returns the scheduled deletions of a kind of item."""
    return Deletion.objects.filter(kind=kind)


def undo(kind: str) -> int:
    """Cancels all scheduled deletions of a kind that have not begun; returns how many."""
    return int(pending(kind).filter(begun=False).delete()[0])


def carry_out(now: datetime) -> int:
    """Deletes the items whose deletion is due, by the function of their kind in settings.DELETABLE,
    and returns how many. Called by the dispatcher. An item that is in use is tried again later. If
    the process is killed in between, the next call repeats the deletion: the functions do nothing
    if the item is gone."""
    done = 0
    for row in list(Deletion.objects.filter(due__lte=now).select_related("by")):
        if not Deletion.objects.filter(pk=row.pk, due=row.due).update(begun=True, due=now + AGAIN):
            continue  # the deletion was cancelled, or another process is carrying it out
        try:
            import_string(settings.DELETABLE[row.kind])(row.target, now, row.by)
        except runs.Busy:
            continue
        Deletion.objects.filter(pk=row.pk).delete()
        events.note("deleted_from_list", row.name, now=now)
        done += 1
    return done
