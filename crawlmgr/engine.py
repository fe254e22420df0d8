"""The crawl loop: one slice of a run, safe to repeat and to kill at any moment; and what a crawler must offer."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol, runtime_checkable

from django.conf import settings as django_settings
from django.db import transaction
from django.utils.module_loading import import_string

from crawlmgr.clock import SYSTEM, Clock
from crawlmgr.conf import CrawlSettings
from crawlmgr.models import Run, RunState, Url, UrlState
from crawlmgr.services import archive, fetching, frontier, hosts, runs, sql
from crawlmgr.services.fetching import PRODUCT
from crawlmgr.services.frontier import NewUrl
from crawlmgr.web.exchange import Failure, FetchRequest, FetchResponse
from crawlmgr.web.robots_meta import wishes
from crawlmgr.web.url import url_hash

shutdown = threading.Event()  # set by a process that wants its slice to end after the page in hand
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
HOST_DOWN_AFTER = 6
PATIENCE_SECONDS = 3.0

_PAGE_VALUES = (
    *("host_id", "url", "url_hash", "final_url", "status", "failure", "content_type", "encoding", "title", "etag"),
    *(
        "last_modified",
        "digest",
        "received_bytes",
        "elapsed_seconds",
        "cut",
        "fetched_at",
        "depth",
        "relevance",
        "warc_id",
        "warc_offset",
    ),
    *("warc_length", "revisit"),
)
_PAGE = (
    f"INSERT INTO crawlmgr_page (run_id, key_hash, {', '.join(_PAGE_VALUES)})"  # noqa: S608 - fixed names
    f" VALUES ({', '.join(['%s'] * (len(_PAGE_VALUES) + 2))}) ON CONFLICT (run_id, key_hash)"
    f" DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _PAGE_VALUES)}"
)


@dataclass(slots=True)
class Stored:
    """What storing one page gave: further addresses, counter deltas, a reason where the address did not end well."""

    links: Sequence[NewUrl] = ()
    counts: dict[str, int] = field(default_factory=dict)
    state: UrlState = UrlState.DONE
    reason: str = ""
    title: str = ""
    relevance: float | None = None


class Crawler(Protocol):
    """One kind of crawling. `read` may take time and writes nothing; the others run inside the page's transaction."""

    def settings(self, run: Run) -> CrawlSettings: ...

    def begin(self, run: Run, now: datetime) -> Sequence[NewUrl]: ...

    def request(self, run: Run, item: Url) -> FetchRequest: ...

    def read(self, run: Run, item: Url, response: FetchResponse) -> Any: ...

    def store(self, run: Run, item: Url, response: FetchResponse, reading: Any, now: datetime) -> Stored: ...

    def failed(self, run: Run, item: Url, reason: str, now: datetime) -> Stored: ...

    def idle(self, run: Run, now: datetime) -> Sequence[NewUrl] | str: ...

    def ended(self, run: Run, state: str, now: datetime) -> None: ...


class Interrupted(Exception):
    """Raised by a pulse: a person wants the run paused or stopped, the process ends, or the task's time is all but over."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@runtime_checkable
class Pulses(Protocol):
    """A crawler whose `settings` may take longer than a lease lasts: meanwhile it calls the pulse that it was given, at least
    every second, lets through what that raises, and goes on from there in the next slice."""

    def heed(self, pulse: Callable[[], None]) -> None: ...


@runtime_checkable
class Prepares(Protocol):
    """A crawler whose beginning takes time to compute: done here, outside any transaction, for `begin` to store."""

    def prepare(self, run: Run, now: datetime) -> None: ...


def holder() -> str:
    """This process's name in leases."""
    return f"{os.environ.get('CRAWLMGR_NODE') or socket.gethostname()}:{os.getpid()}"


def run_slice(run_id: int, *, clock: Clock = SYSTEM, seconds: float | None = None, on_page: Any = None) -> str:
    """Works a run for one slice (`seconds` None: until it ends or must wait long). Returns the run's state, "leased" where
    another worker has it. Queueing the next slice is the caller's."""
    lease = runs.take(run_id, holder(), clock.now(), django_settings.LEASE_SECONDS)
    if lease is None:
        return "leased"
    run = Run.objects.get(pk=run_id)
    crawler: Crawler = import_string(django_settings.CRAWLERS[run.kind])()
    try:
        return _Slice(run, crawler, lease, clock, seconds, on_page).work()
    except runs.LeaseLost:
        return "leased"
    except Exception as error:
        with transaction.atomic():
            if runs.broke(lease, f"{type(error).__name__}: {error}", clock.now()):
                crawler.ended(run, RunState.FAILED, clock.now())
        raise


