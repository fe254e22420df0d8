"""Lists of threads in the style of widespread software and in random markups, with known content:
records and fields."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forums.reading import BoardRecord, PageKind, ThreadRecord, read_page
from tests.forums.boards import NOW, RandomForum, Topic
from tests.forums.heldout.lists import LISTS as HELDOUT
from tests.forums.markup_random import LAYOUTS, RandomMarkup
from tests.forums.markup_software import SOFTWARE

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
TIMES = {
    "en": ["american", "long", "days", "iso", "european"],
    "de": ["german", "european", "iso"],
    "ru": ["russian", "european", "iso"],
    "zh": ["chinese", "kanji", "iso"],
}
forums = st.sampled_from(sorted(TIMES)).flatmap(
    lambda language: st.builds(
        RandomForum,
        seed=st.integers(1_000, 100_000),
        language=st.just(language),
        time=st.sampled_from(TIMES[language]),
    )
)


def told(record: ThreadRecord, shows: str = "ral") -> tuple[object, ...]:
    last = record.last_reply.value.strftime("%Y-%m-%dT%H:%M") if record.last_reply else None
    return (
        record.url,
        record.title,
        *(
            value
            for name, value in (("r", record.replies), ("a", record.author), ("l", last))
            if name in shows
        ),
    )


def true(topic: Topic, url: str, shows: str = "ral") -> tuple[object, ...]:
    last = topic.posts[-1].posted.strftime("%Y-%m-%dT%H:%M")
    fields = (("r", topic.replies), ("a", topic.posts[0].author), ("l", last))
    return (url, topic.title, *(value for name, value in fields if name in shows))


@pytest.mark.parametrize("name", sorted(SOFTWARE))
@settings(max_examples=3, deadline=None, suppress_health_check=SLOW, derandomize=True)
@given(forum=forums)
def test_lists_in_the_manner_of_software_of_the_world(name: str, forum: RandomForum) -> None:
    made = SOFTWARE[name]
    reading = read_page(made.render(forum), made.url, NOW, hints=False)
    assert reading.kind is PageKind.threadlist
    found = [
        told(record, made.shows) for record in reading.records if isinstance(record, ThreadRecord)
    ]
    assert found == [
        true(topic, f"http://forum.example{made.link(topic)}", made.shows) for topic in forum.topics
    ]


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
@settings(max_examples=6, deadline=None, suppress_health_check=SLOW, derandomize=True)
@given(forum=forums, seed=st.integers(0, 1_000_000))
def test_lists_in_markups_drawn_at_random(layout: str, forum: RandomForum, seed: int) -> None:
    markup = RandomMarkup(seed, forum, layout)
    reading = read_page(markup.html(), markup.url, NOW, hints=False)
    assert reading.kind is PageKind.threadlist
    found = {told(record) for record in reading.records if isinstance(record, ThreadRecord)}
    want = {true(topic, markup.link(topic)) for topic in forum.topics}
    assert len(found & want) >= 0.98 * max(len(found), len(want))


def test_a_title_is_no_label_of_what_follows_it() -> None:
    rows = "".join(
        f"<topic-row><topic-title><a href='/t/{n}'>Last update of firmware"
        f" {n}</a></topic-title><topic-author><a"
        f" href='/@anna{n}'>anna{n}</a></topic-author><x-count"
        f" label=Replies>{n}</x-count><relative-time"
        f" datetime='2026-11-0{9 - n}T10:00:00Z'>x</relative-time></topic-row>"
        for n in range(6)
    )
    records = read_page(
        f"<html><body><topic-list>{rows}</topic-list></body></html>",
        "http://forum.example/b/7",
        NOW,
    ).records
    assert [record.author for record in records if isinstance(record, ThreadRecord)] == [
        f"anna{n}" for n in range(6)
    ]


def test_places_down_a_list_are_no_counts_and_comments_are_replies() -> None:
    rows = "".join(
        f"<div class=thing><span>{n}</span><div><a href='/r/x/comments/a{n}z/my-lamp-{n}/'>My lamp"
        f" number {n}</a></div><div>submitted <time datetime='2026-11-1{n}T10:00:00Z'>x</time> by"
        " <a href='/user/anna'>anna</a></div><ul><li><a"
        f" href='/r/x/comments/a{n}z/my-lamp-{n}/#c'>{7 * n} Kommentare</a></li></ul></div>"
        for n in range(1, 8)
    )
    records = read_page(
        f"<html><body>{rows}</body></html>", "http://forum.example/r/x/", NOW
    ).records
    assert [record.replies for record in records if isinstance(record, ThreadRecord)] == [
        7 * n for n in range(1, 8)
    ]


def test_marks_inside_a_date_do_not_part_it() -> None:
    rows = "".join(
        f"<tr><td><a href='/topic.php?id={n}'>An old lamp"
        f" {n}</a></td><td>anna</td><td>{n}</td><td>Feb {20 - n}<sup>th</sup>, 2024 at 4:06am<br>by"
        " chen</td></tr>"
        for n in range(1, 7)
    )
    heads = "<tr><th>Topic</th><th>Author</th><th>Replies</th><th>Last post</th></tr>"
    records = read_page(
        f"<html><body><table>{heads}{rows}</table></body></html>",
        "http://forum.example/board.php?id=2",
        NOW,
    ).records
    lasts = [
        record.last_reply.value.isoformat()[:16]
        for record in records
        if isinstance(record, ThreadRecord) and record.last_reply
    ]
    assert lasts == [f"2024-02-{20 - n}T04:06" for n in range(1, 7)]


def test_descriptions_of_boards_and_counts_of_posts() -> None:
    """The description of a board is the text after its name; numbers under "Posts" include the
    first post, even if such a number is 1."""
    heads = "<tr><th>Forum</th><th>Topics</th><th>Posts</th><th>Last post</th></tr>"
    about = {
        "Roses": "All about growing them",
        "Tools": "Spades, shears and where to buy them",
        "Ponds": "",
    }
    rows = "".join(
        f"<tr><td>{at}.</td><td><h3><a"
        f' href="/viewforum.php?f={at}">{name}</a></h3><p>{text}</p></td><td>{at}</td><td>{9 * at}'
        f"</td><td>by"
        f' <a href="/memberlist.php?mode=viewprofile&u={at}">anna{at}</a> 2026-03-0{at}'
        " 10:15</td></tr>"
        for at, (name, text) in enumerate(about.items(), 1)
    )
    boards = read_page(
        f"<html><body><table>{heads.replace('<tr>', '<tr><th></th>', 1)}{rows}</table></body>"
        f"</html>",
        "http://forum.example/",
        NOW,
    )
    assert boards.kind is PageKind.index
    assert {
        one.name: one.description or "" for one in boards.records if isinstance(one, BoardRecord)
    } == about
    heads = "<tr><th>Thread</th><th>Posts</th><th>Last post</th></tr>"
    rows = "".join(
        f'<tr><td><a href="/viewtopic.php?t={at}">A thread about subject'
        f" {at}</a></td><td>{at}</td><td>2026-03-{20 - at:02} 10:15 by <a"
        f' href="/memberlist.php?mode=viewprofile&u={at}">anna{at}</a></td></tr>'
        for at in range(1, 7)
    )
    threads = read_page(
        f"<html><body><table>{heads}{rows}</table></body></html>",
        "http://forum.example/viewforum.php?f=1",
        NOW,
    )
    assert [one.replies for one in threads.records if isinstance(one, ThreadRecord)] == [
        0,
        1,
        2,
        3,
        4,
        5,
    ]


SUB_BOARDS = {
    "slash": '<div><a href="/">Home</a> › <a href="/forum/b7/">Pumps</a></div><table><tr>'
    "<th></th><th>Board</th><th>Threads / posts</th><th>Last post</th></tr><tr><td><img src=i.png>"
    '</td><td><a href="/forum/b{n}/">{name}</a><div>{about}</div></td><td>12 / 340</td><td><a'
    ' href="/forum/b{n}/911.html#e42">{last}</a><br><a href="/people/17">anna</a> <span>(12 Feb,'
    " 10:11)</span></td></tr></table>",
    "items": '<ul class=forums><li><dl><dt><a href="viewforum.php?f={n}">{name}</a>'
    "<br>{about}</dt><dd>12 Topics</dd><dd>340 Posts</dd><dd><a"
    ' href="viewtopic.php?p=42#p42">{last}</a> by <a href="memberlist.php?mode=viewprofile&u=17">'
    "anna</a> Thu Feb 12, 2026 10:11 am</dd></dl></li></ul>",
    "cards": '<section><article><h3><a href="/forums/{n}-boats">{name}</a></h3><p>{about}</p><p>12'
    ' discussions, 340 messages</p><p>Latest: <a href="/threads/911/post-42">{last}</a>, anna,'
    " 2026-02-12 10:11</p></article></section>",
    "cells": '<table><tr><td><a href="forum-{n}-1.html">{name}</a><p>{about}</p></td><td>12 / 340'
    '</td><td><a href="forum.php?mod=redirect&tid=911&goto=lastpost">{last}</a> 2026-2-12 10:11 <a'
    ' href="space-uid-17.html">anna</a></td></tr></table>',
}
HERE = {
    "slash": "/forum/b7/",
    "items": "/viewforum.php?f=7",
    "cards": "/forums/7-pumps",
    "cells": "/forum-7-1.html",
}


@pytest.mark.parametrize("jumps", [True, False])
@pytest.mark.parametrize("name", SUB_BOARDS)
def test_a_board_that_has_only_a_sub_board_has_no_thread(name: str, jumps: bool) -> None:
    shown = SUB_BOARDS[name].format(
        n=9,
        name="Hand pumps and wells",
        about="Everything that lifts water without a motor, and what to do when it does not.",
        last="The leather of the piston has dried",
    )
    others = "".join(
        f'<li><a href="{HERE[name].replace("7", str(n), 1)}">Room number {n}</a></li>'
        for n in range(2, 7)
    )
    more = f"<ul class=jump>{others}</ul>" if jumps else ""
    body = f"<h1>Pumps</h1>{shown}<p>No topics yet. {'You cannot post here. ' * 20}</p>{more}"
    html = f"<html><head><title>Pumps</title></head><body>{body}</body></html>"
    url = f"http://forum.example{HERE[name]}"
    read = read_page(html, url, NOW, expect=PageKind.threadlist)
    assert not [record.url for record in read.records if isinstance(record, ThreadRecord)]


@pytest.mark.parametrize("lang", ["en", "zh", "de", "ru"])
@pytest.mark.parametrize("name", HELDOUT)
def test_rows_on_a_former_host_are_read_or_named_as_left_out(name: str, lang: str) -> None:
    forum, markup = RandomForum(4, lang), HELDOUT[name]
    html, former = markup.render(forum), set()
    for topic in forum.topics[1::4]:
        path = re.sub(r"^(?:\.|\w+://[^/]+)?/?", "/", markup.link(topic))
        for shown in (path, path.replace("&", "&amp;")):
            before, html = (
                html,
                re.sub(rf"[\"'][^\"'<> ]*{re.escape(shown[1:])}[\"']", '"http://a.invalid@"', html),
            )
            html = html.replace("@", shown)
            former |= {f"http://a.invalid{path}"} if html != before else set()
    read = read_page(html, markup.url, NOW, expect=PageKind.threadlist)
    urls = {record.url for record in read.records if isinstance(record, ThreadRecord)}
    assert former and former <= {*read.elsewhere, *urls}
    assert not (read.elsewhere and read.complete)
