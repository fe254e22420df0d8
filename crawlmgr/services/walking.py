"""Iterates over many rows without an open database cursor, so that the caller may write between
rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from django.db.models import Model, QuerySet

M = TypeVar("M", bound=Model)


def in_parts(rows: QuerySet[M], by: str, size: int) -> Iterator[M]:
    """Yields the rows in the order of the unique column `by`. They are read `size` at a time, so
    that no cursor is open between rows: on SQLite, a connection with an open cursor can write only
    if nobody else has written since the cursor was opened.

    Rows that are inserted meanwhile are included if they sort after all rows read so far; once
    fewer than `size` rows were read at a time, no more are read."""
    rows = rows.order_by(by)
    part = list(rows[:size])
    while part:
        yield from part
        part = (
            list(rows.filter(**{f"{by}__gt": getattr(part[-1], by)})[:size])
            if len(part) == size
            else []
        )
