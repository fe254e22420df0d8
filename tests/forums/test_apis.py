"""Reading a forum through its JSON API: the same threads and posts are stored as from its pages,
which are read where the API returns nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from crawlmgr import jobs
from crawlmgr.frontier import hosts
from crawlmgr.models import Run, RunState
from forums.discovery import structures
from forums.discovery.correction_page import with_selector
from forums.models import Post, Site, Thread
from forums.reading import PageKind
from forums.sites import rereads
from tests.forums.test_crawl import added, crawl, now, sums
from tests.site.discourse import Discourse
from tests.site.forum import ForumServer, LocalForum

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def server() -> Iterator[ForumServer]:
    hosts.forget()
    with ForumServer(LocalForum(threads=7, longest=25)) as served:
        yield served


@pytest.fixture
def face(server: ForumServer) -> Discourse:
    return Discourse(server.forum)


@pytest.fixture
def site(server: ForumServer, face: Discourse) -> Site:
    made = added(server)
    assert made.engine == "discourse"
    assert made.boards.count() == server.forum.boards  # type: ignore[attr-defined]
    return made


def whole(server: ForumServer) -> None:
    posts = [
        (url.rsplit("/", 1)[1], text)
        for url, text in Post.objects.values_list("thread__url", "text")
    ]
    assert sorted(posts) == sorted(
        (path.rsplit("/", 1)[1], text) for path, _id, text in server.forum.truth()
    )


def asked(server: ForumServer, since: int) -> tuple[int, int]:
    """Returns the numbers of requests for JSON and for HTML pages from position `since` of the
    server's log on."""
    log = [path for path in server.forum.log[since:] if path.startswith(("/c/", "/t/"))]
    return sum(".json" in path for path in log), sum(".json" not in path for path in log)


def test_lists_and_threads_are_read_from_the_interface(server: ForumServer, site: Site) -> None:
    before = len(server.forum.log)
    crawl(site, history_days=400)
    whole(server)
    assert asked(server, before)[1] == 0 and asked(server, before)[0] > 20
    server.forum.reply(3, now())
    assert sums(crawl(site))[1:] == (0, 1)
    whole(server)
    assert sums(crawl(site))[1:] == (0, 0)
    assert (
        Thread.objects.get(key__endswith="3", url__contains="/t/topic-3/").author
        == server.forum.all[3].posts[0].author
    )


def test_where_it_answers_nothing_the_pages_are_read_and_no_post_is_doubled(
    server: ForumServer, site: Site, face: Discourse
) -> None:
    crawl(site, history_days=400)
    face.api = False
    server.forum.reply(3, now())
    before = len(server.forum.log)
    run = crawl(site)
    whole(server)
    assert run.result["api"] == "off" and asked(server, before)[0] == 1
    before = len(server.forum.log)
    run = crawl(site)
    assert (
        run.result["api"] == "off" and asked(server, before)[0] == 0
    )  # not tried again so soon after a failure
    Run.objects.filter(pk=run.pk).update(
        result={**run.result, "api_off": (now() - timedelta(days=2)).isoformat()}
    )
    before = len(server.forum.log)
    crawl(site)
    assert asked(server, before)[0] == 1


def test_a_forum_read_by_pages_first_is_not_doubled_by_the_interface(
    server: ForumServer, site: Site, face: Discourse
) -> None:
    crawl(site, history_days=400, use_apis=False)
    server.forum.reply(3, now())
    crawl(site)
    whole(server)


def test_an_operators_rule_is_about_pages(server: ForumServer, site: Site) -> None:
    rules = with_selector(None, PageKind.threadlist, "replies", ".replies")
    structures.correct(site.pk, rules, ["rule.threadlist.replies", "", ".replies"], now=now())
    before = len(server.forum.log)
    crawl(site, history_days=400)
    whole(server)
    assert 0 < asked(server, before)[1] <= 3 * server.forum.boards


def test_stored_json_is_read_again_without_a_request(server: ForumServer, site: Site) -> None:
    crawl(site, history_days=400)
    posts = sorted(Post.objects.values_list("thread__key", "key", "author", "posted", "text"))
    before = len(server.forum.log)
    Post.objects.update(text="damaged")
    run = rereads.start(site, now=now(), start=False)
    assert jobs.run_slice(run.pk) == RunState.FINISHED
    assert (
        sorted(Post.objects.values_list("thread__key", "key", "author", "posted", "text")) == posts
    )
    assert len(server.forum.log) == before
