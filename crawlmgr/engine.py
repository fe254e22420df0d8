"""The crawl loop: crawls for a run during one slice of time. If a slice is killed or repeated, no
page is lost or duplicated."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings as django_settings
from django.db import transaction
from django.utils.module_loading import import_string

from crawlmgr.access import vault
from crawlmgr.archive import archive
from crawlmgr.clock import SYSTEM, Clock
from crawlmgr.frontier import fetching, frontier, hosts
from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.frontier.in_flight_pool import Arrivals, InFlightPool, Landed
from crawlmgr.models import Run, RunState, Url, UrlState
from crawlmgr.runs import runs, slices
from crawlmgr.runs.slices import Heartbeat, Interrupted, shutdown
from crawlmgr.storing import (
    Crawler,
    Found,
    Held,
    Outcomes,
    Prepares,
    Remembers,
    Stored,
    Storing,
    UsesHeartbeat,
    alone_kinds,
    deadline,
    ended,
    own_end_reason,
    pages_together,
)
from crawlmgr.web.http.fetch_pool import calm_collector, switch_rarely
from crawlmgr.workers import nodes

__all__ = [
    "Crawler",
    "Interrupted",
    "Prepares",
    "UsesHeartbeat",
    "Stored",
    "run_slice",
    "shutdown",
]

# a wait for a host longer than this is stored with the run, and ends a slice that has a time limit
PATIENCE_SECONDS = 3.0
CLAIM_EVERY_SECONDS, EARLY_SECONDS = 0.03, 0.1
"""Seconds between claims while requests are in flight; seconds by which a claim may precede the
host's next allowed request."""
CLAIM_AHEAD, CLAIM_AHEAD_PART = 16, 4
"""Addresses claimed ahead of need: at most this number, and at most this fraction (1/n) of the
requests allowed in flight. For hosts without a delay the next request can then start as soon as one
ends, before its page is stored."""
# addresses that were claimed ahead of need and not requested after this time are released to other
# runs
STALE_SECONDS = 2.0
SHORT_GATHER_SECONDS, GATHER_SECONDS, PATIENT_GATHER_SECONDS = 0.004, 0.01, 0.1
"""Batching of responses, in seconds: how long to wait for further responses when the next request
is ready; how long a page that was parsed waits to share a transaction with others if a request
depends on it or its host allows only one connection; and how long if no request depends on it."""
SHORTEST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.02, 0.5
"""Seconds between two attempts to claim an address while no request is in flight: first pause,
which doubles; longest pause."""
DRAIN_SECONDS, SHORT_DRAIN_SECONDS, HASTY_DRAIN_SECONDS = 10.0, 3.0, 2.0
"""Seconds that requests in flight may take at the end of a slice: the usual limit, the limit when
at most an eighth of them is left, and the limit when the process is asked to end or the run's time
is over. A request on its last try has its own time limit."""
# state and reason with which a slice ends a run on request
WANTED = {"pause": (RunState.PAUSED, ""), "stop": (RunState.STOPPED, "stopped")}
# total bytes of parsed pages waiting in memory at which they are stored without waiting longer
PART_BYTES = 4_000_000


def run_slice(
    run_id: int,
    *,
    clock: Clock = SYSTEM,
    seconds: float | None = None,
    on_page: Any = None,
    lag: runs.Lag = runs.no_lag,
) -> str:
    """Works on a run for one slice of `seconds` (None: until it ends or must wait long) and returns
    the run's state, or "leased" if another worker has it.

    The caller queues the next slice. `on_page(run, address, response)` is called after each stored
    page. `lag` returns by how many seconds `clock` is behind real time; leases are made longer by
    that."""

    def make(run: Run, lease: runs.Lease, left: float | None) -> _Slice:
        crawler: Crawler = import_string(django_settings.CRAWLERS[run.kind])()
        return _Slice(run, crawler, lease, clock, left, on_page)

    calm_collector()
    switch_rarely()
    return slices.work(run_id, make, holder=nodes.holder(), clock=clock, seconds=seconds, lag=lag)


