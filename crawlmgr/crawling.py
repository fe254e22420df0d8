"""The interface between a crawler and the crawl loop: required and optional methods, and the values passed between them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from crawlmgr.conf import CrawlSettings
from crawlmgr.models import Run, Url, UrlState
from crawlmgr.services.frontier import NewUrl
from crawlmgr.web.exchange import FetchRequest, FetchResponse


@dataclass(slots=True)
class Stored:
    """The result of storing one page: further addresses, counter increments, and a reason if the address failed."""

    links: Sequence[NewUrl] = ()
    counts: dict[str, int] = field(default_factory=dict)
    state: UrlState = UrlState.DONE
    reason: str = ""
    title: str = ""
    relevance: float | None = None


class Crawler(Protocol):
    """One kind of crawling. `read` may take time and writes nothing; the other methods run inside the page's transaction.

    Several requests are in flight at once, and pages are read and stored in order of arrival. A crawler can restrict this by
    class attributes (see `pages_together`, `alone_kinds`, `tells_why` and `paces_new_hosts`).
    """

    def settings(self, run: Run) -> CrawlSettings: ...

    def begin(self, run: Run, now: datetime) -> Sequence[NewUrl]: ...

    def request(self, run: Run, item: Url) -> FetchRequest: ...

    def read(self, run: Run, item: Url, response: FetchResponse) -> Any: ...

    def store(self, run: Run, item: Url, response: FetchResponse, reading: Any, now: datetime) -> Stored: ...

    def failed(self, run: Run, item: Url, reason: str, now: datetime) -> Stored: ...

    def idle(self, run: Run, now: datetime) -> Sequence[NewUrl] | str: ...

    def ended(self, run: Run, state: str, now: datetime) -> None: ...


@runtime_checkable
class Pulses(Protocol):
    """A crawler whose `settings` may take longer than a lease lasts: while it computes, it calls the given heartbeat function at
    least every second, does not catch what that raises, and continues from there in the next slice."""

    def set_heartbeat(self, pulse: Callable[[], None]) -> None: ...


@runtime_checkable
class Prepares(Protocol):
    """A crawler whose start takes time to compute: `prepare` runs outside any transaction, and `begin` stores its result."""

    def prepare(self, run: Run, now: datetime) -> None: ...


@runtime_checkable
class Remembers(Protocol):
    """A crawler that keeps a run's state in memory between slices. `forget` drops that state after an error ended a slice,
    because the transaction was rolled back and the state no longer agrees with the database."""

    def forget(self, run: Run) -> None: ...


def pages_together(crawler: Crawler) -> int:
    """How many received pages are read before the first is stored, all in one transaction; 1 (the default) if reading a page
    depends on storing the page before."""
    return int(getattr(crawler, "pages_together", 1))


def alone_kinds(crawler: Crawler) -> Collection[str]:
    """Kinds of addresses that are requested with no other request of the run in flight, because the next step depends on the
    answer."""
    return frozenset(getattr(crawler, "alone_kinds", ()))


def tells_why(crawler: Crawler) -> bool:
    """Tells whether a run that fetched nothing ends with the reason given by `idle` instead of the general "unreachable"."""
    return bool(getattr(crawler, "tells_why", False))


def paces_new_hosts(crawler: Crawler) -> bool:
    """Tells whether hosts never requested before take their crawl delay from the run's settings, not from the installation's."""
    return bool(getattr(crawler, "paces_new_hosts", False))
