"""The interface between the command `demo` and each crawler's part of the demonstration: a part
adds its website of the demonstration to the database, crawls it, and removes it again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from crawlmgr.clock import SYSTEM, Clock, PastClock
from crawlmgr.management import foreground
from crawlmgr.models import ACTIVE, Run
from crawlmgr.runs import runs
from crawlmgr.upkeep.demonstration import MARK

CLOCK = PastClock()
"""The clock of the demonstration's forum; set back to the previous day, it makes that day pass in a
minute or two."""


class Served(NamedTuple):
    """A website of the demonstration: its address, and when it was first served."""

    url: str
    began: datetime


class DeskPage(NamedTuple):
    """A view of the web interface that the demonstration recommends: `words` describe it, `name`
    and `arguments` give its URL (as Django's `reverse` takes them)."""

    words: str
    name: str
    arguments: tuple[int, ...]


class Part(Protocol):
    """One crawler's part of the demonstration, as `demo` calls it.

    - `kept` returns the website of an earlier demonstration; None if there was none.
    - `add` adds the website to the database, `finish` crawls it and returns figures to print; both
      reuse earlier objects.
    - `pages` returns views of the web interface to recommend. `leave` pauses scheduled visits when
      `demo` ends.
    - `remove` deletes all but archived pages; returns a line for each website.
    """

    def kept(self) -> Served | None: ...

    def add(self, url: str, began: datetime) -> None: ...

    def finish(self) -> dict[str, Any]: ...

    def pages(self) -> list[DeskPage]: ...

    def leave(self, now: datetime) -> None: ...

    def remove(self, now: datetime) -> list[str]: ...


def crawl_settings(url: str, began: datetime) -> dict[str, Any]:
    """Returns the crawl settings of a demonstration website: its private address is allowed, there
    is no delay, and under the key MARK the time `began` when the website was first served."""
    return {"allow_private": urlsplit(url).netloc, "delay_seconds": 0.0, MARK: began.isoformat()}


def kept(url: str, settings: dict[str, Any]) -> Served:
    """Returns the address and start time of a demonstration website; the start time is in its crawl
    settings."""
    return Served(url, datetime.fromisoformat(settings[MARK]))


def worked(begin: Callable[[], Run], label: str, clock: Clock = SYSTEM) -> Run:
    """Starts a run with `begin`, works on it to its end and returns it; `label` is printed with the
    progress. If a killed demonstration left a run unfinished, that one is continued after its lease
    has expired, unless another worker took it.
    """
    try:
        run = begin()
    except runs.Busy as busy:
        run = _freed(busy.run)
        if run.state not in ACTIVE:
            return run
        run = foreground.joined(runs.Busy(run), label.partition(",")[0])
    return foreground.work(run, label, clock)


def _freed(run: Run) -> Run:
    """Waits until the run's lease has expired by the real time (not by the demonstration's clock,
    which may differ) or the run has ended, removes the lease, and returns the run."""
    while run.state in ACTIVE and run.lease_until is not None and run.lease_until > SYSTEM.now():
        SYSTEM.sleep(0.1)
        run.refresh_from_db()
    Run.objects.filter(pk=run.pk, lease_until=run.lease_until, state__in=ACTIVE).update(
        lease_until=None
    )
    return run


def own_runs() -> Any:
    """Returns a queryset of all runs on the demonstration's websites."""
    return Run.objects.filter(**{f"parameters__settings__{MARK}__isnull": False})
