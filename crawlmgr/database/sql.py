"""Executes SQL directly for the few statements that run for every page, because the ORM takes ten
times as long to build a query as the database takes to execute it. The statements use only what
SQLite and PostgreSQL have in common; values are passed as parameters (%s).

Also iterates over many rows without an open cursor, updates the statistics of SQLite, and
classifies database errors: temporary ones (the work is repeated), a full or write-protected disk
(the run pauses), and others (program errors)."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from django.db import (
    DEFAULT_DB_ALIAS,
    DatabaseError,
    InterfaceError,
    OperationalError,
    connection,
    connections,
)

from crawlmgr.clock import SYSTEM, Clock

if TYPE_CHECKING:  # commands that need no model load none
    from django.db.models import Model, QuerySet


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
    """Executes a statement once for each row of values, in one call of the driver. `stamped`: times
    in the rows are already in the format that `stamp` returns."""
    database = connections[DEFAULT_DB_ALIAS]
    direct = _direct(database)
    if direct is not None:
        try:
            direct.executemany(
                _marked(statement), rows if stamped else [_plain(row) for row in rows]
            )
        except sqlite3.Error:
            with database.wrap_database_errors:
                raise
        return
    with database.cursor() as cursor:
        cursor.executemany(
            statement, [[stamp(v) if isinstance(v, datetime) else v for v in row] for row in rows]
        )


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
    """Returns the sqlite3 connection on which Django's current transaction runs. It is used
    directly, because Django's cursor would take longer than most of these statements. None for
    another database, or while Django records or wraps statements."""
    if database.vendor != "sqlite" or database.execute_wrappers or database.queries_logged:
        return None
    if database.connection is None:
        database.ensure_connection()
    database.validate_no_broken_transaction()
    found: sqlite3.Connection = database.connection
    return found


@lru_cache(maxsize=1024)
def _marked(statement: str) -> str:
    """Returns a statement with SQLite's placeholder "?" in place of "%s"."""
    return statement.replace("%s", "?")


def _plain(values: Sequence[Any]) -> list[Any]:
    """Returns values in SQLite's format; times become text in UTC without zone, as Django stores
    them."""
    return [_time(v) if isinstance(v, datetime) else v for v in values]


def _time(moment: datetime) -> str:
    return str(
        moment.replace(tzinfo=None)
        if moment.tzinfo is UTC
        else moment.astimezone(UTC).replace(tzinfo=None)
    )


def padded(ids: Sequence[int]) -> list[int]:
    """Returns ids for an IN list, padded with the last one so that their number is a power of two:
    with few distinct lengths there are few distinct statements for the database to cache."""
    size = 1
    while size < len(ids):
        size *= 2
    return [*ids, *[ids[-1]] * (size - len(ids))] if ids else []


def stamp(moment: datetime) -> Any:
    """Returns a time in the database's format."""
    return connection.ops.adapt_datetimefield_value(moment)


def moment(value: datetime | None) -> datetime | None:
    """Returns a time read from the database as an aware one: SQLite stores times in UTC without
    zone. None remains None."""
    return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


def locking(*, wait: bool = True) -> str:
    """Returns the SQL suffix that locks the rows of a SELECT until the transaction ends. Rows
    locked by others are waited for, or without `wait` skipped. Rows that refer to locked ones by a
    foreign key may still be written. On SQLite, which locks the whole database, returns ""."""
    if not connection.features.has_select_for_update:
        return ""
    return " FOR NO KEY UPDATE" if wait else " FOR NO KEY UPDATE SKIP LOCKED"


M = TypeVar("M", bound="Model")


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


# maximum number of rows read from each index; takes some 30 ms for a database of 2 million posts
ROWS_AN_INDEX = 1000


def refresh_statistics() -> None:
    """Updates the statistics of SQLite; does nothing on other databases. Raises OperationalError if
    another process keeps the database locked for longer than the busy timeout."""
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA analysis_limit = {ROWS_AN_INDEX}")
        cursor.execute("ANALYZE")


T = TypeVar("T")
TRIES = 6
LOCKED_TRIES = 30
LONGEST_PAUSE_SECONDS = 5.0
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY)
_PASSING_STATES = ("40001", "40P01", "55P03", "57P01", "57P02", "57P03", "53300")
"""PostgreSQL's SQLSTATEs for: serialization failure, deadlock, lock not available, shutdown, crash,
starting up, too many connections."""
_LOST = "08"
_FULL_STATES = ("53100", "53400", "25006")
"""PostgreSQL's SQLSTATEs for: disk full, a limit of the configuration, read-only transaction."""


def passing(error: BaseException) -> bool:
    """Tells whether an error is temporary: a lock conflict or an unavailable server, so that the
    same work may succeed a moment later."""
    if not isinstance(error, DatabaseError | InterfaceError):
        return False
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", 0) & 0xFF in _BUSY
    state = getattr(cause, "sqlstate", None)
    if state:
        return state in _PASSING_STATES or state.startswith(_LOST)
    # The driver found the connection closed or could not open one; in these cases there is no
    # SQLSTATE.
    return cause is not None and isinstance(error, OperationalError | InterfaceError)


def full(error: BaseException) -> bool:
    """Tells whether the database could not write because the disk is full or refuses it, as where
    a file has reached the largest size that is allowed, or may only be read."""
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", 0) & 0xFF in _FULL
    return getattr(cause, "sqlstate", None) in _FULL_STATES


def one_line(error: BaseException) -> str:
    """Returns the first line of an error's message, a sentence if it is empty."""
    return next(iter(str(error).strip().splitlines()), "") or "an error without a message"


def pause_seconds(times: int) -> float:
    """Returns the seconds to wait after `times` temporary errors in a row: from 0.1 s, doubled each
    time up to 5 s, and reduced at random by up to half, so that several workers do not collide
    again."""
    # no secret
    return min(LONGEST_PAUSE_SECONDS, 0.1 * 2.0 ** min(times, 10)) * random.uniform(  # noqa: S311
        0.5, 1.0
    )


def calmly(work: Callable[[], T], clock: Clock) -> T:
    """Calls `work` and returns its result. After temporary database errors it is called again, up
    to six times in all; the last error is raised. `work` must be a transaction of its own."""
    for times in range(TRIES - 1):
        try:
            return work()
        except (DatabaseError, InterfaceError) as error:
            if not passing(error):
                raise
            let_go()
            clock.sleep(pause_seconds(times))
    return work()


def patiently(execute: Callable[..., T], *call: Any) -> T:
    """Wrapper of a command's statements (Django's `execute_wrapper`): a statement that begins a
    transaction, or is one, is repeated while another process has locked the database, as often as
    the work of a run."""
    for times in range(LOCKED_TRIES):
        try:
            return execute(*call)
        except OperationalError as error:
            raw = connections[DEFAULT_DB_ALIAS].connection
            if not isinstance(error.__cause__, sqlite3.Error) or raw is None or raw.in_transaction:
                raise
            if not passing(error):
                raise
            SYSTEM.sleep(pause_seconds(times))
    return execute(*call)


def let_go() -> None:
    """Closes the database connection if it is broken, unless a transaction is open; the next
    statement opens a new one."""
    database = connections[DEFAULT_DB_ALIAS]
    if not database.in_atomic_block:
        database.close_if_unusable_or_obsolete()