class _Slice:
    def __init__(self, run: Run, crawler: Crawler, lease: runs.Lease, clock: Clock, seconds: float | None, on_page: Any) -> None:
        self.run, self.crawler, self.lease, self.clock = run, crawler, lease, clock
        self.seconds, self.on_page = seconds, on_page
        self.beaten = self.answered = now = clock.now()
        self.wanted = run.wanted
        self.until: datetime | None = None
        self.limit = None if seconds is None else now + timedelta(seconds=django_settings.TASK_TIMEOUT_SECONDS * 0.8)
        self.ahead: Url | None = None  # the address that was claimed in the last page's transaction
        if isinstance(crawler, Pulses):
            crawler.heed(self._pulse)

    def work(self) -> str:
        try:
            self.settings = self.crawler.settings(self.run)
        except Interrupted:
            self.until = self.clock.now()
            return self._wishes()
        self.web = fetching.WebSession(self.settings, self.clock)
        self.archive = archive.Archive(self.run.pk, self.clock.now())
        if self.seconds is not None:
            self.until = self.clock.now() + timedelta(seconds=self.seconds)
        return self._work()

    def _work(self) -> str:
        try:
            self._begin()
            while True:
                ended = self._wishes() or self._step()
                if ended:
                    return ended
        except archive.DiskLow as error:
            return self._end(RunState.PAUSED, "disk_low", str(error))
        finally:
            self.web.close()
            self.archive.close(self.clock.now())

    def _begin(self) -> None:
        now = self.clock.now()
        if not self.run.begun and isinstance(self.crawler, Prepares):
            self.crawler.prepare(self.run, now)
        with transaction.atomic():
            runs.count(self.lease, now, {})
            frontier.reclaim(self.run.pk, now, self.lease.fence)
            if not self.run.begun:
                self._add(self.crawler.begin(self.run, now), now)
                runs.begun(self.lease)
                self.run.begun = True

    def _add(self, links: Sequence[NewUrl], now: datetime, parent: Url | None = None) -> None:
        frontier.add(self.run.pk, links, now, parent_id=parent.pk if parent else None)

    def _pulse(self) -> None:
        """Prolongs the lease while the crawler is at something long, and ends that where it must not go on."""
        now = self.clock.now()
        self._beat(now)
        if why := self.wanted or ("shutdown" if shutdown.is_set() else ""):
            raise Interrupted(why)
        if self.limit is not None and now >= self.limit:
            raise Interrupted("time")

    def _beat(self, now: datetime) -> None:
        if (now - self.beaten).total_seconds() >= min(1.0, self.lease.seconds / 5):
            self.beaten, self.wanted = now, runs.beat(self.lease, now)

    def _wishes(self) -> str:
        now = self.clock.now()
        self._beat(now)
        if self._leaving(now) and self.ahead is not None:
            frontier.give_back(self.ahead, attempt=False)
            self.ahead = None
        if self.wanted == "pause":
            return self._end(RunState.PAUSED, "", "")
        if self.wanted == "stop":
            return self._end(RunState.STOPPED, "stopped", "")
        if self._leaving(now):
            runs.release(self.lease)
            return RunState.RUNNING
        return ""

    def _leaving(self, now: datetime) -> bool:
        return bool(self.wanted) or shutdown.is_set() or (self.until is not None and now >= self.until)

    def _claim(self, now: datetime) -> Url | None:
        return frontier.claim(self.run.pk, self.lease.fence, now, self.settings.total_timeout_seconds + 30)

    def _claim_ahead(self, now: datetime) -> Url | None:
        """The next address in the transaction of the page before it, which saves the claim one of its own."""
        return None if self._leaving(now) else self._claim(now)

    def _step(self) -> str:
        now = self.clock.now()
        item, self.ahead = self.ahead or self._claim(now), None
        if item is None:
            return self._nothing(now)
        if item.payload.get("once") and item.attempts > 1:
            self._fail(item, UrlState.FAILED, "sent_once")
            return ""
        try:
            allowed, reason = self.web.allowed(item.url, self.web.host(item.host_id))
        except fetching.TurnTaken:
            frontier.give_back(item, attempt=False)
            self._count_requests(self.clock.now(), {})
            return ""
        if not allowed:
            self._fail(item, UrlState.REFUSED, reason)
            return ""
        request = self.crawler.request(self.run, item)
        response = self.web.fetch(request)
        self.answered = self.clock.now()
        if self._again(item, response):
            return ""
        reading = self.crawler.read(self.run, item, response)
        keep = not request.confidential and not (self.settings.obey_robots_meta and wishes(response, PRODUCT).noarchive)
        self._commit(item, response, reading, keep=keep)
        if self.on_page is not None:
            self.on_page(self.run, item, response)
        return ""

    def _again(self, item: Url, response: FetchResponse) -> bool:
        """Puts an address that failed in passing back for another try; ends it when the tries are used up, or when its
        payload says that it is to be sent once: whether a lost answer had been acted on cannot be known."""
        busy = response.status in (429, 503)
        passing = response.failure in PASSING or (response.failure is None and (busy or response.status >= 500))
        now = self.clock.now()
        tries = 1 if item.payload.get("once") else self.settings.max_attempts + (2 if busy else 0)
        if passing and item.attempts < tries:
            with transaction.atomic():
                self._count_requests(now, {})
                frontier.give_back(item, due_at=now, reason=_problem(response))
                self._settle(item, response)
            return True
        if passing or (response.failure is not None and not response.body):
            self._fail(item, UrlState.FAILED, _problem(response), response)
            self._give_up_host(item, response)
            return True
        return False

    def _give_up_host(self, item: Url, response: FetchResponse) -> None:
        """A host that cannot be reached at all costs a few tries, not one try for each of its addresses."""
        host = self.web.host(item.host_id)
        if host.failures >= HOST_DOWN_AFTER and response.failure in UNREACHABLE:
            frontier.drop(self.run.pk, self.clock.now(), "host_unreachable", host=host)

    def _fail(self, item: Url, state: UrlState, reason: str, response: FetchResponse | None = None) -> None:
        now = self.clock.now()
        with transaction.atomic():
            self._count_requests(now, {"refused" if state == UrlState.REFUSED else "failed": 1}, response)
            stored = self.crawler.failed(self.run, item, reason, now)
            self._add(stored.links, now, item)
            frontier.finish(item, state, now, reason)
            if response is not None:
                self._settle(item, response)

    def _settle(self, item: Url, response: FetchResponse) -> None:
        """Last in a transaction: what waits for the host's row holds nothing that this transaction is to wait for."""
        hosts.settle(self.web.host(item.host_id), response, self.answered)

    def _commit(self, item: Url, response: FetchResponse, reading: Any, *, keep: bool = True) -> None:
        now = self.clock.now()
        earlier = None
        if response.not_modified:
            earlier = archive.latest(item.url)
        written = self.archive.write(response, now, revisit=earlier) if keep else None
        with transaction.atomic():
            stored = self.crawler.store(self.run, item, response, reading, now)
            self._count_requests(now, {"fetched": 1, **stored.counts}, response)
            self._page(item, response, stored, written, now)
            self._add(stored.links, now, item)
            frontier.finish(item, stored.state, now, stored.reason)
            self._settle(item, response)
            ahead = self._claim_ahead(now)
        self.ahead = ahead

    def _count_requests(self, now: datetime, deltas: dict[str, int], response: FetchResponse | None = None) -> None:
        requests, self.web.requests = self.web.requests, 0
        received = response.received_bytes if response else 0
        self.wanted = runs.count(self.lease, now, {"requests": requests, "bytes": received, **deltas})
        self.beaten = now

    def _page(self, item: Url, response: FetchResponse, stored: Stored, written: Any, now: datetime) -> None:
        file, pointer = written if written else (None, None)
        values = (
            *(item.host_id, item.url, url_hash(item.url), response.url, response.status),
            *(response.failure.value if response.failure else "", response.content_type[:100]),
            *(response.encoding[:40] if response.body else "", stored.title[:500], (response.header("etag") or "")[:300]),
            *((response.header("last-modified") or "")[:100], pointer.digest if pointer else "", response.received_bytes),
            *(response.elapsed_seconds, response.cut or "", now, item.depth, stored.relevance, file.pk if file else None),
            *(pointer.offset if pointer else None, pointer.length if pointer else None),
            bool(pointer and pointer.type == "revisit"),
        )
        sql.execute(_PAGE, (self.run.pk, item.key_hash, *values))

    def _nothing(self, now: datetime) -> str:
        wait = frontier.next_turn(self.run.pk, now)
        if wait is None:
            with transaction.atomic():
                runs.count(self.lease, now, {})
                more = self.crawler.idle(self.run, now)
                if not isinstance(more, str):
                    self._add(more, now)
                    return ""
            return self._end(RunState.FINISHED, more, "")
        seconds = (wait.until - now).total_seconds()
        if seconds > PATIENCE_SECONDS and self.until is not None:
            runs.release(self.lease, waiting_for=wait.host, waiting_until=wait.until)
            return RunState.RUNNING
        self.clock.sleep(min(max(seconds, 0.02), 0.5))
        return ""

    def _end(self, state: str, stopped_by: str, detail: str) -> str:
        now = self.clock.now()
        with transaction.atomic():
            runs.end(self.lease, state, stopped_by, now, detail)
            self.crawler.ended(self.run, state, now)
        return state


def _problem(response: FetchResponse) -> str:
    if response.failure is not None:
        return f"{response.failure.value}: {response.detail}" if response.detail else response.failure.value
    return f"http_{response.status}"
