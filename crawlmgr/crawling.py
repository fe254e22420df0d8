"""The interface between a kind of crawler and the crawl loop (`crawlmgr.engine`): required and optional methods, and the values
passed between them."""

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
    """The result of storing one page: links to add to the frontier, increments of the run's counters (`counts`), the state of
    the page's address, and a reason if it failed. `title` and `relevance` are stored with the page."""

    links: Sequence[NewUrl] = ()
    counts: dict[str, int] = field(default_factory=dict)
    state: UrlState = UrlState.DONE
    reason: str = ""
    title: str = ""
    relevance: float | None = None


class Crawler(Protocol):
    """One kind of crawling, as the crawl loop calls it.

    `settings` returns the settings of a run. `begin` is called once and returns the first addresses. `request` makes the
    request for an address of the frontier. `read` parses the response; it may take time and must not write to the database.
    `store` writes what `read` returned, `failed` handles an address that ended without a page. `idle` is called when no address
    waits, and returns more addresses or the reason for which the run ends. `ended` is called when the run ends or pauses. All
    methods that write run inside the transaction of the page.

    Several requests are in flight at once, and pages are parsed and stored in order of arrival. A crawler can restrict this by
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
    """Optional methods of a crawler whose `settings` may take longer than a lease lasts. While it computes, it must call the
    given heartbeat function at least every second, must not catch what that raises, and continues from there in the next slice.
    """

    def set_heartbeat(self, pulse: Callable[[], None]) -> None: ...


@runtime_checkable
class Prepares(Protocol):
    """Optional methods of a crawler whose start takes time to compute: `prepare` runs outside any transaction, and `begin`
    stores its result."""

    def prepare(self, run: Run, now: datetime) -> None: ...


@runtime_checkable
class Remembers(Protocol):
    """Optional methods of a crawler that keeps a run's state in memory between slices. `forget` discards that state after an
    error ended a slice, because the transaction was rolled back and the state no longer agrees with the database."""

    def forget(self, run: Run) -> None: ...


def pages_together(crawler: Crawler) -> int:
    """Returns how many received pages may be parsed before the first of them is stored, all in one transaction; 1 (the default)
    if parsing a page depends on the stored result of the page before."""
    return int(getattr(crawler, "pages_together", 1))


def alone_kinds(crawler: Crawler) -> Collection[str]:
    """Returns the kinds of addresses that are requested only while no other request of the run is in flight, because what is
    requested next depends on the response."""
    return frozenset(getattr(crawler, "alone_kinds", ()))


def tells_why(crawler: Crawler) -> bool:
    """Tells whether a run none of whose pages could be fetched ends with the reason returned by `idle` instead of
    "unreachable"."""
    return bool(getattr(crawler, "tells_why", False))


def paces_new_hosts(crawler: Crawler) -> bool:
    """Tells whether hosts that were never requested before get their crawl delay from the run's settings instead of the
    installation's."""
    return bool(getattr(crawler, "paces_new_hosts", False))
