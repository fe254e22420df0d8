"""Reading forum pages by content: random boards in many markups, Chinese pages in GBK, hostile
pages, corrections."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forums.reading import (
    BoardRecord,
    PageKind,
    PostRecord,
    ThreadRecord,
    board_key,
    first_page,
    read_page,
    read_regions,
    thread_key,
    to_json,
)
from forums.reading.corrections import KindRules, SiteCorrections
from tests.forums.boards import COARSE, NOW, TIMES, RandomForum
from tests.forums.markup_lists import INDEXES, LAST_ONLY, LISTS
from tests.forums.markup_posts import POSTS
from tests.growth import FACTOR, MAX_RATIO, growth

PAGES = Path(__file__).resolve().parents[1] / "pages"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "forum_pages"
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
forums = st.builds(
    RandomForum,
    seed=st.integers(1_000, 100_000),
    language=st.sampled_from(["en", "de", "ru", "zh"]),
    time=st.sampled_from(sorted(set(TIMES) - COARSE)),
)


def saved(name: str, url: str, zone: str = "Asia/Shanghai") -> list:
    reading = read_page((PAGES / name).read_bytes(), url, NOW, timezone=zone)
    return list(reading.records)


def minute(moment: object) -> str:
    return moment.value.strftime("%Y-%m-%dT%H:%M")  # type: ignore[attr-defined]


@pytest.mark.parametrize("markup", sorted(LISTS))
@settings(max_examples=6, deadline=None, suppress_health_check=SLOW, derandomize=True)
@given(forum=forums)
def test_lists_of_threads_in_any_markup(markup: str, forum: RandomForum) -> None:
    reading = read_page(LISTS[markup](forum), "http://forum.example/board-7", NOW)
    assert reading.kind is PageKind.threadlist
    found = {record.title: record for record in reading.records if isinstance(record, ThreadRecord)}
    assert len(reading.records) == len(forum.topics)
    wrong = [
        topic.title
        for topic in forum.topics
        if (record := found.get(topic.title)) is None
        or record.replies != topic.replies
        or (record.author != topic.posts[0].author and markup not in LAST_ONLY)
        or record.last_reply is None
        or minute(record.last_reply) != topic.posts[-1].posted.strftime("%Y-%m-%dT%H:%M")
    ]
    assert len(wrong) <= 0.02 * len(forum.topics)


@pytest.mark.parametrize("markup", sorted(INDEXES))
@settings(max_examples=6, deadline=None, suppress_health_check=SLOW, derandomize=True)
@given(forum=forums)
def test_indexes_of_boards_in_any_markup(markup: str, forum: RandomForum) -> None:
    reading = read_page(INDEXES[markup](forum), "http://forum.example/", NOW)
    assert reading.kind is PageKind.index
    found = [(r.name, r.threads, r.posts) for r in reading.records if isinstance(r, BoardRecord)]
    assert found == [(b.name, b.threads, b.posts) for b in forum.boards]


@pytest.mark.parametrize("markup", sorted(POSTS))
@settings(max_examples=3, deadline=None, suppress_health_check=SLOW, derandomize=True)
@given(forum=forums)
def test_posts_in_any_markup(markup: str, forum: RandomForum) -> None:
    right = total = 0
    for topic in [topic for topic in forum.topics if topic.replies][:3]:
        reading = read_page(
            POSTS[markup](forum, topic), f"http://forum.example/topic/{topic.number}", NOW
        )
        assert reading.kind is PageKind.thread
        want = {(p.author, p.posted.strftime("%Y-%m-%dT%H:%M"), p.text) for p in topic.posts}
        have = {
            (r.author, minute(r.posted), r.text)
            for r in reading.records
            if isinstance(r, PostRecord) and r.posted
        }
        right += len(want & have)
        total += max(len(want), len(have))
    assert right >= 0.9 * total


def test_a_chinese_index_in_gbk() -> None:
    boards = saved("discuz_index.html", "http://bbs.example/")
    assert [(b.name, b.threads, b.posts) for b in boards] == [
        ("闲谈", 1204, 20000),
        ("技术", 377, 4120),
        ("交易", 96, 511),
    ]
    assert [minute(b.last_reply) for b in boards] == [
        "2026-11-21T03:36",
        "2026-11-20T04:30",
        "2009-03-01T00:15",
    ]


def test_a_chinese_list_in_gbk() -> None:
    rows = saved("discuz_list.html", "http://bbs.example/forum-7-1.html")
    assert [(r.author, r.replies, r.pinned) for r in rows[:3]] == [
        ("管理员", 12, True),
        ("老李", 3, False),
        ("chen", 0, False),
    ]
    shown = [
        "2009-03-01T00:15",
        "2026-11-21T04:03",
        "2026-11-21T03:36",
        "2026-11-20T04:30",
        "2026-11-19T00:15",
        "2026-06-24T16:00",
    ]
    assert [minute(r.last_reply) for r in rows[:6]] == shown
    assert rows[2].last_reply.relative and rows[5].last_reply.precision_seconds == 86_400


def test_a_chinese_thread_in_gbk() -> None:
    posts = saved("discuz_thread.html", "http://bbs.example/thread-880-1-1.html")
    assert [(p.author, p.post_id) for p in posts] == [
        ("阿木", "5001"),
        ("chen", "5002"),
        ("阿木", "5003"),
        ("老李", "5004"),
    ]
    assert [p.text for p in posts[1:]] == ["先把信道固定住再看看。", "试了，好多了！", "恭喜恭喜"]
    assert [minute(p.posted) for p in posts[:2]] == ["2009-03-01T00:15", "2026-11-20T04:30"]


def test_a_bar_in_gbk() -> None:
    rows = saved("tieba_list.html", "http://tieba.example/f?kw=%BE%C9%CA%E9")
    assert [(r.author, r.replies, r.pinned) for r in rows[:2]] == [
        ("吧主甲", 310, True),
        ("纸舟", 4, False),
    ]
    assert [r.last_author for r in rows[:3]] == ["路人", "老李", "阿木"]
    posts = saved("tieba_thread.html", "http://tieba.example/p/7009088")
    assert [(p.author, p.number, minute(p.posted)) for p in posts] == [
        ("白鸟", 1, "2009-03-01T00:15"),
        ("老李", 2, "2026-11-20T04:30"),
        ("阿木", 4, "2026-11-21T01:05"),
    ]


HOSTILE: dict[
    str, tuple[int, Callable[[int], str]]
] = {  # by name: the size of the large page, and a function that makes a page of a given size
    "nested": (2_000_000, lambda n: "<div>" * n),
    "nested links": (1_000_000, lambda n: "<a href=x>" * n),
    "nested tables": (600_000, lambda n: "<table><tr><td>" * n),
    "nested and closed": (1_000_000, lambda n: "<div>" * n + "</div>" * (n * 9 // 10)),
    "one endless tag": (2_500_000, lambda n: "<p " + "a=1 " * n + ">"),
    "links": (
        100_000,
        lambda n: "<body>" + "".join(f"<a href='/t/{k}'>word {k}</a> " for k in range(n)),
    ),
    "broken": (20_000, lambda n: "<table><tr><td><a href='/x<b><tr></div></table><<<>>" * n),
    "script": (
        500_000,
        lambda n: "<html><body><div id=app></div><script>" + "x=1;" * n + "</script></body></html>",
    ),
    "nul": (4, lambda n: "\x00\x00<p>\x00" * n),
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_pages_cost_no_more_than_their_length(name: str) -> None:
    def read(html: str) -> None:
        reading = read_page(html, "http://forum.example/", NOW)
        assert (
            reading.kind in (PageKind.other, PageKind.threadlist, PageKind.index)
            and len(reading.records) < 10_000
        )

    size, page = HOSTILE[name]
    assert growth(read, page(size // FACTOR), page(size)) < MAX_RATIO


def test_an_empty_page_is_read() -> None:
    assert read_page("", "http://forum.example/", NOW).records == ()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("viewtopic.php?f=2&t=31&start=25", "viewtopic.php?t=31#p900"),
        ("threads/2024-the-year.91732/page-2", "threads/2024-the-year.91732/latest"),
        ("thread-12-3-1.html", "forum.php?mod=redirect&tid=12&goto=lastpost#lastpost"),
        ("forum/a-2/topic/slug-7/", "forum/b-3/topic/slug-7/?post=9#9"),
        ("topic/115?page=2", "topic/115-slug"),
        ("index.php?topic=12.msg55#msg55", "index.php?topic=12.0"),
        ("t/slug/1555/12", "t/slug/1555"),
        ("t/slug/1555.json", "t/slug/1555"),
        ("viewtopic.php?id=5&action=new", "viewtopic.php?id=5"),
        ("viewtopic.php?action=last&id=5", "viewtopic.php?id=5&p=2"),
    ],
)
def test_addresses_of_one_thread_give_one_key(first: str, second: str) -> None:
    assert thread_key(f"http://a.example/{first}") == thread_key(f"http://a.example/{second}")


def test_other_things_have_other_keys() -> None:
    assert thread_key("http://a.example/topic/publish/6/") != thread_key(
        "http://a.example/topic/6/"
    )
    assert board_key("http://a.example/category/1-main") != board_key(
        "http://a.example/forum/1-general"
    )
    assert thread_key("http://a.example/thread/10/18064.html") != thread_key(
        "http://a.example/thread/10/17790.html"
    )
    assert thread_key("http://a.example/thread/1806/2.html") == thread_key(
        "http://a.example/thread/1806/3.html"
    )
    assert (
        first_page("http://a.example/thread-12-3-1.html") == "http://a.example/thread-12-1-1.html"
    )


def test_an_operator_corrects_roles_and_kinds() -> None:
    html = (
        "<ul>"
        + "".join(
            f"<li><a href='/x/{n}'>Entry {n}</a> <q>who{n}</q> <i>{n + 3}</i></li>"
            for n in range(6)
        )
        + "</ul>"
    )
    rules = SiteCorrections(
        (
            (
                PageKind.threadlist,
                KindRules(
                    "li", (("url", "a"), ("title", "a"), ("author", "q"), ("replies", "./i"))
                ),
            ),
        ),
        ((r"/odd$", PageKind.threadlist),),
    )
    reading = read_page(
        html,
        "http://a.example/odd",
        NOW,
        rules=SiteCorrections.from_json(json.loads(json.dumps(rules.to_json()))),
    )
    rows = [(r.url, r.author, r.replies) for r in reading.records]  # type: ignore[union-attr]
    assert rows[:2] == [
        ("http://a.example/x/0", "who0", 3),
        ("http://a.example/x/1", "who1", 4),
    ]


def test_json_keeps_the_offset_that_a_page_writes() -> None:
    html = "<div>" + "".join(
        f"<article id=post-{n}><a href='/members/a.{n}/'>anna{n}</a> <time"
        f" datetime='2024-05-0{n}T10:00:00-0400'>May {n}</time><div class=content>Some words about"
        f" thing number {n}, said at length.</div></article>"
        for n in range(1, 5)
    )
    posts = to_json(read_page(html, "http://a.example/threads/x.5/", NOW))["records"]
    assert [post["posted"] for post in posts][:2] == [
        "2024-05-01T10:00:00-04:00",
        "2024-05-02T10:00:00-04:00",
    ]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not here")
def test_saved_pages_of_real_forums_have_their_kinds() -> None:
    right = total = 0
    for line in (SHARED / "list.jsonl").read_text(encoding="utf-8").splitlines()[::3]:
        entry = json.loads(line)
        truth = json.loads(
            (SHARED / "truth" / entry["file"][5:].replace(".html", ".json")).read_text(
                encoding="utf-8"
            )
        )
        reading = read_page(
            (SHARED / entry["file"]).read_text(encoding="utf-8"),
            entry["base_url"],
            datetime(2026, 11, 21, tzinfo=UTC),
        )
        total += 1
        right += str(reading.kind) == truth["kind"]
    assert right >= 0.95 * total - 1


@pytest.mark.parametrize("markup", sorted(LISTS)[:4])
def test_every_record_has_its_element(markup: str) -> None:
    forum = RandomForum(31, "en", sorted(set(TIMES) - COARSE)[0])
    html = LISTS[markup](forum)
    own = SiteCorrections(kinds=((PageKind.threadlist, KindRules(fields=(("views", "b"),))),))
    for rules in (None, own):
        reading, elements = read_regions(html, "http://forum.example/board-7", NOW, rules=rules)
        assert reading == read_page(html, "http://forum.example/board-7", NOW, rules=rules)
        assert len(elements) == len(reading.records) == len(forum.topics)
        assert all(
            record.title in element.text_content()
            for record, element in zip(reading.records, elements, strict=True)
        )
        assert len({element.getroottree().getroot() for element in elements}) == 1


def test_posts_and_their_elements_stay_together_where_an_advertisement_is_left_out() -> None:
    blocks = "".join(
        f"<div class=post><b class=author>{name}</b> <time>2026-03-0{day} 10:00</time><div"
        f" class=body>{text} and some more words.</div></div>"
        for day, (name, text) in enumerate(
            [
                ("anna", "The first one"),
                ("Advertisement", "Buy it now"),
                ("ben", "The second one"),
                ("anna", "The third"),
            ],
            start=1,
        )
    )
    reading, elements = read_regions(
        f"<h1>Roses</h1>{blocks}", "http://forum.example/topic/5-roses", NOW
    )
    assert [post.author for post in reading.records] == ["anna", "ben", "anna"]
    assert all(
        post.text in element.text_content()
        for post, element in zip(reading.records, elements, strict=True)
    )
