"""Plain SQL for the few statements that run for every page, because the ORM takes ten times as long to build a query as the query
itself.

It uses only what SQLite and PostgreSQL have in common; values are passed as parameters.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections


def execute(statement: str, values: Sequence[Any]) -> int:
    """Executes a statement; returns the number of affected rows."""
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
    """Executes a statement once per row of values; inserting many rows is one driver call. `stamped`: times in the rows are
    already in the format of `stamp`."""
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
    """Executes a query; returns all rows."""
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
    """The sqlite3 connection on which Django's present transaction runs; used directly, because Django's cursors would take
    longer than most of these statements. None for another database, or while statements are being recorded."""
    if database.vendor != "sqlite" or database.execute_wrappers or database.queries_logged:
        return None
    if database.connection is None:
        database.ensure_connection()
    database.validate_no_broken_transaction()
    found: sqlite3.Connection = database.connection
    return found


@lru_cache(maxsize=1024)
def _marked(statement: str) -> str:
    """A statement with SQLite's parameter marks."""
    return statement.replace("%s", "?")


def _plain(values: Sequence[Any]) -> list[Any]:
    """Values in SQLite's format, with times as Django stores them: UTC without zone."""
    return [_time(v) if isinstance(v, datetime) else v for v in values]


def _time(moment: datetime) -> str:
    return str(moment.replace(tzinfo=None) if moment.tzinfo is UTC else moment.astimezone(UTC).replace(tzinfo=None))


def padded(ids: Sequence[int]) -> list[int]:
    """Ids for an IN list, padded with the last one to a power of two, so that there are few distinct statements for the database
    to cache."""
    size = 1
    while size < len(ids):
        size *= 2
    return [*ids, *[ids[-1]] * (size - len(ids))] if ids else []


def stamp(moment: datetime) -> Any:
    """A time in the database's format."""
    return connection.ops.adapt_datetimefield_value(moment)


def moment(value: datetime | None) -> datetime | None:
    """A time from the database, made aware: SQLite's are UTC without zone."""
    return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


def locking(*, wait: bool = True) -> str:
    """The SQL suffix that locks the rows of a SELECT until the transaction ends; rows locked by others are skipped, or with
    `wait` waited for. "" on SQLite, whose transactions are exclusive. Rows that refer to the locked ones may still be
    written."""
    if not connection.features.has_select_for_update:
        return ""
    return " FOR NO KEY UPDATE" if wait else " FOR NO KEY UPDATE SKIP LOCKED"
