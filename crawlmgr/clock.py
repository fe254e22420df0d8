"""The clock as an argument: real time in production, an injected one in tests and replays. Pure."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """What needs the time asks this; all times are UTC and aware."""

    def now(self) -> datetime: ...

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))


class ManualClock:
    """A clock that moves only when it is told to, or when somebody sleeps on it."""

    def __init__(self, start: datetime) -> None:
        self.time = start

    def now(self) -> datetime:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += timedelta(seconds=max(0.0, seconds))


class PastClock:
    """The machine's clock, or, once it is put back, a time in the past that moves only when it is told to, up to the present."""

    def __init__(self) -> None:
        self._time: datetime | None = None

    @property
    def behind(self) -> bool:
        """Whether it is put back."""
        return self._time is not None

    def now(self) -> datetime:
        return SYSTEM.now() if self._time is None else self._time

    def put(self, at: datetime) -> None:
        """Puts it to a time; to the present for good where that is not in the past."""
        self._time = at if at < SYSTEM.now() else None

    def let_go(self) -> None:
        """Back to the present."""
        self._time = None

    def sleep(self, seconds: float) -> None:
        if self._time is None:
            SYSTEM.sleep(seconds)
        else:
            self.put(self._time + timedelta(seconds=max(0.0, seconds)))


SYSTEM = SystemClock()
