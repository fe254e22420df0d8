"""Sends the requests of a run, many at the same time: for pages, for robots.txt, and redirects.
Worker threads fetch; one thread, which owns the `InFlightPool`, makes all decisions and uses the
database.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction

from crawlmgr.clock import Clock
from crawlmgr.conf import CrawlSettings
from crawlmgr.frontier import hosts
from crawlmgr.frontier.fetching import AGAIN, LONGEST_HOP_WAIT_SECONDS, WebSession, log_answer
from crawlmgr.models import Url
from crawlmgr.web.http.exchange import Failure, FetchRequest, FetchResponse, HopRefused
from crawlmgr.web.http.fetch_pool import JobPool, MemoryLimit
from crawlmgr.web.politeness import TimeShares
from crawlmgr.web.robots import robots_url
from crawlmgr.web.url import host_key

MEMORY_BYTES = 32_000_000
"""Memory budget of a run in bytes, for response bodies that are arriving or wait to be processed.
"""
HOP_CHECK_SECONDS = 0.05
LATE_SECONDS = 2.0
"""A thread that wakes up later than planned by more than this was frozen together with its process;
another worker may use the host by now."""
ROBOTS_GATHER_SECONDS = 0.05
"""Seconds that a received robots.txt waits for others, while requests are in flight, so that all
are stored in one transaction.
"""


LONGER_THAN_A_SLICE = "longer than a slice of the run"


class HeldUp(Exception):
    """The time at which a request was to be sent is long past, because the process was frozen; the
    request was not sent."""


@dataclass(eq=False, slots=True)
class Flight:
    """One request with its redirects. `item` is the frontier address whose page is requested.
    `host_id` is the host that is being requested now, which a redirect may change. `robots` is True
    for a request for robots.txt; `parked` are the addresses that wait for it. The request is not
    sent before `due_at`; its thread sleeps until then.
    """

    host_id: int
    request: FetchRequest
    item: Url | None = None
    robots: bool = False
    parked: list[Url] = field(default_factory=list)
    due_at: datetime | None = None
    started_at: datetime | None = None
    sent_at: datetime | None = None

    @property
    def items(self) -> list[Url]:
        """The frontier addresses that wait for the response."""
        return self.parked if self.item is None else [self.item]

    @property
    def not_before(self) -> datetime | None:
        """The earliest time at which the request may be sent; None while its thread has not been
        started."""
        return (
            self.started_at
            if self.due_at is None or self.started_at is None
            else max(self.due_at, self.started_at)
        )


@dataclass(slots=True)
class Landed:
    """A request that ended at the time `at`, with its response. Its body counts with `size_bytes`
    towards the run's memory budget until `InFlightPool.done` is called."""

    flight: Flight
    response: FetchResponse
    at: datetime
    size_bytes: int

    @property
    def item(self) -> Url:
        # responses with robots.txt, which have no item, are not returned
        assert self.flight.item is not None  # noqa: S101
        return self.flight.item


@dataclass(slots=True)
class Arrivals:
    """Result of `InFlightPool.land`.

    `pages` are the responses to requests for pages. The other fields are claimed frontier
    addresses: `known`, whose host's robots.txt has been stored; `refused`, whose host was refused
    by the address guard, with the reason; `held_up`, which were not requested because this process
    was frozen at the time; `again`, whose host's robots.txt could not be read and must be requested
    again."""

    pages: list[Landed] = field(default_factory=list)
    known: list[Url] = field(default_factory=list)
    refused: list[tuple[Url, str]] = field(default_factory=list)
    held_up: list[Url] = field(default_factory=list)
    again: list[Url] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class _Hop:
    """A redirect that waits for permission to be followed. Its fetching thread waits for `answer`:
    "" gives permission, any other text is the reason of the refusal. After `deadline` it is
    refused; before `not_before` it need not be checked again."""

    flight: Flight
    url: str
    deadline: datetime
    not_before: datetime
    answer: queue.SimpleQueue[str]


