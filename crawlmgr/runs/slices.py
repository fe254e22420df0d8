"""Executes one slice of a run: takes the lease, does the work, and handles the errors that end the
work. A `Heartbeat` renews the lease meanwhile, and notices requests to pause, stop or shut down."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

from django.conf import settings
from django.db import DatabaseError, transaction

from crawlmgr import logs
from crawlmgr.clock import Clock
from crawlmgr.database import sql
from crawlmgr.models import Run, RunState
from crawlmgr.runs import runs
from crawlmgr.schedule import timings

shutdown = threading.Event()
"""Set when this process should end its slice soon."""
BEAT_SECONDS, BEATS_PER_LEASE = 1.0, 5
"""The lease is renewed at most once in this many seconds, and at least this many times during its
length."""
LIMIT_SHARE = 0.8
"""Fraction of the worker task's time limit after which long computing is interrupted."""


class Interrupted(Exception):
    """Raised to end long computing in a slice. `why` is "pause" or "stop" (a user requested it),
    "shutdown" (the process is to end), or "time" (the worker's task is about to reach its time
    limit)."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Heartbeat:
    """Renews the lease of one slice while the slice works, and remembers what was requested for the
    run.

    `seconds` is the length of the slice; None for a command in the foreground, which has no time
    limit. `wanted` is the request stored for the run ("", "pause" or "stop")."""

    def __init__(self, lease: runs.Lease, clock: Clock, seconds: float | None, wanted: str) -> None:
        self.lease, self.clock, self.wanted = lease, clock, wanted
        self.last = now = clock.now()
        """When the lease was last renewed."""
        limit = timedelta(seconds=settings.TASK_TIMEOUT_SECONDS * LIMIT_SHARE)
        self.limit = None if seconds is None else now + limit

    @property
    def asked(self) -> str:
        """Why the slice should end: "pause", "stop", "shutdown", or "" if it may continue."""
        return self.wanted or ("shutdown" if shutdown.is_set() else "")

    def beat(self, now: datetime) -> None:
        """Renews the lease if the last renewal is long enough ago. Raises LeaseLost if another
        worker has taken over the run."""
        if (now - self.last).total_seconds() >= min(
            BEAT_SECONDS, self.lease.seconds / BEATS_PER_LEASE
        ):
            self.renewed(runs.beat(self.lease, now), now)

    def renewed(self, wanted: str, now: datetime) -> None:
        """Records that the lease was renewed at `now`, and what a user had requested of the run
        (`wanted`: "pause", "stop" or ""). Called also after `runs.count` has renewed the lease
        while storing the slice's results.
        """
        self.wanted, self.last = wanted, now

    def check(self) -> None:
        """Raises Interrupted if a user or the process has requested the end of the slice."""
        if asked := self.asked:
            raise Interrupted(asked)

    def pulse(self) -> None:
        """Renews the lease during long computing; must be called at least every second. Raises
        Interrupted if the slice should end, LeaseLost if another worker has taken over the run."""
        now = self.clock.now()
        self.beat(now)
        self.check()
        if self.limit is not None and now >= self.limit:
            raise Interrupted("time")


log = logging.getLogger("crawlmgr.slices")
LEASED = "leased"
"""Result of a slice if another worker holds the run."""
NO_ROOM = "no room"
"""Result of a slice if the database's disk is full, so that not even this can be stored."""


_no_room_for: set[int] = set()
"""Runs of which this process has told that not even their state could be stored."""


class Work(Protocol):
    """The work on a run in one slice. `work` does it and returns the run's state. `failed` is
    called inside the transaction that marks the run as failed. `forget` is called after any error:
    the transaction was rolled back, so results that are held in memory must be discarded."""

    def work(self) -> str: ...

    def failed(self, now: datetime) -> None: ...

    def forget(self) -> None: ...


Make = Callable[[Run, runs.Lease, float | None], Work]


