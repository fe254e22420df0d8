"""Trouble with the database told apart: passing (tried again), a full disk (the run pauses), anything else (an error)."""

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
"""PostgreSQL: serialization failure, deadlock, lock not available, shut down, crashed, starting up, too many connections."""
_LOST = "08"
_FULL_STATES = ("53100", "53400")


def passing(error: BaseException) -> bool:
    """Whether the same work may well succeed a moment later: another connection was in the way, or the server went away."""
    if not isinstance(error, DatabaseError | InterfaceError):
        return False
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", 0) & 0xFF in _BUSY
    state = getattr(cause, "sqlstate", None)
    if state:
        return state in _PASSING_STATES or state.startswith(_LOST)
    # The driver itself found the connection closed or could not make one: there is no answer with a state.
    return cause is not None and isinstance(error, OperationalError | InterfaceError)


def full(error: BaseException) -> bool:
    """Whether the database could not write for want of room."""
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
    return getattr(cause, "sqlstate", None) in _FULL_STATES


def one_line(error: BaseException) -> str:
    """What the error says, in one line."""
    return next(iter(str(error).strip().splitlines()), "") or type(error).__name__


def pause_seconds(times: int) -> float:
    """How long to wait after so many passing errors in a row: 0.1 s doubling to 5 s, by chance up to half of it less, so that
    several workers do not meet again."""
    return min(LONGEST_PAUSE_SECONDS, 0.1 * 2.0 ** min(times, 10)) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret


def calmly(work: Callable[[], T], clock: Clock) -> T:
    """Does a piece of work that is a transaction of its own, up to six times where passing errors are in its way; the last of
    them is raised."""
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
    """Closes the connection where it is broken; the next statement makes a new one."""
    database = connections[DEFAULT_DB_ALIAS]
    if not database.in_atomic_block:
        database.close_if_unusable_or_obsolete()
