"""The clock as an argument: real time in production, an injected one in tests and replays. Pure."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Source of the current time, passed to what needs it; all times are aware and in UTC."""

    def now(self) -> datetime: ...

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))


class ManualClock:
    """A clock for tests that moves only when it is set or slept on."""

    def __init__(self, start: datetime) -> None:
        self.time = start

    def now(self) -> datetime:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += timedelta(seconds=max(0.0, seconds))


class PastClock:
    """The machine's clock; after `put`, a time in the past that moves only by `put` and `sleep`, until it reaches the present."""

    def __init__(self) -> None:
        self._time: datetime | None = None

    @property
    def behind(self) -> bool:
        """Whether this clock shows a time in the past instead of the machine's."""
        return self._time is not None

    def now(self) -> datetime:
        return SYSTEM.now() if self._time is None else self._time

    def put(self, at: datetime) -> None:
        """Sets the clock to a time; one that is not in the past returns it to the machine's clock."""
        self._time = at if at < SYSTEM.now() else None

    def let_go(self) -> None:
        """Returns to the machine's clock."""
        self._time = None

    def sleep(self, seconds: float) -> None:
        if self._time is None:
            SYSTEM.sleep(seconds)
        else:
            self.put(self._time + timedelta(seconds=max(0.0, seconds)))


SYSTEM = SystemClock()
