"""Queries of the forum pages: boards as a tree, freshness, and sums by the site's local days."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from crawlmgr.models import Host, Run
from forums.models import Board, BoardHour, Post, Site, Thread, Visit
from forums.sites import reads
from tests.crawlmgr.admin.rows import user

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 20, 18, 30, tzinfo=UTC)


@pytest.fixture
def site() -> Site:
    return Site.objects.create(
        name="a",
        url="x",
        url_hash=1,
        host=Host.objects.create(key="a"),
        timezone="Asia/Shanghai",
        added=NOW,
    )


def board(site: Site, name: str, position: int, parent: Board | None = None) -> Board:
    return Board.objects.create(
        site=site, name=name, url=name, key=name, position=position, parent=parent
    )


def test_boards_stand_under_their_parents_in_their_order(site: Site) -> None:
    a, b = board(site, "a", 3), board(site, "b", 1)
    a1, a2 = board(site, "a1", 9, a), board(site, "a2", 2, a)
    board(site, "a1x", 0, a1)
    found = [(row.board.name, row.depth) for row in reads.boards(site)[0]]
    assert found == [("b", 0), ("a", 0), ("a2", 1), ("a1", 1), ("a1x", 2)]
    assert b.pk != a2.pk


def test_a_circle_of_parents_loses_no_board(site: Site) -> None:
    a = board(site, "a", 0)
    b = board(site, "b", 1, a)
    Board.objects.filter(pk=a.pk).update(parent=b)
    assert {row.board.name for row in reads.boards(site)[0]} == {"a", "b"}


def test_many_boards_come_in_pages_of_a_fixed_number_of_queries(site: Site) -> None:
    Board.objects.bulk_create(
        Board(site=site, name=str(n), url="x", key=str(n), position=n) for n in range(450)
    )
    with CaptureQueriesContext(connection) as queries:
        rows, pages = reads.boards(site, 3)
    assert (len(rows), pages, rows[0].board.name, len(queries) <= 3) == (50, 3, "400", True)
    assert (
        reads.boards(site, 99)[0][0].board.name == "400"
        and reads.boards(site, -5)[0][0].board.name == "0"
    )


def test_a_board_shows_its_last_visit_that_began(site: Site) -> None:
    one = board(site, "a", 0)
    for hour, new in ((1, 5), (9, 7), (4, 6)):
        run = Run.objects.create(kind="forum", label="x", created=NOW)
        Visit.objects.create(board=one, run=run, started=NOW + timedelta(hours=hour), new=new)
    Visit.objects.create(
        board=one, run=Run.objects.create(kind="forum", label="x", created=NOW), new=99
    )
    row = reads.boards(site)[0][0]
    assert row.visit is not None and row.visit.new == 7


def test_freshness_counts_what_is_late_unless_paused(site: Site) -> None:
    for position, minutes in enumerate((-60, -5, 30)):
        one = board(site, str(position), position)
        Board.objects.filter(pk=one.pk).update(
            next_visit=NOW + timedelta(minutes=minutes),
            last_visit=NOW - timedelta(hours=position + 1),
            complete_at=NOW - timedelta(hours=position + 2),
        )
    off = board(site, "off", 9)
    Board.objects.filter(pk=off.pk).update(next_visit=NOW - timedelta(days=9), enabled=False)
    run = Run.objects.create(kind="forum", label="x", target=site.pk, state="running", created=NOW)
    row = reads.with_freshness([site], NOW)[0]
    assert (row.boards, row.overdue, row.last, row.due.at) == (
        4,
        1,
        (NOW - timedelta(hours=2), NOW - timedelta(hours=1)),
        NOW - timedelta(hours=1),
    )
    assert row.run == run
    site.paused = True
    held = reads.with_freshness([site], NOW)[0]
    assert (held.overdue, held.due.at, held.due.held) == (0, None, "paused")


def test_posts_are_counted_by_the_days_of_the_site(site: Site) -> None:
    one = board(site, "a", 0)
    for hour, opened, replies in ((15, 1, 2), (16, 3, 4)):  # 23:00 and midnight in Shanghai
        BoardHour.objects.create(
            board=one,
            hour=datetime(2026, 11, 19, hour, tzinfo=UTC),
            threads=opened,
            replies=replies,
        )
    found = reads.posts_by_day(site, NOW)
    assert [(row.name, row.days) for row in found] == [
        ("a", {date(2026, 11, 19): 3, date(2026, 11, 20): 7})
    ]
    assert reads.board_by_day(one, site.zone, NOW) == {
        date(2026, 11, 19): (1, 2),
        date(2026, 11, 20): (3, 4),
    }
    assert reads.last_days(NOW, site.zone, 2) == [date(2026, 11, 20), date(2026, 11, 21)]


def test_small_boards_are_summed_up_as_others(site: Site) -> None:
    hour = NOW.replace(minute=0) - timedelta(days=1)
    for number in range(9):
        BoardHour.objects.create(
            board=board(site, str(number), number), hour=hour, replies=10 - number
        )
    found = reads.posts_by_day(site, NOW, top=7)
    assert [row.name for row in found] == [str(n) for n in range(7)] + [""]
    assert sum(found[-1].days.values()) == 3 + 2


def test_an_unknown_zone_is_read_as_utc(site: Site) -> None:
    site.timezone = "Mars/Olympus"
    assert site.zone.key == "UTC"


def test_posts_come_in_the_order_of_the_thread(site: Site) -> None:
    thread = Thread.objects.create(
        site=site, board=board(site, "a", 0), key="1", url="x", title="x", first_seen=NOW
    )
    places = [(2, 0), (1, 1), (1, 0), (3, 0), (2, 1)]
    Post.objects.bulk_create(
        Post(thread=thread, key=f"{p}.{n}", page=p, position=n, first_seen=NOW) for p, n in places
    )
    first = reads.posts(thread, {}, 2)
    assert [post.key for post in first.rows] == ["1.0", "1.1"]
    assert [post.key for post in reads.posts(thread, {"after": first.older}, 2).rows] == [
        "2.0",
        "2.1",
    ]
    assert [post.key for post in reads.posts(thread, {"last": "1"}, 2).rows] == ["2.1", "3.0"]


def test_what_is_due_next_leaves_out_paused_and_disabled(site: Site) -> None:
    first = board(site, "first", 0)
    second = board(site, "second", 1)
    off = board(site, "off", 2)
    for one, minutes in ((first, 5), (second, 9), (off, 1)):
        Board.objects.filter(pk=one.pk).update(
            next_visit=NOW + timedelta(minutes=minutes), enabled=one is not off
        )
    assert [one.name for one in reads.due_next()] == ["first", "second"]
    Site.objects.update(paused=True)
    assert reads.due_next() == []


@pytest.mark.parametrize(
    "complete, tried, shown",
    [
        (None, None, "never"),
        (None, 1, "not complete"),
        (5, 5, ""),
        (5.1, 5, ""),
        (50, 1, "tried"),
    ],
)
def test_the_last_visit_is_the_last_that_was_complete(
    site: Site, complete: float | None, tried: float | None, shown: str
) -> None:
    """The last try stands beside it, on every page that shows one of them."""
    one = board(site, "news", 1)
    at = [None if hours is None else NOW - timedelta(hours=hours) for hours in (complete, tried)]
    Board.objects.filter(pk=one.pk).update(complete_at=at[0], last_visit=at[1])
    client = Client(headers={"accept-language": "en"})
    client.force_login(user("viewer"))
    pages = ("/admin/forums/", f"/admin/forums/site/{site.pk}/", f"/admin/forums/board/{one.pk}/")
    for address in pages:
        page = client.get(address).content.decode()
        assert (re.search(r"tried\s*<time", page) is not None) is (shown == "tried"), address
        assert (">not complete<" in page) is (shown == "not complete"), address
        assert "never" in page or shown != "never", address
