"""Feeds, JSON lists and sitemaps as overview sources: found with the forum, tested once its boards
have been read, then read instead of lists."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from crawlmgr import engine
from crawlmgr.frontier import hosts
from crawlmgr.models import RunState
from forums.models import Board, Look, OverviewSource, Site, Thread, Visit
from forums.sites import sites
from forums.visits import overviews
from tests.forums.test_crawl import OPEN, added, crawl, now, stored
from tests.site.discourse import Discourse
from tests.site.feeds import Feeds
from tests.site.forum import ForumServer, LocalForum

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def server() -> Iterator[ForumServer]:
    hosts.forget()
    with ForumServer(LocalForum(threads=5, longest=4)) as served:
        yield served


def look(source: OverviewSource) -> Look:
    asked = overviews.ask(source, now())
    run = sites.crawl_now(source.site_id, now=now(), readings=[asked.pk], board_ids=[], start=False)
    assert engine.run_slice(run.pk) == RunState.FINISHED
    return Look.objects.get(pk=asked.pk)


def tried(site: Site, kind: str) -> OverviewSource:
    """Returns the site's overview source of a kind after two crawls: the first finds the boards,
    the second tests possible sources."""
    crawl(site, history_days=400)
    assert not OverviewSource.objects.get(site=site, kind=kind).enabled
    crawl(site)
    return OverviewSource.objects.filter(site=site, kind=kind).latest("pk")


def lists_asked(server: ForumServer, since: int) -> int:
    return sum(path.startswith("/board/") for path in server.forum.log[since:])


def test_a_feed_that_the_front_page_names_is_found_and_fetches_what_changed_without_lists(
    server: ForumServer,
) -> None:
    server.forum.etags = True
    Feeds(server.forum, server.url)
    site = added(server)
    assert [
        (one["kind"], one["url"]) for one in site.structure["sources"] if one["kind"] == "feed"
    ] == [("feed", f"{server.url}feed")]
    source = tried(site, "feed")
    assert (source.enabled, source.names_threads, len(source.boards)) == (True, True, 3)
    before = len(server.forum.log)
    forum = server.forum
    forum.reply(1, datetime.now(UTC) + timedelta(minutes=1))
    forum.open(2, datetime.now(UTC) + timedelta(minutes=1))
    found = look(source)
    assert found.state == "done" and found.threads == 2 and found.bytes > 0
    assert lists_asked(server, before) == 0 and stored() == {
        (path, str(post), text) for path, post, text in forum.truth()
    }
    assert Thread.objects.latest("pk").board == Board.objects.get(name=forum.names[2])
    assert {visit.kind for visit in Visit.objects.filter(run=found.run)} == {"targeted"}
    before = len(server.forum.log)
    assert (
        look(source).threads == 0
        and server.forum.unchanged[-1] == "/feed"
        and len(server.forum.log) == before + 1
    )


def test_what_robots_txt_closes_is_never_read(server: ForumServer) -> None:
    Feeds(server.forum, server.url).closed = True
    settings = {**OPEN, "respect_robots": True}
    run = sites.discover(server.url, {"settings": settings}, now=now(), start=False)
    assert engine.run_slice(run.pk) == RunState.FINISHED
    run.refresh_from_db()
    site = sites.save(
        run, name="", timezone="UTC", board_urls=[b["url"] for b in run.result["boards"]], now=now()
    )
    source = tried(site, "feed")
    crawl(site)
    crawl(site)
    assert not source.enabled and "/feed" not in server.forum.log
    assert (
        Look.objects.filter(source=source, state="failed").count()
        == overviews.TRIES
        == Look.objects.filter(source=source).count()
    )


def test_a_feed_of_new_topics_only_loses_its_weight_to_the_boards_that_it_misses(
    server: ForumServer,
) -> None:
    Feeds(server.forum, server.url, of_topics=True, categories=False)
    source = tried(added(server), "feed")
    assert source.enabled
    server.forum.reply(1, datetime.now(UTC) + timedelta(minutes=1))
    assert look(source).threads == 0, "a reply is no new topic: only the board's own list tells"
    assert len(stored()) == len(server.forum.truth()) - 1
    thread = server.forum.open(3, datetime.now(UTC) + timedelta(minutes=1))
    assert look(source).threads == 0, (
        "a new thread of a board that nothing tells is left to its board's list"
    )
    crawl(Site.objects.get())
    assert (
        stored() == set(server.forum.truth())
        and Thread.objects.filter(url__endswith=f"/topic/{thread.number}").exists()
    )


def test_a_feed_too_short_to_go_back_to_the_look_before_says_so(server: ForumServer) -> None:
    feeds = Feeds(server.forum, server.url)
    source = tried(added(server), "feed")
    feeds.entries = 2
    later = datetime.now(UTC) + timedelta(minutes=2)
    for number in (1, 2, 3):
        server.forum.reply(number, later)
    found = look(source)
    assert (found.state, found.reason, found.threads) == ("done", Look.CUT, 2)


def test_a_sitemap_that_robots_txt_names_is_followed_to_its_threads(server: ForumServer) -> None:
    feeds = Feeds(server.forum, server.url, entries=500)
    feeds.sitemap = True
    site = added(server)
    assert OverviewSource.objects.get(site=site, kind="sitemap").url == f"{server.url}sitemap.xml"
    crawl(site, history_days=400)
    crawl(site)
    crawl(site)
    source = OverviewSource.objects.get(kind="sitemap", url__endswith="/sitemap-topics.xml")
    assert source.enabled and source.names_threads and len(source.boards) == 3
    overviews.note(Site.objects.get(), now())
    source.refresh_from_db()
    assert source.enabled, "a forum that is saved again keeps what a sitemap led to"
    server.forum.reply(4, datetime.now(UTC) + timedelta(minutes=1))
    before = len(server.forum.log)
    assert look(source).threads == 1 and lists_asked(server, before) == 0
    assert stored() == set(server.forum.truth())


def test_the_json_lists_of_known_software_are_sources_too(server: ForumServer) -> None:
    Discourse(server.forum)
    site = added(server)
    named = {
        one["url"].removeprefix(server.url)
        for one in site.structure["sources"]
        if one["kind"] == "api"
    }
    assert named == {"latest.json", "categories.json?include_subcategories=true"}
    crawl(site, history_days=400)
    crawl(site)
    newest = OverviewSource.objects.get(url__endswith="latest.json")
    boards = OverviewSource.objects.get(url__contains="categories.json")
    assert newest.enabled and newest.names_threads and boards.enabled and not boards.names_threads
    before = len(server.forum.log)
    server.forum.reply(3, datetime.now(UTC) + timedelta(minutes=1))
    assert look(newest).threads == 1 and not [
        path for path in server.forum.log[before:] if path.startswith("/c/")
    ]
    shown = look(boards).shown
    assert all(figures[0] and figures[2] for figures in shown.values()) and len(shown) == 3
