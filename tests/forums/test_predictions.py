"""Boards whose lists do not show replies: which threads a visit fetches, and that new posts are
still found."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from django.db import connection

from crawlmgr import engine
from crawlmgr.frontier import hosts
from crawlmgr.models import RunState
from forums.models import Board, Post, ReplyModel, Site, Thread, Visit
from forums.plans import stored_rhythms
from forums.sites import sites
from tests.forums.planned import NOW, make_site
from tests.site.forum import ForumServer, LocalForum

OPEN = {"allow_private": "127.0.0.1", "delay_seconds": 0.0}


def threads_of(board: Board, lively: int, dead: int, fetched: datetime) -> None:
    """Active threads, answered every two hours until just before `fetched`, and inactive ones, last
    answered two months before."""
    for number in range(lively + dead):
        quiet = timedelta(hours=1) if number < lively else timedelta(days=60)
        thread = Thread.objects.create(
            site=board.site,
            board=board,
            key=f"k{number}",
            url="x",
            title=f"{number}",
            first_seen=fetched,
            fetched_at=fetched,
        )
        times = [fetched - quiet - timedelta(hours=2 * back) for back in range(20)]
        Post.objects.bulk_create(
            Post(thread=thread, key=str(n), page=1, position=n, posted=at, first_seen=fetched)
            for n, at in enumerate(sorted(times))
        )


@pytest.mark.django_db
def test_threads_that_should_have_been_answered_come_first_within_the_budget():
    site = make_site(volumes=(1.0,))
    board = site.boards.get()
    threads_of(board, lively=5, dead=30, fetched=NOW - timedelta(hours=6))
    chosen = stored_rhythms.choose(board, NOW)
    assert {thread.title for thread in chosen[:5]} == {"0", "1", "2", "3", "4"}
    assert len(chosen) <= stored_rhythms.FETCHES_A_VISIT
    assert len(stored_rhythms.choose(board, NOW, most=3)) == 3
    Thread.objects.filter(title="0").update(fetched_at=NOW)
    Thread.objects.filter(title="1").update(gone_at=NOW)
    Thread.objects.filter(title="2").update(pending=True)
    assert not {"0", "1", "2"} & {thread.title for thread in stored_rhythms.choose(board, NOW)}


@pytest.mark.django_db
def test_the_hazard_is_fitted_once_a_day_on_the_sites_own_threads():
    site = make_site(volumes=(1.0,))
    board = site.boards.get()
    rng = np.random.default_rng(1)
    threads_of(board, lively=60, dead=10, fetched=NOW - timedelta(hours=float(rng.uniform(1, 9))))
    stored_rhythms.choose(board, NOW)
    model = ReplyModel.objects.get()
    assert model.weights and model.trained_on >= 300 and len(model.activity) == 24
    stored_rhythms.choose(board, NOW + timedelta(hours=5))
    assert ReplyModel.objects.get().trained_at == NOW
    stored_rhythms.choose(board, NOW + timedelta(hours=25))
    assert ReplyModel.objects.get().trained_at == NOW + timedelta(hours=25)


@pytest.mark.django_db
def test_only_boards_that_hide_their_changes_need_it():
    site = make_site(volumes=(1.0,))
    board = site.boards.get()
    assert not stored_rhythms.needed(board)
    board.has_last_reply = False
    assert stored_rhythms.needed(board)
    Thread.objects.create(
        site=site, board=board, key="k", url="x", title="t", replies=3, first_seen=NOW
    )
    assert not stored_rhythms.needed(board)


class SilentForum(LocalForum):
    """A forum whose lists show threads newest first, without replies, views or last posts."""

    def _board(self, board: int, number: int) -> str | None:
        mine = sorted(
            (t for t in self.all.values() if t.board == board),
            key=lambda t: t.posts[0].posted,
            reverse=True,
        )
        rows = "".join(
            f'<tr class=topic><td><a class=topictitle href="/topic/{t.number}">{t.title}</a><br>by'
            " <a class=username "
            f"href=/user/{t.posts[0].author}>{t.posts[0].author}</a></td><td>"
            f"{self._time(t.posts[0].posted)}</td></tr>"
            for t in mine
        )
        head = "<tr><th>Topic</th><th>Started</th></tr>"
        return (
            self._frame(
                self.names[board],
                f"<h1>{self.names[board]}</h1><table class=topics>{head}{rows}</table>",
            )
            if number == 1
            else None
        )


@pytest.mark.django_db(transaction=True)
def test_replies_on_a_silent_board_are_found_and_nobody_waits_for_the_choice(
    monkeypatch: pytest.MonkeyPatch,
):
    locked: list[bool] = []
    choose = stored_rhythms.choose
    monkeypatch.setattr(
        stored_rhythms,
        "choose",
        lambda board, now: (locked.append(connection.in_atomic_block), choose(board, now))[1],
    )
    hosts.forget()
    with ForumServer(SilentForum(boards=1, threads=8)) as server:
        forum = server.forum
        now = datetime.now(UTC)
        run = sites.discover(server.url, {"settings": OPEN}, now=now, start=False)
        assert engine.run_slice(run.pk) == RunState.FINISHED
        run.refresh_from_db()
        site = sites.save(
            run,
            name="",
            timezone="UTC",
            board_urls=[b["url"] for b in run.result["boards"]],
            now=now,
        )
        crawled(site, history_days=400)
        before = Post.objects.count()
        board = site.boards.get()
        board.refresh_from_db()
        assert board.has_last_reply is False and before == forum.posts
        Thread.objects.update(fetched_at=now - timedelta(hours=3))
        busiest = max(forum.all.values(), key=lambda thread: (len(thread.posts), thread.last))
        forum.reply(busiest.number, datetime.now(UTC))
        crawled(site)
        assert Post.objects.count() == before + 1
        visit = Visit.objects.order_by("-pk")[0]
        assert (
            1 <= visit.fetched <= stored_rhythms.FETCHES_A_VISIT
            and visit.changed == 1
            and visit.complete
        )
    assert locked and not any(locked)


def crawled(site: Site, **settings: object) -> None:
    run = sites.crawl_now(site.pk, now=datetime.now(UTC), parameters=settings, start=False)
    assert engine.run_slice(run.pk) == RunState.FINISHED


def test_the_local_forum_is_silent_indeed():
    page = SilentForum(boards=1, threads=3).page("/board/1")[2].decode()
    assert not re.search("Replies|Last post", page)
