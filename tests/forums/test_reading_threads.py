"""Threads whose addresses and class names do not reveal that they are threads; quotes recognised by
the line that introduces them; pages that only look like threads."""

from __future__ import annotations

import pytest

from forums.reading import PageKind, PageReading, PostRecord, read_page
from forums.reading.posts.quotes import is_head
from tests.forums.boards import NOW, RandomForum, Topic
from tests.forums.markup_threads import PLAIN_POSTS

TIMES = {
    "en": ["american", "iso"],
    "de": ["german", "european"],
    "ru": ["russian", "iso"],
    "zh": ["chinese", "kanji"],
}
FORUMS = [
    (at, language, time)
    for at, (language, time) in enumerate((x, time) for x, times in TIMES.items() for time in times)
]
SITE = "http://forum.example"


def posts(reading: PageReading) -> list[PostRecord]:
    return [record for record in reading.records if isinstance(record, PostRecord)]


def share_right(markup: str, topics: list[tuple[RandomForum, Topic]], path: str) -> float:
    right = total = 0
    for forum, topic in topics:
        reading = read_page(
            PLAIN_POSTS[markup](forum, topic), SITE + path.format(n=topic.number), NOW, hints=False
        )
        want = {(p.author, f"{p.posted:%Y-%m-%d %H:%M}", p.text) for p in topic.posts}
        have = {
            (p.author, f"{p.posted.value:%Y-%m-%d %H:%M}", p.text)
            for p in posts(reading)
            if p.posted
        }
        assert reading.kind is PageKind.thread or len(topic.posts) == 2, (
            forum.language,
            forum.time,
            topic.number,
        )
        right += len(want & have)
        total += max(len(want), len(have))
    return right / total


@pytest.mark.parametrize("markup", sorted(PLAIN_POSTS))
def test_threads_are_told_and_read_where_neither_address_nor_class_tells(markup: str) -> None:
    found = [RandomForum(8800 + at, language, time) for at, language, time in FORUMS]
    topics = [
        (forum, topic) for forum in found for topic in [t for t in forum.topics if t.replies][:2]
    ]
    assert share_right(markup, topics, "/talk/{n}/x") >= 0.98


def test_two_posts_newest_first_are_a_thread() -> None:
    found = [RandomForum(8900 + at, language, time) for at, language, time in FORUMS]
    topics = [(forum, topic) for forum in found for topic in forum.topics if topic.replies == 1]
    assert len(topics) > 5 and share_right("unfolding", topics, "/beitrag/{n}") >= 0.98


HEADS = [
    "Quote:",
    "Quote (anna)",
    "QUOTE (night owl @ Aug 21 2026, 01:57 AM)",
    "Originally Posted by anna",
    "Posted By anna on 20 Nov",
    "anna wrote:",
    "@anna has written:",
    "On Tue, Nov 3, 2026 at 10:12 AM anna wrote:",
    "Zitat von anna",
    "Original von anna",
    "anna, 12.3.2026 schrieb:",
    "anna a écrit :",
    "Цитата (anna)",
    "anna писал(а):",
    "Сообщение от anna",
    "引用 (王芳)",
    "引用3楼 @anna 发表的:",
    "王芳说：",
    "原帖由 老王 于 2026-8-21 01:57 发表",
    "anna 发表于 2009-3-1 08:15",
]
NO_HEADS = [
    "Quotes are nice things to have",
    "I said it before and I say it again.",
    "My wife said it would work",
    "quoted prices are high here.",
    "He wrote a book about it",
    "引用数が多い",
    "Posted the letter yesterday",
    "I wrote to them in 2019 and got no answer.",
    "Citations",
    "",
]


@pytest.mark.parametrize("line", HEADS)
def test_lines_that_introduce_a_quote(line: str) -> None:
    assert is_head(line)


@pytest.mark.parametrize("line", NO_HEADS)
def test_lines_that_introduce_none(line: str) -> None:
    assert not is_head(line)


