"""Robots meta tags, X-Robots-Tag and rel=nofollow are obeyed exactly where a site's settings say
so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crawlmgr.frontier import hosts
from crawlmgr.models import Page
from forums.models import Post, Site, Thread, Visit
from tests.forums.test_crawl import added, crawl, stored
from tests.site.forum import ForumServer, LocalForum

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def lasting() -> Iterator[ForumServer]:
    with ForumServer(LocalForum(boards=2, threads=6)) as served:
        yield served


@pytest.fixture
def server(lasting: ForumServer) -> ForumServer:
    hosts.forget()
    lasting.begin_again()
    return lasting


@pytest.fixture
def site(server: ForumServer) -> Site:
    return added(server)


def asking(server: ForumServer, start: str, header: str) -> None:
    def answer(path: str) -> tuple[int, dict[str, str], bytes] | None:
        if not path.startswith(start):
            return None
        status, headers, body = server.forum.page(path)
        return status, {**headers, "x-robots-tag": header}, body

    server.forum.on_request = answer


def test_nothing_is_asked_of_robots_unless_the_setting_says_so(
    server: ForumServer, site: Site
) -> None:
    asking(server, "/", "noindex, nofollow, noarchive")
    crawl(site, history_days=400)
    assert stored() == server.forum.truth()


def test_a_thread_that_asks_not_to_be_indexed_is_not_stored(
    server: ForumServer, site: Site
) -> None:
    asking(server, "/topic/3", "noindex")
    crawl(site, history_days=400, obey_robots_meta=True)
    assert not Post.objects.filter(thread__url__endswith="/topic/3").exists()
    assert {path for path, _id, _text in stored()} == {
        f"/topic/{n}" for n in server.forum.all if n != 3
    }


def test_a_list_that_asks_for_no_followers_ends_its_board_with_that_reason(
    server: ForumServer, site: Site
) -> None:
    asking(server, "/board/1", "crawlmgr: nofollow")
    run = crawl(site, history_days=400, obey_robots_meta=True)
    assert sorted(Visit.objects.filter(run=run).values_list("stopped_by", flat=True)) == [
        "end_of_board",
        "robots_meta",
    ]


def test_a_page_that_asks_for_no_copy_is_read_and_not_archived(
    server: ForumServer, site: Site
) -> None:
    asking(server, "/topic", "noarchive")
    run = crawl(site, history_days=400, obey_robots_meta=True)
    assert stored() == server.forum.truth()
    assert not Page.objects.filter(run=run, url__contains="/topic/", warc__isnull=False).exists()
    assert Page.objects.filter(run=run, url__contains="/board/", warc__isnull=False).exists()


def test_links_marked_nofollow_are_not_followed(server: ForumServer, site: Site) -> None:
    def marked(path: str) -> tuple[int, dict[str, str], bytes] | None:
        status, headers, body = server.forum.page(path)
        return status, headers, body.replace(b'href="/topic/2"', b'rel=nofollow href="/topic/2"')

    server.forum.on_request = marked
    crawl(site, history_days=400, obey_nofollow=True)
    assert (
        not Thread.objects.filter(url__endswith="/topic/2").exists()
        and Thread.objects.count() == len(server.forum.all) - 1
    )
