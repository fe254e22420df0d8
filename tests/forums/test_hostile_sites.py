"""A visit to a misbehaving page ends with one clear reason and keeps its results so far, and the
next board is visited."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from crawlmgr import engine, storing
from crawlmgr.frontier import hosts
from crawlmgr.models import Host, Run, RunState, Url
from crawlmgr.web.url import canonical, host_key, url_hash
from forums.models import Board, Post, Site, Thread, Visit
from forums.sites import sites
from tests.site.forum import ForumServer, LocalForum
from tests.site.misbehaviour import misbehave, set_robots
from tests.site.server import LocalSite, Reply

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.once,
]  # once: the tests do not depend on the kind of database
QUICK = {
    "allow_private": "127.0.0.1",
    "delay_seconds": 0.0,
    "max_attempts": 1,
    "history_days": 400,
    "connect_timeout_seconds": 60.0,
    "read_timeout_seconds": 60.0,
    "total_timeout_seconds": 90.0,
    "max_body_bytes": 1_000_000,
    "max_decoded_bytes": 2_000_000,
}
IMPATIENT = {
    "read_timeout_seconds": 4.0,
    "total_timeout_seconds": 5.0,
}  # short time limits, for a server that never responds; the other forum must respond within them


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def bad() -> Iterator[LocalSite]:
    hosts.forget()
    with LocalSite() as site:
        misbehave(site)
        yield site


@pytest.fixture
def forum() -> Iterator[ForumServer]:
    with ForumServer(LocalForum(boards=1, threads=6, longest=5)) as server:
        yield server


def site_of(first: str, forum: ForumServer, **settings: object) -> Site:
    """A site whose first board has the given address and whose second board is a regular one."""
    host = hosts.host_id(host_key(first))
    options = {**QUICK, **settings}
    site = Site.objects.create(
        name="mixed",
        url=first,
        url_hash=url_hash(first),
        host_id=host,
        added=now(),
        settings=options,
    )
    for position, url in enumerate((first, f"{forum.url}board/1")):
        Board.objects.create(
            site=site,
            name=f"board {position}",
            url=canonical(url),
            key=str(position),
            position=position,
            has_last_reply=True,
        )
    return site


def visit(site: Site) -> tuple[Run, Visit, Visit]:
    run = sites.crawl_now(site.pk, now=now(), start=False)
    assert engine.run_slice(run.pk) == RunState.FINISHED
    run.refresh_from_db()
    first, second = Visit.objects.filter(run=run).order_by("board__position")
    return run, first, second


def healthy(forum: ForumServer, second: Visit) -> None:
    assert (
        second.complete and Post.objects.filter(gone_at__isnull=True).count() == forum.forum.posts
    )


@pytest.mark.parametrize(
    ("path", "reasons"),
    [
        ("/bad/slow-drip", ("too_slow", "timeout")),
        ("/bad/silent", ("timeout",)),
        ("/bad/endless-body", ("too_large",)),
        ("/bad/redirect-endless", ("too_many_redirects",)),
        ("/bad/redirect-loop", ("redirect_loop",)),
        ("/bad/gzip-bomb", ("bomb",)),
        ("/bad/br-bomb", ("bomb",)),
        ("/bad/truncated", ("truncated",)),
        ("/bad/garbage", ("protocol",)),
        ("/bad/huge-headers", ("protocol",)),
        ("/bad/reset", ("reset", "protocol")),
        ("/bad/empty", ("reset", "protocol")),
        ("/bad/no-such-page", ("http_404",)),
    ],
)
def test_one_clear_reason_and_the_next_board_goes_on(
    bad: LocalSite, forum: ForumServer, path: str, reasons: tuple[str, ...]
) -> None:
    run, first, second = visit(
        site_of(bad.url(path), forum, **(IMPATIENT if "slow" in path or "silent" in path else {}))
    )
    assert first.stopped_by.startswith(reasons), first.stopped_by
    assert not first.complete and first.finished
    assert run.stopped_by.startswith("incomplete: ")
    healthy(forum, second)


@pytest.mark.parametrize("kind", ["500", "slow", "redirect", "huge", "404"])
def test_robots_txt_in_every_condition(bad: LocalSite, forum: ForumServer, kind: str) -> None:
    set_robots(bad, kind)
    bad.add("/list", "<html><title>x</title><p>nothing here</p></html>")
    _run, first, second = visit(
        site_of(bad.url("/list"), forum, **(IMPATIENT if kind == "slow" else {}))
    )
    assert first.stopped_by == ("robots_unreachable" if kind in ("500", "slow") else "no_records")
    healthy(forum, second)


def test_a_redirect_into_the_private_network_is_refused(bad: LocalSite, forum: ForumServer) -> None:
    with LocalSite() as inner:
        inner.add("/secret", "<p>secret</p>")
        bad.add("/out", Reply(b"", 302, {"Location": inner.url("/secret")}))
        _run, first, second = visit(
            site_of(
                bad.url("/out"), forum, allow_private=f"{bad.authority},{forum.url.split('/')[2]}"
            )
        )
        assert first.stopped_by.startswith(("refused_address", "robots_unreachable", "refused_hop"))
        assert inner.paths() == []
    healthy(forum, second)


def test_429_waits_as_long_as_asked_and_goes_on(bad: LocalSite, forum: ForumServer) -> None:
    answers = iter([Reply(b"", 429, {"Retry-After": "1"}), Reply(b"", 503, {"Retry-After": "1"})])
    bad.add("/busy", lambda request: next(answers, Reply(b"<html><p>nothing</p></html>")))
    began = now()
    _run, first, second = visit(site_of(bad.url("/busy"), forum))
    assert now() - began >= timedelta(seconds=2)
    assert first.stopped_by == "no_records" and bad.paths().count("/busy") == 3
    healthy(forum, second)


def test_a_long_retry_after_parks_the_run_with_host_and_time(
    bad: LocalSite, forum: ForumServer
) -> None:
    bad.add("/busy", Reply(b"", 429, {"Retry-After": "3600"}))
    site = site_of(bad.url("/busy"), forum)
    run = sites.crawl_now(site.pk, now=now(), start=False)
    assert engine.run_slice(run.pk, seconds=20) == RunState.RUNNING
    run.refresh_from_db()
    assert run.waiting_for == bad.authority and run.waiting_until is not None
    assert timedelta(minutes=58) < run.waiting_until - now() < timedelta(minutes=61)
    host = Host.objects.get(key=bad.authority)
    assert host.retry_after_until is not None and bad.paths().count("/busy") == 1
    healthy(forum, Visit.objects.get(run=run, board__position=1))


def test_a_calendar_without_end_is_left_after_max_pages(bad: LocalSite, forum: ForumServer) -> None:
    _run, first, second = visit(site_of(bad.url("/calendar/2026/01"), forum, max_pages=5))
    assert first.finished and first.list_pages <= 7
    healthy(forum, second)


def test_a_host_that_is_down_costs_a_few_tries_not_one_for_every_thread(forum: ForumServer) -> None:
    hosts.forget()
    with ForumServer(LocalForum(boards=1, threads=12, threads_a_page=12)) as dying:
        site = site_of(f"{dying.url}board/1", forum)

        def closing(path: str) -> tuple[int, dict[str, str], bytes]:
            """Answers without keeping the connection open, since an open one would outlive the
            server's shutdown."""
            status, headers, body = dying.forum.page(path)
            return status, {**headers, "connection": "close"}, body

        dying.forum.on_request = closing
        run = sites.crawl_now(site.pk, now=now(), start=False)

        def close(_run: Run, item: Url, _response: object) -> None:
            Host.objects.filter(key=host_key(dying.url)).update(next_at=now())
            if item.kind == "list" and item.url.startswith(dying.url):
                dying.server.shutdown()
                dying.server.server_close()

        state = engine.run_slice(run.pk, on_page=close, seconds=30)
    first = Visit.objects.get(run=run, board__position=0)
    assert first.list_pages == 1
    tried = Url.objects.filter(run=run, group=first.pk, kind="thread", attempts__gt=0).count()
    assert tried <= storing.HOST_DOWN_AFTER + 1
    assert state in (RunState.FINISHED, RunState.RUNNING)
    assert Thread.objects.filter(site=site, pending=True).count() >= 6, (
        "what could not be fetched is still owed"
    )
