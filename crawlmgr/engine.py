"""The crawl loop: one slice of a run, safe to repeat and to kill at any moment."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings as django_settings
from django.db import transaction
from django.utils.module_loading import import_string

from crawlmgr.clock import SYSTEM, Clock
from crawlmgr.crawling import Crawler, Interrupted, Prepares, Pulses, Remembers, Stored, alone_kinds, pages_together, tells_why
from crawlmgr.models import Run, RunState, Url, UrlState
from crawlmgr.services import archive, frontier, hosts, runs, slices, vault
from crawlmgr.services.frontier import NewUrl
from crawlmgr.services.line import Landed, Line
from crawlmgr.storing import Storing
from crawlmgr.web.window import calm_collector

__all__ = ["Crawler", "Interrupted", "Prepares", "Pulses", "Stored", "holder", "run_slice", "shutdown"]

shutdown = threading.Event()  # set by a process that wants its slice to end soon
PATIENCE_SECONDS = 3.0
CLAIM_EVERY_SECONDS = 0.02
"""How often it is looked whether a host's turn has come, while other requests are in flight."""
DRAIN_SECONDS = 10.0
SHORT_DRAIN_SECONDS = 3.0
HASTY_DRAIN_SECONDS = 2.0
"""How long what is in flight may take to end when a slice ends; where no more than an eighth of it is left; and when somebody
waits for it to end."""
PART_BYTES = 4_000_000
"""So much of what came together is held as read pages at once."""


def holder() -> str:
    """This process's name in leases."""
    return f"{os.environ.get('CRAWLMGR_NODE') or socket.gethostname()}:{os.getpid()}"


def run_slice(
    run_id: int, *, clock: Clock = SYSTEM, seconds: float | None = None, on_page: Any = None, lease_seconds: float | None = None
) -> str:
    """Works a run for one slice (`seconds` None: until it ends or must wait long). Returns the run's state, "leased" where
    another worker has it. Queueing the next slice is the caller's."""

    def make(run: Run, lease: runs.Lease, left: float | None) -> _Slice:
        crawler: Crawler = import_string(django_settings.CRAWLERS[run.kind])()
        return _Slice(run, crawler, lease, clock, left, on_page)

    calm_collector()
    return slices.work(run_id, make, holder=holder(), clock=clock, seconds=seconds, lease_seconds=lease_seconds)


