"""The crawl loop alone: its end, a run taken over by another worker, how it waits, and how many
addresses it claims."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection
from django.db.models import F

from crawlmgr import engine
from crawlmgr.conf import CrawlSettings
from crawlmgr.frontier import frontier
from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.models import Event, Page, Run, RunState, Url, UrlState, events
from crawlmgr.runs import runs
from crawlmgr.storing import Stored
from crawlmgr.web.http import fetch_pool
from crawlmgr.web.http.exchange import FetchRequest, FetchResponse
from tests.clocks import ManualClock
from tests.site.misbehaviour import misbehave
from tests.site.server import LocalSite

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 3, 1, tzinfo=UTC)


class Ending:
    """A crawler without addresses that writes to the database at its end."""

    def settings(self, run: Run) -> CrawlSettings:
        return CrawlSettings()

    def begin(self, run: Run, now: datetime) -> Sequence[NewUrl]:
        return ()

    def idle(self, run: Run, now: datetime) -> str:
        events.warn("ending", "written", now=now, run_id=run.pk)
        return "complete"

    def ended(self, state: str, *_: Any) -> None:
        """Does nothing: the crawler holds no resources."""


class Reading(Ending):
    """A crawler that fetches the addresses in the run's parameter `links`; storing a page fails if
    its text is "breaks"."""

    def settings(self, run: Run) -> CrawlSettings:
        return CrawlSettings.from_mapping(
            {
                "delay_seconds": 0.0,
                "allow_private": "127.0.0.1",
                "respect_robots": False,
                "in_flight": 16,
            }
        )

    def begin(self, run: Run, now: datetime) -> Sequence[NewUrl]:
        return [NewUrl(url) for url in run.parameters["links"]]

    def request(self, run: Run, item: Url) -> FetchRequest:
        return FetchRequest(item.url)

    def read(self, run: Run, item: Url, response: FetchResponse) -> str:
        return response.text

    def store(
        self, run: Run, item: Url, response: FetchResponse, reading: str, now: datetime
    ) -> Stored:
        assert reading != "breaks"
        return Stored()


class ReadingTogether(Reading):
    pages_together = 4


class Preparing(Ending):
    """Records its calls, and whether each was made inside a transaction."""

    calls: list[tuple[str, bool]] = []

    def prepare(self, run: Run, now: datetime) -> None:
        self.calls.append(("prepare", connection.in_atomic_block))

    def begin(self, run: Run, now: datetime) -> Sequence[NewUrl]:
        self.calls.append(("begin", connection.in_atomic_block))
        return ()


class Noting(ManualClock):
    """A clock that records the seconds of each call of `sleep`."""

    def __init__(self) -> None:
        super().__init__(NOW)
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        super().sleep(seconds)


@pytest.fixture
def run(settings: LazySettings) -> Run:
    settings.CRAWLERS = {"ending": "tests.crawlmgr.test_engine.Ending"}
    return runs.create("ending", "a run", parameters={}, now=NOW, start=False)


def test_a_run_without_addresses_ends(run: Run) -> None:
    assert engine.run_slice(run.pk) == RunState.FINISHED
    run.refresh_from_db()
    assert run.stopped_by == "complete" and Event.objects.filter(code="ending").count() == 1


def test_a_long_start_is_prepared_once_outside_the_transaction(settings: LazySettings) -> None:
    settings.CRAWLERS = {"ending": "tests.crawlmgr.test_engine.Preparing"}
    Preparing.calls.clear()
    run = runs.create("ending", "a run", parameters={}, now=NOW, start=False)
    assert engine.run_slice(run.pk) == RunState.FINISHED
    assert Preparing.calls == [("prepare", False), ("begin", True)]
    Run.objects.filter(pk=run.pk).update(state=RunState.QUEUED, finished=None)
    assert engine.run_slice(run.pk) == RunState.FINISHED
    assert len(Preparing.calls) == 2, "a later slice does not begin again"


def test_who_has_lost_the_run_writes_nothing_at_its_end(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = frontier.next_turn

    def taken(run_id: int, now: datetime) -> frontier.Wait | None:
        Run.objects.filter(pk=run_id).update(
            fence=F("fence") + 1
        )  # another worker took the run after the lease had expired
        return original(run_id, now)

    monkeypatch.setattr(frontier, "next_turn", taken)
    assert engine.run_slice(run.pk) == "leased"
    assert (
        not Event.objects.filter(code="ending").exists()
        and Run.objects.get(pk=run.pk).state == RunState.RUNNING
    )


def test_where_others_hold_the_hosts_each_wait_is_twice_the_one_before(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, busy = Noting(), 7

    def next_turn(run_id: int, now: datetime) -> frontier.Wait | None:
        return frontier.Wait("a-host", now) if len(clock.slept) < busy else None

    monkeypatch.setattr(frontier, "next_turn", next_turn)
    assert engine.run_slice(run.pk, clock=clock) == RunState.FINISHED
    assert clock.slept == [0.02, 0.04, 0.08, 0.16, 0.32, 0.5, 0.5]


def test_a_command_in_the_foreground_keeps_the_run_and_says_what_it_waits_for(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, until, seen = Noting(), NOW + timedelta(seconds=20), []

    def next_turn(run_id: int, now: datetime) -> frontier.Wait | None:
        if clock.slept:
            stored = Run.objects.get(pk=run_id)
            seen.append(
                (
                    stored.waiting_for,
                    stored.waiting_until,
                    stored.waits,
                    stored.lease_until is not None,
                )
            )
        return frontier.Wait("a-host", until) if now < until else None

    monkeypatch.setattr(frontier, "next_turn", next_turn)
    assert engine.run_slice(run.pk, clock=clock) == RunState.FINISHED
    assert len(seen) > 10 and set(seen) == {("a-host", until, 1, True)}
    run.refresh_from_db()
    assert (run.waiting_for, run.waiting_until, run.waited_seconds) == ("", None, 20.0)


@pytest.mark.parametrize(("crawler", "ahead"), [("Reading", 0), ("ReadingTogether", 4)])
def test_only_a_crawler_that_reads_pages_together_has_addresses_claimed_ahead(
    settings: LazySettings, monkeypatch: pytest.MonkeyPatch, crawler: str, ahead: int
) -> None:
    settings.CRAWLERS = {"reading": f"tests.crawlmgr.test_engine.{crawler}"}
    claim_many, spare = frontier.claim_many, []

    def claim(*arguments: Any, **named: Any) -> list[Url]:
        spare.append(named["spare"])
        return claim_many(*arguments, **named)

    monkeypatch.setattr(frontier, "claim_many", claim)
    with LocalSite() as site:
        site.add("/", "a page")
        run = runs.create(
            "reading", "a run", parameters={"links": [site.url("/")]}, now=NOW, start=False
        )
        assert engine.run_slice(run.pk) == RunState.FINISHED
    assert set(spare) == {ahead}


def test_a_slice_that_breaks_leaves_no_thread_behind(settings: LazySettings) -> None:
    settings.CRAWLERS = {"reading": "tests.crawlmgr.test_engine.Reading"}
    before = set(threading.enumerate())
    with LocalSite() as site:
        site.add("/", "breaks")
        run = runs.create(
            "reading", "a run", parameters={"links": [site.url("/")]}, now=NOW, start=False
        )
        with pytest.raises(AssertionError):
            engine.run_slice(run.pk)
    left = [
        thread
        for thread in threading.enumerate()
        if thread not in before and thread.name.startswith("in-flight-")
    ]
    for thread in left:
        thread.join(fetch_pool.IDLE_SECONDS / 2)  # without a signal, an idle thread lives longer
    assert not any(thread.is_alive() for thread in left)


@pytest.mark.parametrize("name", ["truncated", "truncated-chunks"])
def test_what_arrived_of_a_page_that_ends_early_each_time_is_read_and_marked(
    settings: LazySettings, name: str
) -> None:
    settings.CRAWLERS = {"reading": "tests.crawlmgr.test_engine.Reading"}
    with LocalSite() as site:
        misbehave(site)
        run = runs.create(
            "reading",
            "a run",
            parameters={"links": [site.url(f"/bad/{name}")]},
            now=NOW,
            start=False,
        )
        assert engine.run_slice(run.pk) == RunState.FINISHED
    url = Url.objects.get(run=run)
    pages = list(Page.objects.filter(run=run).values_list("failure", "truncated"))
    assert (url.state, pages) == (UrlState.DONE, [("truncated", "body")])
