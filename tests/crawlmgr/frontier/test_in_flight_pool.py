"""Many requests of one run in flight: on several hosts, within each host's limit of connections,
released when the slice ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import LazySettings

from crawlmgr import engine
from crawlmgr.clock import SYSTEM
from crawlmgr.conf import CrawlSettings
from crawlmgr.frontier import hosts
from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.frontier.in_flight_pool import HeldUp, InFlightPool
from crawlmgr.models import Host, Page, Run, RunState, Url, UrlState
from crawlmgr.runs import runs
from crawlmgr.storing import Stored
from crawlmgr.web.http.exchange import FetchRequest, FetchResponse
from tests.clocks import ManualClock
from tests.site.server import LocalSite, Reply, Request

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE = (
    20.0  # seconds for which the server waits for simultaneous requests before it responds with 500
)


class Plain:
    """A crawler that fetches the addresses in the run's parameter `links` and follows no links of
    their pages."""

    paces_new_hosts = True
    pages_together = 4

    def settings(self, run: Run) -> CrawlSettings:
        return CrawlSettings.from_mapping(
            {
                "delay_seconds": 0.0,
                "allow_private": "127.0.0.1",
                **run.parameters.get("settings", {}),
            }
        )

    def begin(self, run: Run, now: datetime) -> Sequence[NewUrl]:
        return [NewUrl(**link) for link in run.parameters["links"]]

    def request(self, run: Run, item: Url) -> FetchRequest:
        return FetchRequest(item.url)

    def read(self, run: Run, item: Url, response: FetchResponse) -> str:
        return response.text

    def store(
        self, run: Run, item: Url, response: FetchResponse, reading: str, now: datetime
    ) -> Stored:
        assert reading != "breaks"
        return Stored(title=reading, counts={"items": 1})

    def failed(self, run: Run, item: Url, reason: str, now: datetime) -> Stored:
        return Stored()

    def idle(self, run: Run, now: datetime) -> str:
        return "complete"

    def ended(self, run: Run, state: str, now: datetime) -> None:
        return


class WithAlone(Plain):
    """A crawler whose addresses of the kind "step" are requested with no other request in
    flight."""

    alone_kinds = frozenset({"step"})


class Patient(Plain):
    """Processes a page only after a given number of addresses have been requested."""

    pages_together = 16
    asked = threading.Event()

    def read(self, run: Run, item: Url, response: FetchResponse) -> str:
        return response.text if self.asked.wait(PATIENCE) else "late"


class Noting(ManualClock):
    """A clock that records the duration of each call of `sleep`."""

    def __init__(self) -> None:
        super().__init__(datetime(2026, 3, 1, 12, tzinfo=UTC))
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        super().sleep(seconds)


class Counter:
    """The number of requests in progress per site and in total, and the maximum reached."""

    def __init__(self) -> None:
        self.lock, self.now, self.most = threading.Lock(), 0, 0

    def __enter__(self) -> None:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *exc: object) -> None:
        with self.lock:
            self.now -= 1


@pytest.fixture(autouse=True)
def crawlers(settings: LazySettings) -> None:
    hosts.forget()
    settings.CRAWLERS = {
        kind: f"{__name__}.{name}"
        for kind, name in (("plain", "Plain"), ("alone", "WithAlone"), ("patient", "Patient"))
    }


@pytest.fixture
def sites() -> Iterator[Callable[[int], list[LocalSite]]]:
    with ExitStack() as stack:
        yield lambda count: [stack.enter_context(LocalSite()) for _ in range(count)]


def begun(links: Sequence[Any], kind: str = "plain", **settings: Any) -> Run:
    named = [{"url": link} if isinstance(link, str) else link for link in links]
    return runs.create(
        kind,
        "a run",
        parameters={"links": named, "settings": settings},
        now=SYSTEM.now(),
        start=False,
    )


def together(barrier: threading.Barrier) -> Callable[[Request], Reply]:
    """Returns a route whose response waits for simultaneous requests until `barrier` is complete;
    500 if that takes too long."""

    def answer(request: Request) -> Reply:
        try:
            barrier.wait(PATIENCE)
        except threading.BrokenBarrierError:
            return Reply(b"alone", 500)
        return Reply(b"together")

    return answer


def test_hosts_are_asked_side_by_side_and_so_are_their_robots_files(sites: Any) -> None:
    webs, pages, robots = sites(6), threading.Barrier(6), threading.Barrier(6)
    for web in webs:
        web.add("/", together(pages))
        web.add("/robots.txt", together(robots))
    run = begun([web.url("/") for web in webs])
    assert engine.run_slice(run.pk) == RunState.FINISHED
    run.refresh_from_db()
    assert (run.fetched, run.items, run.requests, run.failed) == (6, 6, 12, 0)
    assert Page.objects.filter(run=run, title="together").count() == 6
    assert set(Host.objects.values_list("requests", flat=True)) == {2}


def test_no_more_than_may_be_in_flight(sites: Any) -> None:
    webs, counter = sites(8), Counter()
    barrier = threading.Barrier(3)

    def answer(request: Request) -> Reply:
        with counter:
            return together(barrier)(request)

    for web in webs[:6]:
        web.add("/", answer)
    run = begun([web.url("/") for web in webs[:6]], in_flight=3)
    assert engine.run_slice(run.pk) == RunState.FINISHED
    assert counter.most == 3 and Run.objects.get(pk=run.pk).fetched == 6


def test_the_next_request_leaves_before_the_answer_that_made_room_for_it_is_read(
    sites: Any,
) -> None:
    webs, last = sites(5), Patient.asked
    last.clear()

    def answer(request: Request) -> Reply:
        seen.append(request.site)
        if len(seen) == 5:
            last.set()
        return Reply(b"in time")

    seen: list[LocalSite] = []
    for web in webs:
        web.add("/", answer)
    run = begun([web.url("/") for web in webs], kind="patient", in_flight=4, respect_robots=False)
    assert engine.run_slice(run.pk) == RunState.FINISHED
    assert list(Page.objects.filter(run=run).values_list("title", flat=True)) == ["in time"] * 5


def test_an_address_that_was_claimed_early_is_sent_when_its_hosts_turn_comes(sites: Any) -> None:
    (web,), clock = sites(1), Noting()
    web.add("/", "a page")
    host = Host.objects.create(key="a-host")
    line = InFlightPool(CrawlSettings.from_mapping({"allow_private": "127.0.0.1"}), clock)
    item = Url(host_id=host.pk, url=web.url("/"), due_at=clock.now() + timedelta(seconds=0.08))
    line.send(item, FetchRequest(item.url))
    (landed,) = line.land(PATIENCE, 1, 0.0).pages
    line.close()
    assert landed.response.ok and clock.slept == [0.08] and landed.flight.sent_at == item.due_at


class Frozen(Noting):
    """A clock on which every sleep ends ten seconds late."""

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds + 10)


@pytest.mark.parametrize("robots", [False, True])
def test_a_process_that_was_frozen_when_a_turn_came_does_not_ask(sites: Any, robots: bool) -> None:
    (web,), clock = sites(1), Frozen()
    web.add("/", "a page")
    host = Host.objects.create(key="a-host")
    line = InFlightPool(CrawlSettings.from_mapping({"allow_private": "127.0.0.1"}), clock)
    item = Url(host_id=host.pk, url=web.url("/"), due_at=clock.now() + timedelta(seconds=0.08))
    if robots:
        line.ask_robots(item)
    else:
        line.send(item, FetchRequest(item.url))
    arrivals = line.land(PATIENCE, 1, 0.0)
    assert arrivals.held_up == [item] and not arrivals.pages and len(line) == 0
    line.ask_robots(item)  # a held-up request for robots.txt can be started again
    line.close()
    assert web.paths() == []


def test_what_was_held_up_is_claimed_again(sites: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (web,) = sites(1)
    web.add("/", "a page")
    send, held = InFlightPool._fetch, []

    def once_late(self: InFlightPool, flight: Any) -> Any:
        if not held:
            held.append(flight)
            raise HeldUp
        return send(self, flight)

    monkeypatch.setattr(InFlightPool, "_fetch", once_late)
    run = begun([web.url("/")])
    assert engine.run_slice(run.pk) == RunState.FINISHED
    assert (
        held
        and Page.objects.get(run=run).title == "a page"
        and Url.objects.get(run=run).attempts == 1
    )


def test_a_host_is_asked_as_often_at_once_as_it_has_connections(sites: Any) -> None:
    (web,), counter, barrier = sites(1), Counter(), threading.Barrier(2)

    def answer(request: Request) -> Reply:
        with counter:
            return together(barrier)(request)

    for number in range(6):
        web.add(f"/{number}", answer)
    run = begun([web.url(f"/{number}") for number in range(6)], connections=2)
    assert engine.run_slice(run.pk) == RunState.FINISHED
    assert counter.most == 2 and Page.objects.filter(run=run, title="together").count() == 6


def test_a_slow_host_holds_nobody_up(sites: Any) -> None:
    slow, quick = sites(2)
    ended = threading.Event()
    slow.add("/", lambda request: Reply(b"late" if ended.wait(PATIENCE) else b"stuck"))
    for number in range(12):
        quick.add(f"/{number}", "<p>quick</p>")
    run = begun([slow.url("/"), *(quick.url(f"/{number}") for number in range(12))])
    order: list[str] = []

    def seen(run: Run, item: Url, response: FetchResponse) -> None:
        order.append(item.url)
        if len(order) == 12:
            ended.set()

    assert engine.run_slice(run.pk, on_page=seen) == RunState.FINISHED
    assert order[-1] == slow.url("/") and Page.objects.get(url=slow.url("/")).title == "late"


def test_a_pause_gives_back_what_is_on_the_wire(
    sites: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "HASTY_DRAIN_SECONDS", 0.1)
    slow, quick = sites(2)
    gone = threading.Event()
    slow.add("/", lambda request: Reply(b"late" if gone.wait(PATIENCE) else b"stuck"))
    quick.add("/", "quick")
    run = begun([slow.url("/"), quick.url("/")])
    state = engine.run_slice(run.pk, on_page=lambda *_: runs.pause(run.pk, SYSTEM.now()))
    gone.set()
    assert state == RunState.PAUSED
    waiting = Url.objects.get(url=slow.url("/"))
    assert (waiting.state, waiting.attempts, waiting.lease_until) == (UrlState.WAITING, 0, None)
    runs.resume(run.pk, SYSTEM.now(), start=False)
    assert engine.run_slice(run.pk) == RunState.FINISHED
    assert Page.objects.filter(run=run).count() == 2 and Run.objects.get(pk=run.pk).fetched == 2


def test_what_is_sent_once_is_not_sent_again_after_it_was_broken_off(
    sites: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "HASTY_DRAIN_SECONDS", 0.1)
    slow, quick = sites(2)
    gone = threading.Event()
    slow.add("/", lambda request: Reply(b"late" if gone.wait(PATIENCE) else b"stuck"))
    quick.add("/", "quick")
    run = begun([{"url": slow.url("/"), "payload": {"once": True}}, quick.url("/")])
    engine.run_slice(run.pk, on_page=lambda *_: runs.pause(run.pk, SYSTEM.now()))
    gone.set()
    runs.resume(run.pk, SYSTEM.now(), start=False)
    engine.run_slice(run.pk)
    assert Url.objects.get(url=slow.url("/")).reason == "sent_once"
    assert slow.paths().count("/") == 1


def test_a_redirect_to_another_host_waits_for_its_robots_file_and_its_connection(
    sites: Any,
) -> None:
    here, there = sites(2)
    counter = Counter()

    def answer(request: Request) -> Reply:
        with counter:
            time.sleep(0.05)  # long enough that a second request would be counted
            return Reply(b"there")

    there.add(
        "/robots.txt", Reply(b"User-agent: *\nDisallow: /closed\n", content_type="text/plain")
    )
    for number in range(5):
        there.add(f"/{number}", answer)
        here.add(f"/{number}", Reply(b"", 302, {"Location": there.url(f"/{number}")}))
    here.add("/closed", Reply(b"", 302, {"Location": there.url("/closed")}))
    links = [
        *(here.url(f"/{number}") for number in range(5)),
        here.url("/closed"),
        *(there.url(f"/{n}?own") for n in range(5)),
    ]
    run = begun(links)
    assert engine.run_slice(run.pk) == RunState.FINISHED
    assert counter.most == 1, "redirects and the host's own pages share its one connection"
    assert Page.objects.filter(run=run, title="there").count() == 10
    assert Url.objects.get(url=here.url("/closed")).reason == "refused_hop: robots"
    assert "/closed" not in there.paths()


def test_an_address_of_a_kind_that_wants_to_be_alone_has_nothing_beside_it(sites: Any) -> None:
    (web,), counter = sites(1), Counter()
    beside: list[int] = []

    def step(request: Request) -> Reply:
        with counter:
            time.sleep(0.05)  # long enough for others to come
            beside.append(counter.now)
            return Reply(b"step")

    def page(request: Request) -> Reply:
        with counter:
            time.sleep(0.05)
            return Reply(b"page")

    web.add("/step", step)
    links: list[Any] = [
        {"url": web.url(f"/step?{n}"), "kind": "step", "priority": 9.0 - n} for n in range(3)
    ]
    for number in range(9):
        web.add(f"/{number}", page)
        links.append(web.url(f"/{number}"))
    run = begun(links, kind="alone", connections=4)
    assert engine.run_slice(run.pk) == RunState.FINISHED
    assert beside == [1, 1, 1] and Page.objects.filter(run=run).count() == 12


def test_pages_of_a_transaction_that_breaks_are_asked_for_again_and_counted_once(
    sites: Any,
) -> None:
    webs = sites(4)
    for number, web in enumerate(webs):
        web.add(
            "/",
            lambda request, n=number, w=web: Reply(
                b"breaks" if n == 2 and len(w.paths()) < 4 else b"fine"
            ),
        )
    run = begun([web.url("/") for web in webs])
    for _ in range(3):
        try:
            engine.run_slice(run.pk)
        except AssertionError:
            continue
        break
    run.refresh_from_db()
    assert (
        run.state == RunState.FINISHED
        and run.fetched == run.items == Page.objects.filter(run=run).count() == 4
    )


def test_bodies_wait_for_room_in_memory(sites: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawlmgr.frontier.in_flight_pool.MEMORY_BYTES", 300_000)
    webs = sites(6)
    for web in webs:
        web.add("/", b"x" * 200_000)
    run = begun([web.url("/") for web in webs])
    assert engine.run_slice(run.pk) == RunState.FINISHED
    assert (
        list(Page.objects.filter(run=run).values_list("received_bytes", flat=True)) == [200_000] * 6
    )
