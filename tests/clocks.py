"""A clock that moves only when a test says so."""

from __future__ import annotations

from datetime import datetime, timedelta


class ManualClock:
    """A clock for tests that moves only when `time` is set or `sleep` is called."""

    def __init__(self, start: datetime) -> None:
        self.time = start

    def now(self) -> datetime:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += timedelta(seconds=max(0.0, seconds))
