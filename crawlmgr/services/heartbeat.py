"""Renews the lease of a run during a slice of its work, and notices requests to pause, stop or shut
down."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta

from django.conf import settings

from crawlmgr.clock import Clock
from crawlmgr.services import runs

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
