"""Repeated requests in runs with many requests in flight: after a worker's death, a lost lease, or
a robots.txt that could not be read."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from crawlmgr import engine
from crawlmgr.clock import SYSTEM
from crawlmgr.models import Host, Page, Run, RunHost, RunState, Url, UrlState
from crawlmgr.web.http.exchange import FetchResponse
from tests.clocks import ManualClock
from tests.crawlmgr.frontier.test_in_flight_pool import begun, crawlers, sites
from tests.site.server import Reply, Request

__all__ = ["crawlers", "sites"]  # fixtures imported from another test module
pytestmark = pytest.mark.django_db(transaction=True)


def dying_after(pages: int) -> Callable[..., None]:
    """A page callback that raises SystemExit after `pages` pages, as the time limit of a task
    does."""
    left = iter(range(pages))

    def die(*_: Any) -> None:
        if next(left, None) is None:
            raise SystemExit

    return die


def test_a_worker_that_dies_repeats_only_what_was_on_the_wire(sites: Any) -> None:
    webs = sites(8)
    for web in webs:
        for number in range(6):
            web.add(f"/{number}", f"<p>{number}</p>")
    run = begun([web.url(f"/{number}") for web in webs for number in range(6)], in_flight=64)
    deaths, draw = 0, random.Random(5)
    while Run.objects.get(pk=run.pk).state != RunState.FINISHED:
        try:
            engine.run_slice(run.pk, on_page=dying_after(draw.randint(1, 9)))
        except SystemExit:
            deaths += 1
            Run.objects.filter(pk=run.pk).update(lease_until=SYSTEM.now())  # its lease expires
    run.refresh_from_db()
    asked = [path for web in webs for path in web.paths() if path != "/robots.txt"]
    assert deaths >= 3 and run.fetched == run.items == Page.objects.filter(run=run).count() == 48
    assert len(asked) - 48 <= deaths * len(webs), "of each host one request was on the wire"
    assert not Url.objects.filter(run=run, state__in=[UrlState.WAITING, UrlState.CLAIMED]).exists()


def test_what_a_worker_that_lost_the_run_left_behind_is_fetched_before_the_end(sites: Any) -> None:
    webs = sites(4)
    for web in webs:
        web.add("/", Reply(b"here"))
    run = begun([web.url("/") for web in webs], in_flight=1)
    left: list[Url] = []

    def leave(run: Run, item: Url, _response: FetchResponse) -> None:
        """Acts once like a worker that has lost its lease: claims one address and marks the host of
        another as empty."""
        others = list(Url.objects.filter(run=run, state=UrlState.WAITING).order_by("pk"))
        if not left and len(others) >= 2:
            later = SYSTEM.now() + timedelta(seconds=90)
            Url.objects.filter(pk=others[0].pk).update(
                state=UrlState.CLAIMED, fence=0, lease_until=later
            )
            RunHost.objects.filter(run=run, host_id=others[1].host_id).update(active=False)
            left.extend(others[:2])

    assert engine.run_slice(run.pk, on_page=leave) == RunState.FINISHED
    assert len(left) == 2 and set(Url.objects.filter(run=run).values_list("state", flat=True)) == {
        UrlState.DONE
    }
    assert [web.paths().count("/") for web in webs] == [1, 1, 1, 1]


@pytest.mark.parametrize("status", [500, 429, 503, 0])
@pytest.mark.parametrize("failures", [1, 2, 3])
def test_a_robots_file_that_fails_in_passing_is_asked_for_again(
    sites: Any, status: int, failures: int
) -> None:
    """A robots.txt that fails temporarily is requested as often as a page; after that, nothing may
    be fetched for now, and the run reports this."""
    (web,), left = sites(1), [failures]

    def robots(request: Request) -> Reply | None:
        left[0] -= 1
        if left[0] >= 0 and not status:
            request.raw.close()
            return None
        return (
            Reply(b"no", status)
            if left[0] >= 0
            else Reply(b"User-agent: *\nDisallow: /b", content_type="text/plain")
        )

    web.add("/robots.txt", robots)
    pages = iter([Reply(b"no", 500), Reply(b"no", 500)])
    web.add("/a", lambda _request: next(pages, Reply(b"here")))
    run = begun([web.url("/a"), web.url("/b")], max_attempts=3)
    began = ManualClock(SYSTEM.now())
    state = engine.run_slice(run.pk, clock=began)
    run.refresh_from_db()
    reasons = dict(Url.objects.filter(run=run).values_list("url", "reason"))
    if failures == 3:
        assert (state, run.stopped_by, run.detail, run.requests, run.retries) == (
            "failed",
            "unreachable",
            "robots_unreachable",
            3,
            2,
        )
        assert Host.objects.get().robots_verdict == "deny"
        return
    assert (state, run.fetched, run.refused) == (
        "finished",
        1,
        1,
    ), "its tries are not those of the page"
    assert reasons == {web.url("/a"): "", web.url("/b"): "robots"}
    assert web.paths().count("/robots.txt") == failures + 1 and run.retries == failures + 2


def test_an_address_that_may_be_sent_only_once_does_not_wait_for_another_robots_file(
    sites: Any,
) -> None:
    (web,) = sites(1)
    web.add("/robots.txt", Reply(b"no", 500))
    run = begun([{"url": web.url("/"), "payload": {"once": True}}])
    assert engine.run_slice(run.pk) == RunState.FAILED
    assert (
        web.paths() == ["/robots.txt"] and Url.objects.get(run=run).reason == "robots_unreachable"
    )
