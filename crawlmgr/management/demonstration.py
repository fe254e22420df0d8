"""The interface of `demo` to each crawler: a part that adds its site of the demonstration web, crawls it, and removes it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from crawlmgr.clock import SYSTEM, Clock, PastClock
from crawlmgr.management import foreground
from crawlmgr.models import ACTIVE, Run
from crawlmgr.services import runs
from crawlmgr.services.demonstration import MARK

CLOCK = PastClock()
"""The clock of the demonstration's forum; set back, it makes the previous day pass in a minute or two."""


class Served(NamedTuple):
    """A site of the demonstration: its address, and when it was first served."""

    url: str
    began: datetime


class Room(NamedTuple):
    """A page of the desk to look at."""

    words: str
    name: str
    arguments: tuple[int, ...]


class Part(Protocol):
    """One crawler's part of the demonstration. Every run of `demo` calls `add` and then `finish`, which reuse existing objects,
    and at the end `leave`."""

    def kept(self) -> Served | None: ...

    def add(self, url: str, began: datetime) -> None: ...

    def finish(self) -> dict[str, Any]: ...

    def rooms(self) -> list[Room]: ...

    def leave(self, now: datetime) -> None: ...

    def remove(self, now: datetime) -> list[str]: ...


def crawl_settings(url: str, began: datetime) -> dict[str, Any]:
    """Crawl settings of a demonstration site: its private address allowed, no delay, and the mark with its start time."""
    return {"allow_private": urlsplit(url).netloc, "delay_seconds": 0.0, MARK: began.isoformat()}


def kept(url: str, settings: dict[str, Any]) -> Served:
    """The address and start time stored in a demonstration site's settings."""
    return Served(url, datetime.fromisoformat(settings[MARK]))


def worked(begin: Callable[[], Run], label: str, clock: Clock = SYSTEM) -> Run:
    """Starts a run and works on it to its end. A run left by a killed demonstration is continued once its lease has expired, or
    left to the worker that has taken it meanwhile."""
    try:
        run = begin()
    except runs.Busy as busy:
        run = _freed(busy.run)
        if run.state not in ACTIVE:
            return run
        run = foreground.joined(runs.Busy(run), label.partition(",")[0])
    return foreground.work(run, label, clock)


def _freed(run: Run) -> Run:
    """Waits until nobody holds the run's lease or the run has ended. Leases are judged by the real time, not the demonstration's
    clock."""
    while run.state in ACTIVE and run.lease_until is not None and run.lease_until > SYSTEM.now():
        SYSTEM.sleep(0.1)
        run.refresh_from_db()
    Run.objects.filter(pk=run.pk, lease_until=run.lease_until, state__in=ACTIVE).update(lease_until=None)
    return run


def own_runs() -> Any:
    """Every run on the demonstration's sites."""
    return Run.objects.filter(**{f"parameters__settings__{MARK}__isnull": False})
