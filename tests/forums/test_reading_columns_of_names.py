"""Names that look like something else by themselves are read by their column: numbers, signs and
words that are the same in all rows."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from forums.reading import PageKind, PostRecord, ThreadRecord, read_page

NOW = datetime(2026, 11, 21, 4, 6, tzinfo=UTC)
SAID = [
    "The lamp in the hall hums again since the rain of last week, and nobody knows why.",
    "Mine did that too. A new ballast helped, but it took an hour to find the right one.",
    "You could also turn the tube round once and see whether the noise stays on that side.",
    "Thank you both, I will try it on Sunday and tell you here how it went with the lamp.",
]

HEAD = "<html><head><title>Lamp - Boats</title></head><body><h1>Lamp</h1>"
NAMES = ["anna", "bertold", "chen", "dmitri"]


def authors(names: list[str], post: str) -> list[str | None]:
    made = "".join(
        post.format(name=name, at=f"2026-10-0{nth + 1} 10:15", text=text, nth=nth + 1)
        for nth, (name, text) in enumerate(zip(names, SAID, strict=True))
    )
    html = HEAD + made
    reading = read_page(html, "http://forum.example/viewtopic.php?t=7", NOW)
    assert reading.kind is PageKind.thread
    return [one.author for one in reading.records if isinstance(one, PostRecord)]


LINKED = (
    '<div class="post" id="p{nth}0"><a href="/user/{nth}">{name}</a><p>{at}</p>'
    "<p>Posts: {nth}7</p><div>{text}</div></div>"
)
MARKED = (
    '<div class="post" id="p{nth}0"><b class="author">{name}</b> <a href="#p{nth}0">{nth}/4</a>'
    "<span>{at}</span><div>{text}</div></div>"
)
PLAIN = '<div class="post" id="p{nth}0"><b>{name}</b> <i>{at}</i><div>{text}</div></div>'


@pytest.mark.parametrize(
    ("names", "post"),
    [
        (["42", "7", "1977", "31337"], LINKED),
        (["42", "7", "42", "31337"], MARKED),
        (["Guest", "Guest", "Guest", "Guest"], MARKED),
        (["anna", "88", "*", "bertold"], LINKED),
        (["anna", "admin", "chen", "dmitri"], PLAIN),
    ],
)
def test_the_author_of_a_post_is_what_stands_in_the_column_of_names(
    names: list[str], post: str
) -> None:
    assert authors(names, post) == names


TITLES = ["Old lamp hums", "Which stove", "Paper under rain", "Copper or steel", "Bridge lights"]

USER_CELL = (
    '<td>{title}</td><td><a href="/user/{nth}">{name}</a></td><td>{replies}</td><td>{at}</td>'
)
UNKNOWN_CELL = (
    '<td>{title}</td><td>{replies}</td><td><a href="/zq/{name}x.php%3F">{name}</a></td>'
    "<td>{at}</td>"
)


def listed(names: list[str], cells: str) -> list[ThreadRecord]:
    made = "".join(
        "<tr>"
        + cells.format(
            title=f'<a href="/topic/{nth + 10}">{title}</a>',
            name=name,
            nth=nth + 1,
            replies=nth % 3,
            at=f"2026-10-1{9 - nth} 10:15",
        )
        + "</tr>"
        for nth, (title, name) in enumerate(zip(TITLES, names, strict=True))
    )
    html = f"<title>Boats</title><table>{made}</table>"
    reading = read_page(html, "http://forum.example/board/7", NOW, expect=PageKind.threadlist)
    return [one for one in reading.records if isinstance(one, ThreadRecord)]


def started(names: list[str], cells: str) -> list[str | None]:
    return [one.author for one in listed(names, cells)]


def counted(cells: str) -> list[int | None]:
    return [one.replies for one in listed(["anna", "chen", "K.Lee", "jana88", "bo"], cells)]


@pytest.mark.parametrize(
    ("names", "cells"),
    [
        # a number linked to a user is a name and no count
        (
            ["7", "42", "8", "1977", "42"],
            USER_CELL,
        ),
        # a link to who knows where, in a cell of its own below an invented head
        (
            ["anna", "chen", "K.Lee", "jana88", "chen"],
            UNKNOWN_CELL,
        ),
        # signs around a linked name belong to it
        (
            ["-=kit=-", "chen", "*anna*", "jana88", "(bo)"],
            USER_CELL,
        ),
    ],
)
def test_the_author_of_a_thread_is_what_stands_in_the_column_of_names(
    names: list[str], cells: str
) -> None:
    assert started(names, cells) == names


def test_posts_whose_times_nobody_can_read_are_posts() -> None:
    made = "".join(
        f'<div class="topic-body" id="p{nth}0"><span class="creator"><a href="/u/{name}">{name}</a>'
        f"</span><i>⌚ q-{nth}</i><div class='post'><p>{text}</p>"
        f"<p>{when}</p><p>{text}</p></div></div>"
        for nth, (name, text, when) in enumerate(
            zip(NAMES, SAID, ["", "I bought it on 12 March 2019.", "", ""], strict=True)
        )
    )
    html = HEAD + made
    reading = read_page(html, "http://forum.example/t/lamp/7", NOW)
    assert [(one.author, one.posted) for one in reading.records if isinstance(one, PostRecord)] == [
        (name, None) for name in NAMES
    ]


def test_words_that_begin_the_names_of_all_rows_are_a_label() -> None:
    names = ["anna", "chen li", "K.Lee", "jana88", "chen li"]
    cells = (
        "<td>{title}<p>Hibatib lo {name}</p></td><td>{replies} qiz</td><td class='last'>{at}</td>"
    )
    linked = cells.replace("Hibatib lo {name}", '<a href="/user/{nth}">Hibatib lo {name}</a>')
    assert started(names, linked) == names


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("<div><b>{replies}</b><br>Replies</div>", "<div><b>{nth}84</b><br>Views</div>"),
        ("<div><span>{replies}</span> <p>Replies</p></div>", "<p><i>{nth}84</i><br>Views</p>"),
        ("<div>{replies}<br><i>Réponses</i></div>", "<div>{nth}84<br><i>Vues</i></div>"),
        ("<div><b>{replies}</b><br>Réponses</div>", "<div><b>{nth}84</b><br>Zuf</div>"),
    ],
)
def test_a_label_of_one_value_is_not_that_of_the_next(first: str, second: str) -> None:
    cells = f"<td>{{title}} by {{name}}</td><td>{first}</td><td>{second}</td><td>{{at}}</td>"
    assert counted(cells) == [0, 1, 2, 0, 1]


@pytest.mark.parametrize("beside", ["Logged", "Vedom", "127.0.0.x", "Weit weg"])
def test_the_linked_user_of_the_only_post_is_its_author(beside: str) -> None:
    box = (
        '<div class="poster"><h4><a href="/index.php?action=profile;u=17">wang</a></h4><ul>'
        f"<li>Newbie<li>Posts: 12<li class='poster_ip'>{beside}</ul></div>"
    )
    made = f"{box}<div><p>Oct 20, 2026, 09:52 PM</p><div class='post'>{' '.join(SAID)}</div></div>"
    html = HEAD + f'<div class="windowbg" id="msg1765">{made}</div>'
    reading = read_page(html, "http://forum.example/index.php?topic=140.0", NOW)
    assert [one.author for one in reading.records if isinstance(one, PostRecord)] == ["wang"]
