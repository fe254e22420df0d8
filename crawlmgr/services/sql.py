"""Plain SQL for the few statements that every page costs: the ORM's time to build a query is ten times the query's own.

All of it is the common part of SQLite and PostgreSQL; values go in as parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import connection


def execute(statement: str, values: Sequence[Any]) -> int:
    """Runs a statement; returns the number of rows it touched."""
    with connection.cursor() as cursor:
        cursor.execute(statement, [stamp(v) if isinstance(v, datetime) else v for v in values])
        return int(cursor.rowcount)


def execute_many(statement: str, rows: Sequence[Sequence[Any]]) -> None:
    """Runs a statement once for each row of values; an insertion of many rows is one call of the driver."""
    with connection.cursor() as cursor:
        cursor.executemany(statement, [[stamp(v) if isinstance(v, datetime) else v for v in row] for row in rows])


def fetch(statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Runs a query; returns all rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement, [stamp(v) if isinstance(v, datetime) else v for v in values])
        return list(cursor.fetchall())


def stamp(moment: datetime) -> Any:
    """A time as the database takes it."""
    return connection.ops.adapt_datetimefield_value(moment)


def moment(value: datetime | None) -> datetime | None:
    """A time as the database gives it, made aware: SQLite's are in UTC without a zone."""
    return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


def locking() -> str:
    """What makes a SELECT hold its rows until the transaction ends; SQLite's transactions are exclusive from the start."""
    return " FOR UPDATE" if connection.features.has_select_for_update else ""
