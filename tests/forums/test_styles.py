"""Crawls complete sites in the style of common forum software over real HTTP. Checks that exactly
their boards are found, that every post is stored, and that later visits fetch only what changed."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import unquote

import pytest

from crawlmgr import engine
from crawlmgr.frontier import hosts
from crawlmgr.models import Run, RunState
from forums.discovery import Explorer, ExplorerSettings, FetchedPage
from forums.models import Post, Visit
from forums.sites import sites
from tests.site.forum import ForumServer
from tests.site.styles import STYLES, StyledForum

OPEN = {"allow_private": "127.0.0.1", "delay_seconds": 0.0}


def done(run: Run) -> Run:
    assert engine.run_slice(run.pk) == RunState.FINISHED
    run.refresh_from_db()
    return run


def stored() -> list[tuple[str, str, str]]:
    rows = Post.objects.filter(gone_at__isnull=True).values_list("thread__url", "post_id", "text")
    return sorted(
        ("/" + unquote(url).split("/", 3)[3], post.removeprefix("p"), text)
        for url, post, text in rows
    )


@pytest.mark.parametrize("name", sorted(STYLES))
def test_its_boards_are_found_by_name_and_no_others(name: str) -> None:
    now = datetime(2026, 11, 20, 10, tzinfo=UTC)
    forum = StyledForum(style=STYLES[name], now=now)
    explorer = Explorer("http://site.example/", ExplorerSettings(hints=False))
    while not explorer.done:
        url = explorer.wanted()[0].url
        status, _, body = forum.page(url.removeprefix("http://site.example"))
        assert status in (200, 404)
        if status == 200:
            explorer.feed(FetchedPage(url, url, body.decode(), now))
        else:
            explorer.failed(url, "not found")
    site = explorer.site()
    assert sorted(board.name for board in site.boards) == sorted(forum.names.values())
    assert {board.name for board in site.boards if board.parent_url} == {forum.names[3]}
    assert explorer.asked <= 20


@pytest.mark.once
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ["dotted slugs", "named slugs", "bare slugs", "paths"])
def test_a_site_of_any_style_is_found_read_whole_and_then_only_what_changed(name: str) -> None:
    hosts.forget()
    forum = StyledForum(style=STYLES[name])
    with ForumServer(forum) as server:
        run = done(
            sites.discover(server.url, {"settings": OPEN}, now=datetime.now(UTC), start=False)
        )
        boards = run.result["boards"]
        assert sorted(b["name"] for b in boards) == sorted(forum.names.values())
        now = datetime.now(UTC)
        site = sites.save(
            run, name="", timezone="UTC", board_urls=[b["url"] for b in boards], now=now
        )
        done(sites.crawl_now(site.pk, now=now, parameters={"history_days": 400}, start=False))
        assert stored() == sorted(forum.truth())

        later = datetime.now(UTC)
        changed = {3, 9, forum.open(2, later).number}
        forum.reply(3, later)
        forum.reply(9, later)
        second = done(sites.crawl_now(site.pk, now=later, parameters={}, start=False))
        assert stored() == sorted(forum.truth())
        visits = Visit.objects.filter(run=second)
        assert sum(v.new + v.updated for v in visits) == len(changed)
