"""Tests of the displayed time of the next visit: it is the same on every page of the web interface,
in the calendar and in the API, and it is never a time at which no visit will be made."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from crawlmgr.access import tokens
from crawlmgr.models import Event, Run
from crawlmgr.schedule import due as crawl_pause
from crawlmgr.workers import nodes
from forums.models import Board, Site, Visit
from forums.sites import reads
from forums.sites.reads import ALL_PAUSED, LATE, LEFT_OUT, PAUSED, VISIT_PAUSED, due
from tests.crawlmgr.admin.rows import site, tight, user

pytestmark = pytest.mark.django_db
NOW = timezone.now().replace(microsecond=0)


@pytest.fixture
def forum() -> Site:
    made = site()
    Site.objects.filter(pk=made.pk).update(name="Riverside")
    Board.objects.filter(site=made).delete()
    Board.objects.create(
        site=made,
        name="Pottery",
        url="http://forum.example/b",
        key="b",
        next_visit=NOW + timedelta(hours=5),
    )
    return Site.objects.get(pk=made.pk)


@pytest.fixture
def client() -> Client:
    made = Client()
    made.force_login(user("administrator"))
    return made


def test_a_visit_that_is_held_back_has_no_time() -> None:
    at = NOW + timedelta(hours=1)
    assert due(at, None, NOW).at == at
    held = [
        due(at, at, NOW, **why) for why in ({"enabled": False}, {"paused": True}, {"hold": True})
    ]
    assert [(one.at, one.until, one.held) for one in held] == [
        (None, None, LEFT_OUT),
        (None, None, PAUSED),
        (None, None, ALL_PAUSED),
    ]


def test_a_forum_whose_visit_is_paused_is_never_due_since(client: Client, forum: Site) -> None:
    Board.objects.filter(site=forum).update(next_visit=NOW - timedelta(hours=8))
    before = client.get("/admin/forums/").content.decode()
    assert "was due" in before
    run = Run.objects.create(
        kind="forum", target=forum.pk, state="paused", created=NOW, parameters={"boards": []}
    )
    row = reads.with_freshness([forum], NOW)[0]
    assert (row.due.held, row.overdue) == (VISIT_PAUSED, 0)
    board = Board.objects.get(site=forum)
    for address in (
        "/admin/forums/",
        f"/admin/forums/site/{forum.pk}/",
        "/admin/forums/boards/",
        f"/admin/forums/board/{board.pk}/",
    ):
        text = client.get(address).content.decode()
        assert "a visit is paused" in text and "was due" not in text, address
    Run.objects.filter(pk=run.pk).update(state="running")
    assert reads.with_freshness([forum], NOW)[0].due.since is not None


def test_a_board_s_visit_that_is_paused_is_not_told_as_running(client: Client, forum: Site) -> None:
    """Checks the pages of forum, boards, board and run: a paused run is shown as paused, as it is
    on the page of schedules."""
    run = Run.objects.create(
        kind="forum",
        target=forum.pk,
        state="running",
        created=NOW,
        started=NOW,
        parameters={"boards": []},
    )
    board = Board.objects.get(site=forum)
    Visit.objects.create(board=board, run=run, started=NOW)
    lists = [
        f"/admin/forums/site/{forum.pk}/",
        "/admin/forums/boards/",
        f"/admin/forums/board/{board.pk}/",
        f"/admin/runs/{run.pk}/",
    ]
    running, paused = (
        '<span class="badge on">running</span>',
        '<span class="badge warn">paused</span>',
    )
    cells = [
        re.sub(r'class="badge on" title="[^"]*"', 'class="badge on"', tight(client.get(one)))
        for one in lists
    ]
    assert all(running in text for text in cells)
    Run.objects.filter(pk=run.pk).update(state="paused")
    for address in lists:
        ends = re.findall(
            r'<td class="(?:one|nowrap)[^>]*>(<span class="badge (?:on|warn)">\w+</span>)</td>',
            tight(client.get(address)),
        )
        assert paused in ends and running not in ends, address
    assert paused in tight(client.get("/admin/schedules/"))


def test_it_is_due_when_its_time_or_its_span_is_over_and_late_some_time_after() -> None:
    early, over = NOW - timedelta(hours=1), NOW - timedelta(minutes=1)
    assert due(early, NOW + timedelta(hours=1), NOW).since is None
    assert (due(early, over, NOW).since, due(early, over, NOW).late) == (over, False)
    assert due(NOW - LATE - timedelta(seconds=1), None, NOW).late


def _times(client: Client, address: str) -> set[str]:
    """The future times that a page shows."""
    text = client.get(address).content.decode()
    return {
        found
        for found in re.findall(r'datetime="([^"]+)"', text)
        if found > (NOW + timedelta(hours=4)).isoformat()
    }


def _said(client: Client, forum: Site) -> dict[str, set[str]]:
    board = Board.objects.get(site=forum)
    secret, _row = tokens.make("t", "viewer", now=NOW)
    api = (
        Client()
        .get(f"/api/v1/forums/{forum.pk}", headers={"Authorization": f"Bearer {secret}"})
        .json()
    )
    at = api["boards"][0]["next_visit"]
    return {
        "list": _times(client, "/admin/forums/"),
        "forum": _times(client, f"/admin/forums/site/{forum.pk}/"),
        "board": _times(client, f"/admin/forums/board/{board.pk}/"),
        "overview": _times(client, "/admin/?part=live"),
        "calendar": _times(client, "/admin/schedules/"),
        "api": {at.replace("Z", "+00:00")} if at else set(),
    }


def test_every_page_and_the_api_say_the_same(client: Client, forum: Site) -> None:
    when = (NOW + timedelta(hours=5)).isoformat()
    assert {where: found for where, found in _said(client, forum).items() if found != {when}} == {}


@pytest.mark.parametrize("why", ["paused", "all_paused", "left_out"])
def test_no_page_promises_a_visit_that_a_pause_holds_back(
    client: Client, forum: Site, why: str
) -> None:
    if why == "paused":
        Site.objects.filter(pk=forum.pk).update(paused=True)
    elif why == "left_out":
        Board.objects.update(enabled=False)
    else:
        crawl_pause.pause_all(NOW)
    assert {where: found for where, found in _said(client, forum).items() if found} == {}


def test_boards_are_not_late_while_all_crawling_is_paused(forum: Site) -> None:
    Board.objects.update(next_visit=NOW - timedelta(hours=3))
    assert (reads.late(NOW), reads.with_freshness([forum], NOW)[0].overdue) == (1, 1)
    crawl_pause.pause_all(NOW)
    assert (reads.late(NOW), reads.with_freshness([forum], NOW)[0].overdue) == (0, 0)


def _run(forum: Site, state: str, **values: object) -> Run:
    fixed = {
        "kind": "forum",
        "label": "Riverside",
        "target": forum.pk,
        "created": NOW,
        "finished": NOW,
        "stopped_by": "timeout",
    }
    return Run.objects.create(**{**fixed, "state": state, **values})


def test_a_failed_visit_is_told_with_its_cause_and_what_helps_until_one_succeeds(
    client: Client, forum: Site
) -> None:
    run = _run(forum, "failed")
    for address in ("/admin/forums/", "/admin/runs/", "/admin/?part=live"):
        assert "no response in time" in client.get(address).content.decode(), address
    overview = client.get("/admin/").content.decode()
    assert f'action="/admin/runs/{run.pk}/resume/"' in overview and "Riverside failed" in overview
    _run(forum, "finished", stopped_by="complete")
    assert "Riverside failed" not in client.get("/admin/").content.decode()
    assert reads.with_freshness([forum], NOW)[0].failed is None


def test_the_status_bar_tells_the_reason_in_words(client: Client, forum: Site) -> None:
    Event.objects.create(
        run=_run(forum, "failed"),
        at=NOW,
        level=40,
        code="run_failed",
        text="program_error KeyError: 'x'",
    )
    assert (
        client.get("/admin/status.json").json()["error"]["text"]
        == "A run failed: an internal error: KeyError: 'x'"
    )
    assert "an internal error: KeyError" in client.get("/admin/events/").content.decode()


def test_the_status_bar_forgets_an_error_that_was_made_good(forum: Site) -> None:
    run = _run(forum, "failed")
    Event.objects.create(run=run, at=NOW, level=40, code="run_failed", text="x")
    assert nodes.status(NOW).last_error is not None
    later = _run(forum, "finished")
    assert nodes.status(NOW).last_error is None
    later.delete()
    assert nodes.status(NOW).last_error is not None
    Run.objects.filter(pk=run.pk).update(state="finished")
    assert nodes.status(NOW).last_error is None
