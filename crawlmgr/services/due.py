"""Starts of what is due by its schedule: each thing once after any downtime, within its working hours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from crawlmgr.models import Timing
from crawlmgr.services import missed, runs, timings

Row = TypeVar("Row", bound=Model)


def start_each(kind: str, due: Sequence[Row], start: Callable[[Row, Timing | None, datetime], bool], now: datetime) -> int:
    """Starts a run of each thing with its working hours; returns the number started. Things with an active run are passed
    over."""
    hours = timings.of_many(kind, [row.pk for row in due]) if due else {}
    started = 0
    for row in due:
        try:
            started += start(row, hours.get(row.pk), now)
        except runs.Busy:
            continue
    return started


def claim(
    rows: QuerySet[Any, Any], column: str, due: datetime | None, *, name: str, seconds: int, hours: Timing | None, now: datetime
) -> bool:
    """Moves the next start of the one thing in `rows` from `due` to when it is due again, or to when its hours begin; tells
    whether it is to start now: not outside its hours, and not if another dispatcher or a person was faster. Starts that were
    missed are noted. The caller begins the run in the same transaction: a kill between the two would start it twice."""
    after = timings.when(hours, now + timedelta(seconds=seconds), now)
    held = timings.opens(hours, now)
    if not rows.filter(**{column: due}).update(**{column: held or after}):
        return False
    missed.tell(name, due, seconds, now)
    return held is None
