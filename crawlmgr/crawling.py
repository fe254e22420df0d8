"""The interface between a kind of crawler and the crawl loop (`crawlmgr.engine`): required and
optional methods, and the values passed between them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from crawlmgr.conf import CrawlSettings
from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.models import Run, Url, UrlState
from crawlmgr.web.http.exchange import FetchRequest, FetchResponse


@dataclass(slots=True)
class Stored:
    """The result of storing one page: links to add to the frontier, the amounts by which the run's
    counters increase (`counts`), the new state of the page's address, and the reason for that
    state, a short code ("" for none). `title` and `relevance` are stored with the page."""

    links: Sequence[NewUrl] = ()
    counts: dict[str, int] = field(default_factory=dict)
    state: UrlState = UrlState.DONE
    reason: str = ""
    title: str = ""
    relevance: float | None = None


class Crawler(Protocol):
    """One kind of crawling, as the crawl loop calls it.

    `settings` returns the settings of a run. `begin` is called once and returns the first
    addresses. `request` makes the request for an address of the frontier. `read` parses the
    response; it may take time and must not write to the database. `store` writes what `read`
    returned, `failed` handles an address that ended without a page. `idle` is called when no
    address waits, and returns more addresses or a code of the reason for which the run ends.
    `ended` is called when the run ends or pauses. `begin`, `store`, `failed`, `idle` and `ended`
    run inside the transaction in which the crawl loop writes the same change, so that both are
    committed together.

    Several requests are in flight at once, and pages are parsed and stored in order of arrival. A
    crawler can restrict this, and change two other rules, by class attributes (see
    `pages_together`, `alone_kinds`, `own_end_reason` and `paces_new_hosts`).
    """

    def settings(self, run: Run) -> CrawlSettings: ...

    def begin(self, run: Run, now: datetime) -> Sequence[NewUrl]: ...

    def request(self, run: Run, item: Url) -> FetchRequest: ...

    def read(self, run: Run, item: Url, response: FetchResponse) -> Any: ...

    def store(
        self, run: Run, item: Url, response: FetchResponse, reading: Any, now: datetime
    ) -> Stored: ...

    def failed(self, run: Run, item: Url, reason: str, now: datetime) -> Stored: ...

    def idle(self, run: Run, now: datetime) -> Sequence[NewUrl] | str: ...

    def ended(self, run: Run, state: str, now: datetime) -> None: ...


@runtime_checkable
class UsesHeartbeat(Protocol):
    """Optional method of a crawler whose `settings` method may take longer than a lease lasts:
    receives the function `pulse`, which `settings` must call at least once a second while it
    computes. `settings` must not catch exceptions from `pulse`: they end the slice, and the
    computation continues in the run's next slice."""

    def set_heartbeat(self, pulse: Callable[[], None]) -> None: ...


@runtime_checkable
class Prepares(Protocol):
    """Optional method of a crawler whose start takes long to compute: `prepare` is called before
    `begin`, outside any transaction, and keeps its result for `begin` to store."""

    def prepare(self, run: Run, now: datetime) -> None: ...


@runtime_checkable
class Remembers(Protocol):
    """Optional method of a crawler that keeps a run's state in memory between slices. `forget`
    discards that state after an error ended a slice: the transaction was rolled back, so the state
    no longer agrees with the database.
    """

    def forget(self, run: Run) -> None: ...


@runtime_checkable
class Limited(Protocol):
    """Optional method of a crawler whose runs may have a time limit: `deadline` returns the time at
    which a run ends, None for no limit. From then on `idle` returns the reason of the end, even if
    addresses wait in the frontier, and drops them."""

    def deadline(self, run: Run) -> datetime | None: ...


def deadline(crawler: Crawler, run: Run) -> datetime | None:
    """Returns the time at which a run ends (see `Limited`); None for no limit."""
    return crawler.deadline(run) if isinstance(crawler, Limited) else None


def pages_together(crawler: Crawler) -> int:
    """Returns how many received pages may be parsed before the first of them is stored, to be
    stored in one transaction. The default is 1, for crawlers in which parsing a page depends on the
    stored result of the page before.
    """
    return int(getattr(crawler, "pages_together", 1))


def alone_kinds(crawler: Crawler) -> Collection[str]:
    """Returns the values of `Url.kind` whose addresses are requested only while no other request of
    the run is in flight, because what is requested next depends on the response; none by default.
    """
    return frozenset(getattr(crawler, "alone_kinds", ()))


def own_end_reason(crawler: Crawler) -> bool:
    """Tells whether a run that could not fetch any page ends with the reason returned by `idle`
    instead of "unreachable"; False by default."""
    return bool(getattr(crawler, "own_end_reason", False))


def paces_new_hosts(crawler: Crawler) -> bool:
    """Tells whether hosts that were never requested before get their crawl delay from the run's
    settings instead of the installation's; False by default."""
    return bool(getattr(crawler, "paces_new_hosts", False))
