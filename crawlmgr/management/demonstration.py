"""What `demo` asks of each crawler: a part that adds its own site of the demonstration web, crawls it, and takes it away."""

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
"""By it the demonstration's forum goes; put back, it lets the day before pass in a minute or two."""


class Served(NamedTuple):
    """A site of the demonstration: its address, and when it was first shown."""

    url: str
    began: datetime


class Room(NamedTuple):
    """A page of the desk to look at."""

    words: str
    name: str
    arguments: tuple[int, ...]


class Part(Protocol):
    """One crawler's part. Life: add → finish, each time; what is there already is used again. Then leave, at the end."""

    def kept(self) -> Served | None: ...

    def add(self, url: str, began: datetime) -> None: ...

    def finish(self) -> dict[str, Any]: ...

    def rooms(self) -> list[Room]: ...

    def leave(self, now: datetime) -> None: ...

    def remove(self, now: datetime) -> list[str]: ...


def crawl_settings(url: str, began: datetime) -> dict[str, Any]:
    """Crawl settings of a site of the demonstration: this one private address, no pause, and the mark."""
    return {"allow_private": urlsplit(url).netloc, "delay_seconds": 0.0, MARK: began.isoformat()}


def kept(url: str, settings: dict[str, Any]) -> Served:
    """What a marked row tells."""
    return Served(url, datetime.fromisoformat(settings[MARK]))


def worked(begin: Callable[[], Run], label: str, clock: Clock = SYSTEM) -> Run:
    """Begins a run and works it to its end. One that is there already, because a demonstration was killed over it, goes on here
    once the lease of that process is over, or is left to the worker that has taken it meanwhile."""
    try:
        run = begin()
    except runs.Busy as busy:
        run = _freed(busy.run)
        if run.state not in ACTIVE:
            return run
        run = foreground.joined(runs.Busy(run), label.partition(",")[0])
    return foreground.work(run, label, clock)


def _freed(run: Run) -> Run:
    """The run once nobody holds it, or it has ended. Leases are judged by the present, whatever the demonstration's clock."""
    while run.state in ACTIVE and run.lease_until is not None and run.lease_until > SYSTEM.now():
        SYSTEM.sleep(0.1)
        run.refresh_from_db()
    Run.objects.filter(pk=run.pk, lease_until=run.lease_until, state__in=ACTIVE).update(lease_until=None)
    return run


def own_runs() -> Any:
    """Every run that the demonstration's sites have had."""
    return Run.objects.filter(**{f"parameters__settings__{MARK}__isnull": False})
