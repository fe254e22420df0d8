"""The command `demo` crawls its own web over HTTP, stores nothing twice and leaves nothing behind.
It refuses a port in use, and handles signals."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db.models import Sum

from crawlmgr.demo.database import Database
from crawlmgr.demo.forum import BOARDS, Forum
from crawlmgr.demo.site import Website
from crawlmgr.demo.topic_web import CLUSTER_PAGES, CLUSTERS
from crawlmgr.frontier import hosts
from crawlmgr.management import demonstration
from crawlmgr.management.base import Stopped
from crawlmgr.management.commands import demo as command
from crawlmgr.models import Host, Page, Run
from deepweb.commands import demo as deepweb_demo
from deepweb.models import Form, Harvest, Query, Record, Source
from focused.commands import demo as focused_demo
from focused.models import Topic, TopicPage, TopicRun
from forums.commands import demo as forums_demo
from forums.models import Board, BoardHour, Plan, PlannedVisit, Post, Site, Thread, Visit

pytestmark = pytest.mark.django_db(transaction=True)
SEEDS, DETAILS = 3, 10
WHOLE_HARVEST = deepweb_demo.WISHES


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Reduces the amount of content so that the test is quick; all steps are still done."""
    hosts.forget()
    monkeypatch.setattr(forums_demo, "HISTORY_DAYS", 1)
    monkeypatch.setattr(focused_demo, "PAGES", 30)
    monkeypatch.setattr(deepweb_demo, "WISHES", {"queries": 22, "probes": 0, "details": DETAILS})
    yield
    hosts.forget()


@pytest.fixture
def demo(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    def run(*words: str) -> Any:
        call_command("demo", "--json", *words)
        return json.loads(capsys.readouterr().out)

    return run


def rows() -> dict[str, int]:
    """The number of rows of each table that the crawls fill."""
    models = [
        model
        for name in ("crawlmgr", "forums", "focused", "deepweb")
        for model in apps.get_app_config(name).get_models()
    ]
    return {
        model._meta.label: number for model in models if (number := model._default_manager.count())
    }


def own_sites() -> tuple[Site, Topic, Source]:
    return Site.objects.get(), Topic.objects.get(), Source.objects.get()


@pytest.mark.slow
@pytest.mark.once
def test_it_crawls_for_real_doubles_nothing_and_leaves_nothing(
    demo: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = rows()
    made = demo("--once")
    _forum_is_read(made["forum"])
    _topic_is_crawled(made["topic"])
    _database_is_asked(made["deepweb"])
    assert Page.objects.filter(status=200, warc__isnull=False).count() > 120, (
        "pages came over HTTP and are archived"
    )
    before, runs = rows(), Run.objects.count()

    monkeypatch.setattr(
        command, "_wait_for_a_signal", lambda: signal.raise_signal(signal.SIGTERM)
    )  # stops while it is serving
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    again = demo()
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
    assert own_sites()[0].paused, "no visit is due while the pages are not served"
    for name, key in (
        ("forum", "site"),
        ("forum", "url"),
        ("forum", "boards"),
        ("topic", "run"),
        ("deepweb", "run"),
    ):
        assert again[name][key] == made[name][key]
    assert again["topic"] == made["topic"] and again["deepweb"] == made["deepweb"]
    assert Run.objects.count() == runs + 1 and again["forum"]["visits"] == made["forum"][
        "visits"
    ] + len(BOARDS)
    after = rows()
    for model in (
        Site,
        Board,
        Plan,
        Topic,
        TopicRun,
        TopicPage,
        Source,
        Form,
        Harvest,
        Query,
        Record,
        Host,
    ):
        assert after[model._meta.label] == before[model._meta.label]
    _posts_are_true(again["forum"])

    removed = demo("--remove")["removed"]
    assert [len(removed[name]) for name in ("forum", "topic", "deepweb")] == [1, 1, 1]
    left = {name: number for name, number in rows().items() if number != empty.get(name)}
    assert set(left) <= {
        "crawlmgr.WarcFile",
        "crawlmgr.Event",
    }, "the archive's files and the log stay, as after any removal"
    call_command("demo", "--remove")
    assert "nothing of the demonstration" in capsys.readouterr().out


def _forum_is_read(told: dict[str, Any]) -> None:
    site = own_sites()[0]
    assert site.name == told["name"] == forums_demo.NAME
    assert told["boards"] == len(BOARDS) and told["visits"] > 3 * len(BOARDS), (
        "the day on a fast clock had visits of its own"
    )
    _the_day_has_passed(site)
    assert {board.name for board in site.boards.all()} == {board.name for board in BOARDS}
    read = Thread.objects.filter(posts__gt=0).count()
    assert (told["posts"], told["threads"]) == (Post.objects.count(), read) and told["posts"] > 100
    assert Visit.objects.filter(complete=True).count() == told["visits"]
    assert BoardHour.objects.aggregate(n=Sum("threads") + Sum("replies"))["n"] == told["posts"]
    assert Plan.objects.get().site == site and told["plan"]["visits_per_day"] == 12 * len(BOARDS)
    if told["found_late"]:
        assert told["mean_delay_seconds"] > 0
    _posts_are_true(told)


def _the_day_has_passed(site: Site) -> None:
    """Checks that visits planned by the adaptive policy for the replayed day were made, none before
    its planned time."""
    began = datetime.fromisoformat(site.settings["demonstration"])
    asked = PlannedVisit.objects.filter(
        plan__site=site, code="waiting", visit__isnull=False
    ).select_related("visit")
    assert asked and all(
        one.state == PlannedVisit.State.STARTED and one.visit.started >= one.at for one in asked
    )
    assert all(began - timedelta(days=1) <= one.at < began + timedelta(minutes=30) for one in asked)
    assert Plan.objects.get().active and not demonstration.CLOCK.behind


def _posts_are_true(told: dict[str, Any]) -> None:
    """Checks that the stored posts are those of the forum, including all posts of the last day."""
    site = own_sites()[0]
    began = datetime.fromisoformat(site.settings["demonstration"])
    forum = Forum(began)
    with forum.lock:
        forum.until(datetime.now(UTC))
    truth = {
        (thread.title, post.author, post.posted, post.text)
        for thread in forum.threads.values()
        for post in thread.posts
    }
    stored = set(Post.objects.values_list("thread__title", "author", "posted", "text"))
    assert stored <= truth and len(stored) == told["posts"]
    read_at = (
        Run.objects.filter(kind="forum").latest("pk").created
    )  # the first page was requested after this time
    recent = {
        one
        for one in truth
        if began.timestamp() - 80_000 < one[2].timestamp() < read_at.timestamp()
    }
    assert recent and recent <= stored


def _topic_is_crawled(told: dict[str, Any]) -> None:
    run = TopicRun.objects.get()
    assert (told["seeds"], told["fetched"], told["run"]) == (SEEDS, 30, run.pk) and told[
        "strategy"
    ] == focused_demo.STRATEGY
    pages = TopicPage.objects.filter(run=run.run)
    bees = CLUSTERS * CLUSTER_PAGES
    numbers = [
        int(urlsplit(url).path.split("/")[2].split("-")[0])
        for url in pages.filter(relevant=True).values_list("url", flat=True)
    ]
    assert (
        pages.count() == 30
        and told["harvest_doubt"] is None
        and sum(number < bees for number in numbers) >= 0.8 * len(numbers) > SEEDS
    )
    low, high = told["harvest_interval"]
    assert low <= told["harvest_rate"] <= high


def _database_is_asked(told: dict[str, Any]) -> None:
    assert own_sites()[2].name == told["name"] == deepweb_demo.NAME
    assert sorted(form["type"] for form in told["forms"]) == ["login", "search"]
    assert (
        Form.objects.get(pk=told["form"]).searchable
        and told["records"] == Record.objects.count() > 30
    )
    truth = {one.number: one for one in Database().records}
    for record in Record.objects.all():
        one = truth[int(record.url.rsplit("/", 1)[-1])]
        assert record.listed["Maker"] == one.maker and one.title in record.listed.values()
    assert Record.objects.filter(detail_at__isnull=False).count() == DETAILS


def test_a_port_in_use_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        kept = command.Served(url, datetime.now(UTC))
        monkeypatch.setattr(forums_demo.ForumDemo, "kept", lambda self: kept)
        with pytest.raises(
            CommandError, match=r"Port \d+, where the demonstration's pages were, cannot be used"
        ):
            call_command("demo", "--once")
    assert not Run.objects.exists()


def test_a_signal_ends_the_wait_and_further_ones_leave_the_end_alone() -> None:
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM))
    with command._signals():
        with pytest.raises(Stopped):
            timer.start()
            command._wait_for_a_signal()
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)


