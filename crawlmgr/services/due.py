"""Starts scheduled items that are due: each once after any downtime, within its working hours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from crawlmgr.models import Timing
from crawlmgr.services import missed, runs, timings

Row = TypeVar("Row", bound=Model)


def start_each(kind: str, due: Sequence[Row], start: Callable[[Row, Timing | None, datetime], bool], now: datetime) -> int:
    """Starts a run of each due item within its working hours; returns the number started. Items with an active run are
    skipped."""
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
    """Moves the next start of the item in `rows` from `due` to the next due time, or to the beginning of its working hours.
    Returns True if the caller must start the item now; False if it is outside its working hours, or if another dispatcher or a
    user was faster. Missed starts are recorded. The caller must begin the run in the same transaction, since a kill between
    two transactions could lose the start."""
    after = timings.when(hours, now + timedelta(seconds=seconds), now)
    held = timings.opens(hours, now)
    if not rows.filter(**{column: due}).update(**{column: held or after}):
        return False
    missed.tell(name, due, seconds, now)
    return held is None
