"""Removals: what is too much for one transaction goes a bounded batch at a time, so that a kill in between loses nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from crawlmgr.models import ACTIVE, Event, Page, Run, RunHost, Url
from crawlmgr.services import runs

BATCH = 500
"""Rows of a transaction."""
AT_ONCE = 20_000
"""Rows that go while a person waits for the answer; more are left to a worker."""
PATIENCE_SECONDS = 10.0
"""How long the end of runs that were told to stop is waited for."""

Rows = QuerySet[Any]


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one table that go. `below` names the rows that refer to some of them and go before; `first` is told the keys of
    rows that are about to go, in their transaction."""

    rows: Rows
    below: Callable[[Any], Rows] | None = None
    first: Callable[[list[int]], None] | None = None


@dataclass(frozen=True, slots=True)
class Removal:
    """What goes, in this order: the parts, and with `last`, in a transaction of its own, the little that all hung on."""

    parts: Sequence[Part]
    last: Callable[[], None]

    def count(self, most: int | None = None) -> int:
        """Rows of all parts; where there are `most`, no more are counted."""
        total = 0
        for part in self.parts:
            for rows in ([part.below(part.rows)] if part.below else []) + [part.rows]:
                total += rows.count() if most is None else rows.order_by()[: most - total].count()
                if most is not None and total >= most:
                    return total
        return total

    def batch(self) -> Callable[[], int] | None:
        """What deletes the next rows and tells how many; None where all parts are gone. To be called in a transaction."""
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
    """The runs, after what the shared tables hold of them."""
    tables = (Page, Url, RunHost, Event)
    return [*(Part(model._base_manager.filter(run__in=chosen)) for model in tables), Part(chosen)]


def at_once(removal: Removal) -> None:
    """All of it, a transaction a batch; what was killed is done by calling it again."""
    while (store := removal.batch()) is not None:
        with transaction.atomic():
            store()
    with transaction.atomic():
        removal.last()


def check(kind: str, *targets: int) -> None:
    """Raises runs.Busy where a run of this kind is deleting one of the targets."""
    leaving = Run.objects.filter(kind=kind, target__in=targets, state__in=ACTIVE).first()
    if leaving is not None:
        raise runs.Busy(leaving)


def start(
    kind: str, target: int, label: str, removal: Removal, quieten: Callable[[], None], *, now: datetime, user: Any = None
) -> Run | None:
    """Removes what is small at once; of a large removal gives the run whose worker does it. `quieten` ends what works at the
    target. Raises runs.Busy where a run is deleting it."""
    check(kind, target)
    small = removal.count(AT_ONCE) < AT_ONCE
    quieten()
    if small:
        at_once(removal)
        return None
    return runs.create(kind, label, target=target, exclusive=f"{kind} {target}", parameters={}, now=now, user=user)


def end_runs(chosen: Iterable[Run], now: datetime) -> None:
    """Stops runs, but for those that have just ended by themselves."""
    for run in chosen:
        with suppress(runs.WrongState):
            runs.stop(run.pk, now)


class RemovalJob:
    """The work of such a run (see crawlmgr.jobs.Job): first how much there is, then a batch a step.

    `removal` tells what is to go, None when it is gone; `others` are the runs that may still be working at it.
    """

    def __init__(self, run: Run, removal: Callable[[], Removal | None], others: Callable[[], QuerySet[Run]]) -> None:
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
        """Nothing is left open: each batch was gone as it was done."""

    def _tell(self, result: dict[str, int]) -> None:
        self.run.result = result
        Run.objects.filter(pk=self.run.pk).update(result=result)

    def _wait(self, pulse: Callable[[], None]) -> None:
        """Lets those that were told to stop end with the page in hand."""
        until = time.monotonic() + PATIENCE_SECONDS
        while self._others().filter(state__in=ACTIVE).exists() and time.monotonic() < until:
            pulse()
            time.sleep(0.2)
