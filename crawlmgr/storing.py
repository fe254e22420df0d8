"""What answers become: read and stored, put back for another try, or ended; several in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from crawlmgr.clock import Clock
from crawlmgr.conf import CrawlSettings
from crawlmgr.crawling import Crawler, Stored, paces_new_hosts
from crawlmgr.models import Run, Url, UrlState, WarcFile
from crawlmgr.services import archive, frontier, hosts, pages, runs
from crawlmgr.services.fetching import PRODUCT
from crawlmgr.services.frontier import NewUrl
from crawlmgr.services.line import Landed, Line
from crawlmgr.web.exchange import Failure, FetchResponse
from crawlmgr.web.robots_meta import wishes
from crawlmgr.web.warc import RecordPointer

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
    """A page that was read, and where the archive has it."""

    landed: Landed
    reading: Any
    written: tuple[WarcFile, RecordPointer] | None


@dataclass(slots=True)
class _Lost:
    """An address that gave no page: to be tried again (`state` None), or ended with a state and a reason."""

    item: Url
    state: UrlState | None
    reason: str
    landed: Landed | None = None


Found = _Page | _Lost
"""What an address came to."""


def ended(item: Url, state: UrlState, reason: str) -> Found:
    """An address that ends without having been asked for."""
    return _Lost(item, state, reason)


class Storing:
    """Stores for one slice of a run. `wanted` is what a person asked for, as the last transaction saw it."""

    def __init__(self, run: Run, crawler: Crawler, lease: runs.Lease, clock: Clock, settings: CrawlSettings, line: Line) -> None:
        self.run, self.crawler, self.lease, self.clock, self.settings, self.line = run, crawler, lease, clock, settings, line
        self.archive = archive.Archive(run.pk, clock.now())
        self.pace = hosts.OwnPace(settings) if paces_new_hosts(crawler) else None
        self.wanted = ""
        self._ended: list[tuple[Url, UrlState, str]] = []  # of the transaction in hand

    def close(self) -> None:
        """Closes the archive's file."""
        self.archive.close(self.clock.now())

    def read(self, landed: Landed) -> Found:
        """Reads an answer and writes it into the archive; `keep` stores what this returns."""
        item, response = landed.item, landed.response
        if (lost := self._lost(landed)) is not None:
            return lost
        reading = self.crawler.read(self.run, item, response)
        noarchive = self.settings.obey_robots_meta and wishes(response, PRODUCT).noarchive
        if landed.flight.request.confidential or noarchive:
            return _Page(landed, reading, None)
        earlier = archive.latest(item.url) if response.not_modified else None
        return _Page(landed, reading, self.archive.write(response, self.clock.now(), revisit=earlier))

    def _lost(self, landed: Landed) -> _Lost | None:
        """An address that failed in passing is to be tried again; it ends when the tries are used up, or when its payload says
        that it is to be sent once: whether a lost answer had been acted on cannot be known."""
        item, response = landed.item, landed.response
        busy = response.status in BUSY
        passing = response.failure in PASSING or (response.failure is None and (busy or response.status >= 500))
        tries = 1 if item.payload.get("once") else self.settings.max_attempts + (2 if busy else 0)
        if passing and item.attempts < tries:
            return _Lost(item, None, _problem(response), landed)
        if passing or (response.failure is not None and not response.body):
            return _Lost(item, UrlState.FAILED, _problem(response), landed)
        return None

    def keep(self, found: Sequence[Found], claim: Claim) -> list[Url]:
        """Stores what answers gave in one transaction, which claims the next addresses too: returns those."""
        now = self.clock.now()
        counts: Counter[str] = Counter()
        links: list[tuple[NewUrl, int | None]] = []
        rows: list[tuple[Any, ...]] = []
        self._ended = []
        with transaction.atomic():
            for one in found:
                stored = self._store(one, now, counts, rows)
                parent = _item(one).pk
                links += [(link, parent) for link in stored.links]
            self.count(now, counts)
            self._end(now)
            pages.add(rows)
            frontier.add_many(self.run.pk, links, now, pace=self.pace)
            self._settle(found, now)
            ahead = claim(now)
        for one in found:
            if one.landed is not None:
                self.line.done(one.landed)
        return ahead

    def _store(self, one: Found, now: datetime, counts: Counter[str], rows: list[tuple[Any, ...]]) -> Stored:
        if isinstance(one, _Lost):
            return self._let_go(one, now, counts)
        item, response = one.landed.item, one.landed.response
        stored = self.crawler.store(self.run, item, response, one.reading, now)
        counts.update({"fetched": 1, "bytes": response.received_bytes, **_times(stored.counts)})
        self._ended.append((item, stored.state, stored.reason))
        rows.append(
            pages.row(self.run.pk, item, response, one.written, now, title=stored.title, relevance=stored.relevance)
        )
        return stored

    def _let_go(self, lost: _Lost, now: datetime, counts: Counter[str]) -> Stored:
        if lost.landed is not None:
            counts["busy"] += lost.landed.response.status in BUSY
        if lost.state is None:
            counts["retries"] += 1
            frontier.give_back(lost.item, due_at=now, reason=lost.reason)
            return Stored()
        received = lost.landed.response.received_bytes if lost.landed is not None else 0
        self._end(now)  # what a crawler does next to a lost address may depend on which others are open
        counts.update({"refused" if lost.state == UrlState.REFUSED else "failed": 1, "bytes": received})
        stored = self.crawler.failed(self.run, lost.item, lost.reason, now)
        frontier.finish(lost.item, lost.state, now, lost.reason)
        return stored

    def _end(self, now: datetime) -> None:
        """Ends the addresses of the pages stored so far."""
        ended, self._ended = self._ended, []
        frontier.finish_many(ended, now)

    def count(self, now: datetime, deltas: dict[str, int]) -> None:
        """Adds to the run's counters what is to be added, and the requests sent since the last time. Raises LeaseLost."""
        requests, self.line.web.requests = self.line.web.requests, 0
        self.wanted = runs.count(self.lease, now, {**deltas, "requests": requests})

    def _settle(self, found: Sequence[Found], now: datetime) -> None:
        """Last in a transaction, and in the order of the hosts: what waits for a host's row holds nothing that another
        transaction of this kind waits for. A host that cannot be reached at all costs a few tries, not one for each of its
        addresses."""
        hours = hosts.Hours()
        for one in sorted(found, key=lambda one: _item(one).host_id):
            if one.landed is None:
                continue
            host, response = self.line.web.host(_item(one).host_id), one.landed.response
            hosts.settle(host, response, one.landed.at, one.landed.flight.sent_at, hours)
            given_up = isinstance(one, _Lost) and one.state == UrlState.FAILED and response.failure in UNREACHABLE
            if given_up and host.failures >= HOST_DOWN_AFTER:
                frontier.drop(self.run.pk, now, "host_unreachable", host=host)
        hours.write()


def _item(one: Found) -> Url:
    return one.landed.item if isinstance(one, _Page) else one.item


def _times(counts: dict[str, int]) -> dict[str, int]:
    return {name: number for name, number in counts.items() if number}


def _problem(response: FetchResponse) -> str:
    if response.failure is not None:
        return f"{response.failure.value}: {response.detail}" if response.detail else response.failure.value
    return f"http_{response.status}"