class _Slice:
    """Claims addresses, keeps them in flight, and has what lands stored; everything but the fetching in this one thread."""

    def __init__(self, run: Run, crawler: Crawler, lease: runs.Lease, clock: Clock, seconds: float | None, on_page: Any) -> None:
        self.run, self.crawler, self.lease, self.clock = run, crawler, lease, clock
        self.seconds, self.on_page = seconds, on_page
        self.beaten = now = clock.now()
        self.wanted = run.wanted
        self.until: datetime | None = None
        self.limit = None if seconds is None else now + timedelta(seconds=django_settings.TASK_TIMEOUT_SECONDS * 0.8)
        self.ahead: list[Url] = []  # claimed in the last transaction
        self.looked = 0.0  # when it was last looked for due addresses, by the machine's own clock
        self.together, self.alone = pages_together(crawler), alone_kinds(crawler)
        if isinstance(crawler, Pulses):
            crawler.set_heartbeat(self._pulse)

    def failed(self, now: datetime) -> None:
        """Called inside the transaction that ends the run as failed."""
        self.crawler.ended(self.run, RunState.FAILED, now)

    def forget(self) -> None:
        """Lets go of what the crawler knows of a transaction that was rolled back."""
        if isinstance(self.crawler, Remembers):
            self.crawler.forget(self.run)

    def work(self) -> str:
        try:
            self.settings = self.crawler.settings(self.run)
        except Interrupted:
            return self._leave()
        try:
            self.line = Line(self.settings, self.clock)
        except vault.Unreadable as error:
            return self._end(RunState.FAILED, "secrets_unreadable", str(error))
        self.storing = Storing(self.run, self.crawler, self.lease, self.clock, self.settings, self.line)
        if self.seconds is not None:
            self.until = self.clock.now() + timedelta(seconds=self.seconds)
        return self._work()

    def _work(self) -> str:
        try:
            self._begin()
            while True:
                ended = self._leave_if_asked() or self._step()
                if ended:
                    return ended
        except archive.DiskLow as error:
            return self._end(RunState.PAUSED, "disk_low", str(error))
        finally:
            self.line.close()
            self.storing.close()

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

    def _add(self, links: Sequence[NewUrl], now: datetime) -> None:
        frontier.add(self.run.pk, links, now, pace=self.storing.pace)

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

    def _leave_if_asked(self) -> str:
        now = self.clock.now()
        self._beat(now)
        if not self._leaving(now):
            return ""
        self._come_home()
        return self._leave()

    def _leave(self) -> str:
        if self.wanted == "pause":
            return self._end(RunState.PAUSED, "", "")
        if self.wanted == "stop":
            return self._end(RunState.STOPPED, "stopped", "")
        runs.release(self.lease)
        return RunState.RUNNING

    def _leaving(self, now: datetime) -> bool:
        return bool(self.wanted) or shutdown.is_set() or (self.until is not None and now >= self.until)

    def _come_home(self) -> None:
        """Lets what is in flight land for a while, and gives the rest back: it is asked for again."""
        began, flying = time.monotonic(), len(self.line)
        while self.line:
            patience = SHORT_DRAIN_SECONDS if 8 * len(self.line) <= flying else DRAIN_SECONDS
            if self.wanted or shutdown.is_set():
                patience = HASTY_DRAIN_SECONDS
            if time.monotonic() - began >= patience:
                break
            self._land(0.1)
            self._beat(self.clock.now())
        with transaction.atomic():
            for item in self.ahead:
                frontier.give_back(item, attempt=False)
            frontier.give_back_many(self.line.close())
        self.ahead = []

    def _claim(self, now: datetime) -> list[Url]:
        """As many addresses as may be asked for now, in the transaction of the pages before them, or in one of their own."""
        free = self.settings.in_flight - len(self.line)
        if free <= 0 or self._leaving(now) or self.line.full or self._is_alone():
            return []
        return frontier.claim_many(self.run.pk, self.lease.fence, now, self.settings.lease_seconds, free)

    def _is_alone(self) -> bool:
        return bool(self.alone) and any(item.kind in self.alone for item in self.line.items())

    def _step(self) -> str:
        if not self.ahead and (not self.line or time.monotonic() - self.looked >= CLAIM_EVERY_SECONDS):
            self.ahead = self._claim(self.clock.now())
            self.looked = time.monotonic()
        items, self.ahead = self.ahead, []
        self._launch(items)
        if self.line:
            self._land(CLAIM_EVERY_SECONDS if len(self.line) < self.settings.in_flight else 0.2)
            return ""
        return "" if items else self._nothing(self.clock.now())

    def _launch(self, items: Sequence[Url]) -> None:
        """Sends claimed addresses on their way: to the web, to wait for a robots.txt, or to their end."""
        refused: list[tuple[Url, UrlState, str]] = []
        self.line.web.meet(item.host_id for item in items)
        for place, item in enumerate(items):
            host = self.line.web.host(item.host_id)
            if item.payload.get("once") and item.attempts > 1:
                refused.append((item, UrlState.FAILED, "sent_once"))
            elif not self.line.is_free(item.host_id):
                frontier.give_back(item, attempt=False)
            elif (verdict := self.line.web.verdict(item.url, host)) is None:
                self.line.ask_robots(item)
            elif not verdict[0]:
                refused.append((item, UrlState.REFUSED, verdict[1]))
            else:
                self.line.send(item, self.crawler.request(self.run, item))
            if item.kind in self.alone:
                frontier.give_back_many(items[place + 1 :])
                break
        if refused:
            self.storing.lose(refused)
            self._counted()

    def _land(self, seconds: float) -> None:
        """Stores what has landed, waiting up to `seconds` for it; what waited for a robots.txt goes on its way."""
        arrivals = self.line.land(seconds, self.together)
        for part in _in_parts(arrivals.pages):
            self._store(part)
        if arrivals.refused:
            self.storing.lose([(item, UrlState.REFUSED, reason) for item, reason in arrivals.refused])
            self._counted()
        if arrivals.known:
            self._go_on(arrivals.known)

    def _store(self, landed: Sequence[Landed]) -> None:
        self.ahead += self.storing.keep(landed, self._claim)
        self._counted()
        self.looked = time.monotonic()
        if self.on_page is not None:
            for one in landed:
                self.on_page(self.run, one.item, one.response)

    def _go_on(self, known: Sequence[Url]) -> None:
        """Addresses whose host's robots.txt has come: it has used up the host's turn, so that they wait for the next one, where
        the host has a pause at all."""
        now = self.clock.now()
        free = []
        with transaction.atomic():
            self.storing.count(now, {})
            for item in known:
                host = self.line.web.host(item.host_id)
                if hosts.effective_delay(host) or host.failures or self._leaving(now):
                    frontier.give_back(item, attempt=False)
                else:
                    free.append(item)
        self._counted()
        self._launch(free)

    def _counted(self) -> None:
        self.wanted, self.beaten = self.storing.wanted, self.clock.now()

    def _nothing(self, now: datetime) -> str:
        wait = frontier.next_turn(self.run.pk, now)
        if wait is None:
            with transaction.atomic():
                runs.count(self.lease, now, {})
                more = self.crawler.idle(self.run, now)
                if not isinstance(more, str):
                    self._add(more, now)
                    return ""
            unreachable = frontier.unreachable(self.run.pk)
            if unreachable:
                return self._end(RunState.FAILED, more if tells_why(self.crawler) else "unreachable", unreachable)
            return self._end(RunState.FINISHED, more, "")
        seconds = (wait.until - now).total_seconds()
        if seconds > PATIENCE_SECONDS and self.until is not None:
            runs.wait(self.lease, wait.host, wait.until, now)
            return RunState.RUNNING
        self.clock.sleep(min(max(seconds, 0.02), 0.5))
        return ""

    def _end(self, state: str, stopped_by: str, detail: str) -> str:
        now = self.clock.now()
        with transaction.atomic():
            runs.end(self.lease, state, stopped_by, now, detail)
            self.crawler.ended(self.run, state, now)
        return state


def _in_parts(landed: Sequence[Landed]) -> Iterator[list[Landed]]:
    """Answers in parts of some `PART_BYTES`, in their order."""
    part: list[Landed] = []
    for one in landed:
        part.append(one)
        if sum(other.size_bytes for other in part) >= PART_BYTES:
            yield part
            part = []
    if part:
        yield part
