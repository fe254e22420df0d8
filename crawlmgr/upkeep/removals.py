"""Deletes objects with many rows (such as a forum with its posts) in bounded batches, one
transaction each, so that a deletion can be killed at any time and repeated.

Items chosen in a list of the web interface disappear from it at once; until their deletion begins
it can be undone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils.module_loading import import_string

from crawlmgr.models import ACTIVE, Deletion, Event, Page, Run, RunHost, RunTally, Url, events
from crawlmgr.runs import runs

BATCH = 500
"""Maximum number of rows deleted in one transaction."""
AT_ONCE = 20_000
"""Objects with fewer rows than this are deleted while the user waits for the response; larger
deletions are done by a worker."""
PATIENCE_SECONDS = 10.0
"""Seconds to wait for runs that were asked to stop."""

Rows = QuerySet[Any]


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one table to delete. `below`, given rows or their keys, returns the rows of another
    table that refer to them and must be deleted first. `first` is called with the keys about to be
    deleted, in the same transaction.
    """

    rows: Rows
    below: Callable[[Any], Rows] | None = None
    first: Callable[[list[int]], None] | None = None


@dataclass(frozen=True, slots=True)
class Removal:
    """What is to be deleted with an object: first the rows of `parts`, in this order; then `last`
    is called, in a transaction of its own, to delete the object itself."""

    parts: Sequence[Part]
    last: Callable[[], None]

    def count(self, most: int | None = None) -> int:
        """Returns the number of rows of all parts; counting stops when `most` are reached (None:
        all are counted)."""
        total = 0
        for part in self.parts:
            for rows in ([part.below(part.rows)] if part.below else []) + [part.rows]:
                total += rows.count() if most is None else rows.order_by()[: most - total].count()
                if most is not None and total >= most:
                    return total
        return total

    def batch(self) -> Callable[[], int] | None:
        """Returns a function that deletes the next rows, at most BATCH, and returns their number;
        None if all parts are deleted. It must be called in a transaction."""
        for part in self.parts:
            keys = _keys(part.rows)
            if not keys:
                continue
            if part.below is not None and (below := _keys(part.below(keys))):
                return partial(_delete, part.below(keys), below)
            return partial(_delete, part.rows, keys, part.first)
        return None


def _keys(rows: Rows) -> list[int]:
    return list(rows.order_by().values_list("pk", flat=True)[:BATCH])


def _delete(rows: Rows, keys: list[int], first: Callable[[list[int]], None] | None = None) -> int:
    if first is not None:
        first(keys)
    rows.model._base_manager.filter(pk__in=keys).delete()
    return len(keys)


def of_runs(chosen: QuerySet[Run]) -> list[Part]:
    """Returns the parts for deleting runs: first their rows in the tables that runs of all kinds
    share, then the runs themselves."""
    tables = (Page, Url, RunHost, RunTally, Event)
    return [*(Part(model._base_manager.filter(run__in=chosen)) for model in tables), Part(chosen)]


def at_once(removal: Removal) -> None:
    """Deletes all rows of `removal` and its object in this process, one transaction per batch; can
    be repeated after a kill."""
    while (store := removal.batch()) is not None:
        with transaction.atomic():
            store()
    with transaction.atomic():
        removal.last()


def check(kind: str, *targets: int) -> None:
    """Raises runs.Busy if one of the objects with the ids `targets` is being deleted. Large objects
    are deleted in the background by runs; `kind` is the kind of these runs."""
    leaving = Run.objects.filter(kind=kind, target__in=targets, state__in=ACTIVE).first()
    if leaving is not None:
        raise runs.Busy(leaving)


def start(
    kind: str,
    target: int,
    label: str,
    removal: Removal,
    stop_runs: Callable[[], None],
    *,
    now: datetime,
    user: Any = None,
) -> Run | None:
    """Deletes an object. A small one (less than AT_ONCE rows) is deleted now and None is returned;
    for a large one, returns the new run that deletes it. `stop_runs` is called first and stops the
    runs that work on the object. Raises runs.Busy if the object is already being deleted."""
    check(kind, target)
    small = removal.count(AT_ONCE) < AT_ONCE
    stop_runs()
    if small:
        at_once(removal)
        return None
    return runs.create(
        kind, label, target=target, exclusive=f"{kind} {target}", parameters={}, now=now, user=user
    )


def end_runs(chosen: Iterable[Run], now: datetime) -> None:
    """Stops runs; those that have ended in the meantime are ignored."""
    for run in chosen:
        with suppress(runs.WrongState):
            runs.stop(run.pk, now)


class RemovalJob:
    """Implements `crawlmgr.jobs.Job` for the run that deletes an object: first counts the rows,
    then deletes one batch per step. `removal` returns what is to be deleted, None if the object is
    gone; `others` are the runs that may still be working on it."""

    def __init__(
        self, run: Run, removal: Callable[[], Removal | None], others: Callable[[], QuerySet[Run]]
    ) -> None:
        self.run, self._removal, self._others = run, removal, others

    def step(self, pulse: Callable[[], None]) -> Callable[[], None] | str:
        removal = self._removal()
        if removal is None:
            return "removed"
        done = dict(self.run.result)
        if "rows" not in done:
            self._wait(pulse)
            return lambda: self._tell({"rows": removal.count(), "removed": 0})
        pulse()
        store = removal.batch()
        if store is None:
            return removal.last
        return lambda: self._tell({**done, "removed": done["removed"] + store()})

    def ended(self, state: str, now: datetime) -> None:
        """Does nothing: every batch was committed completely."""

    def _tell(self, result: dict[str, int]) -> None:
        self.run.result = result
        Run.objects.filter(pk=self.run.pk).update(result=result)

    def _wait(self, pulse: Callable[[], None]) -> None:
        """Waits, at most PATIENCE_SECONDS, until the runs that were asked to stop have finished
        their current pages."""
        until = time.monotonic() + PATIENCE_SECONDS
        while self._others().filter(state__in=ACTIVE).exists() and time.monotonic() < until:
            pulse()
            time.sleep(0.2)


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
