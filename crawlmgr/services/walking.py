"""Walking through many rows without a cursor that stays open: whoever is given a row may write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from django.db.models import Model, QuerySet

M = TypeVar("M", bound=Model)


def in_parts(rows: QuerySet[M], by: str, size: int) -> Iterator[M]:
    """The rows in the order of a column that is different in each of them, read so many at a time.

    SQLite lets a connection with an open cursor write only while nobody else has written since the cursor was opened; what
    other connections add behind the walk's place is found.
    """
    rows = rows.order_by(by)
    part = list(rows[:size])
    while part:
        yield from part
        part = list(rows.filter(**{f"{by}__gt": getattr(part[-1], by)})[:size]) if len(part) == size else []
