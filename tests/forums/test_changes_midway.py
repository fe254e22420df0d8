"""Changes while a forum is being read: another template in the middle of a visit, another time zone
for the site."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from crawlmgr import jobs
from crawlmgr.frontier import hosts
from crawlmgr.models import Event, RunState
from forums.models import Post, Site, Thread
from forums.sites import rereads, sites
from tests.forums.test_crawl import crawl, now, read_once, stored, sums
from tests.forums.test_layouts import texts, true_texts
from tests.site.forum import ForumServer, LocalForum

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once]
ZONE, BEHIND = "Etc/GMT+5", timedelta(hours=5)


class ZonedForum(LocalForum):
    """A forum that shows times in a zone five hours behind UTC without stating it."""

    def _time(self, at: datetime) -> str:
        return f"<span class=when>{at - BEHIND:%b %d, %Y, %H:%M}</span>"


@pytest.fixture(scope="module")
def lasting() -> Iterator[ForumServer]:
    with ForumServer(LocalForum(threads=8, longest=9)) as served:
        yield served


@pytest.fixture
def server(request: pytest.FixtureRequest, lasting: ForumServer) -> Iterator[ForumServer]:
    hosts.forget()
    if not hasattr(request, "param"):
        lasting.begin_again()
        yield lasting
        return
    with ForumServer(request.param(threads=8, longest=9)) as served:
        yield served


@pytest.fixture
def forum(server: ForumServer) -> LocalForum:
    return server.forum


@pytest.fixture
def site(server: ForumServer) -> Site:
    return read_once(server)


@pytest.mark.parametrize("asked", [1, 4, 8])
def test_a_template_changed_in_the_middle_of_a_visit_is_learned_and_loses_nothing(
    site: Site, forum: LocalForum, asked: int
) -> None:
    for number in (3, 5, 11, 17, 20):
        forum.reply(number, now())
    forum.open(2, now())
    until = len(forum.log) + asked

    def switched(_path: str) -> None:
        if len(forum.log) > until:
            forum.skin = "cards"

    forum.on_request = switched
    crawl(site)
    assert forum.skin == "cards"
    crawl(site)
    site.refresh_from_db()
    assert texts() == true_texts(forum)
    assert site.layout["state"] == "agreed" and site.version == 2
    assert {"layout_noticed", "layout_agreed"} <= set(Event.objects.values_list("code", flat=True))
    assert (
        Thread.objects.count() == len(forum.all)
        and not Thread.objects.filter(pending=True).exists()
    )
    assert sums(crawl(site))[1:] == (0, 0)


@pytest.mark.parametrize("server", [ZonedForum], indirect=True)
def test_another_zone_moves_the_times_that_are_stored_and_nothing_else(
    site: Site, forum: LocalForum
) -> None:
    true = sorted(post.posted for thread in forum.all.values() for post in thread.posts)
    kept = sorted(Post.objects.values_list("thread__key", "key", "author", "text"))
    assert sorted(Post.objects.values_list("posted", flat=True)) == [at - BEHIND for at in true]
    sites.update(site.pk, {"timezone": ZONE}, now=now())
    site.refresh_from_db()
    asked = len(forum.log)
    run = rereads.start(site, now=now(), start=False)
    assert jobs.run_slice(run.pk) == RunState.FINISHED
    assert sorted(Post.objects.values_list("posted", flat=True)) == true
    assert sorted(Post.objects.values_list("thread__key", "key", "author", "text")) == kept
    lasts = {thread.number: thread.last for thread in forum.all.values()}
    assert {
        int(url.rsplit("/", 1)[-1]): at
        for url, at in Thread.objects.values_list("url", "last_reply")
    } == lasts
    assert len(forum.log) == asked

    assert sums(crawl(site))[1:] == (0, 0)
    forum.reply(3, now())
    assert sums(crawl(site))[1:] == (0, 1)
    assert stored() == forum.truth()
    assert Post.objects.get(text=forum.all[3].posts[-1].text).posted == forum.all[3].last
