"""Pages that are not of a forum are recognised as such, and forum pages with very little content
are still read: one thread, one post, one reply."""

from __future__ import annotations

import pytest

from forums.reading import PageKind, PostRecord, ThreadRecord, read_page
from tests.forums.boards import NOW
from tests.forums.markup_thin import not_forums, page

SITE = "http://site.example"
WORDS = [
    "The pump was loud, so we opened it and looked inside",
    "A short walk along the river on a cold morning",
    "Three ways to keep bread fresh for a week",
    "What the new rules mean for small gardens",
    "How to clean a camera without breaking it",
    "Lamps, cables and a box of old screws",
]
LONG = (
    "It took us most of the day to understand what had happened, and then another one to put it"
    " right. In the end the cause was a small ring that had slipped out of its place, as the maker"
    " explains on the last page of a manual that nobody reads. Next time we will begin at the end"
    " and save ourselves the trouble."
)


def rows(pattern: str) -> str:
    return "".join(
        pattern.format(
            at=at,
            text=text,
            day=20 - at,
            slug=text.lower().replace(" ", "-").replace(",", ""),
            long=LONG,
        )
        for at, text in enumerate(WORDS)
    )


NOT_FORUMS = not_forums(WORDS, LONG)


@pytest.mark.parametrize("name", sorted(NOT_FORUMS))
@pytest.mark.parametrize("hints", [True, False])
def test_a_page_that_is_no_forum_is_of_kind_other(name: str, hints: bool) -> None:
    reading = read_page(NOT_FORUMS[name], f"{SITE}/{name.replace(' ', '-')}", NOW, hints=hints)
    assert reading.kind is PageKind.other, reading.evidence
    assert reading.records == ()


HEAD = "<tr><th>Topic</th><th>Author</th><th>Replies</th><th>Views</th><th>Last post</th></tr>"
ONE_ROW = {
    "table": (
        f'<table>{HEAD}<tr><td><a href="/viewtopic.php?t=88">Pump too loud</a></td><td><a'
        ' href="/profile.php?u=3">anna</a></td><td>4</td><td>120</td><td>12 Mar 2026 10:15 by <a'
        ' href="/profile.php?u=4">ben</a></td></tr></table>'
    ),
    "cards": (
        '<ul class=threads><li class=thread><h3><a href="/topic/88-pump-too-loud">Pump too'
        ' loud</a></h3><span>started by <a href="/user/3-anna">anna</a></span> <span class=stats>4'
        " replies</span> <span class=stats>120 views</span> <span>last post by <a"
        ' href="/user/4-ben">ben</a>, 12 Mar 2026 10:15</span></li></ul>'
    ),
}


@pytest.mark.parametrize("name", sorted(ONE_ROW))
def test_a_list_with_one_thread_is_a_list(name: str) -> None:
    reading = read_page(
        page(f"<h1>Pumps</h1>{ONE_ROW[name]}", "Pumps"), f"{SITE}/forum/7-pumps", NOW
    )
    assert reading.kind is PageKind.threadlist
    (only,) = reading.records
    assert isinstance(only, ThreadRecord)
    assert (only.title, only.author, only.replies) == ("Pump too loud", "anna", 4)
    assert (
        only.last_reply is not None
        and only.last_reply.value.isoformat() == "2026-03-12T10:15:00+00:00"
    )


def post(at: int, name: str, text: str) -> str:
    return (
        f'<div class="box {"odd" if at % 2 else "even"}" id="p{70 + at}"><h2><span>#{at}</span> <a'
        f' href="/viewtopic.php?pid={70 + at}#p{70 + at}">2026-03-1{at}'
        f" 10:15:00</a></h2><dl><dt><strong>{name}</strong></dt><dd>Member</dd><dd>Registered:"
        f" 2014-05-02</dd><dd>Posts: 1{at}2</dd></dl><div class=msg><p>{text}</p></div></div>"
    )


@pytest.mark.parametrize("count", [1, 2, 3])
def test_authors_without_links_are_known_by_what_is_said_of_them(count: int) -> None:
    texts = [
        ("rusty", "Does anybody know this noise?"),
        ("zoe42", "It is the ring."),
        ("rusty", "Thank you, that was it."),
    ][:count]
    body = "".join(post(at, name, text) for at, (name, text) in enumerate(texts, start=1))
    reading = read_page(
        page(f"<h1>A noise</h1>{body}", "A noise"), f"{SITE}/viewtopic.php?id=5", NOW
    )
    assert reading.kind is PageKind.thread
    assert [
        (found.author, found.text) for found in reading.records if isinstance(found, PostRecord)
    ] == texts