class _Slice:
    """One slice of a run: claims addresses, keeps requests in flight, and stores responses. Only
    fetching uses other threads."""

    def __init__(
        self,
        run: Run,
        crawler: Crawler,
        lease: runs.Lease,
        clock: Clock,
        seconds: float | None,
        on_page: Any,
    ) -> None:
        self.run, self.crawler, self.lease, self.clock = run, crawler, lease, clock
        self.seconds, self.on_page = seconds, on_page
        self.heartbeat = Heartbeat(lease, clock, seconds, run.wanted)
        self.until: datetime | None = None
        self.deadline = deadline(crawler, run)
        self.ahead: list[Url] = []  # addresses that were claimed and not yet requested
        self.claimed_at = 0.0  # monotonic time of the last claim
        self.closing = False
        self.held = Outcomes()
        self.looked = 0.0  # monotonic time of the last attempt to claim addresses
        self.waiting_until: datetime | None = (
            None  # end of the wait stored with the run; None while the run does not wait
        )
        self.idle_rounds = (
            0  # rounds in a row, at most 8, in which a host was due but no address could be claimed
        )
        self.together, self.alone = pages_together(crawler), alone_kinds(crawler)
        if isinstance(crawler, UsesHeartbeat):
            crawler.set_heartbeat(self.heartbeat.pulse)

    def failed(self, now: datetime) -> None:
        """Tells the crawler that the run failed; called inside the transaction that marks the run
        as failed."""
        self.crawler.ended(self.run, RunState.FAILED, now)

    def forget(self) -> None:
        """Makes the crawler discard the state it keeps in memory, after a transaction was rolled
        back."""
        if isinstance(self.crawler, Remembers):
            self.crawler.forget(self.run)

    def work(self) -> str:
        """Works until the slice or the run ends; returns the run's state."""
        try:
            self.settings = self.crawler.settings(self.run)
        except Interrupted:
            return self._leave()
        try:
            self.pool = InFlightPool(self.settings, self.clock)
        except vault.Unreadable as error:
            return self._end(RunState.FAILED, "secrets_unreadable", str(error))
        self.storing = Storing(
            self.run, self.crawler, self.lease, self.clock, self.settings, self.pool
        )
        if self.seconds is not None:
            self.until = self.clock.now() + timedelta(seconds=self.seconds)
        return self._work()

    def _work(self) -> str:
        """Begins and runs the loop; returns the run's state. Pauses the run if the disk is almost
        full."""
        try:
            self._begin()
            while True:
                ended = self._leave_if_asked() or self._step()
                if ended:
                    return ended
        except archive.DiskLow as error:
            return self._end(RunState.PAUSED, runs.DISK_LOW, str(error))
        finally:
            self.pool.close()
            self.storing.close()

    def _begin(self) -> None:
        """Adds the run's first addresses if it has not begun; releases those that an earlier slice
        claimed and did not finish."""
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

    def _add(self, links: Sequence[NewUrl], now: datetime) -> None:
        frontier.add(self.run.pk, links, now, pace=self.storing.pace)
        self.storing.drop_full_hosts(links, now)

    def _leave_if_asked(self) -> str:
        """Ends the slice if its time is over or if asked to pause, stop or shut down; returns the
        run's state, "" to continue."""
        now = self.clock.now()
        self.heartbeat.beat(now)
        if not self._leaving(now):
            return ""
        self._drain()
        return self._leave()

    def _leave(self) -> str:
        if wanted := self.heartbeat.wanted:
            return self._end(*WANTED[wanted], "")
        if self._run_is_over(now := self.clock.now()) and (state := self._ask_crawler(now)):
            return state
        runs.release(self.lease)
        return RunState.RUNNING

    def _leaving(self, now: datetime) -> bool:
        return bool(self.heartbeat.asked) or any(
            end is not None and now >= end for end in (self.until, self.deadline)
        )

    def _run_is_over(self, now: datetime) -> bool:
        return self.deadline is not None and now >= self.deadline

    def _drain(self) -> None:
        """Waits some seconds for requests in flight, then breaks off those not finished, and
        releases the addresses of those not sent. A request that was broken off because time is over
        counts as a try that was too slow, one that was broken off on request does not."""
        began, flying = time.monotonic(), len(self.pool)
        self.closing = True
        while self.pool and time.monotonic() - began < self._patience_seconds(flying):
            self._collect_responses(0.1)
            self.heartbeat.beat(self.clock.now())
        if not self.heartbeat.asked:
            self._handle(self.pool.break_off())
        self._store()
        with transaction.atomic():
            self._release_ahead()
            frontier.release_many(self.pool.close())
            self.storing.count(self.clock.now(), {})

    def _patience_seconds(self, flying: int) -> float:
        """Returns how many seconds the `flying` requests that were in flight at the end of the
        slice may take from then on."""
        now, limit = self.clock.now(), self.heartbeat.limit
        if self.heartbeat.asked or self._run_is_over(now):
            return HASTY_DRAIN_SECONDS
        if self.pool.on_last_try and (limit is None or now < limit):
            return math.inf
        return SHORT_DRAIN_SECONDS if 8 * len(self.pool) <= flying else DRAIN_SECONDS

    def _release_ahead(self) -> None:
        items, self.ahead = self.ahead, []
        frontier.release_many(items, perhaps_sent=False)

    @property
    def _free(self) -> int:
        return self.settings.in_flight - len(self.pool)

    def _claim(self, now: datetime) -> list[Url]:
        """Claims and returns the addresses that may be requested now, and a few to request next; []
        if no request may be sent."""
        # a request that must be the only one of its run may be in flight (see
        # `crawling.alone_kinds`)
        alone = self.alone and any(item.kind in self.alone for item in self.pool.items())
        if self.closing or self._leaving(now) or self.pool.full or alone:
            return []
        most = max(0, self._free - len(self.ahead))
        stock = (
            min(CLAIM_AHEAD, self.settings.in_flight // CLAIM_AHEAD_PART)
            if self.together > 1 and not self.alone
            else 0
        )
        spare = max(0, self._free + stock - len(self.ahead) - most)
        self.claimed_at = time.monotonic()
        items = frontier.claim_many(
            self.run.pk,
            self.lease.fence,
            now,
            self.settings.lease_seconds,
            most,
            node=nodes.own_name(),
            spare=spare,
            early_seconds=EARLY_SECONDS,
            last=self.pool.shares.resting(now),
        )
        self.pool.shares.begun([item.host_id for item in items], now)
        return items

    def _step(self) -> str:
        """Makes one round of claiming, requesting and handling responses; returns the run's state
        if the slice ends, else ""."""
        pause = CLAIM_EVERY_SECONDS if self._free > 0 else PATIENT_GATHER_SECONDS
        if not self.ahead and (not self.pool or time.monotonic() - self.looked >= pause):
            self.ahead = self._claim(self.clock.now())
            self.looked = time.monotonic()
        launched = self._launch_next()
        if launched and self.waiting_until is not None:
            self.waiting_until = None
            runs.waited(self.lease)
        if self.pool or self.held:
            self.idle_rounds = 0
            self._collect_responses(pause)
            return ""
        return "" if launched else self._nothing(self.clock.now())

    def _launch_next(self) -> bool:
        """Requests the claimed addresses in `ahead` as long as more requests may be in flight;
        returns the rest to the frontier if the last claim was too long ago. Returns False if
        `ahead` was empty or the slice is closing.
        """
        if not self.ahead or self.closing:
            return False
        free = self._free if not self.pool.full else 0
        go: list[Url] = []
        stay: list[Url] = []
        self.pool.web.meet(item.host_id for item in self.ahead)
        for item in self.ahead:
            can_wait = not self._has_pause(item)
            (stay if can_wait and len(go) >= free else go).append(item)
        self.ahead = stay
        self._launch(go)
        if self.ahead and time.monotonic() - self.claimed_at >= STALE_SECONDS:
            with transaction.atomic():
                self._release_ahead()
        return True

    def _has_pause(self, item: Url) -> bool:
        """Tells whether an address may have to wait before its request, since its claim or its
        host's crawl delay says so."""
        return (
            item.due_at is not None or hosts.effective_delay(self.pool.web.host(item.host_id)) > 0
        )

    def _launch(self, items: Sequence[Url]) -> None:
        """For each claimed address: sends its request, or first requests robots.txt, or ends it as
        refused, or releases it."""
        refused: list[tuple[Url, UrlState, str]] = []
        self.pool.web.meet(item.host_id for item in items)
        for place, item in enumerate(items):
            host = self.pool.web.host(item.host_id)
            if item.payload.get("once") and item.attempts > 1:
                refused.append((item, UrlState.FAILED, "sent_once"))
            elif self.storing.limit.full(item.host_id):
                refused.append((item, UrlState.REFUSED, hosts.REASON))
            elif not self.pool.is_free(item.host_id) or not self.storing.limit.has_capacity(
                item.host_id
            ):
                frontier.release(item, attempt=False)
            elif (allowed := self.pool.web.robots_allow(item.url, host, item.payload)) is None:
                self.pool.ask_robots(item)
            elif not allowed[0]:
                refused.append((item, UrlState.REFUSED, allowed[1]))
            else:
                self.storing.limit.sent(item.host_id)
                self.pool.send(item, self.crawler.request(self.run, item))
            if item.kind in self.alone:
                frontier.release_many(items[place + 1 :])
                break
        for item, state, reason in refused:
            self._hold(ended(item, state, reason))

    def _collect_responses(self, seconds: float) -> None:
        """Waits up to `seconds` for responses, parses those that have arrived, and stores parsed
        pages if they have waited long enough. Requests addresses whose host's robots.txt has
        arrived."""
        self._store_if_time()
        if not self.pool:
            return
        wait = min(seconds, self._seconds_to_hold())
        gather = min(
            SHORT_GATHER_SECONDS if self.ahead else GATHER_SECONDS, self._seconds_to_hold()
        )
        self._handle(self.pool.land(wait, self.together - len(self.held), gather))

    def _handle(self, arrivals: Arrivals) -> None:
        """Parses responses and handles the other results of requests."""
        # This raises LeaseLost if another worker took the lease while this process was frozen, so
        # that it sends nothing more.
        self.heartbeat.beat(self.clock.now())
        if arrivals.held_up:
            self._release(arrivals.held_up)
        for item, reason in arrivals.refused:
            self._hold(ended(item, UrlState.REFUSED, reason))
        for item in arrivals.again:
            self._hold(ended(item, None, fetching.UNREADABLE))
        if arrivals.known:
            self._continue_after_robots(arrivals.known)
        self._launch_next()
        for landed in arrivals.pages:
            self._hold(self.storing.read(landed), landed)
            self._store_if_time()
        self._store_if_time()

    def _hold(self, found: Found, landed: Landed | None = None) -> None:
        """Adds an outcome to `held`; `landed` is the response, None if there was no request."""
        # an error of a host with parallel connections is stored sooner
        soon = (
            landed is not None
            and not landed.response.ok
            and self.pool.web.host(landed.item.host_id).connections > 1
        )
        self.held.add(Held(found, landed), soon=soon)

    def _store_if_time(self) -> None:
        if self.held and self._seconds_to_hold() <= 0:
            self._store()

    def _seconds_to_hold(self) -> float:
        """Returns how many seconds outcomes in `held` may still wait to be stored;
        PATIENT_GATHER_SECONDS without any."""
        if not self.held:
            return PATIENT_GATHER_SECONDS
        if len(self.held) >= self.together or not self.pool or self.held.size_bytes >= PART_BYTES:
            return 0.0
        wanted = self._free > 0 and not self.ahead
        soon = self.held.soon or (wanted and not all(map(self._has_pause, self.held.items())))
        return self.held.seconds_left(GATHER_SECONDS if soon else PATIENT_GATHER_SECONDS)

    def _store(self) -> None:
        """Stores the waiting outcomes in one transaction, which also claims the next addresses."""
        if not (held := self.held.take()):
            return
        self.ahead += self.storing.keep([one.found for one in held], self._claim)
        self._counted()
        self.looked = time.monotonic()
        if self.on_page is not None:
            for landed in (one.landed for one in held if one.landed is not None):
                self.on_page(self.run, landed.item, landed.response)

    def _continue_after_robots(self, known: Sequence[Url]) -> None:
        """Requests the claimed addresses `known`, which waited for the robots.txt of their host and
        now have it. Those of hosts with a crawl delay or failures go back to the frontier, because
        the request for robots.txt has used the host's turn. Failed requests for robots.txt do not
        count as tries of the address."""
        now = self.clock.now()
        free: list[Url] = []
        back: list[Url] = []
        for item in known:
            item.attempts = min(item.attempts, 1)
            host = self.pool.web.host(item.host_id)
            (
                back if hosts.effective_delay(host) or host.failures or self._leaving(now) else free
            ).append(item)
        if back:
            self._release(back)
        self._launch(free)

    def _release(self, items: Sequence[Url]) -> None:
        """Returns claimed addresses to the frontier because they were not requested; this does not
        count as a try."""
        with transaction.atomic():
            self.storing.count(self.clock.now(), {})
            frontier.release_many(items, perhaps_sent=False)
        self._counted()

    def _counted(self) -> None:
        self.heartbeat.renewed(self.storing.wanted, self.clock.now())

    def _nothing(self, now: datetime) -> str:
        """Called if no address can be requested now: waits briefly, or ends the slice if the wait
        is long. If no address is left, asks the crawler for more, and ends the run if it has none.
        Returns the run's state if the slice is over, otherwise "".
        """
        wait = frontier.next_turn(self.run.pk, now)
        if wait is None:
            return self._ask_crawler(now)
        until = wait.until if self.deadline is None else min(wait.until, self.deadline)
        seconds = (until - now).total_seconds()
        if seconds > PATIENCE_SECONDS and until != self.waiting_until:
            self.waiting_until = until
            runs.wait(self.lease, wait.host, until, now, release=self.until is not None)
            if self.until is not None:
                return RunState.RUNNING
        self.idle_rounds = 0 if seconds > 0 else min(self.idle_rounds + 1, 8)
        self.clock.sleep(
            min(
                max(seconds, SHORTEST_WAIT_SECONDS * 2 ** max(0, self.idle_rounds - 1)),
                LONGEST_WAIT_SECONDS,
            )
        )
        return ""

    def _ask_crawler(self, now: datetime) -> str:
        """Called if no address is left, or the run's time is over: asks the crawler for more
        addresses, and ends the run if it has none. Returns the run's state if it has ended,
        otherwise ""."""
        with transaction.atomic():
            runs.count(self.lease, now, {})
            if not self._run_is_over(now) and frontier.overlooked(
                self.run.pk, now, self.lease.fence
            ):
                return ""
            more = self.crawler.idle(self.run, now)
            if not isinstance(more, str):
                self._add(more, now)
                return ""
        if unreachable := frontier.unreachable(self.run.pk):
            reason = more if own_end_reason(self.crawler) else "unreachable"
            return self._end(RunState.FAILED, reason, unreachable)
        return self._end(RunState.FINISHED, more, "")

    def _end(self, state: str, stopped_by: str, detail: str) -> str:
        """Ends or pauses the run, with the reason code `stopped_by`; returns `state`."""
        now = self.clock.now()
        with transaction.atomic():
            runs.end(self.lease, state, stopped_by, now, detail)
            self.crawler.ended(self.run, state, now)
        return state
