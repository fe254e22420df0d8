"""Tests that pages in the style of less common forum software are read correctly: kind of page,
names, texts and times."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from forums.reading import BoardRecord, PageKind, PageReading, PostRecord, ThreadRecord, read_page

NOW = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)
WORDS = "garden engine paper bridge winter market silver lantern".split()


def read(body: str, path: str, expect: PageKind | None = None) -> PageReading:
    return read_page(
        f"<html><body>{body}</body></html>",
        f"http://forum.example/{path}",
        NOW,
        hints=False,
        expect=expect,
    )


def shown(moment: object) -> str:
    return moment.value.strftime("%Y-%m-%d %H:%M")  # type: ignore[attr-defined]


def test_an_index_that_counts_topics_and_replies() -> None:
    rows = "".join(
        f'<tr><td><img></td><td><b><a href="/index.php?showforum={n}">{word.title()}'
        f" talk</a></b><br>All about it.</td><td>{n * 7}</td><td>{n * 40}</td><td>Nov 1{n} 2026,"
        f' 09:1{n} PM<br><b>In:</b> <a href="/index.php?showtopic={n}00&amp;view=getnewpost">On the'
        f" {word}</a></td></tr>"
        for n, word in enumerate(WORDS[:4], 1)
    )
    reading = read(
        "<table><tr><th colspan=2>Forum</th><th>Topics</th><th>Replies</th><th>Last Post"
        f" Info</th></tr>{rows}</table>",
        "index.php",
    )
    assert reading.kind is PageKind.index
    boards = [board for board in reading.records if isinstance(board, BoardRecord)]
    assert [(b.name, b.threads, b.posts) for b in boards] == [
        (f"{w.title()} talk", n * 7, n * 40) for n, w in enumerate(WORDS[:4], 1)
    ]


def test_an_index_of_names_and_counts_only() -> None:
    rows = "".join(
        f'<li><a href="/?forum={word}">{word.title()} talk <span'
        f' class="badge">{n}</span></a>{" <b>new</b>" if n == 2 else ""}</li>'
        for n, word in enumerate(WORDS)
    )
    reading = read(f"<h1>Our forum</h1><ul>{rows}</ul><p><a href='/about'>About</a></p>", "")
    assert reading.kind is PageKind.index
    assert [board.name for board in reading.records if isinstance(board, BoardRecord)] == [
        f"{word.title()} talk" for word in WORDS
    ]
    counted = "".join(
        f'<div class="board"><h3><a href="/forum/{n}-{word}/">{word.title()} talk</a>'
        f" <small>({n + 12} topics)</small></h3><p>On {word}s.</p></div>"
        for n, word in enumerate(WORDS)
    )
    boards = read(f"<h1>Our forum</h1>{counted}", "").records
    assert [board.threads for board in boards if isinstance(board, BoardRecord)] == [
        n + 12 for n in range(len(WORDS))
    ]


def test_a_menu_of_boards_on_a_page_of_a_forum_is_no_index() -> None:
    menu = "".join(
        f'<li><a href="/forum/{n}-{word}/">{word.title()} talk</a></li>'
        for n, word in enumerate(WORDS)
    )
    assert (
        read(
            f"<h1>{WORDS[0]}</h1><ul>{menu}</ul><p>There are no threads in this forum.</p>",
            "forum/0-garden/",
        ).kind
        is not PageKind.index
    )


def test_slugs_below_their_board_tell_boards_from_threads() -> None:
    rows = "".join(
        f'<tr><td><a href="/{word}-talk/">{word.title()} talk</a> Moderators: <a'
        f' href="/user/anna/">anna</a>, <a href="/user/chen/">chen</a></td><td>{n + 3} /'
        f' {n * 9 + 20}</td><td><a href="/{word}-talk/my-old-{word}/">My old {word}</a>'
        f' 2026-11-1{n} 10:0{n} <a href="/user/elif/">elif</a></td></tr>'
        for n, word in enumerate(WORDS)
    )
    reading = read(f"<h2>Main</h2><table>{rows}</table>", "")
    assert reading.kind is PageKind.index
    assert [board.name for board in reading.records if isinstance(board, BoardRecord)] == [
        f"{word.title()} talk" for word in WORDS
    ]


MEMBER = "Senior Member<br>Joined: 12-March 19<br>Location: Bristol<br>Posts: 4,021"


def test_the_text_of_a_post_is_not_the_lines_about_its_member() -> None:
    texts = [
        "It works.",
        "Mine makes a noise when it is cold outside, has anyone an idea?",
        "Use another one.",
    ]
    posts = "".join(
        f'<table class="post"><tr><td><a name="entry{n}"></a><b><a'
        f' href="/index.php?showuser={n}">{name}</a></b></td><td>Nov 1{n} 2026, 0{n}:12'
        f' PM</td></tr><tr><td><span class="postdetails">{MEMBER}</span></td><td><div'
        f' class="postcolor">{text}</div></td></tr></table>'
        for n, (name, text) in enumerate(zip(("anna", "chen", "elif"), texts, strict=True), 1)
    )
    reading = read(f"<h1>Pumps</h1>{posts}", "index.php?showtopic=77")
    assert [(p.author, p.text) for p in reading.records if isinstance(p, PostRecord)] == list(
        zip(("anna", "chen", "elif"), texts, strict=True)
    )


def test_a_signature_in_the_box_of_the_text_and_a_box_that_can_be_quoted() -> None:
    posts = "".join(
        f'<div class="card"><div class="card-header"><a href="/UserProfile/{n}-x">{name}</a> <time'
        f' datetime="2026-11-1{n}T10:00:00Z">x</time></div><div class="card-body"><div'
        f' class="selectionQuoteable"><div class="message">The {WORDS[n]} needs some oil, I'
        ' think.</div></div><hr><div class="card-text signature">Bigger is'
        " better</div></div></div>"
        for n, name in enumerate(("anna", "chen", "elif"))
    )
    reading = read(f"<h2>Oil</h2>{posts}", "posts/t55-oil")
    assert [p.text for p in reading.records if isinstance(p, PostRecord)] == [
        f"The {WORDS[n]} needs some oil, I think." for n in range(3)
    ]


def test_a_clock_below_its_date_and_rows_of_two_looks() -> None:
    rows = "".join(
        f'<div class="row{"Odd" if n % 2 else "Even"}"><a href="/forum/cars/my-{word}/"'
        f' class="name">My {word}</a> <span class="count">{n + 2}</span> replies<span'
        f' class="date">November {20 - n}, 2026<br>6:1{n} am</span></div>'
        for n, word in enumerate(WORDS)
    )
    reading = read(
        f'<h1>Cars</h1><div class="list">{rows}</div>', "forum/cars/", PageKind.threadlist
    )
    assert reading.kind is PageKind.threadlist
    threads = [thread for thread in reading.records if isinstance(thread, ThreadRecord)]
    assert [shown(t.last_reply) for t in threads] == [
        f"2026-11-{20 - n} 06:1{n}" for n in range(len(WORDS))
    ]


def test_a_date_of_joining_before_the_time_of_a_post_does_not_hide_it() -> None:
    posts = "".join(
        f'<table id="post_{n}"><tr><td><strong><a'
        f' href="/member.php?action=profile&amp;uid={n}">{name}</a></strong><br>Member<br>Joined:'
        f' Mar 2019</td><td><div><span class="post_date">11-1{n}-2026, 07:51'
        f" PM</span></div><div>All of the {WORDS[n]} is gone again.</div></td></tr></table>"
        for n, name in enumerate(("anna", "chen", "elif"), 1)
    )
    reading = read(f"<h1>Gone</h1>{posts}", "showthread.php?tid=9")
    assert [shown(p.posted) for p in reading.records if isinstance(p, PostRecord)] == [
        f"2026-11-1{n} 19:51" for n in (1, 2, 3)
    ]


def test_a_list_of_one_row_below_heads_that_tell() -> None:
    heads = (
        "<tr><th></th><th>Subject</th><th>Author</th><th>Views</th><th>Replies</th><th>Last"
        " Post</th></tr>"
    )
    row = (
        '<tr><td><img></td><td><a href="/read.php?6,504">An old lamp</a></td><td><a'
        ' href="/profile.php?6,3">anna</a></td><td>120</td><td>4</td><td>November 02, 2026'
        " 08:15am</td></tr>"
    )
    reading = read(f"<h1>Lamps</h1><table>{heads}{row}</table>", "list.php?6")
    assert reading.kind is PageKind.threadlist
    assert [(t.title, t.replies) for t in reading.records if isinstance(t, ThreadRecord)] == [
        ("An old lamp", 4)
    ]


@pytest.mark.parametrize("box", ["sidebar", "latest"])
def test_a_box_beside_a_list_is_no_row_of_it(box: str) -> None:
    rows = "".join(
        f'<div class="item"><div><a href="/topic/{n}-my-{word}/">My'
        f" {word}</a></div><dl><dt>Replies</dt><dd>{n}</dd></dl><time"
        f' datetime="2026-11-1{9 - n}T10:00:00Z">x</time></div>'
        for n, word in enumerate(WORDS)
    )
    beside = "".join(
        f'<li><a href="/topic/{n}-your-{word}/">Your {word}</a> by anna</li>'
        for n, word in enumerate(WORDS, 90)
    )
    reading = read(
        f'<h1>Cars</h1>{rows}<div class="{box}"><h3>Elsewhere</h3><ul>{beside}</ul></div>',
        "forum/2-cars/",
    )
    assert [t.title for t in reading.records if isinstance(t, ThreadRecord)] == [
        f"My {word}" for word in WORDS
    ]


def test_a_category_of_questions_is_a_list() -> None:
    rows = "".join(
        f'<div class="item"><span class="votes">0 votes</span> <span class="answers">{n}'
        f' answers</span><h3><a href="/{n}01/how-to-mend-the-{word}">How to mend the'
        f' {word}</a></h3><span>asked <time datetime="2026-11-0{9 - n}T10:00:00Z">Nov</time> in <a'
        ' href="/questions/garden">Garden</a> by <a href="/user/anna">anna</a> (1'
        " point)</span></div>"
        for n, word in enumerate(WORDS)
    )
    reading = read(f"<h1>Recent questions in Garden</h1>{rows}", "questions/garden")
    assert reading.kind is PageKind.threadlist and len(reading.records) == len(WORDS)
