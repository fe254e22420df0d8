"""Time that stands still: a cache whose entries never age, and a clock for modules that ask for the
time themselves. What a test counts (queries, requests) then depends neither on the moment at which
it runs nor on how busy the machine is."""

from __future__ import annotations

from datetime import datetime, tzinfo

import pytest
from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.locmem import LocMemCache


class StandingCache(LocMemCache):
    """A cache in memory that keeps its entries until it is emptied, however long they may live; one
    that may not live at all is not kept."""

    def get_backend_timeout(self, timeout: float | object | None = DEFAULT_TIMEOUT) -> float | None:
        return -1 if isinstance(timeout, int | float) and timeout <= 0 else None


class StandingClock:
    """Replaces `datetime` in modules: their `datetime.now()` returns `moment`, which a test may
    set."""

    def __init__(self, patch: pytest.MonkeyPatch, moment: datetime, *modules: str) -> None:
        self.moment = moment
        outer = self

        class Standing(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
                return outer.moment.astimezone(tz)

        for module in modules:
            patch.setattr(f"{module}.datetime", Standing)
