"""Classification of database errors: temporary (tried again), a full disk (the run pauses), anything else (an error)."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from typing import TypeVar

from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, OperationalError, connections

from crawlmgr.clock import Clock

T = TypeVar("T")
TRIES = 6
LONGEST_PAUSE_SECONDS = 5.0
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_PASSING_STATES = ("40001", "40P01", "55P03", "57P01", "57P02", "57P03", "53300")
"""PostgreSQL's SQLSTATEs for: serialization failure, deadlock, lock not available, shutdown, crash, starting up, too many
connections."""
_LOST = "08"
_FULL_STATES = ("53100", "53400")


def passing(error: BaseException) -> bool:
    """Tells whether the error is temporary: a lock conflict or an unavailable server, so that the same work may succeed a moment
    later."""
    if not isinstance(error, DatabaseError | InterfaceError):
        return False
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", 0) & 0xFF in _BUSY
    state = getattr(cause, "sqlstate", None)
    if state:
        return state in _PASSING_STATES or state.startswith(_LOST)
    # The driver found the connection closed or could not open one: then there is no SQLSTATE.
    return cause is not None and isinstance(error, OperationalError | InterfaceError)


def full(error: BaseException) -> bool:
    """Tells whether the database could not write because the disk is full."""
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
    return getattr(cause, "sqlstate", None) in _FULL_STATES


def one_line(error: BaseException) -> str:
    """The error's message in one line."""
    return next(iter(str(error).strip().splitlines()), "") or type(error).__name__


def pause_seconds(times: int) -> float:
    """Seconds to wait after `times` temporary errors in a row: from 0.1 s, doubling up to 5 s, and randomly reduced by up to
    half, so that several workers do not collide again."""
    return min(LONGEST_PAUSE_SECONDS, 0.1 * 2.0 ** min(times, 10)) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret


def calmly(work: Callable[[], T], clock: Clock) -> T:
    """Runs `work`, which must be a transaction of its own, and repeats it after temporary database errors. Raises the error of
    the sixth attempt."""
    for times in range(TRIES - 1):
        try:
            return work()
        except (DatabaseError, InterfaceError) as error:
            if not passing(error):
                raise
            let_go()
            clock.sleep(pause_seconds(times))
    return work()


def let_go() -> None:
    """Closes a broken connection; the next statement opens a new one."""
    database = connections[DEFAULT_DB_ALIAS]
    if not database.in_atomic_block:
        database.close_if_unusable_or_obsolete()
