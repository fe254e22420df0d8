"""Classifies database errors: temporary ones (the work is repeated), a full or write-protected
disk (the run pauses), and others (program errors)."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, OperationalError, connections

from crawlmgr.clock import SYSTEM, Clock

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