def work(
    run_id: int,
    make: Make,
    *,
    holder: str,
    clock: Clock,
    seconds: float | None,
    lag: runs.Lag = runs.no_lag,
) -> str:
    """Works on a run for one slice of `seconds` (None: until the run ends or must wait long).
    Returns the run's state; LEASED if the lease could not be taken or was lost; NO_ROOM if the disk
    is too full to store even the run's state.

    `make` creates the work, given the run, the lease and the remaining seconds. A temporary
    database problem (a lock conflict, a restarting server) ends the current work but not the slice,
    which continues from the stored state in its remaining time. Any other error is counted on the
    run and raised. `lag` returns the seconds by which `clock` is behind.
    """
    began = clock.now()
    while True:
        spent = (clock.now() - began).total_seconds()
        left = None if seconds is None else max(0.0, seconds - spent)
        with logs.about(run=run_id):
            outcome = _attempt(run_id, make, holder, clock, left, lag)
        if isinstance(outcome, str):
            return outcome
        pause = sql.pause_seconds(outcome)
        clock.sleep(pause)
        if seconds is not None and spent + pause >= seconds:
            return RunState.RUNNING


def _attempt(
    run_id: int, make: Make, holder: str, clock: Clock, left: float | None, lag: runs.Lag
) -> str | int:
    """Takes the run's lease and works on the run once. Returns the run's state or LEASED or, if a
    temporary problem ended the work, the number of such endings in a row."""
    try:
        lease = sql.calmly(
            lambda: runs.take(run_id, holder, clock.now(), settings.LEASE_SECONDS, lag), clock
        )
    except DatabaseError as error:
        if not sql.full(error):
            raise
        _tell_once(run_id, sql.one_line(error))
        return NO_ROOM
    if lease is None:
        return LEASED
    found: Work | None = None
    began = clock.now()
    log.info("by %s", holder, extra={"event": "slice_started", "fence": lease.fence})
    try:
        run = Run.objects.get(pk=run_id)
        if (wait := timings.outside_hours(run, began)) is not None:
            runs.hold(lease, *wait)
            return RunState.RUNNING
        found = make(run, lease, left)
        state = found.work()
        seconds = round((clock.now() - began).total_seconds(), 3)
        log.info("%s", state, extra={"event": "slice_ended", "seconds": seconds})
        return state
    except runs.LeaseLost:
        if found is not None:
            found.forget()
        log.warning("another worker now holds the run", extra={"event": "lease_lost"})
        return LEASED
    except Exception as error:
        if found is not None:
            found.forget()
        return _ended_by(error, lease, found, clock)


def _ended_by(error: Exception, lease: runs.Lease, found: Work | None, clock: Clock) -> str | int:
    """Records the error that ended the work, and raises it again unless it is a temporary database
    problem or a full disk. Returns LEASED if another worker holds the run. If the disk is full,
    returns the run's state (PAUSED), or NO_ROOM if even that could not be stored. After a temporary
    problem, returns the number of such problems in a row."""
    sql.let_go()
    text = sql.one_line(error)
    try:
        if not sql.calmly(lambda: runs.is_held(lease), clock):
            # another worker has taken over the run: this worker's write conflicted with one of that
            # worker and was rolled back
            log.warning("another worker now holds the run: %s", text, extra={"event": "lease_lost"})
            return LEASED
        if sql.full(error):
            return _no_room(lease, text, clock)
        if sql.passing(error):
            times = sql.calmly(lambda: runs.strained(lease, text, clock.now()), clock)
            log.info(text, extra={"event": "work_done_again", "times": times})
            if times:
                return times
        log.info(
            "the error that ended the slice", exc_info=error, extra={"event": "slice_broke_at"}
        )
        _broke(lease, text, found, clock)
    except runs.LeaseLost:
        return LEASED
    raise error


def _broke(lease: runs.Lease, text: str, found: Work | None, clock: Clock) -> None:
    def store() -> None:
        with transaction.atomic():
            if runs.broke(lease, text, clock.now()) and found is not None:
                found.failed(clock.now())

    sql.calmly(store, clock)


def _tell_once(run_id: int, text: str) -> None:
    if run_id not in _no_room_for:
        log.error(text, extra={"event": "disk_full"})
    _no_room_for.add(run_id)


def _no_room(lease: runs.Lease, text: str, clock: Clock) -> str:
    _tell_once(lease.run_id, text)
    try:
        runs.end(lease, RunState.PAUSED, runs.DISK_LOW, clock.now(), text)
        _no_room_for.discard(lease.run_id)
    except runs.LeaseLost:
        raise
    except Exception as error:
        if not sql.full(error):
            raise
        return NO_ROOM
    return RunState.PAUSED
