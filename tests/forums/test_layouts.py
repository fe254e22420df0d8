"""Tests that a change of a forum's template between two visits is noticed, reported and learned
without losing data."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from crawlmgr import engine
from crawlmgr.frontier import hosts
from crawlmgr.models import Event, Run, RunState
from crawlmgr.runs import runs
from forums.discovery import LayoutChange, structures
from forums.models import Board, Origin, Post, Site, StructureVersion, Thread, Visit
from forums.sites import layout_changes, sites
from tests.forums.test_crawl import added, crawl, now, read_once, sums
from tests.site.forum import ForumServer, LocalForum

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once]


@pytest.fixture(scope="module")
def lasting() -> Iterator[ForumServer]:
    with ForumServer(LocalForum(threads=8, longest=9)) as served:
        yield served


@pytest.fixture
def server(lasting: ForumServer) -> ForumServer:
    hosts.forget()
    lasting.begin_again()
    return lasting


def texts() -> list[tuple[str, str]]:
    return sorted(
        ("/" + url.split("/", 3)[3], text)
        for url, text in Post.objects.values_list("thread__url", "text")
    )


def true_texts(forum: LocalForum) -> list[tuple[str, str]]:
    return sorted((path, text) for path, _number, text in forum.truth())


def visited(server: ForumServer) -> Site:
    return read_once(server)


def test_visits_of_an_unchanged_forum_tell_of_no_change(server: ForumServer) -> None:
    site = visited(server)
    server.forum.reply(3, now())
    crawl(site)
    site.refresh_from_db()
    assert (
        site.layout == {}
        and site.version == 1
        and not Event.objects.filter(code__startswith="layout").exists()
    )


def test_short_threads_and_small_boards_are_no_change_of_layout() -> None:
    hosts.forget()
    with ForumServer(
        LocalForum(boards=4, threads=12, longest=30, threads_a_page=40, posts_a_page=20)
    ) as server:
        for thread in list(server.forum.all.values()):
            if thread.board > 1 and thread.number % 12 > 2:
                del server.forum.all[thread.number]
            elif len(thread.posts) > 10 and thread.number > 4:
                del thread.posts[1:]
        site = visited(server)
        for number in sorted(server.forum.all)[:6]:
            server.forum.reply(number, now())
        crawl(site)
        site.refresh_from_db()
        assert site.layout == {} and site.version == 1


@pytest.mark.parametrize("skin", ["cards", "plain"])
def test_a_new_template_is_noticed_learned_and_read_without_loss_or_doubles(
    server: ForumServer, skin: str
) -> None:
    site, forum = visited(server), server.forum
    forum.skin = skin
    forum.reply(3, now())
    forum.reply(17, now())
    forum.open(2, now())
    before = len(forum.log)
    run = crawl(site)
    site.refresh_from_db()
    assert site.layout["state"] == "agreed" and "marks" in site.layout["reasons"], (
        site.layout,
        run.result,
    )
    assert texts() == true_texts(forum)
    assert {"layout_noticed", "layout_agreed"} <= set(Event.objects.values_list("code", flat=True))
    version = StructureVersion.objects.get(number=2)
    assert (version.origin, version.run_id, site.version) == (Origin.RELEARNED, run.pk, 2)
    assert "entry-title" in str(site.structure["layouts"]) and site.structure["timezone"] == "UTC"
    assert len(forum.log) - before < 60
    assert all(visit.complete for visit in Visit.objects.filter(run=run))

    later = crawl(site)
    site.refresh_from_db()
    assert sums(later)[1:] == (0, 0) and StructureVersion.objects.count() == 2
    assert Event.objects.filter(code="layout_noticed").count() == 1


def test_a_template_that_cannot_be_read_keeps_the_old_model_and_loses_nothing(
    server: ForumServer,
) -> None:
    site, forum = visited(server), server.forum
    forum.skin = "broken"
    forum.reply(3, now())
    before = Site.objects.values_list("structure", flat=True).get(pk=site.pk)
    run = crawl(site)
    site.refresh_from_db()
    assert site.layout["state"] == "disagrees" and site.layout["verdict"] == ["nothing_read"]
    assert site.structure == before and StructureVersion.objects.get(number=2).proposed
    assert {visit.stopped_by for visit in Visit.objects.filter(run=run)} == {"layout_changed"}
    assert run.stopped_by == "incomplete: layout_changed"
    assert (
        not Thread.objects.filter(gone_at__isnull=False).exists()
        and not Post.objects.filter(gone_at__isnull=False).exists()
    )

    asked = len(forum.log)
    crawl(site)  # within a day, learning is not tried again for the same change
    assert len(forum.log) - asked <= forum.boards
    forum.skin = "tables"
    crawl(site)
    assert texts() == true_texts(forum)


def test_a_forum_under_other_addresses_keeps_its_boards_threads_and_posts(
    server: ForumServer,
) -> None:
    site, forum = visited(server), server.forum
    before = dict(Thread.objects.values_list("pk", "title"))
    boards = dict(Board.objects.values_list("pk", "name"))
    forum.scheme = "moved"  # the old addresses no longer exist
    forum.reply(3, now())
    forum.open(2, now())
    crawl(site)
    site.refresh_from_db()
    assert (site.layout["state"], site.layout["reasons"], site.layout["moved"]) == (
        "agreed",
        ["addresses"],
        True,
    )
    assert dict(Board.objects.values_list("pk", "name")) == boards
    assert all("/forums/" in url for url in Board.objects.values_list("url", flat=True))
    assert sorted(Post.objects.values_list("text", flat=True)) == sorted(
        text for _path, _number, text in forum.truth()
    )
    assert (
        before.items() <= dict(Thread.objects.values_list("pk", "title")).items()
        and Thread.objects.count() == len(before) + 1
    )

    asked = len(forum.log)
    assert sums(crawl(site))[1:] == (0, 0) and len(forum.log) - asked <= 2 * forum.boards
    forum.reply(3, now())
    crawl(site)
    assert Post.objects.count() == len(forum.truth())


def test_a_board_that_was_taken_away_is_asked_for_twice_and_fails_alone(
    server: ForumServer,
) -> None:
    site, forum = visited(server), server.forum
    gone = Board.objects.order_by("position").first()
    assert gone is not None
    Board.objects.filter(pk=gone.pk).update(url=f"{gone.url}999")
    forum.reply(3, now())
    before = len(forum.log)
    run = crawl(site)
    site.refresh_from_db()
    assert site.layout == {}
    assert sum(path.endswith("999") for path in forum.log[before:]) == 2
    ends = dict(Visit.objects.filter(run=run).values_list("board_id", "stopped_by"))
    assert ends.pop(gone.pk) == "http_404" and set(ends.values()) <= {
        "watermark",
        "unchanged",
        "end_of_board",
    }


def test_the_model_is_learned_again_when_the_day_is_over(server: ForumServer) -> None:
    site, forum = visited(server), server.forum
    forum.skin = "broken"
    crawl(site)
    site.refresh_from_db()
    told = {
        **site.layout,
        "at": (datetime.fromisoformat(site.layout["at"]) - timedelta(days=2)).isoformat(),
    }
    Site.objects.filter(pk=site.pk).update(layout=told)
    forum.skin = "cards"
    crawl(site)
    site.refresh_from_db()
    assert site.layout["state"] == "agreed"


def test_learning_again_goes_on_over_slices(server: ForumServer) -> None:
    site, forum = visited(server), server.forum
    forum.skin = "cards"
    forum.reply(5, now())
    run = sites.crawl_now(site.pk, now=now(), start=False)
    slices = 0
    while engine.run_slice(run.pk, seconds=0.05) == RunState.RUNNING:
        slices += 1
    site.refresh_from_db()
    assert slices > 2 and site.layout["state"] == "agreed" and texts() == true_texts(forum)
    assert Board.objects.filter(unfinished={}).count() == forum.boards


def test_a_run_stopped_while_it_learns_leaves_no_banner_behind(server: ForumServer) -> None:
    site, forum = visited(server), server.forum
    forum.skin, forum.delay_seconds = (
        "cards",
        0.2,
    )  # slow enough to notice a stop request before the end
    run = sites.crawl_now(site.pk, now=now(), start=False)

    def stop(*_: object) -> None:
        if Run.objects.get(pk=run.pk).result.get("layout"):
            runs.stop(run.pk, now())

    engine.run_slice(run.pk, on_page=stop)
    site.refresh_from_db()
    assert Run.objects.get(pk=run.pk).state == RunState.STOPPED and site.layout == {}
    forum.delay_seconds = 0.0
    crawl(site)
    assert texts() == true_texts(forum)


@pytest.mark.parametrize("end", ["forgotten", "seen", "restored"])
def test_that_a_site_has_moved_outlasts_the_telling_of_it(server: ForumServer, end: str) -> None:
    site = added(server)
    Site.objects.filter(pk=site.pk).update(
        layout={"state": "agreed", "reasons": ["addresses"], "moved": True, "at": now().isoformat()}
    )
    site.refresh_from_db()
    run = sites.crawl_now(site.pk, now=now(), start=False)
    assert layout_changes.noticed(run, site, LayoutChange("threadlist", ("marks",)), now())
    if end == "forgotten":
        layout_changes.forget(run)
    elif end == "seen":
        structures.dismiss(site.pk, now=now())
    else:
        structures.restore(site.pk, 1, now=now())
    site.refresh_from_db()
    assert site.layout == {"moved": True}


@pytest.mark.parametrize(
    ("state", "reasons", "again"),
    [
        ("agreed", ["rows"], False),
        ("agreed", ["marks"], True),
        ("agreed", ["addresses"], True),
        ("disagrees", ["rows"], False),
        ("disagrees", ["kind"], True),
        ("learning", ["rows"], True),
        ("", ["rows"], True),
    ],
)
def test_what_was_learned_a_moment_ago_is_not_learned_again_at_every_visit(
    server: ForumServer, state: str, reasons: list[str], again: bool
) -> None:
    site = added(server)
    told = (
        {
            "state": state,
            "reasons": ["marks"] if reasons == ["marks"] else ["rows"],
            "at": now().isoformat(),
        }
        if state
        else {}
    )
    Site.objects.filter(pk=site.pk).update(layout=told)
    site.refresh_from_db()
    run = sites.crawl_now(site.pk, now=now(), start=False)
    assert (
        layout_changes.noticed(run, site, LayoutChange("threadlist", tuple(reasons)), now())
        is again
    )
    assert Event.objects.filter(code="layout_noticed").exists() is again
