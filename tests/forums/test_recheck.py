"""A reply that arrives during a visit, in a thread that the visit has already processed, is found
by the next visit."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from crawlmgr import engine
from crawlmgr.frontier import hosts
from crawlmgr.models import RunState
from forums.models import Post, Site, Thread
from forums.sites import sites
from tests.site.forum import ForumServer, LocalForum

pytestmark = pytest.mark.django_db(transaction=True)
OPEN = {"allow_private": "127.0.0.1", "delay_seconds": 0.0}


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def server() -> Iterator[ForumServer]:
    hosts.forget()
    with ForumServer(LocalForum(boards=2)) as served:
        yield served


def added(server: ForumServer) -> Site:
    run = sites.discover(server.url, {"settings": OPEN}, now=now(), start=False)
    assert engine.run_slice(run.pk) == RunState.FINISHED
    run.refresh_from_db()
    return sites.save(
        run, name="", timezone="UTC", board_urls=[b["url"] for b in run.result["boards"]], now=now()
    )


def crawl(site: Site) -> None:
    run = sites.crawl_now(site.pk, now=now(), parameters={"history_days": 400}, start=False)
    assert engine.run_slice(run.pk) == RunState.FINISHED


def test_a_reply_during_the_visit_is_found_by_the_next(server: ForumServer) -> None:
    site, forum = added(server), server.forum
    late: list[str] = []
    asked: list[str] = []
    thread = max(
        (t for t in forum.all.values() if t.board == 1 and not t.pinned), key=lambda t: t.last
    )

    def reply_before_the_second_look(path: str) -> None:
        asked.append(path)
        if path == "/board/1" and asked.count(path) == 2:
            assert any(one.startswith(f"/topic/{thread.number}") for one in asked), (
                "the thread was fetched already"
            )
            late.append(forum.reply(thread.number, now()).text)

    forum.on_request = reply_before_the_second_look  # type: ignore[assignment]
    crawl(site)
    forum.on_request = None
    assert late and Thread.objects.filter(pending=True).count() == 0
    assert not Post.objects.filter(text=late[0]).exists()
    crawl(site)
    assert Post.objects.filter(text=late[0]).exists()
    assert Post.objects.count() == forum.posts
    before = len(forum.log)
    crawl(site)
    assert not [path for path in forum.log[before:] if path.startswith("/topic")], (
        "and it is not asked for again"
    )
