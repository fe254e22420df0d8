"""A forum end to end over real HTTP: found, crawled, kept fresh, interrupted, moved, pages
deleted."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from crawlmgr import engine
from crawlmgr.frontier import hosts
from crawlmgr.models import Event, Page, Run, RunState, Url
from crawlmgr.runs import runs
from forums.models import Board, BoardHour, Post, Site, Thread, Visit
from forums.sites import sites
from tests.forums import kept
from tests.serving import PATIENCE_SECONDS
from tests.site.forum import ForumServer, LocalForum

pytestmark = pytest.mark.django_db(transaction=True)
OPEN = {"allow_private": "127.0.0.1", "delay_seconds": 0.0}


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture(scope="module")
def lasting() -> Iterator[ForumServer]:
    with ForumServer(LocalForum(threads=8, longest=9)) as served:
        yield served


@pytest.fixture
def server(lasting: ForumServer) -> ForumServer:
    hosts.forget()
    lasting.begin_again()
    return lasting


def found(server: ForumServer) -> Run:
    run = sites.discover(server.url, {"settings": OPEN}, now=now(), start=False)
    assert engine.run_slice(run.pk) == RunState.FINISHED
    run.refresh_from_db()
    return run


def added(server: ForumServer) -> Site:
    """Returns the saved forum with all its boards. Forums with equal contents are explored once,
    then copied (see `kept.once`)."""

    def discovered() -> Site:
        run = found(server)
        return sites.save(
            run,
            name="",
            timezone="UTC",
            board_urls=[b["url"] for b in run.result["boards"]],
            now=now(),
        )

    return kept.once(server, "added", discovered)


def read_once(server: ForumServer) -> Site:
    """Returns the forum with all its posts stored. If an equal forum was crawled before, its rows
    are copied."""

    def crawled() -> Site:
        site = added(server)
        crawl(site, history_days=400)
        assert stored() == server.forum.truth()
        site.refresh_from_db()
        return site

    return kept.once(server, "read", crawled)


def crawl(site: Site, **settings: object) -> Run:
    run = sites.crawl_now(site.pk, now=now(), parameters=settings, start=False)
    assert engine.run_slice(run.pk) == RunState.FINISHED
    run.refresh_from_db()
    server_log_ok = not Url.objects.filter(run=run, state__in=[0, 1]).exists()
    assert server_log_ok
    return run


def stored() -> set[tuple[str, str, str]]:
    rows = Post.objects.filter(gone_at__isnull=True).values_list("thread__url", "post_id", "text")
    return {("/" + url.split("/", 3)[3], post.removeprefix("p"), text) for url, post, text in rows}


def sums(run: Run) -> tuple[int, int, int]:
    visits = Visit.objects.filter(run=run)
    return tuple(
        sum(v) for v in zip(*visits.values_list("list_pages", "new", "updated"), strict=True)
    )  # type: ignore[return-value]


def test_all_boards_are_found_by_name_and_no_others(server: ForumServer) -> None:
    run = found(server)
    assert {b["name"] for b in run.result["boards"]} == set(server.forum.names.values())
    assert run.stopped_by == "boards_found" and run.result["boards"][0]["rows"]


class Company:
    """Delays requests for threads until `wanted` of them are waiting; `most` is the maximum
    reached."""

    def __init__(self, wanted: int) -> None:
        self.wanted, self.inside, self.most = wanted, 0, 0
        self.change = threading.Condition()

    def __call__(self, path: str) -> None:
        with self.change:
            self.inside += 1
            self.most = max(self.most, self.inside)
            self.change.notify_all()
            if path.startswith("/topic/"):
                self.change.wait_for(lambda: self.most >= self.wanted, PATIENCE_SECONDS)
        time.sleep(
            0.005
        )  # long enough for a request beyond the allowed number to overlap and be counted
        with self.change:
            self.inside -= 1


def test_threads_are_read_side_by_side_on_the_connections_that_are_allowed(
    server: ForumServer,
) -> None:
    site = added(server)
    company = server.forum.on_request = Company(4)
    crawl(site, history_days=400, connections=4)
    assert company.most == 4
    assert stored() == server.forum.truth() and Post.objects.count() == server.forum.posts


def test_first_crawl_stores_everything_once_and_the_next_ones_only_what_changed(
    server: ForumServer,
) -> None:
    site = added(server)
    crawl(site, history_days=400)
    forum = server.forum
    assert stored() == forum.truth()
    assert Post.objects.count() == forum.posts and Thread.objects.count() == len(forum.all)
    site.refresh_from_db()
    assert (site.posts, site.threads) == (forum.posts, len(forum.all))
    assert sum(h.threads + h.replies for h in BoardHour.objects.all()) == forum.posts
    for thread in Thread.objects.all():
        true = (
            forum.all[int(thread.key.rsplit(":", 1)[-1].rsplit("/", 1)[-1])]
            if thread.key[-1].isdigit()
            else None
        )
        if true:
            assert (thread.author, thread.created, thread.last_reply) == (
                true.posts[0].author,
                true.posts[0].posted,
                true.last,
            )
            assert (thread.replies, thread.pinned) == (len(true.posts) - 1, true.pinned)

    later = now()
    changed = [
        forum.reply(3, later).number,
        forum.reply(17, later).number,
        forum.open(2, later).number,
    ]
    assert changed
    forum.reply(1, later)  # pinned: the reply does not move its row
    before = len(forum.log)
    second = crawl(site)
    lists, new, updated = sums(second)
    assert (new, updated) == (1, 3) and lists <= len(forum.names) + 2
    assert stored() == forum.truth()
    asked = [path for path in forum.log[before:] if path.startswith("/topic/")]
    assert {path.split("?")[0] for path in asked} == {
        "/topic/3",
        "/topic/17",
        "/topic/25",
        "/topic/1",
    }
    assert all(v.precision in (None, 1.0) for v in Visit.objects.filter(run=second))

    third = crawl(site)
    assert sums(third)[1:] == (0, 0)
    assert {v.stopped_by for v in Visit.objects.filter(run=third)} <= {"unchanged", "watermark"}


def test_only_the_new_part_of_a_long_thread_is_fetched(server: ForumServer) -> None:
    forum = server.forum
    site = read_once(server)
    long = max(forum.all.values(), key=lambda t: len(t.posts))
    pages = -(-len(long.posts) // forum.posts_a_page)
    assert pages > 2
    forum.reply(long.number, now())
    before = len(forum.log)
    crawl(site)
    asked = [path for path in forum.log[before:] if path.startswith(f"/topic/{long.number}?")]
    assert asked and all(int(path.rsplit("=", 1)[1]) >= pages for path in asked)
    assert stored() == forum.truth()


def test_history_days_limits_the_first_visit_only(server: ForumServer) -> None:
    forum = server.forum
    site = added(server)
    crawl(site, history_days=3)
    limit = now() - timedelta(days=3, minutes=1)
    recent = {n for n, t in forum.all.items() if t.last > limit}
    fetched = {
        int(u.rsplit("/", 1)[1])
        for u in Thread.objects.filter(fetched_at__isnull=False).values_list("url", flat=True)
    }
    assert fetched == recent
    old = next(n for n, t in forum.all.items() if n not in recent)
    forum.reply(old, now())
    crawl(site, history_days=3)
    assert {p for p in stored() if p[0] == f"/topic/{old}"} == {
        p for p in forum.truth() if p[0] == f"/topic/{old}"
    }


def test_a_visit_cut_by_max_pages_is_continued_without_loss(server: ForumServer) -> None:
    site = added(server)
    first = crawl(site, history_days=400, max_pages=1)
    assert {v.stopped_by for v in Visit.objects.filter(run=first)} == {"max_pages"}
    assert (
        all(b.unfinished for b in Board.objects.all())
        and not Board.objects.filter(watermark__isnull=False).exists()
    )
    crawl(site, history_days=400)
    assert stored() == server.forum.truth()
    assert not any(b.unfinished for b in Board.objects.all())


def test_a_stopped_run_owes_nothing_that_the_next_does_not_pay(server: ForumServer) -> None:
    site = added(server)
    run = sites.crawl_now(site.pk, now=now(), parameters={"history_days": 400}, start=False)
    pages = 0

    def stop_soon(*_: object) -> None:
        nonlocal pages
        pages += 1
        if pages == 9:
            runs.stop(run.pk, now())

    engine.run_slice(run.pk, on_page=stop_soon)
    run.refresh_from_db()
    assert run.state == RunState.STOPPED and run.fetched < 20
    assert {v.stopped_by for v in Visit.objects.filter(run=run, complete=False)} == {"stopped"}
    crawl(site, history_days=400)
    assert stored() == server.forum.truth()


def test_a_moved_thread_is_the_same_thread(server: ForumServer) -> None:
    forum = server.forum
    site = read_once(server)
    before = len(forum.log)
    forum.all[5].board = 2
    forum.reply(5, now())
    crawl(site)
    thread = Thread.objects.get(url__endswith="/topic/5")
    assert thread.board.url.endswith("/board/2")
    assert Thread.objects.count() == len(forum.all)
    assert sum(path.startswith("/topic/5") for path in forum.log[before:]) >= 1
    assert stored() == forum.truth()


def test_deleted_posts_are_marked_gone_and_the_thread_is_found_on_an_earlier_page(
    server: ForumServer,
) -> None:
    forum = server.forum
    site = read_once(server)
    long = max(forum.all.values(), key=lambda t: len(t.posts))
    for _ in range(forum.posts_a_page + 1):  # the last page disappears
        long.posts.pop()
    forum.reply(long.number, now())
    crawl(site)
    known = {p for p in stored() if p[0] == f"/topic/{long.number}"}
    assert {p for p in forum.truth() if p[0] == f"/topic/{long.number}"} <= known
    forum.all[8].posts.pop()
    if not forum.all[8].posts:
        forum.reply(8, now())
    crawl(site)


def test_coarse_relative_times_are_no_change_by_themselves() -> None:
    hosts.forget()
    with ForumServer(LocalForum(threads=8, longest=9, relative=True)) as server:
        site = added(server)
        crawl(site, history_days=400)
        assert stored() == server.forum.truth()
        idle = crawl(site)
        assert sums(idle)[1:] == (0, 0)
        server.forum.reply(4, now())
        assert sums(crawl(site))[1:] == (0, 1)
        assert stored() == server.forum.truth()


def test_slices_add_up_to_the_same(server: ForumServer) -> None:
    site = added(server)
    run = sites.crawl_now(site.pk, now=now(), parameters={"history_days": 400}, start=False)
    slices, before = 0, len(server.forum.log)
    while engine.run_slice(run.pk, seconds=0.15) == RunState.RUNNING:
        slices += 1
    assert slices > 2
    assert stored() == server.forum.truth() and Post.objects.count() == server.forum.posts
    asked = [path for path in server.forum.log[before:] if path.startswith("/topic/")]
    assert len(asked) == len(set(asked))


def test_a_board_that_fails_does_not_stop_the_next(server: ForumServer) -> None:
    site = added(server)

    def broken(path: str) -> tuple[int, dict[str, str], bytes] | None:
        return (
            (500, {"content-type": "text/html"}, b"<h1>Oops</h1>")
            if path.startswith("/board/1")
            else None
        )

    server.forum.on_request = broken
    run = crawl(site, history_days=400)
    reasons = dict(Visit.objects.filter(run=run).values_list("board__url", "stopped_by"))
    assert {url.rsplit("/", 1)[1]: reason for url, reason in reasons.items()}["1"] == "http_500"
    assert run.stopped_by == "incomplete: http_500"
    server.forum.on_request = None
    crawl(site, history_days=400)
    assert stored() == server.forum.truth()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (
            (
                200,
                {"content-type": "text/html"},
                b"<html><title>Soon</title><p>Loading.</p></html>",
            ),
            "no_posts",
        ),
        ((500, {"content-type": "text/html"}, b"<h1>Oops</h1>"), "http_500"),
    ],
)
def test_a_thread_that_gave_no_post_stays_owed_and_its_visit_says_so(
    server: ForumServer, answer: tuple[int, dict[str, str], bytes], reason: str
) -> None:
    site, forum = read_once(server), server.forum
    opened = forum.open(2, now())
    forum.on_request = lambda path: answer if path == f"/topic/{opened.number}" else None
    for _ in range(2):
        run = crawl(site)
        said = {
            v.board.url.rsplit("/", 1)[1]: (v.stopped_by, v.complete)
            for v in Visit.objects.filter(run=run)
        }
        assert said["2"] == (reason, False) and all(said[board][1] for board in "13")
        assert run.stopped_by == f"incomplete: {reason}"
        thread = Thread.objects.get(url__endswith=f"/topic/{opened.number}")
        assert (
            thread.pending
            and thread.fetched_at is None
            and not Visit.objects.filter(run=run, new__gt=0).exists()
        )
    forum.on_request = None
    run = crawl(site)
    assert run.stopped_by == "complete" and stored() == forum.truth()


def test_pages_are_archived_and_read_back(server: ForumServer) -> None:
    from crawlmgr.archive import archive

    site = added(server)
    run = crawl(site, history_days=400)
    page = Page.objects.filter(run=run, status=200, url__contains="/topic/").first()
    assert page is not None
    record = archive.read_page(page)
    assert (
        record is not None
        and record.url.endswith("/" + page.url.split("/", 3)[3])
        and b"<article" in record.payload
    )
    assert archive.check()["ok"]


def test_a_thread_that_is_kept_from_guests_is_told(server: ForumServer) -> None:
    site = added(server)
    hidden = b"<html><title>Error</title><p>You are not allowed to see this.</p></html>"
    server.forum.on_request = lambda path: (
        (403, {"content-type": "text/html"}, hidden) if path == "/topic/3" else None
    )
    run = crawl(site, history_days=400)
    assert run.stopped_by == "incomplete: http_403"
    assert not Event.objects.filter(code="visit_incomplete").exists()
    assert stored() == {row for row in server.forum.truth() if row[0] != "/topic/3"}