class InFlightPool:
    """The requests of one run that are in flight or about to be sent. All public methods must be
    called in the same thread (the owner), the only one that uses the database.

    A redirect to another host waits until that host's robots.txt is known, its crawl delay is over,
    and the run has fewer connections to that host than allowed."""

    def __init__(self, settings: CrawlSettings, clock: Clock) -> None:
        self._pool: JobPool[Flight, Landed] = JobPool()
        self._memory = MemoryLimit(MEMORY_BYTES)
        self._local = threading.local()
        self._clock = clock
        self.web = WebSession(
            settings, clock, on_hop=self._ask, on_sent=self._sent, memory=self._memory
        )
        self.shares = TimeShares()
        self._flying: set[Flight] = set()
        self._on: Counter[int] = Counter()
        self._robots: dict[int, Flight] = {}
        self._robots_read: list[Landed] = []
        self._robots_since = 0.0
        self._asked: queue.SimpleQueue[_Hop] = queue.SimpleQueue()
        self._hops: list[_Hop] = []
        self._over = False

    def __len__(self) -> int:
        """The number of requests in flight."""
        return len(self._flying)

    @property
    def full(self) -> bool:
        """Tells whether received bodies take up the whole memory budget, so that no more requests
        should be sent until some are processed."""
        return self._memory.used >= self._memory.limit_bytes

    def is_free(self, host_id: int) -> bool:
        """Tells whether a host has a free connection in this run; a redirect may have taken the one
        that was free when the address was claimed."""
        return self._on[host_id] < max(1, self.web.host(host_id).connections)

    def items(self) -> list[Url]:
        """Returns the frontier addresses in flight, including those that wait for a robots.txt."""
        flights = [*self._flying, *(landed.flight for landed in self._robots_read)]
        return [item for flight in flights for item in flight.items]

    @property
    def on_last_try(self) -> bool:
        """Tells whether an address is in flight that is not requested again."""
        return any(flight.items and self._tried_enough(flight) for flight in self._flying)

    def send(self, item: Url, request: FetchRequest) -> None:
        """Sends the request for a page in a thread of its own, not before the address is due."""
        self._start(Flight(item.host_id, request, item, due_at=item.due_at))

    def ask_robots(self, item: Url) -> None:
        """Requests the robots.txt of an address's host, once for all addresses that wait for it."""
        flight = self._robots.get(item.host_id)
        if flight is None:
            flight = self._robots_flight(item.host_id, item.url, item.due_at)
        flight.parked.append(item)

    def land(self, seconds: float, most: int, gather_seconds: float) -> Arrivals:
        """Returns the results of up to `most` requests that have ended: waits up to `seconds` for
        the first, then up to `gather_seconds` for others. Also decides about redirects that wait
        for permission, and stores received robots.txt files."""
        self._serve_hops()
        wait = min(seconds, HOP_CHECK_SECONDS) if self._hops else seconds
        arrivals = Arrivals()
        for ended in self._pool.wait(wait, most, gather_seconds):
            flight = ended.key
            self._flying.discard(flight)
            self._on[flight.host_id] -= 1
            if isinstance(ended.error, HeldUp):
                arrivals.held_up += self._not_sent(flight)
                continue
            if ended.error is not None:
                raise ended.error
            assert ended.value is not None  # noqa: S101 - a job that raised no error has a value
            log_answer(ended.value.response)
            if flight.sent_at is not None:
                self.shares.answered(
                    flight.host_id,
                    (ended.value.at - flight.sent_at).total_seconds(),
                    ended.value.at,
                )
            if flight.robots:
                self._robots_since = self._robots_since if self._robots_read else time.monotonic()
                self._robots_read.append(ended.value)
            else:
                self.web.requests += ended.value.response.requests
                arrivals.pages.append(ended.value)
        if self._robots_read and (
            not self._flying or time.monotonic() - self._robots_since >= ROBOTS_GATHER_SECONDS
        ):
            read, self._robots_read = self._robots_read, []
            self._keep_robots(read, arrivals)
        if self._hops and len(self._hops) == len(self._flying):
            # All requests wait for permission to follow a redirect. A simulated clock (see
            # `crawlmgr.clock`) advances only by `sleep`; without this call the requests would wait
            # for ever.
            self._clock.sleep(HOP_CHECK_SECONDS)
        return arrivals

    def _not_sent(self, flight: Flight) -> list[Url]:
        """Returns the frontier addresses that belong to a request which was not sent."""
        if flight.robots:
            del self._robots[self._asked_for(flight)]
        return flight.items

    def done(self, landed: Landed) -> None:
        """Frees the memory budget taken by a response that has been processed."""
        self._memory.release(landed.size_bytes)

    def break_off(self) -> Arrivals:
        """Ends all requests in flight because the slice is over: those whose time had come as too
        slow, the others as not sent. `close` must follow."""
        arrivals, read, now = Arrivals(), self._robots_read, self._clock.now()
        flights, self._flying, self._robots_read = list(self._flying), set(), []
        for flight in flights:
            if flight.not_before is not None and flight.not_before > now:
                arrivals.held_up += self._not_sent(flight)
                continue
            url = flight.request.url
            response = FetchResponse(url, url, failure=Failure.too_slow, detail=LONGER_THAN_A_SLICE)
            log_answer(response)
            self.web.requests += not flight.robots
            (read if flight.robots else arrivals.pages).append(Landed(flight, response, now, 0))
        self._keep_robots(read, arrivals)
        return arrivals

    def close(self) -> list[Url]:
        """Aborts all requests in flight and returns their addresses. Responses that arrive later
        are discarded."""
        left = self.items()
        self.web.requests += sum(flight.sent_at is not None for flight in self._flying)
        self._over = True
        self.web.fetcher.abort()
        self._serve_hops()
        for hop in self._hops:
            hop.answer.put("broken_off")
        self._pool.close()
        self._flying.clear()
        self.web.close()
        return left

    def _start(self, flight: Flight) -> None:
        flight.started_at = self._clock.now()
        self._flying.add(flight)
        self._on[flight.host_id] += 1
        self._pool.start(flight, partial(self._fetch, flight))

    def _fetch(self, flight: Flight) -> Landed:
        """Sleeps until the request is due, sends it and returns the response; runs in a thread of
        its own. Raises HeldUp if the thread woke up too late."""
        self._local.flight = flight
        if flight.due_at is not None:
            self._clock.sleep((flight.due_at - self._clock.now()).total_seconds())
        if (
            flight.not_before is not None
            and (self._clock.now() - flight.not_before).total_seconds() > LATE_SECONDS
        ):
            raise HeldUp
        response = self.web.fetcher.fetch(
            flight.request, self.web.for_robots if flight.robots else None
        )
        return Landed(flight, response, self._clock.now(), self._memory.end())

    def _sent(self) -> None:
        """Records the time at which a request was sent; called by the fetcher in the request's
        thread."""
        self._local.flight.sent_at = self._clock.now()

    def _ask(self, url: str) -> None:
        """Asks the owner thread for permission to follow a redirect and waits for the answer;
        called by the fetcher in the request's thread. Raises HopRefused if the redirect must not be
        followed."""
        now = self._clock.now()
        hop = _Hop(
            self._local.flight,
            url,
            now + timedelta(seconds=LONGEST_HOP_WAIT_SECONDS),
            now,
            queue.SimpleQueue(),
        )
        self._asked.put(hop)
        if self._over:
            raise HopRefused("broken_off")
        self._pool.wake()
        if reason := hop.answer.get():
            raise HopRefused(reason)

    def _serve_hops(self) -> None:
        while not self._asked.empty():
            self._hops.append(self._asked.get())
        if self._over or not self._hops:
            return
        waiting = []
        for hop in self._hops:
            answer = self._leave(hop)
            if answer is None:
                waiting.append(hop)
            else:
                hop.answer.put(answer)
        self._hops = waiting

    def _leave(self, hop: _Hop) -> str | None:
        """Decides about a redirect: returns "" if it may be followed now, the reason if it must not
        be followed, None if it has to wait. With "", the request to the target host has been
        reserved (`hosts.take_turn`)."""
        flight, now = hop.flight, self._clock.now()
        if now < hop.not_before:
            return None
        host = self.web.host(hosts.host_id(host_key(hop.url)))
        if not flight.robots:
            allowed = self.web.robots_allow(
                hop.url, host, flight.item.payload if flight.item else ()
            )
            if allowed is None:
                if host.pk not in self._robots:
                    self._robots_flight(host.pk, hop.url)
                return None if now < hop.deadline else "host_waits"
            if not allowed[0]:
                return allowed[1]
        free = host.pk == flight.host_id or self._on[host.pk] < max(1, host.connections)
        if free and hosts.take_turn(host.pk, hosts.effective_delay(host), now):
            self._on[flight.host_id] -= 1
            self._on[host.pk] += 1
            flight.host_id = host.pk
            return ""
        host.refresh_from_db()
        hop.not_before = max(host.next_at, now)
        return "host_waits" if max(host.next_at, now) >= hop.deadline else None

    def _robots_flight(self, host_id: int, url: str, due_at: datetime | None = None) -> Flight:
        flight = Flight(host_id, FetchRequest(robots_url(url)), robots=True, due_at=due_at)
        self._robots[host_id] = flight
        self._start(flight)
        return flight

    def _keep_robots(self, read: list[Landed], arrivals: Arrivals) -> None:
        """Stores the robots.txt files in `read` and adds the addresses that waited for them to
        `arrivals`. The files are stored in the order of host ids, so that two runs that store files
        of the same hosts cannot deadlock.
        """
        with transaction.atomic():
            for landed in sorted(read, key=lambda landed: self._asked_for(landed.flight)):
                flight = landed.flight
                host_id = self._asked_for(flight)
                del self._robots[host_id]
                last = self._tried_enough(flight)
                refused = self.web.keep_robots(
                    self.web.host(host_id), landed.response, landed.at, flight.sent_at, last=last
                )
                if refused == AGAIN:
                    arrivals.again += flight.parked
                elif refused:
                    arrivals.refused += [(item, refused) for item in flight.parked]
                    self._refuse_hops(host_id, refused)
                else:
                    arrivals.known += flight.parked
                self.done(landed)

    def _tried_enough(self, flight: Flight) -> bool:
        """Tells whether a page has been requested as often as it may be (`max_attempts`), or a
        robots.txt, of which each request counts as a try of the addresses that wait for it. If none
        waits (it was requested for a redirect), or if one must be sent only once, one try is
        enough."""
        tries = [item.attempts for item in flight.items if not item.payload.get("once")]
        most = self.web.settings.max_attempts
        return not tries or len(tries) < len(flight.items) or max(tries) >= most

    def _refuse_hops(self, host_id: int, reason: str) -> None:
        """Refuses the redirects that wait for the robots.txt of a host which the address guard
        refused."""
        refused = [
            hop
            for hop in self._hops
            if not hop.flight.robots and hosts.host_id(host_key(hop.url)) == host_id
        ]
        for hop in refused:
            hop.answer.put(reason)
        self._hops = [hop for hop in self._hops if hop not in refused]

    def _asked_for(self, flight: Flight) -> int:
        """Returns the id of the host whose robots.txt was requested; the request itself may have
        been redirected to another host."""
        return next(pk for pk, other in self._robots.items() if other is flight)
