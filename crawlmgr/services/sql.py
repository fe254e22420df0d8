"""Plain SQL for the few statements that every page costs: the ORM's time to build a query is ten times the query's own.

All of it is the common part of SQLite and PostgreSQL; values go in as parameters.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections


def execute(statement: str, values: Sequence[Any]) -> int:
    """Runs a statement; returns the number of rows it touched."""
    database = connections[DEFAULT_DB_ALIAS]
    direct = _direct(database)
    if direct is not None:
        try:
            return direct.execute(_marked(statement), _plain(values)).rowcount
        except sqlite3.Error:
            with database.wrap_database_errors:
                raise
    with database.cursor() as cursor:
        cursor.execute(statement, [stamp(v) if isinstance(v, datetime) else v for v in values])
        return int(cursor.rowcount)


def execute_many(statement: str, rows: Sequence[Sequence[Any]], *, stamped: bool = False) -> None:
    """Runs a statement once for each row of values; an insertion of many rows is one call of the driver. `stamped`: times in
    the rows are as `stamp` gives them, and nothing has to be looked through."""
    database = connections[DEFAULT_DB_ALIAS]
    direct = _direct(database)
    if direct is not None:
        try:
            direct.executemany(_marked(statement), rows if stamped else [_plain(row) for row in rows])
        except sqlite3.Error:
            with database.wrap_database_errors:
                raise
        return
    with database.cursor() as cursor:
        cursor.executemany(statement, [[stamp(v) if isinstance(v, datetime) else v for v in row] for row in rows])


def fetch(statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Runs a query; returns all rows."""
    database = connections[DEFAULT_DB_ALIAS]
    direct = _direct(database)
    if direct is not None:
        try:
            return direct.execute(_marked(statement), _plain(values)).fetchall()
        except sqlite3.Error:
            with database.wrap_database_errors:
                raise
    with database.cursor() as cursor:
        cursor.execute(statement, [stamp(v) if isinstance(v, datetime) else v for v in values])
        return list(cursor.fetchall())


def _direct(database: Any) -> sqlite3.Connection | None:
    """SQLite's own connection, with Django's transaction on it; None for another database, or where somebody counts or
    watches statements. Django's cursors would take longer than most of these statements do."""
    if database.vendor != "sqlite" or database.execute_wrappers or database.queries_logged:
        return None
    if database.connection is None:
        database.ensure_connection()
    database.validate_no_broken_transaction()
    found: sqlite3.Connection = database.connection
    return found


@lru_cache(maxsize=1024)
def _marked(statement: str) -> str:
    """A statement with SQLite's own marks for its values."""
    return statement.replace("%s", "?")


def _plain(values: Sequence[Any]) -> list[Any]:
    """Values as SQLite takes them, times as Django writes them: UTC without a zone."""
    return [str(v.astimezone(UTC).replace(tzinfo=None)) if isinstance(v, datetime) else v for v in values]


def padded(ids: Sequence[int]) -> list[int]:
    """Ids for an IN list, the last one repeated up to a power of two: few different statements, which the database keeps."""
    size = 1
    while size < len(ids):
        size *= 2
    return [*ids, *[ids[-1]] * (size - len(ids))] if ids else []


def stamp(moment: datetime) -> Any:
    """A time as the database takes it."""
    return connection.ops.adapt_datetimefield_value(moment)


def moment(value: datetime | None) -> datetime | None:
    """A time as the database gives it, made aware: SQLite's are in UTC without a zone."""
    return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


def locking(*, wait: bool = True) -> str:
    """What makes a SELECT hold its rows until the transaction ends (those that others hold it leaves out, or waits for);
    SQLite's transactions are exclusive from the start. Rows that refer to the held ones may be written meanwhile."""
    if not connection.features.has_select_for_update:
        return ""
    return " FOR NO KEY UPDATE" if wait else " FOR NO KEY UPDATE SKIP LOCKED"
