"""Stored pages are read again: a change of time zone or a correction corrects stored data, without
duplicates and without requests."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import F

from crawlmgr import engine, jobs
from crawlmgr.frontier import hosts
from crawlmgr.models import Run, RunState
from crawlmgr.runs import runs
from forums.discovery import structures
from forums.models import Board, Doubt, Post, Site, Thread
from forums.reading import PageKind
from forums.reading.corrections import NOTHING, KindRules, SiteCorrections
from forums.sites import rereads, sites
from forums.visits import doubts
from tests.forums.test_crawl import read_once
from tests.site.forum import ForumServer, LocalForum

pytestmark = pytest.mark.django_db(transaction=True)
OPEN = {"allow_private": "127.0.0.1", "delay_seconds": 0.0}


def now() -> datetime:
    return datetime.now(UTC)


def done(run: Run) -> Run:
    assert engine.run_slice(run.pk) == RunState.FINISHED
    run.refresh_from_db()
    return run


@pytest.fixture(scope="module")
def lasting() -> Iterator[ForumServer]:
    with ForumServer(LocalForum(boards=2)) as served:
        yield served


@pytest.fixture
def server(lasting: ForumServer) -> ForumServer:
    hosts.forget()
    lasting.begin_again()
    return lasting


@pytest.fixture
def site(server: ForumServer) -> Site:
    return read_once(server)


def posts() -> list[tuple[object, ...]]:
    fields = ("thread__key", "key", "author", "posted", "text", "page", "position")
    return sorted(Post.objects.values_list(*fields), key=str)


def threads() -> list[tuple[object, ...]]:
    fields = (
        "key",
        "title",
        "author",
        "created",
        "last_reply",
        "replies",
        "pinned",
        "posts",
        "pending",
        "signature",
    )
    return sorted(Thread.objects.values_list(*fields), key=str)


def reread(site: Site) -> Run:
    run = rereads.start(site, now=now(), start=False)
    assert jobs.run_slice(run.pk) == RunState.FINISHED
    run.refresh_from_db()
    return run


def test_reading_again_without_any_change_changes_nothing(site: Site, server: ForumServer) -> None:
    before, asked = (posts(), threads()), len(server.forum.log)
    run = reread(site)
    assert (posts(), threads()) == before
    assert (run.result["posts"], run.result["added"], run.result["pages"]) == (
        0,
        0,
        run.result["all"],
    )
    assert len(server.forum.log) == asked
    assert run.stopped_by == "reread"


def test_times_and_names_that_were_stored_wrongly_are_mended_in_their_place(site: Site) -> None:
    before = (posts(), threads())
    Post.objects.update(posted=F("posted") + timedelta(hours=3), author="nobody")
    Thread.objects.update(author="nobody", created=None, pinned=False)
    told = reread(site).result
    assert (told["posts"], told["added"]) == (len(before[0]), 0)
    assert (posts(), threads()) == before


def test_a_correction_and_its_taking_back(site: Site) -> None:
    before = posts()
    rules = SiteCorrections(((PageKind.thread, KindRules("", (("author", NOTHING),))),))
    structures.correct(site.pk, rules, ["rule.thread.author", "", NOTHING], now=now())
    site.refresh_from_db()
    reread(site)
    assert {author for _thread, _key, author, *_rest in posts()} == {""}
    assert len(posts()) == len(before)
    structures.take_back(site.pk, "thread.author", now=now())
    site.refresh_from_db()
    reread(site)
    assert posts() == before


def test_a_site_that_is_visited_is_not_read_again(site: Site) -> None:
    sites.crawl_now(site.pk, now=now(), start=False)
    with pytest.raises(runs.Busy):
        rereads.start(site, now=now(), start=False)


def test_posts_that_were_lost_are_added_once(site: Site) -> None:
    before = len(posts())
    Post.objects.filter(position=1).delete()
    lost = before - len(posts())
    assert lost > 0
    assert reread(site).result["added"] == lost
    assert reread(site).result["added"] == 0
    assert len(posts()) == before


def test_a_doubt_stays_settled_until_it_is_another(site: Site) -> None:
    board = Board.objects.filter(site=site).first()
    assert board is not None
    made = doubts.note(site.pk, "rows_left_out", str(board.pk), {"pages": 1}, now(), board.pk)
    assert doubts.settle(made.pk, now())
    assert not doubts.settle(made.pk, now())
    doubts.note(site.pk, "rows_left_out", str(board.pk), {"pages": 1}, now(), board.pk)
    assert not Doubt.objects.filter(settled_at__isnull=True).exists()
    doubts.note(site.pk, "rows_left_out", str(board.pk), {"pages": 2}, now(), board.pk)
    assert Doubt.objects.filter(settled_at__isnull=True).count() == 1


def test_visits_add_to_the_evidence_of_the_model(site: Site) -> None:
    site.refresh_from_db()
    told = site.evidence["replies"]
    assert told["kept"] == told["of"] > 0
    assert not Doubt.objects.filter(site=site).exists()
