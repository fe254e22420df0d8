"""Starts scheduled items (such as topic crawls) that are due: each only once, however many starts
were missed while the program was not running, and only within its working hours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from crawlmgr.models import Timing
from crawlmgr.services import missed, runs, timings

Row = TypeVar("Row", bound=Model)


def start_each(
    kind: str,
    due: Sequence[Row],
    start: Callable[[Row, Timing | None, datetime], bool],
    now: datetime,
) -> int:
    """Starts a run of each item in `due` and returns the number started. `start` is called with the
    item, its working hours (None for no restriction) and the time, and returns whether it started a
    run; items that already have an active run are skipped."""
    hours = timings.of_many(kind, [row.pk for row in due]) if due else {}
    started = 0
    for row in due:
        try:
            started += start(row, hours.get(row.pk), now)
        except runs.Busy:
            continue
    return started


def claim(
    rows: QuerySet[Any, Any],
    column: str,
    due: datetime | None,
    *,
    name: str,
    seconds: int,
    hours: Timing | None,
    now: datetime,
) -> bool:
    """Moves the next start of a scheduled item from `due` to `seconds` after now or, if the item is
    outside its working hours, to their beginning. Returns True if the caller must start the item
    now.

    Returns False if the item is outside its working hours, or if another process or a user changed
    the next start first. `rows` selects the row of the item, and `column` names its field with the
    next start. Missed starts are recorded under `name`. The caller must create the run in the same
    transaction, because a kill between two transactions would lose the start."""
    after = timings.when(hours, now + timedelta(seconds=seconds), now)
    held = timings.opens(hours, now)
    if not rows.filter(**{column: due}).update(**{column: held or after}):
        return False
    missed.record(name, due, seconds, now)
    return held is None