def test_an_opening_post_and_its_only_reply_that_are_built_otherwise() -> None:
    opening = (
        '<div class=topic><h1>A noise</h1><small><a href="/member/rusty">rusty</a> · <span'
        ' title="2026-03-10 10:15:00">6 days ago</span></small><div class=topic_content><p>Does'
        " anybody know this noise in the pump?</p></div></div>"
    )
    reply = (
        '<div class=box><table id="r_71"><tr><td><img alt="zoe42"></td><td><strong><a'
        ' href="/member/zoe42">zoe42</a></strong> <span title="2026-03-11 09:00:00">5 days'
        " ago</span><div class=reply_content>It is the ring, I had the"
        " same.</div></td></tr></table></div>"
    )
    reading = read_page(page(opening + reply, "A noise"), f"{SITE}/t/5", NOW)
    assert reading.kind is PageKind.thread
    assert [found.author for found in reading.records if isinstance(found, PostRecord)] == [
        "rusty",
        "zoe42",
    ]


def test_a_box_of_quotes_without_a_telling_class_is_not_the_authors_text() -> None:
    quoted = (
        '<div style="margin:20px"><div class=small>Quote:</div><table><tr><td>Originally Posted by'
        " <b>rusty</b><br>Does anybody know this noise?</td></tr></table></div>"
    )
    body = "".join(
        post(at, name, text)
        for at, (name, text) in enumerate(
            [
                ("rusty", "Does anybody know this noise?"),
                ("zoe42", quoted + "It is the ring."),
                ("rusty", "Thanks."),
            ],
            start=1,
        )
    )
    reading = read_page(
        page(f"<h1>A noise</h1>{body}", "A noise"), f"{SITE}/showthread.php?t=5", NOW
    )
    assert [found.text for found in reading.records if isinstance(found, PostRecord)][
        1
    ] == "It is the ring."


def test_a_column_beside_a_thin_thread_is_not_taken_for_its_posts() -> None:
    side = (
        "<aside class=sidebar><h2>Recent</h2><ul>"
        + rows(
            '<li><h3><a href="/thread/{at}9-{slug}/">{text}</a></h3><small><a'
            ' href="/user/{at}-ben/">ben</a> <time'
            ' datetime="2026-03-0{at}T10:00:00Z">2026</time></small></li>'
        )
        + "</ul></aside>"
    )
    body = (
        "<article class=post id=post71><div class=author><a"
        ' href="/user/3-anna/">anna</a></div><time datetime="2026-03-10T10:15:00Z">10'
        " March</time><div class=text><p>Does anybody know this noise?</p></div></article>"
    )
    reading = read_page(
        page(f"<main><h1>A noise</h1>{body}</main>{side}", "A noise"),
        f"{SITE}/thread/88-a-noise/",
        NOW,
    )
    assert [
        (found.author, found.text) for found in reading.records if isinstance(found, PostRecord)
    ] == [("anna", "Does anybody know this noise?")]


LONE_ROW = """<html><head><title>Uncategorized</title></head><body>
<div class="menu"><a href="/">Home</a><ul class="menu_list"><li>\
<a href="/topic/active/">All categories</a></li></ul>
<a class="button" href="/topic/publish/2/">New topic</a></div>
<div class="rows"><div class="row"><div class="title">\
<a href="/topic/204/which-tyres-for-winter/">Which tyres for winter?</a></div>
<div class="category"><a href="/category/2/uncategorized/">Uncategorized</a></div>\
<div class="comments">1</div>
<div class="date" title="2026-11-21 17:23">3 s</div></div></div></body></html>"""


def test_the_only_thread_of_a_list_is_read_where_a_list_is_expected() -> None:
    url = "http://f.example/category/2/uncategorized/"
    reading = read_page(LONE_ROW, url, NOW, expect=PageKind.threadlist)
    assert reading.kind is PageKind.threadlist
    assert [record.url for record in reading.records] == [
        "http://f.example/topic/204/which-tyres-for-winter/"
    ]
