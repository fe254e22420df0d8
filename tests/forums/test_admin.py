"""Tests of the web interface's pages of forums: adding a forum step by step, intervals, starting a
crawl, times shown."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from crawlmgr.frontier import hosts
from crawlmgr.models import Hold, Run
from forums.models import Board, Post, Site, Thread
from tests.crawlmgr.admin.rows import EVIL, NOW, SOON, site, user

pytestmark = pytest.mark.django_db
BOARDS = [
    {
        "name": "First",
        "url": "http://127.0.0.1:8401/a",
        "parent_url": None,
        "position": 0,
        "threads_seen": 5,
        "has_last_reply": True,
        "sort": "",
        "rows": [],
    },
    {
        "name": "Under",
        "url": "http://127.0.0.1:8401/b",
        "parent_url": "http://127.0.0.1:8401/a",
        "position": 1,
        "threads_seen": 0,
        "has_last_reply": None,
        "sort": "",
        "rows": [
            {
                "title": "A thread",
                "author": None,
                "replies": None,
                "last_reply": None,
                "pinned": False,
            }
        ],
    },
]
ABOUT: dict[str, str] = {
    "name": "A forum",
    "url": "http://127.0.0.1:8401/",
    "engine": "machina",
    "timezone": "Asia/Shanghai",
    "timezone_evidence": "GMT+8",
}


@pytest.fixture(autouse=True)
def no_host_is_known() -> None:
    hosts.forget()


@pytest.fixture
def client() -> Client:
    made = Client()
    made.force_login(user("operator"))
    return made


def looked(**values: Any) -> Run:
    result = {
        "progress": {"fetched": 2, "wanted": 1, "found": 2},
        "site": ABOUT,
        "boards": BOARDS,
        "structure": {},
        "problem": "",
    }
    parameters = {
        "url": ABOUT["url"],
        "settings": {"delay_seconds": 0.5, "allow_private": "127.0.0.1:8401"},
        "name": "",
        "timezone": "",
    }
    return Run.objects.create(
        **{
            "kind": "forum-discovery",
            "label": "x",
            "created": NOW,
            "started": NOW,
            "state": "finished",
            "result": result,
            "parameters": parameters,
            **values,
        }
    )


def test_an_address_starts_a_look_with_its_own_exception_only(client: Client) -> None:
    client.force_login(user("administrator"))  # needed to allow a private address
    answer = client.post(
        "/admin/forums/add/",
        {"address": "http://127.0.0.1:8401/forum/", "delay_seconds": "0", "private": "on"},
    )
    run = Run.objects.get(kind="forum-discovery")
    assert answer.headers["Location"] == f"/admin/forums/add/{run.pk}/"
    assert run.parameters["settings"] == {"delay_seconds": 0.0, "allow_private": "127.0.0.1:8401"}
    assert run.created_by is not None and run.created_by.username == "administrator"


def test_the_same_address_again_leads_to_the_look_that_goes_on(client: Client) -> None:
    for _ in range(2):
        answer = client.post(
            "/admin/forums/add/", {"address": "forum.example", "delay_seconds": "1"}
        )
    assert answer.headers["Location"] == f"/admin/forums/add/{Run.objects.get().pk}/"


@pytest.mark.parametrize(
    "address", ["", "ftp://forum.example/", "http://", "javascript:alert(1)", "http://a b/"]
)
def test_what_is_no_address_is_told_at_the_field(client: Client, address: str) -> None:
    answer = client.post(
        "/admin/forums/add/", {"address": address, "delay_seconds": "1", "private": "on"}
    )
    assert answer.status_code == 422 and b'class="wrong"' in answer.content
    assert not Run.objects.exists()


def test_a_missing_contact_is_told_before_anything_is_fetched(
    client: Client, settings: LazySettings
) -> None:
    settings.CONTACT = ""
    assert b"CRAWLMGR_CONTACT" in client.get("/admin/forums/add/").content
    settings.CONTACT = "me@example.org"
    assert b"CRAWLMGR_CONTACT" not in client.get("/admin/forums/add/").content


def test_progress_is_shown_until_it_is_over(client: Client) -> None:
    run = looked(state="running", lease_until=NOW + timedelta(hours=1))
    page = client.get(f"/admin/forums/add/{run.pk}/").content.decode()
    assert "2 boards found" in page and "data-live" in page and 'name="timezone"' not in page
    part = client.get(f"/admin/forums/add/{run.pk}/?part=live")
    assert "X-Desk-Reload" not in part.headers and b"<html" not in part.content
    Run.objects.update(state="finished")
    assert client.get(f"/admin/forums/add/{run.pk}/?part=live").headers["X-Desk-Reload"] == "1"


def test_a_look_that_found_nothing_says_why(client: Client) -> None:
    run = looked(stopped_by="unreachable", result={"problem": "dns: no such name", "boards": []})
    text = client.get(f"/admin/forums/add/{run.pk}/").content.decode()
    assert "the host name cannot be resolved" in text and 'name="timezone"' not in text


def save(client: Client, run: Run, **values: Any) -> Any:
    data = {
        "name": "Mine",
        "timezone": "Europe/Berlin",
        "interval": "3600",
        "history_days": "400",
        "board": [b["url"] for b in BOARDS],
        **values,
    }
    return client.post(f"/admin/forums/add/{run.pk}/", data)


def test_boards_chosen_are_saved_and_visited(client: Client) -> None:
    answer = save(client, looked(), start="on")
    forum = Site.objects.get()
    assert answer.headers["Location"] == f"/admin/forums/site/{forum.pk}/"
    assert (
        forum.name,
        forum.timezone,
        forum.settings["history_days"],
        forum.settings["allow_private"],
    ) == ("Mine", "Europe/Berlin", 400, "127.0.0.1:8401")
    assert list(Board.objects.values_list("name", "parent__name", "interval_seconds")) == [
        ("First", None, 3600),
        ("Under", "First", 3600),
    ]
    assert Run.objects.get(kind="forum").target == forum.pk


def test_a_board_without_a_tick_is_left_out(client: Client) -> None:
    save(client, looked(), board=["http://127.0.0.1:8401/b"])
    assert [board.name for board in Board.objects.all()] == ["Under"]
    assert not Run.objects.filter(kind="forum").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"timezone": "Mars/Olympus"},
        {"name": ""},
        {"interval": "7"},
        {"history_days": "-1"},
        {"board": []},
    ],
)
def test_a_wrong_value_is_told_and_nothing_is_saved(client: Client, wrong: dict[str, Any]) -> None:
    answer = save(client, looked(), **wrong)
    assert answer.status_code == 200 and not Site.objects.exists()
    assert b'class="wrong"' in answer.content or b"note bad" in answer.content


def forum_of(count: int = 3) -> tuple[Site, list[Board]]:
    forum = site()
    boards = [
        Board.objects.create(
            site=forum, name=str(n), url=str(n), key=str(n), position=n, last_visit=NOW
        )
        for n in range(count)
    ]
    return forum, boards


def test_intervals_are_set_for_ticked_boards_of_this_forum_only(client: Client) -> None:
    forum, boards = forum_of()
    other = Board.objects.create(site=site(2), name="o", url="o", key="o")
    client.post(
        f"/admin/forums/site/{forum.pk}/boards/",
        {"do": "interval", "interval": "900", "board": [boards[0].pk, boards[2].pk, other.pk]},
    )
    assert list(Board.objects.order_by("id").values_list("interval_seconds", flat=True)) == [
        900,
        21600,
        900,
        21600,
    ]
    boards[0].refresh_from_db()
    assert boards[0].next_visit is not None and boards[0].next_visit > NOW


@pytest.mark.parametrize("interval", ["", "x", "1", "99999999999"])
def test_an_impossible_interval_changes_nothing(client: Client, interval: str) -> None:
    forum, boards = forum_of(1)
    client.post(
        f"/admin/forums/site/{forum.pk}/boards/",
        {"do": "interval", "interval": interval, "board": [boards[0].pk]},
    )
    assert Board.objects.get().interval_seconds == 21600


def test_boards_leave_the_schedule_and_come_back(client: Client) -> None:
    forum, boards = forum_of(2)
    client.post(f"/admin/forums/site/{forum.pk}/boards/", {"do": "off", "board": [boards[1].pk]})
    assert list(Board.objects.order_by("id").values_list("enabled", flat=True)) == [True, False]
    assert b"excluded" in client.get(f"/admin/forums/site/{forum.pk}/").content
    client.post(f"/admin/forums/site/{forum.pk}/boards/", {"do": "on", "board": [boards[1].pk]})
    assert Board.objects.filter(enabled=True).count() == 2


def test_crawling_twice_leads_to_one_run_and_a_word(client: Client) -> None:
    forum, boards = forum_of()
    client.post(f"/admin/forums/site/{forum.pk}/crawl/", {"board": [boards[1].pk]})
    text = client.post(f"/admin/forums/site/{forum.pk}/crawl/", follow=True).content.decode()
    assert Run.objects.get().parameters["boards"] == [boards[1].pk] and "is already running" in text


def test_a_thread_reads_in_the_time_of_its_site(client: Client) -> None:
    forum, boards = forum_of(1)
    thread = Thread.objects.create(
        site=forum,
        board=boards[0],
        key="1",
        url="https://forum.example/t",
        title=EVIL,
        first_seen=NOW,
    )
    posted = NOW.replace(year=2026, month=11, day=3, hour=20, minute=15)
    Post.objects.create(
        thread=thread,
        key="1",
        author="anna",
        text="one\n<b>two</b>",
        posted=posted,
        first_seen=NOW,
        gone_at=NOW,
        edited_at=NOW,
    )
    text = client.get(f"/admin/forums/thread/{thread.pk}/").content.decode()
    assert "2026-11-04 04:15" in text and "one\n&lt;b&gt;two&lt;/b&gt;" in text
    assert (
        "deleted on the site since" in text
        and "edited" in text
        and 'href="https://forum.example/t"' in text
    )


def test_the_tree_marks_what_is_open_and_gives_other_boards_when_asked(client: Client) -> None:
    forum, boards = forum_of()
    other = site(2)
    Board.objects.create(site=other, name="Elsewhere", url="e", key="e")
    text = client.get(f"/admin/forums/board/{boards[1].pk}/").content.decode()
    assert f'<a href="/admin/forums/board/{boards[1].pk}/" title="1" aria-current="page">' in text
    assert "Elsewhere" not in text and f'data-lazy="/admin/forums/tree/{other.pk}/"' in text
    assert "Elsewhere" in client.get(f"/admin/forums/tree/{other.pk}/").content.decode()


def test_a_forum_page_is_loaded_anew_when_its_visit_is_over(client: Client) -> None:
    forum, _boards = forum_of(1)
    run = Run.objects.create(kind="forum", label="x", target=forum.pk, state="running", created=NOW)
    address = f"/admin/forums/site/{forum.pk}/?part=live"
    assert (
        f"{address}&amp;run={run.pk}".encode()
        in client.get(f"/admin/forums/site/{forum.pk}/").content
    )
    assert "X-Desk-Reload" not in client.get(f"{address}&run={run.pk}").headers
    Run.objects.update(state="finished")
    assert (
        "X-Desk-Reload" in client.get(f"{address}&run={run.pk}").headers
        and "X-Desk-Reload" not in client.get(address).headers
    )


def test_the_home_page_says_why_no_visit_is_due(client: Client) -> None:
    forum = site()
    board = Board.objects.create(
        site=forum, name="Boats", url="https://forum.example/1", key="1", next_visit=SOON
    )
    assert "Boats" in client.get("/admin/?part=live").content.decode()
    Site.objects.filter(pk=forum.pk).update(paused=True)
    assert (
        "The schedule of every forum is paused" in client.get("/admin/?part=live").content.decode()
    )
    Site.objects.filter(pk=forum.pk).update(paused=False)
    Board.objects.filter(pk=board.pk).update(enabled=False)
    assert "No visit is planned yet." in client.get("/admin/?part=live").content.decode()
    Hold.objects.create(since=NOW)
    assert (
        "All crawling is paused, so no visit is due."
        in client.get("/admin/?part=live").content.decode()
    )
