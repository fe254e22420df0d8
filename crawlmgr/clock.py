"""Clocks that are passed as arguments: the machine's clock, and others in replays of the archive
and in tests. This module does not use Django."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Source of the current time, passed to all code that depends on it. `now` returns an aware
    time in UTC; `sleep` waits for some seconds or, for clocks that do not show real time, advances
    the clock by them."""

    def now(self) -> datetime: ...

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's clock: real time, and `sleep` really waits."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))


class PastClock:
    """A clock for replaying earlier crawls. It is the machine's clock until `put` sets it to a time
    in the past; from then on it moves only by `put` and `sleep`, and when it reaches the present it
    is the machine's clock again.
    """

    def __init__(self) -> None:
        self._time: datetime | None = None

    @property
    def behind(self) -> bool:
        """Whether this clock shows a time in the past instead of the machine's time."""
        return self._time is not None

    def now(self) -> datetime:
        return SYSTEM.now() if self._time is None else self._time

    def put(self, at: datetime) -> None:
        """Sets the clock to a time; a time that is not in the past makes it the machine's clock
        again."""
        self._time = at if at < SYSTEM.now() else None

    def let_go(self) -> None:
        """Lets this clock show the machine's time again."""
        self._time = None

    def sleep(self, seconds: float) -> None:
        if self._time is None:
            SYSTEM.sleep(seconds)
        else:
            self.put(self._time + timedelta(seconds=max(0.0, seconds)))


SYSTEM = SystemClock()
