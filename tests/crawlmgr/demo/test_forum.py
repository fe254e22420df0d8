"""The demonstration's forum: daily rhythms, posts determined by seed and start time alone, and
pages that the forum reader can parse."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from crawlmgr.demo.forum import (
    BOARDS,
    BUSY_POSTS,
    DAYS_BEFORE,
    POSTS_A_PAGE,
    THREADS_A_PAGE,
    ZONE,
    Forum,
    ForumPages,
    Rhythm,
    arrivals,
    busy_minutes,
)
from forums.reading import PageKind, PostRecord, ThreadRecord, read_page

BEGAN = datetime(2026, 11, 18, 6, 20, tzinfo=UTC)


def posts(forum: Forum) -> list[tuple[int, int, datetime, str, str]]:
    return [
        (t.number, p.number, p.posted, p.author, p.text)
        for t in forum.threads.values()
        for p in t.posts
    ]


def shown(now: datetime = BEGAN) -> Forum:
    forum = Forum(BEGAN)
    with forum.lock:
        forum.until(now)
    return forum


def test_a_rhythm_sums_to_its_posts_a_day_and_peaks_where_it_says() -> None:
    rhythm = Rhythm(24, ((9.5, 1.0, 1.0),), weekend=0.5)
    wednesday = datetime(2026, 11, 18, tzinfo=ZONE)
    rates = [rhythm.per_hour(wednesday + timedelta(hours=h)) for h in range(24)]
    assert sum(rates) == pytest.approx(24) and max(rates) == rates[9]
    assert rhythm.per_hour(wednesday + timedelta(days=3, hours=9)) == pytest.approx(rates[9] / 2)
    around_midnight = Rhythm(24, ((23.5, 1.0, 1.0),))
    assert around_midnight.per_hour(wednesday) == pytest.approx(
        around_midnight.per_hour(wednesday + timedelta(hours=22))
    )


def test_arrivals_follow_the_rates() -> None:
    hours = [BEGAN.replace(minute=0) + timedelta(hours=h) for h in range(24 * 100)]
    rhythms = [Rhythm(30, ((12, 2.0, 1.0),)), Rhythm(10, ())]
    found = [one for hour in hours for one in arrivals(rhythms, hour, 3)]
    counts = Counter(number for _at, number in found)
    assert counts[0] == pytest.approx(3000, abs=4 * 3000**0.5) and counts[1] == pytest.approx(
        1000, abs=4 * 1000**0.5
    )
    assert (
        found == sorted(found)
        and found[:20] == [one for hour in hours[:48] for one in arrivals(rhythms, hour, 3)][:20]
    )
    busy = busy_minutes(rhythms, BEGAN, 3, 200, 60.0)
    assert len(busy) == 200 and all(at > BEGAN for at, _board in busy)
    assert sum((at - BEGAN).total_seconds() for at, _board in busy) / 200 == pytest.approx(
        60, rel=0.3
    )


def test_posts_follow_from_the_beginning_however_often_somebody_looks() -> None:
    later = BEGAN + timedelta(hours=30)
    once, often = shown(later), shown()
    assert min(at for _t, _p, at, _a, _x in posts(once)) >= BEGAN.replace(minute=0) - timedelta(
        days=DAYS_BEFORE
    )
    before = len(posts(often))
    for minutes in range(0, 30 * 60, 7):
        with often.lock:
            often.until(BEGAN + timedelta(minutes=minutes))
    with often.lock:
        often.until(later)
    assert posts(often) == posts(once) and len(posts(once)) > before + BUSY_POSTS
    assert all(at <= later for _t, _p, at, _a, _x in posts(once))
    assert all(
        thread.posts == sorted(thread.posts, key=lambda post: post.posted)
        for thread in once.threads.values()
    )


def test_boards_have_hours_of_their_own_and_both_languages() -> None:
    forum = shown()
    busiest = {}
    for board in BOARDS:
        hours = Counter(
            p.posted.astimezone(ZONE).hour
            for t in forum.threads.values()
            if t.board is board
            for p in t.posts
        )
        busiest[board.number] = hours.most_common(1)[0][0]
        assert 250 < sum(hours.values()) < 1500
    assert (
        busiest[1] in (7, 8, 9)
        and busiest[2] in (19, 20, 21)
        and busiest[3] in (23, 0, 1, 2)
        and busiest[4] in (12, 20, 21, 22)
    )
    texts = {board.language for board in BOARDS}
    assert texts == {"en", "zh"} and not any("{" in text for _t, _p, _at, _a, text in posts(forum))


def test_its_pages_say_what_it_holds() -> None:
    forum = shown()
    pages = ForumPages(forum, lambda: BEGAN)

    def read(path: str) -> object:
        answer = pages(path)
        assert answer is not None and answer.status == 200
        return read_page(answer.body, f"http://127.0.0.1:1{path}", BEGAN, timezone="Asia/Shanghai")

    board = read("/board/4")
    assert board.kind is PageKind.threadlist  # type: ignore[attr-defined]
    assert board.next == "http://127.0.0.1:1/board/4?page=2"  # type: ignore[attr-defined]
    rows = [  # type: ignore[attr-defined]
        row for row in board.records if isinstance(row, ThreadRecord)
    ]
    wanted = forum.of_board(4)[:THREADS_A_PAGE]
    assert [(row.title, row.replies, row.last_reply.value) for row in rows] == [
        (t.title, len(t.posts) - 1, t.last) for t in wanted
    ]
    longest = max(forum.threads.values(), key=lambda thread: len(thread.posts))
    thread = read(f"/topic/{longest.number}")
    found = [  # type: ignore[attr-defined]
        post for post in thread.records if isinstance(post, PostRecord)
    ]
    assert [(p.author, p.posted.value, p.text) for p in found] == [
        (p.author, p.posted, p.text) for p in longest.posts[:POSTS_A_PAGE]
    ]
    for nowhere in (
        "/board/9",
        "/topic/999999",
        "/board/1?page=900",
        "/board/1?page=x",
        "/board/1?page=0",
        "/robots.txt",
    ):
        assert pages(nowhere) is None