def test_a_signal_during_the_crawls_is_told_and_the_next_one_goes_on(
    demo: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    add = focused_demo.TopicDemo.add

    def interrupted(self: Any, url: str, began: datetime) -> None:
        add(self, url, began)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(forums_demo.ForumDemo, "add", lambda self, url, began: None)
    monkeypatch.setattr(focused_demo.TopicDemo, "add", interrupted)
    with pytest.raises(CommandError, match="`demo` continues from there"):
        demo("--once")
    kept = focused_demo.TopicDemo().kept()
    assert kept is not None and not TopicRun.objects.exists()
    monkeypatch.setattr(focused_demo.TopicDemo, "add", add)
    monkeypatch.setattr(forums_demo.ForumDemo, "finish", lambda self: {})
    monkeypatch.setattr(deepweb_demo.DeepwebDemo, "add", lambda self, url, began: None)
    monkeypatch.setattr(deepweb_demo.DeepwebDemo, "finish", lambda self: {})
    assert demo("--once")["topic"]["fetched"] == 30
    assert focused_demo.TopicDemo().kept() == kept


@pytest.mark.once
def test_the_harvest_tells_how_much_of_the_database_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deepweb_demo, "WISHES", WHOLE_HARVEST)
    part = deepweb_demo.DeepwebDemo()
    with Website(Database()) as web:
        part.add(web.url, datetime.now(UTC).replace(microsecond=0))
        told = part.finish()
    low, high = told["estimated_total"]
    assert (
        0.85 * low <= len(Database().records) <= 1.15 * high
    )  # the interval misses the true number in some draws, but never by much
    assert (
        told["coverage"] == [told["records"] / high, min(1.0, told["records"] / low)]
        and told["coverage"][0] > 0.6
    )
