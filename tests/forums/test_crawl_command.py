"""`forum crawl` while other runs of the site are active: it does what was requested and never
reports another run as its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from crawlmgr import engine
from crawlmgr.clock import SYSTEM
from crawlmgr.frontier import hosts
from crawlmgr.management import foreground
from crawlmgr.management.base import Stopped
from crawlmgr.models import Host, Run, RunState
from crawlmgr.runs import runs
from forums.models import Board, Post, Site, Visit
from forums.sites import sites
from tests.forums.test_crawl import added, stored
from tests.site.forum import ForumServer, LocalForum

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def server() -> Iterator[ForumServer]:
    hosts.forget()
    with ForumServer(LocalForum(threads=4, longest=5, days=60)) as served:
        yield served


def scheduled(site: Site) -> Run:
    """A visit of one board started by a plan, as a node's dispatcher does right after a forum was
    added."""
    board = Board.objects.filter(site=site).order_by("position").values_list("pk", flat=True)[0]
    return sites.crawl_now(
        site.pk, board_ids=[board], now=SYSTEM.now(), start=False, scheduled=True
    )


def crawl(
    capsys: pytest.CaptureFixture[str], site: Site, *words: str
) -> tuple[dict[str, Any], str]:
    """Runs `forum crawl` for a site with further arguments `words`; returns its JSON document, and
    its messages on stderr."""
    capsys.readouterr()
    call_command("forum", "crawl", str(site.pk), "--history-days", "400", "--json", *words)
    out = capsys.readouterr()
    return json.loads(out.out), out.err


def test_a_scheduled_visit_is_ended_first_and_not_taken_for_the_command_s_own(
    server: ForumServer, capsys: pytest.CaptureFixture[str]
) -> None:
    site = added(server)
    other = scheduled(site)
    document, said = crawl(capsys, site)
    assert (
        document["run"] != other.pk
        and len(document["boards"]) == 3
        and document["stopped_by"] == "complete"
    )
    assert f"Run {other.pk} of this site is active and does other work" in said
    assert stored() == server.forum.truth(), "also what is older than a scheduled visit reads"
    assert set(Run.objects.filter(kind="forum").values_list("state", flat=True)) == {"finished"}


def test_nodes_end_a_scheduled_visit_first(
    server: ForumServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = added(server)
    other = scheduled(site)
    turns = []

    def living(_now: Any) -> list[str]:
        turns.append(1)
        return ["a node"] if len(turns) > 1 else []

    def waited(_seconds: float) -> bool:
        assert engine.run_slice(other.pk) in (RunState.FINISHED, "leased")
        return False

    monkeypatch.setattr(foreground.nodes, "living", living)
    with pytest.raises(CommandError, match="No worker node is running"):
        crawl(capsys, site, "--by-nodes")
    monkeypatch.setattr(foreground.queue, "run_slice", lambda run_id: engine.run_slice(run_id))
    monkeypatch.setattr(engine.shutdown, "wait", waited)
    document, _said = crawl(capsys, site, "--by-nodes")
    assert document["run"] != other.pk and document["stopped_by"] == "complete"
    assert stored() == server.forum.truth()


def test_a_run_that_does_the_same_is_joined_and_an_interrupted_one_resumed(
    server: ForumServer, capsys: pytest.CaptureFixture[str]
) -> None:
    site = added(server)
    same = sites.crawl_now(
        site.pk, now=SYSTEM.now(), parameters={"history_days": 400.0}, start=False
    )
    document, said = crawl(capsys, site)
    assert document["run"] == same.pk and "works on it if no worker does" in said
    interrupted = sites.crawl_now(
        site.pk, now=SYSTEM.now(), parameters={"history_days": 400.0}, start=False
    )
    runs.pause(interrupted.pk, SYSTEM.now())
    document, said = crawl(capsys, site)
    assert document["run"] == interrupted.pk and "continues where it stopped" in said


def test_a_paused_run_with_other_options_is_told_and_left_alone(
    server: ForumServer, capsys: pytest.CaptureFixture[str]
) -> None:
    site = added(server)
    other = sites.crawl_now(site.pk, now=SYSTEM.now(), start=False)
    runs.pause(other.pk, SYSTEM.now())
    with pytest.raises(CommandError, match=f"Run {other.pk} of this site .* is paused with other"):
        crawl(capsys, site)
    assert Run.objects.get(pk=other.pk).fetched == 0
    assert Run.objects.filter(kind="forum").count() == 1


def test_a_paused_visit_that_has_to_end_first_is_told(
    server: ForumServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = added(server)
    other = scheduled(site)
    runs.pause(other.pk, SYSTEM.now())
    with pytest.raises(CommandError, match=f"Run {other.pk}, which has to end first, is paused"):
        crawl(capsys, site)
    assert Run.objects.filter(kind="forum").count() == 1


def test_the_wait_can_be_stopped_and_leaves_the_other_run_alone(
    server: ForumServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = added(server)
    other = scheduled(site)
    lease = runs.take(other.pk, "another:1", SYSTEM.now(), 60)
    monkeypatch.setattr(engine.shutdown, "wait", lambda _seconds: True)
    with pytest.raises(Stopped, match="nothing was started"):
        foreground.begun(
            lambda: sites.crawl_now(site.pk, now=SYSTEM.now(), start=False), "site", by_nodes=False
        )
    other.refresh_from_db()
    assert lease is not None and (other.state, other.wanted, other.fence) == (
        "running",
        "",
        lease.fence,
    )


def test_a_board_is_read_farther_back_once_and_only_where_it_was_not(
    server: ForumServer, capsys: pytest.CaptureFixture[str]
) -> None:
    site = added(server)
    assert (
        engine.run_slice(sites.crawl_now(site.pk, now=SYSTEM.now(), start=False).pk)
        == RunState.FINISHED
    )
    first = Post.objects.count()
    assert 0 < first < server.forum.posts and all(
        Board.objects.values_list("read_since", flat=True)
    )
    server.forum.log.clear()
    document, _said = crawl(capsys, site)
    assert stored() == server.forum.truth()
    assert sum(board["posts_new"] for board in document["boards"]) == server.forum.posts - first
    assert all(asked.startswith(("/board", "/topic")) for asked in server.forum.log)
    assert (
        len([asked for asked in server.forum.log if asked.startswith("/topic")])
        < len(server.forum.all) * 2
    )
    again, _said = crawl(capsys, site)
    assert (again["requests"], {board["stopped_by"] for board in again["boards"]}) == (
        3,
        {"watermark"},
    )
    assert sum(board["threads_new"] + board["threads_updated"] for board in again["boards"]) == 0
    assert (
        engine.run_slice(sites.crawl_now(site.pk, now=SYSTEM.now(), start=False).pk)
        == RunState.FINISHED
    )
    assert max(Board.objects.values_list("read_since", flat=True)) < SYSTEM.now() - timedelta(
        days=399
    )


@pytest.mark.parametrize(
    ("bad", "status", "once"),
    [
        ("/board", 500, True),
        ("/board", 429, True),
        ("/robots.txt", 503, True),
        ("/board", 500, False),
        ("/board", 403, False),
        ("/robots.txt", 500, False),
    ],
)
def test_lists_that_cannot_be_read_are_tried_again_and_told(
    server: ForumServer, capsys: pytest.CaptureFixture[str], bad: str, status: int, once: bool
) -> None:
    site = added(server)
    Host.objects.update(robots_expires_at=None)
    asked: list[str] = []

    def answer(path: str) -> tuple[int, dict[str, str], bytes] | None:
        asked.extend([path] if path.startswith(bad) else [])
        return (
            (status, {}, b"no") if path.startswith(bad) and (len(asked) == 1 or not once) else None
        )

    server.forum.on_request = answer
    if once:
        document, said = crawl(capsys, site)
        assert (
            document["stopped_by"] == "complete"
            and stored() == server.forum.truth()
            and "could not" not in said
        )
        return
    with pytest.raises(
        CommandError, match="no board could be read: http_403" if status == 403 else "unreachable"
    ):
        crawl(capsys, site)
    assert (
        len(asked) == {403: 3, 500: 9}[status] if bad == "/board" else asked == ["/robots.txt"] * 3
    )
    assert (
        not Visit.objects.filter(complete=True).exists()
        and not Board.objects.filter(complete_at__isnull=False).exists()
    )


def test_one_list_that_cannot_be_read_is_told_in_one_line(
    server: ForumServer, capsys: pytest.CaptureFixture[str]
) -> None:
    site = added(server)
    server.forum.on_request = lambda path: (403, {}, b"no") if path == "/board/2" else None
    name = Board.objects.get(url__endswith="/board/2").name
    with pytest.raises(CommandError, match=f"1 boards: http_403: {name}"):
        crawl(capsys, site)
    document = json.loads(capsys.readouterr().out)
    assert document["stopped_by"] == "incomplete: http_403" and not document["complete"]
    unread = Visit.objects.get(stopped_by="http_403")
    assert (unread.list_pages, unread.failed, unread.requests) == (
        0,
        1,
        1,
    ), "plans take it for a visit that was not made"
