"""A run that received no response at all has failed, with a reason worded for its kind of run; one
that received any has not failed."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest

from crawlmgr import engine
from crawlmgr.clock import SYSTEM
from crawlmgr.models import Event, Run, RunState
from crawlmgr.runs.desk import story
from deepweb.forms import sources
from focused.topic import topics
from forums.models import Site, Visit
from forums.sites import sites
from tests.focused.topical import DOCUMENTS
from tests.forums.test_crawl import added
from tests.site.forum import ForumServer, LocalForum
from tests.site.server import LocalSite, Reply

pytestmark = pytest.mark.django_db(transaction=True)


def quick(url: str, settings: dict[str, Any]) -> dict[str, Any]:
    return {
        "allow_private": urlsplit(url).netloc,
        "delay_seconds": 0.0,
        "max_attempts": 1,
        **settings,
    }


@pytest.fixture
def nowhere() -> Iterator[str]:
    """An address at which no server listens; the port is kept reserved."""
    with closing(socket.socket()) as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{held.getsockname()[1]}/"


def forum(url: str, **settings: Any) -> Run:
    with ForumServer(LocalForum(boards=2, threads=2, longest=2)) as server:
        site = added(server)
    for board in site.boards.all():
        site.boards.filter(pk=board.pk).update(url=f"{url}board/{board.pk}")
    Site.objects.filter(pk=site.pk).update(url=url)
    return sites.crawl_now(site.pk, now=SYSTEM.now(), parameters=quick(url, settings), start=False)


def look(url: str, **settings: Any) -> Run:
    return sites.discover(url, {"settings": quick(url, settings)}, now=SYSTEM.now(), start=False)


def topic(url: str, **settings: Any) -> Run:
    made = topics.add(
        "x", [url], documents=DOCUMENTS, now=SYSTEM.now(), settings=quick(url, settings)
    )
    return topics.crawl(made, now=SYSTEM.now(), start=False)


def find(url: str, **settings: Any) -> Run:
    return sources.find([url], now=SYSTEM.now(), settings=quick(url, settings), start=False)


@pytest.mark.parametrize("respect_robots", [True, False])
@pytest.mark.parametrize(
    ("begin", "words"),
    [
        (forum, "the forum could not be reached"),
        (look, "the address could not be reached"),
        (topic, "none of the seeds could be reached"),
        (find, "the site could not be reached"),
    ],
)
def test_a_site_out_of_reach_fails_with_that_reason(
    nowhere: str, begin: Callable[..., Run], words: str, respect_robots: bool
) -> None:
    run = begin(nowhere, respect_robots=respect_robots)
    assert engine.run_slice(run.pk) == RunState.FAILED
    run.refresh_from_db()
    assert (run.state, run.stopped_by) == ("failed", "unreachable")
    assert run.detail.startswith("robots_unreachable" if respect_robots else "connect"), run.detail
    assert story(run, SYSTEM.now())["text"] == f"Ended: {words}."
    assert Event.objects.filter(run=run, code="run_failed").count() == 1
    assert not Visit.objects.filter(run=run, finished__isnull=True).exists()


def test_a_page_that_is_only_gone_was_reached() -> None:
    with LocalSite() as site:
        site.add("/", Reply(b"gone", 404))
        run = find(site.url("/"))
        assert engine.run_slice(run.pk) == RunState.FINISHED
    run.refresh_from_db()
    assert run.stopped_by == "no_forms"


def test_a_site_that_robots_txt_closes_was_reached() -> None:
    with LocalSite() as site:
        site.add("/robots.txt", Reply(b"User-agent: *\nDisallow: /\n", content_type="text/plain"))
        run = find(site.url("/"))
        assert engine.run_slice(run.pk) == RunState.FINISHED


def test_429_and_tries_again_are_counted_on_the_run() -> None:
    answers = iter([Reply(b"", 429), Reply(b"", 500)])
    with LocalSite() as site:
        site.add("/", lambda request: next(answers, Reply(b"<html><p>nothing</p></html>")))
        run = find(site.url("/"), max_attempts=3)
        assert engine.run_slice(run.pk) == RunState.FINISHED
    run.refresh_from_db()
    assert (run.busy, run.retries, run.fetched) == (1, 2, 1)


def test_a_forum_that_was_read_says_so_in_its_words_and_other_kinds_in_theirs() -> None:
    now = SYSTEM.now()
    told = {
        kind: story(Run(kind=kind, state="finished", stopped_by="complete"), now)["text"]
        for kind in ("forum", "deepweb-find", "forum-discovery", "topic", "simulation")
    }
    assert told.pop("forum") == "Ended: complete: every board was read up to its stop condition."
    assert not any("board" in text for text in told.values()), told