QUOTED = {
    "fieldset": "<fieldset><legend>Quote (anna)</legend>Old words here.</fieldset>",
    "details": "<details><summary>anna wrote:</summary><p>Old words here.</p></details>",
    "box with a head": "<div class=x1><div class=x2>anna schrieb:</div>Old words here.</div>",
    "head and box": (
        "<div class=x2>QUOTE (anna @ Nov 2 2026, 09:10 AM)</div><div class=x3>Old words here.</div>"
    ),
    "head before a table": "<b>Quote:</b><br><table><tr><td>Old words here.</td></tr></table>",
    "table with a head": (
        "<table><tr><td><b>Zitat:</b></td></tr><tr><td><i>Original von anna</i><br>Old words"
        " here.</td></tr></table>"
    ),
    "nested": (
        "<blockquote><p>ben wrote:</p><blockquote>older</blockquote>Old words here.</blockquote>"
    ),
    "marks": "anna wrote:<br>&gt; Old words here.<br>&gt; And more.<br>",
}


@pytest.mark.parametrize("name", sorted(QUOTED))
def test_a_quote_is_not_in_the_text_of_a_post(name: str) -> None:
    texts = [
        "The pump is loud when it is cold.",
        "Mine is as well, since the spring.",
        "Some oil will help, I think.",
    ]
    body = "".join(
        f"<div class=m{n}><a href='/who/{n}'>{who}</a> <i>2026-11-1{n}"
        f" 10:15</i><div>{QUOTED[name] if n == 2 else ''}<p>{text}</p></div></div>"
        for n, (who, text) in enumerate(zip(("dora", "emil", "dora"), texts, strict=True), 1)
    )
    reading = read_page(
        f"<html><body><h1>Loud pump</h1>{body}</body></html>", f"{SITE}/topic/7", NOW
    )
    assert [post.text for post in posts(reading)] == texts


def lone(path: str, more: str = "") -> PageReading:
    text = (
        "All that you should know about the garden, its paths and its pond, is said in the three"
        " pages below. " * 4
    )
    html = (
        "<html><head><title>Garden</title></head><body><div class=box><b class=author>anna</b>"
        f" 2026-11-12 10:15<p>{text}</p></div>{more}</body></html>"
    )
    return read_page(html, SITE + path, NOW)


@pytest.mark.parametrize(
    ("path", "more", "kind"),
    [
        ("/garden-talk", "", PageKind.thread),
        ("/", "", PageKind.other),
        ("/members/anna.7/", "", PageKind.other),
        ("/garden-talk", "<h1><a href='/members/anna.7/'>anna</a></h1>", PageKind.other),
        (
            "/garden-talk",
            "<form><input type=password name=a><input type=password name=b></form>",
            PageKind.other,
        ),
    ],
)
def test_front_pages_profiles_and_forms_to_register_are_no_threads(
    path: str, more: str, kind: PageKind
) -> None:
    assert lone(path, more).kind is kind


def test_who_follows_posted_by_wrote_it_and_offers_are_no_words_of_the_text() -> None:
    body = "".join(
        f"<div class=row><div class=a1><p>{text}</p><a href='/forum/post/add/1/33/{n}/'>Post a"
        " response</a></div><div class=a2><small>Posted by"
        f" <strong>admin</strong></small><br><small>Oct. 1{n}, 2026, 7:48 p.m.</small></div></div>"
        for n, text in enumerate(
            ("The pump is loud when it is cold outside.", "It was the ring after all.", "Closed.")
        )
    )
    reading = read_page(
        f"<html><body><h3>Pump</h3>{body}</body></html>", f"{SITE}/forum/topic/33/", NOW
    )
    assert [(p.author, p.text) for p in posts(reading)] == [
        ("admin", "The pump is loud when it is cold outside."),
        ("admin", "It was the ring after all."),
        ("admin", "Closed."),
    ]
