"""Tests of the top of the home page: the figures agree with the database, and the status sentence
counts the listed problems."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from crawlmgr.admin import dashboard
from crawlmgr.models import HostHour, Run, RunState
from deepweb.models import Form, Harvest, Query, Source
from focused import reads
from focused.models import Topic, TopicPage
from forums.models import Board, Post, Thread, Visit
from forums.sites import reads as today
from tests.crawlmgr.admin.rows import site, user

pytestmark = pytest.mark.django_db
NOW = datetime.now(UTC)


@pytest.fixture
def board() -> Board:
    return Board.objects.create(
        site=site(1),
        name="News",
        url="https://forum.example/1",
        key="1",
        next_visit=NOW + timedelta(hours=1),
    )


def _visit(
    board: Board, hours_ago: float, posts: int, waited: float = 0.0, arrived: int = 0
) -> None:
    run = Run.objects.create(
        kind="forum", label="x", state=RunState.FINISHED, created=NOW, finished=NOW
    )
    Visit.objects.create(
        board=board,
        run=run,
        finished=NOW - timedelta(hours=hours_ago),
        posts_new=posts,
        delay_replies_seconds=waited,
        arrived_replies=arrived,
    )


def _shown(role: str = "first") -> dict[str, tuple[str, str]]:
    client = Client(headers={"accept-language": "en"})
    client.force_login(user(role))
    answer = client.get("/admin/")
    head = answer.context["head"]
    if head:
        assert head["text"].encode() in answer.content
    return {tile.name: (tile.value, tile.look) for tile in head["tiles"]} if head else {}


def _posts(board: Board, hours_ago: Sequence[float]) -> None:
    thread = Thread.objects.create(
        site=board.site, board=board, key="t", url="https://f.example/t", first_seen=NOW
    )
    Post.objects.bulk_create(
        Post(thread=thread, key=str(n), first_seen=NOW, posted=NOW - timedelta(hours=ago))
        for n, ago in enumerate(hours_ago)
    )


def test_what_visits_brought(board: Board) -> None:
    _visit(board, 1, 3, 600.0, 2)
    _visit(board, 20, 4, 3000.0, 1)
    _visit(board, 30, 100, 9e9, 1)
    _visit(board, 24 * 40, 1000)
    found = today.visit_sums(NOW - dashboard.DAY)
    assert found.mean_wait_seconds == 1200.0
    days = today.by_day(NOW, 14)
    assert len(days) == 14 and sum(day.arrived for day in days) == 4
    shown = _shown()
    assert shown["Waiting time of new posts"] == ("20 min", "")
    assert shown["New posts in 24 h"] == ("0", ""), "fetched, and not posted, in 24 hours"


def test_new_posts_are_those_that_were_posted_lately(board: Board) -> None:
    """A first import fetches old posts; they are not new. A clock that is ahead makes none."""
    _visit(board, 1, 1000)
    hours = (0.5, 3, 23, 30, 24 * 13, 24 * 20, 24 * 400, -5)
    _posts(board, hours)
    assert today.posted(NOW - dashboard.DAY, NOW) == 3
    by_hand: dict[str, int] = {}
    for ago in hours[:5]:
        day = (NOW - timedelta(hours=ago)).date().isoformat()
        by_hand[day] = by_hand.get(day, 0) + 1
    days = today.posted_by_day(NOW, 14)
    assert len(days) == 14
    assert [posts for posts in days if posts] == [by_hand[day] for day in sorted(by_hand)]
    shown = _shown()
    assert shown["New posts in 24 h"] == ("3", "")
    assert shown["Late boards"] == ("0", "")


@pytest.mark.parametrize(
    "until, enabled, paused, late",
    [
        (None, True, False, 1),
        (1, True, False, 0),
        (-1, True, False, 1),
        (None, False, False, 0),
        (None, True, True, 0),
    ],
)
def test_late_is_what_is_due_and_kept_from_nobody(
    board: Board, until: int | None, enabled: bool, paused: bool, late: int
) -> None:
    Board.objects.update(
        next_visit=NOW - timedelta(hours=2),
        next_until=None if until is None else NOW + timedelta(hours=until),
        enabled=enabled,
    )
    board.site.paused = paused
    board.site.save()
    assert today.late(NOW) == late
    assert _shown()["Late boards"] == (str(late), "warn" if late else "")


def test_crawls_harvests_and_hosts(board: Board) -> None:
    Topic.objects.create(name="T", added=NOW)
    for state, finished, kind in (
        ("running", None, "topic"),
        ("finished", NOW, "topic"),
        ("finished", NOW - timedelta(days=3), "topic"),
        ("finished", NOW, "forum"),
    ):
        Run.objects.create(
            kind=kind, label="x", state=state, created=NOW, finished=finished, fetched=100, items=30
        )
    source = Source.objects.create(url="http://a.example/", key_hash=1, name="A", created=NOW)
    form = Form.objects.create(
        source=source,
        signature="s",
        page_url="http://a.example/",
        action="http://a.example/",
        type="search",
        found=NOW,
        described={},
    )
    run = Run.objects.create(kind="deepweb-harvest", label="x", state="running", created=NOW)
    harvest = Harvest.objects.create(run=run, form=form)
    for hours, new in ((1, 5), (23, 6), (25, 50)):
        Query.objects.create(
            harvest=harvest,
            number=hours,
            kind="policy",
            new=new,
            sent_at=NOW,
            ended_at=NOW - timedelta(hours=hours),
        )
    HostHour.objects.create(
        host=board.site.host,
        hour=NOW.replace(minute=0, second=0, microsecond=0),
        requests=8,
        errors=2,
    )
    shown = _shown()
    assert (
        shown["Topic pages in 24 h"][0] == "200"
        and shown["New records in 24 h"][0] == "11"
        and shown["Requests in 24 h"][0] == "8"
    )


def test_of_a_long_topic_crawl_only_the_pages_of_the_last_day_count() -> None:
    now = datetime.now(UTC)  # the desk's own clock counts the day
    Topic.objects.create(name="T", added=now)
    run = Run.objects.create(
        kind="topic",
        label="x",
        state="running",
        created=now,
        started=now - timedelta(days=3),
        fetched=70,
        items=35,
    )
    TopicPage.objects.bulk_create(
        TopicPage(
            run=run,
            step=number + 1,
            mark=number,
            number=number,
            url=f"http://a.example/{number}",
            url_hash=number,
            relevant=number % 2 == 1,
            relevant_so_far=(number + 1) // 2,
            at=now - timedelta(hours=70.5 - number),
        )
        for number in range(70)
    )
    assert reads.fetched_since(run, now - timedelta(days=1)) == 23
    assert reads.fetched_since(run, now - timedelta(days=9)) == 70
    assert reads.fetched_since(run, now) == 0
    assert _shown()["Topic pages in 24 h"][0] == "23"
    TopicPage.objects.all().delete()
    assert reads.fetched_since(run, now - timedelta(days=1)) == 0


def test_an_empty_desk_has_no_head_and_who_may_see_nothing_none() -> None:
    assert _shown() == {}
    site(1)
    assert _shown("none") == {}


def test_bars_fit_the_picture() -> None:
    tile = dashboard.Tile("n", "1", trend=[0.0, 5.0, 10.0, 0.01])
    heights = [float(height) for _x, _y, _width, height in tile.bars]
    assert (
        heights == [0.0, 11.0, 22.0, 1.0] and dashboard.Tile("n", "0", trend=[0.0, 0.0]).bars == []
    )
    assert all(
        float(x) + float(width) <= dashboard.WIDTH and float(y) + float(height) <= dashboard.HEIGHT
        for x, y, width, height in tile.bars
    )
