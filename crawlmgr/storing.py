"""The interface between a kind of crawler and the crawl loop (`crawlmgr.engine`), and its second
half: handles responses, several in one transaction. Each one is parsed and stored, its
address is returned to the frontier for another try, or its address ends as failed.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Protocol, runtime_checkable

from django.conf import settings as django_settings
from django.db import transaction

from crawlmgr.archive import archive
from crawlmgr.clock import Clock
from crawlmgr.conf import CrawlSettings
from crawlmgr.database import sql
from crawlmgr.frontier import frontier, hosts
from crawlmgr.frontier.fetching import PRODUCT
from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.frontier.in_flight_pool import InFlightPool, Landed
from crawlmgr.models import Host, Run, Url, UrlState, WarcFile
from crawlmgr.runs import runs
from crawlmgr.web.http.exchange import Failure, FetchRequest, FetchResponse
from crawlmgr.web.robots import directives
from crawlmgr.web.url import host_key, url_hash
from crawlmgr.web.warc import RecordPointer


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


_VALUES = (
    *(
        "host_id",
        "url",
        "url_hash",
        "final_url",
        "status",
        "failure",
        "content_type",
        "encoding",
        "title",
        "etag",
    ),
    *(
        "last_modified",
        "digest",
        "received_bytes",
        "elapsed_seconds",
        "cut",
        "fetched_at",
        "depth",
        "relevance",
    ),
    *("warc_id", "warc_offset", "warc_length", "revisit"),
)
_PAGE = (
    # fixed names
    f"INSERT INTO crawlmgr_page (run_id, key_hash, {', '.join(_VALUES)})"  # noqa: S608
    f" VALUES ({', '.join(['%s'] * (len(_VALUES) + 2))}) ON CONFLICT (run_id, key_hash)"
    f" DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _VALUES)}"
)


def page_row(
    run_id: int,
    item: Url,
    response: FetchResponse,
    written: tuple[WarcFile, RecordPointer] | None,
    now: datetime,
    *,
    title: str,
    relevance: float | None,
) -> tuple[Any, ...]:
    """Returns the values of one page's row in the form that `add` takes. `written` is the WARC file
    and the position in it; None if the page was not archived."""
    file, pointer = written if written else (None, None)
    values = (
        *(item.host_id, item.url, url_hash(item.url), response.url, response.status),
        *(response.failure.value if response.failure else "", response.content_type[:100]),
        *(
            response.encoding[:40] if response.body else "",
            title[:500],
            (response.header("etag") or "")[:300],
        ),
        *(
            (response.header("last-modified") or "")[:100],
            pointer.digest if pointer else "",
            response.received_bytes,
        ),
        *(
            response.elapsed_seconds,
            response.truncated or "",
            now,
            item.depth,
            relevance,
            file.pk if file else None,
        ),
        *(pointer.offset if pointer else None, pointer.length if pointer else None),
        bool(pointer and pointer.type == "revisit"),
    )
    return (run_id, item.key_hash, *values)


def add_pages(rows: Sequence[tuple[Any, ...]]) -> None:
    """Writes rows of pages; a row for an address of which the run already has one replaces it."""
    if rows:
        sql.execute_many(_PAGE, rows)


PASSING = frozenset(
    {
        Failure.dns,
        Failure.connect,
        Failure.timeout,
        Failure.too_slow,
        Failure.reset,
        Failure.truncated,
        Failure.proxy,
        Failure.tls,
    }
)
UNREACHABLE = (Failure.dns, Failure.connect)
BUSY = (429, 503)
HOST_DOWN_AFTER = 6

Claim = Callable[[datetime], list[Url]]


@dataclass(slots=True)
class _Page:
    """A response that was parsed (`reading` is the crawler's result), and its position in the
    archive (`written`; None if it was not archived)."""

    landed: Landed
    reading: Any
    written: tuple[WarcFile, RecordPointer] | None


@dataclass(slots=True)
class _NoPage:
    """An address without a page: to be tried again if `state` is None, otherwise ended with a state
    and a reason."""

    item: Url
    state: UrlState | None
    reason: str
    landed: Landed | None = None


Found = _Page | _NoPage
"""What became of one claimed address."""


class Held(NamedTuple):
    """An outcome that waits to be stored: of a response, or of an address that ended without one
    (`landed` is None)."""

    found: Found
    landed: Landed | None


class Outcomes:
    """Outcomes that wait to be stored together: `size_bytes` in memory, and whether one of them is
    to be stored `soon`."""

    def __init__(self) -> None:
        self._held: list[Held] = []
        self._since, self.size_bytes, self.soon = 0.0, 0, False

    def __len__(self) -> int:
        return len(self._held)

    def items(self) -> list[Url]:
        """Returns the addresses of the responses."""
        return [one.landed.item for one in self._held if one.landed is not None]

    def add(self, one: Held, *, soon: bool) -> None:
        """Adds an outcome."""
        if not self._held:
            self._since, self.size_bytes, self.soon = time.monotonic(), 0, False
        self._held.append(one)
        self.size_bytes += one.landed.size_bytes if one.landed is not None else 0
        self.soon |= soon

    def seconds_left(self, seconds: float) -> float:
        """Returns how much is left of the time for which the first outcome may wait."""
        return max(0.0, self._since + seconds - time.monotonic())

    def take(self) -> list[Held]:
        """Returns the outcomes, which wait no longer."""
        held, self._held = self._held, []
        return held


def ended(item: Url, state: UrlState | None, reason: str) -> Found:
    """Returns the outcome of an address that ends without a response; with `state` None, of one
    that is to be tried again."""
    return _NoPage(item, state, reason)


class Storing:
    """Stores the responses of one slice of a run. `wanted` is the user's request to the run
    ("pause", "stop" or "") as of the last transaction."""

    def __init__(
        self,
        run: Run,
        crawler: Crawler,
        lease: runs.Lease,
        clock: Clock,
        settings: CrawlSettings,
        pool: InFlightPool,
    ) -> None:
        self.run, self.crawler, self.lease, self.clock, self.settings, self.pool = (
            run,
            crawler,
            lease,
            clock,
            settings,
            pool,
        )
        self.archive = archive.Archive(run.pk, clock.now())
        self.pace = hosts.OwnPace(settings) if paces_new_hosts(crawler) else None
        self.wanted = ""
        self.limit = hosts.HostLimit(run.pk, settings.pages_per_host)
        self._full = self.limit.full_hosts()
        self._seeds = run.kind in django_settings.RUNS_WITH_SEEDS
        self._tally = runs.Tally(seeds=self._seeds)
        # addresses whose final state is to be written in the current transaction
        self._ended: list[tuple[Url, UrlState, str]] = []

    def close(self) -> None:
        """Closes the archive file that this slice writes."""
        self.archive.close(self.clock.now())

    def read(self, landed: Landed) -> Found:
        """Returns the outcome of a response, for `keep` to write to the database. Parses the
        response unless the request failed, and then writes it to the archive unless the request is
        confidential or the page forbids it.
        """
        item, response = landed.item, landed.response
        if (failure := self._failure(landed)) is not None:
            return failure
        reading = self.crawler.read(self.run, item, response)
        noarchive = self.settings.obey_robots_meta and directives(response, PRODUCT).noarchive
        if landed.flight.request.confidential or noarchive:
            return _Page(landed, reading, None)
        earlier = archive.latest(item.url) if response.not_modified else None
        return _Page(
            landed, reading, self.archive.write(response, self.clock.now(), revisit=earlier)
        )

    def _failure(self, landed: Landed) -> _NoPage | None:
        """Returns the outcome of a failed request; None if there is a response to parse, which may
        be an error page. Temporary failures are retried until the allowed tries are used up. An
        address marked "once" is not retried, because the server may have processed the first
        request."""
        item, response = landed.item, landed.response
        busy = response.status in BUSY
        passing = response.failure in PASSING or (
            response.failure is None and (busy or response.status >= 500)
        )
        tries = 1 if item.payload.get("once") else self.settings.max_attempts + (2 if busy else 0)
        if response.failure is Failure.refused_address:
            return _NoPage(item, UrlState.REFUSED, _problem(response), landed)
        if passing and item.attempts < tries:
            return _NoPage(item, None, _problem(response), landed)
        # what arrived of a page that ends early each time is read, and the page marked as cut
        arrived = response.failure is Failure.truncated and response.status < 300
        if passing and not arrived or (response.failure is not None and not response.body):
            return _NoPage(item, UrlState.FAILED, _problem(response), landed)
        return None

    def keep(self, found: Sequence[Found], claim: Claim) -> list[Url]:
        """Stores outcomes in one transaction, and claims the next addresses in it by calling
        `claim`; returns these addresses."""
        now = self.clock.now()
        counts: Counter[str] = Counter()
        links: list[tuple[NewUrl, int | None]] = []
        rows: list[tuple[Any, ...]] = []
        self._ended, self._tally = [], runs.Tally(seeds=self._seeds)
        with transaction.atomic():
            for one in found:
                stored = self._store(one, now, counts, rows)
                parent = _item(one).pk
                links += [(link, parent) for link in stored.links]
            self.count(now, counts)
            self._end(now)
            add_pages(rows)
            self._tally.write(self.run.pk)
            frontier.add_many(self.run.pk, links, now, pace=self.pace)
            self._settle_limit(found, now)
            self.drop_full_hosts((link for link, _parent in links), now)
            self._settle(found, now)
            ahead = claim(now)
        for one in found:
            if one.landed is not None:
                self.pool.done(one.landed)
        return ahead

    def _store(
        self, one: Found, now: datetime, counts: Counter[str], rows: list[tuple[Any, ...]]
    ) -> Stored:
        """Stores the outcome of one address through the crawler, and adds its figures to the run's
        counters in `counts`. For a page, appends its row for the table of pages to `rows`. Returns
        the crawler's result."""
        if isinstance(one, _NoPage):
            return self._store_failure(one, now, counts)
        item, response = one.landed.item, one.landed.response
        stored = self.crawler.store(self.run, item, response, one.reading, now)
        counts.update({"fetched": 1, "bytes": response.received_bytes, **_times(stored.counts)})
        counts["failed"] += stored.state == UrlState.FAILED
        self._tally.answer(response)
        self._tally.page(item, response)
        self._tally.ended(item, UrlState(stored.state), stored.reason)
        self._ended.append((item, stored.state, stored.reason))
        rows.append(
            page_row(
                self.run.pk,
                item,
                response,
                one.written,
                now,
                title=stored.title,
                relevance=stored.relevance,
            )
        )
        return stored

    def _store_failure(self, failure: _NoPage, now: datetime, counts: Counter[str]) -> Stored:
        """Handles an address without a page: returns it to the frontier for another try (with an
        empty result), or ends it and returns the result of the crawler's `failed`."""
        if failure.landed is not None and failure.landed.response.requests:
            counts["busy"] += failure.landed.response.status in BUSY
            self._tally.answer(failure.landed.response)
        if failure.state is None:
            counts["retries"] += 1
            frontier.release(failure.item, due_at=now, reason=failure.reason)
            return Stored()
        received = failure.landed.response.received_bytes if failure.landed is not None else 0
        self._tally.ended(failure.item, failure.state, failure.reason, received)
        # final states are written first: the crawler's handling of a failed address may depend on
        # which others are still open
        self._end(now)
        counts.update(
            {"refused" if failure.state == UrlState.REFUSED else "failed": 1, "bytes": received}
        )
        stored = self.crawler.failed(self.run, failure.item, failure.reason, now)
        frontier.finish(failure.item, failure.state, now, failure.reason)
        return stored

    def _end(self, now: datetime) -> None:
        """Writes the final states of the addresses that were ended since the last call."""
        ended, self._ended = self._ended, []
        frontier.finish_many(ended, now)

    def _settle_limit(self, found: Sequence[Found], now: datetime) -> None:
        """Counts the stored pages per host. If a host has thereby reached the run's limit of pages
        per host, removes its waiting addresses from the frontier."""
        for one in found if self.limit.most else ():
            if one.landed is not None and self.limit.ended(
                _item(one).host_id, page=isinstance(one, _Page)
            ):
                host = self.pool.web.host(_item(one).host_id)
                self._full[host.key] = host.pk
                frontier.drop(self.run.pk, now, hosts.REASON, host=host)

    def drop_full_hosts(self, links: Iterable[NewUrl], now: datetime) -> None:
        """Drops from the frontier the waiting addresses on the hosts of `links` that have reached
        the run's limit of pages."""
        added = (
            {self._full[key] for link in links if (key := host_key(link.url)) in self._full}
            if self._full
            else ()
        )
        for pk in sorted(added):
            frontier.drop(self.run.pk, now, hosts.REASON, host=Host(pk=pk))

    def count(self, now: datetime, deltas: dict[str, int]) -> None:
        """Adds `deltas`, and the requests sent since the last call, to the run's counters. Raises
        LeaseLost if another worker has taken the run."""
        requests, self.pool.web.requests = self.pool.web.requests, 0
        self.wanted = runs.count(self.lease, now, {**deltas, "requests": requests})

    def _settle(self, found: Sequence[Found], now: datetime) -> None:
        """Updates the crawl delay and failures of the hosts of these responses, at the end of the
        transaction and in the order of the hosts' ids, to avoid deadlocks between such
        transactions. If a host was unreachable HOST_DOWN_AFTER times in a row, all its waiting
        addresses end, so that they are not tried one by one."""
        hours = hosts.Hours()
        for one in sorted(found, key=lambda one: _item(one).host_id):
            if one.landed is None or not one.landed.response.requests:
                continue
            host, response = self.pool.web.host(_item(one).host_id), one.landed.response
            hosts.settle(host, response, one.landed.at, one.landed.flight.sent_at, hours)
            given_up = (
                isinstance(one, _NoPage)
                and one.state == UrlState.FAILED
                and response.failure in UNREACHABLE
            )
            if given_up and host.failures >= HOST_DOWN_AFTER:
                frontier.drop(self.run.pk, now, "host_unreachable", host=host)
        hours.write()


def _item(one: Found) -> Url:
    return one.landed.item if isinstance(one, _Page) else one.item


def _times(counts: dict[str, int]) -> dict[str, int]:
    """Returns the counters without those that are 0."""
    return {name: number for name, number in counts.items() if number}


def _problem(response: FetchResponse) -> str:
    """Returns the reason why a request failed: "http_503", or the code of the failure, followed by
    details if there are any."""
    if response.failure is not None:
        return (
            f"{response.failure.value}: {response.detail}"
            if response.detail
            else response.failure.value
        )
    return f"http_{response.status}"
