"""Requests that outlive a slice, and runs whose time is over while they wait: both end by
themselves, under workers as in the foreground."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import LazySettings

from crawlmgr import engine
from crawlmgr.clock import SYSTEM
from crawlmgr.models import Host, Run, RunState, Url, UrlState
from crawlmgr.runs import runs
from tests.crawlmgr.frontier.test_in_flight_pool import Noting, Plain, begun, sites
from tests.site.server import LocalSite, Reply, Request

__all__ = ["sites"]  # fixture imported from another test module
pytestmark = pytest.mark.django_db(transaction=True)
MOST_SLICES = 40


class Limited(Plain):
    """A crawler whose runs may last for the seconds in their parameters."""

    def deadline(self, run: Run) -> datetime | None:
        seconds = run.parameters["settings"].get("seconds")
        return run.started + timedelta(seconds=seconds) if seconds and run.started else None

    def idle(self, run: Run, now: datetime) -> str:
        until = self.deadline(run)
        if until is None or now < until:
            return "complete"
        Url.objects.filter(run=run, state=UrlState.WAITING).update(state=UrlState.DROPPED)
        return "minutes"


@pytest.fixture(autouse=True)
def crawlers(settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.CRAWLERS = {"plain": f"{__name__}.Limited"}
    for name in ("DRAIN_SECONDS", "SHORT_DRAIN_SECONDS", "HASTY_DRAIN_SECONDS"):
        monkeypatch.setattr(engine, name, 0.1)


def late(seconds: float) -> Callable[[Request], Reply]:
    """Returns a route that responds after some seconds."""

    def answer(request: Request) -> Reply:
        request.stopped.wait(seconds)
        return Reply(b"late")

    return answer


def trickling(request: Request) -> None:
    """A route that sends a byte every 50 ms and does not end."""
    request.raw.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    while not request.stopped.wait(0.05):
        request.raw.sendall(b"x")


def lead_to(site: LocalSite) -> Reply:
    return Reply(b"", 302, {"Location": site.url("/slow")})


def work(run: Run, seconds: float | None) -> int:
    """Works on a run in slices of `seconds` until it ends; returns their number."""
    for number in range(1, MOST_SLICES):
        Host.objects.update(next_at=SYSTEM.now())  # failed requests lengthen the pause
        Run.objects.filter(pk=run.pk).update(waiting_until=None)
        if engine.run_slice(run.pk, seconds=seconds) != RunState.RUNNING:
            run.refresh_from_db()
            return number
    raise AssertionError("the run does not end")


@pytest.mark.parametrize("seconds", [0.2, None])
@pytest.mark.parametrize("slow", [late(30), trickling])
def test_a_page_that_is_always_too_slow_is_given_up_after_its_tries(
    sites: Any, slow: Any, seconds: float | None
) -> None:
    (web,) = sites(1)
    web.add("/slow", slow)
    web.add("/quick", "quick")
    run = begun([web.url("/quick"), web.url("/slow")], max_attempts=3, total_timeout_seconds=0.8)
    work(run, seconds)
    slow_one = Url.objects.get(url=web.url("/slow"))
    assert web.paths().count("/slow") == 3
    assert (run.state, run.fetched, run.failed, run.retries) == ("finished", 1, 1, 2)
    assert run.requests == len(web.paths())
    assert slow_one.state == UrlState.FAILED and slow_one.reason.startswith("too_slow")


def test_a_page_slower_than_a_slice_is_fetched_on_its_last_try(sites: Any) -> None:
    (web,) = sites(1)
    web.add("/", late(1.0))
    run = begun([web.url("/")], max_attempts=2, total_timeout_seconds=20)
    assert work(run, 0.2) >= 2
    assert (run.state, run.fetched, run.retries) == ("finished", 1, 1)
    assert web.paths().count("/") == 2


def test_a_page_that_is_tried_once_has_its_whole_time(sites: Any) -> None:
    (web,) = sites(1)
    web.add("/", late(1.0))
    run = begun([{"url": web.url("/"), "payload": {"once": True}}], total_timeout_seconds=20)
    work(run, 0.2)
    assert (run.state, run.fetched, web.paths().count("/")) == ("finished", 1, 1)


def test_a_robots_file_that_is_always_too_slow_is_given_up(sites: Any) -> None:
    (web,) = sites(1)
    web.add("/robots.txt", late(30))
    run = begun([web.url(f"/{number}") for number in range(4)], total_timeout_seconds=0.8)
    work(run, 0.2)
    assert web.paths() == ["/robots.txt"] * 3 and run.requests == 3
    assert (run.state, run.detail) == ("failed", "robots_unreachable")
    assert Host.objects.get().robots_verdict == "deny"


def test_a_redirect_to_a_page_that_is_always_too_slow_is_given_up(sites: Any) -> None:
    first, second = sites(2)
    first.add("/", lead_to(second))
    second.add("/slow", late(30))
    run = begun([first.url("/")], total_timeout_seconds=0.8)
    work(run, 0.3)
    assert second.paths().count("/slow") <= 3 and Url.objects.get().reason.startswith("too_slow")


def test_a_pause_that_breaks_a_request_off_counts_it_as_sent(sites: Any) -> None:
    slow, quick = sites(2)
    slow.add("/", late(30))
    quick.add("/", "quick")
    run = begun([slow.url("/"), quick.url("/")])
    engine.run_slice(run.pk, on_page=lambda *_: runs.pause(run.pk, SYSTEM.now()))
    run.refresh_from_db()
    assert run.requests == len(slow.paths()) + len(quick.paths()) == 4


@pytest.mark.parametrize("seconds", [0.2, None])
@pytest.mark.parametrize("path", ["/robots.txt", "/"])
def test_a_run_ends_at_its_time_though_a_host_does_not_answer(
    sites: Any, path: str, seconds: float | None
) -> None:
    (web,) = sites(1)
    web.add(path, late(30))
    run = begun([web.url("/"), web.url("/further")], seconds=0.8)
    began = time.monotonic()
    work(run, seconds)
    assert (run.state, run.stopped_by) == ("finished", "minutes")
    assert time.monotonic() - began < 5 and not Url.objects.filter(state=UrlState.WAITING).exists()


def test_a_run_in_the_foreground_ends_at_its_time_while_it_waits_for_a_host(sites: Any) -> None:
    (web,), clock = sites(1), Noting()
    run = begun([web.url("/")], seconds=60)
    Host.objects.create(key=web.authority, next_at=clock.now() + timedelta(hours=20))
    began = clock.now()
    assert engine.run_slice(run.pk, clock=clock) == RunState.FINISHED
    run.refresh_from_db()
    assert run.stopped_by == "minutes" and 60 <= (clock.now() - began).total_seconds() < 61
    assert not web.paths()


def test_a_run_of_workers_waits_for_a_host_no_longer_than_its_time(sites: Any) -> None:
    (web,), clock = sites(1), Noting()
    run = begun([web.url("/")], seconds=60)
    began = clock.now()
    Host.objects.create(key=web.authority, next_at=began + timedelta(hours=20))
    assert engine.run_slice(run.pk, clock=clock, seconds=20) == RunState.RUNNING
    run.refresh_from_db()
    assert run.waiting_until == began + timedelta(seconds=60)
    clock.sleep(60)
    assert runs.ready(clock.now()) == [run.pk]
    assert engine.run_slice(run.pk, clock=clock, seconds=20) == RunState.FINISHED
    run.refresh_from_db()
    assert run.stopped_by == "minutes" and not web.paths()


def test_a_run_that_is_asked_to_pause_at_its_time_pauses(sites: Any) -> None:
    (web,) = sites(1)
    web.add("/", "here")
    gone = threading.Event()
    web.add("/slow", lambda request: Reply(b"late" if gone.wait(20) else b"stuck"))
    run = begun([web.url("/"), web.url("/slow")], seconds=30)
    engine.run_slice(run.pk, on_page=lambda *_: runs.pause(run.pk, SYSTEM.now()))
    gone.set()
    assert Run.objects.get().state == RunState.PAUSED
