"""The author of a post where its header names other people too, and the choice of its text among
several neighbouring elements."""

from __future__ import annotations

import pytest

from forums.reading import PostRecord, read_page
from tests.forums.boards import NOW

TITLE = "Reels of tape that stick after a winter in the shed"


def read(body: str) -> list[tuple[str | None, str | None, str]]:
    page = f"<html><head><title>{TITLE}</title></head><body><h1>{TITLE}</h1>{body}</body></html>"
    found = [
        post
        for post in read_page(page, "http://site.example/topic/41", NOW).records
        if isinstance(post, PostRecord)
    ]
    return [
        (post.author, post.posted.value.strftime("%m-%d %H:%M") if post.posted else None, post.text)
        for post in found
    ]


@pytest.mark.parametrize("joined", ["Joined: 12 May 2009", "Anmeldungsdatum: 12.05.2009"])
@pytest.mark.parametrize("said", ["{} wrote:", "{} 写到:"])
def test_a_text_in_parts_around_a_quote_is_one_and_ends_at_its_signature(
    joined: str, said: str
) -> None:
    quote = (
        f"<table><tr><td><b>{said.format('anna')}</b></td></tr><tr><td>They were"
        " dry.</td></tr></table>"
    )
    posts = "".join(
        f"<tr><td><b>{name}</b><br><span class=details>{joined}<br>Posts:"
        " 312</span></td><td><table><tr><td><span class=details>Posted:"
        f" {when}</span></td></tr><tr><td><span class=said>{before}</span>{middle}<span"
        f" class=said>{after}</span><span class=said><br>____________<br>No place like home, I"
        " said</span></td></tr></table></td></tr>"
        for name, when, before, middle, after in [
            ("anna", "2026-03-01 10:11", "They were dry.", "", ""),
            ("bertold", "2026-03-01 12:40", "", quote, "<br>Eight hours."),
            ("carla", "2026-03-02 08:05", "Not all.", "", "Some do."),
        ]
    )
    assert [
        (name, when, "".join(text.split())) for name, when, text in read(f"<table>{posts}</table>")
    ] == [
        ("anna", "03-01 10:11", "Theyweredry."),
        ("bertold", "03-01 12:40", "Eighthours."),
        ("carla", "03-02 08:05", "Notall.Somedo."),
    ]


def test_who_replied_last_and_who_is_answered_wrote_not_this() -> None:
    opening = (
        "<div class=card><div class=info><a href='/%E5%B0%8F%E6%98%8E'>小明</a> · <i"
        " title='2026-03-01 10:11'>1 March</i> · last reply by <a href='/pavel'>pavel</a> <i"
        " title='2026-03-02 08:05'>2 March</i></div><div class=markdown><p>They were dry, all of"
        " them.</p></div></div>"
    )
    reply = (
        "<div class=reply id=reply1><span class=name><a href='/pavel'>pavel</a></span> · <i"
        " title='2026-03-02 08:05'>2 March</i><div class=reply-to-block><a title=anna"
        " href='/anna'>anna</a> <a class=user-name href='/anna'>anna</a></div><div"
        " class=markdown><p>Eight hours at fifty degrees.</p></div></div>"
    )
    assert read(opening + reply + "<form><textarea></textarea></form>") == [
        ("小明", "03-01 10:11", "They were dry, all of them."),
        ("pavel", "03-02 08:05", "Eight hours at fifty degrees."),
    ]


LONE = {
    "count": (
        "<div class=post><b class=author>anna</b> <i>2026-03-01 10:11</i><div><p>Dry,"
        " all.</p></div><p>Number of replies: 0</p></div>"
    ),
    "signature": (
        "<div class=post><b class=author>anna</b> <i>2026-03-01 10:11</i><div class=c><div"
        " class=richtext><p>Dry, all.</p></div><div data-role=memberSignature class=box><div"
        " class=richtext><p>No place like home, and no home like mine</p></div></div></div></div>"
    ),
    "note above": (
        "<div class=post><b class=author>anna</b> <i>2026-03-01 10:11</i><div><a"
        " href='/tag/7'>winter tapes</a></div><div><small>Last edited by anna,"
        " 2026-03-02</small><br>Dry, all.</div></div>"
    ),
    "told in the head of the page": (
        "<p>In <a href='/f/7'>Tape</a>, begun by <a class=username"
        " href='/members/anna.7/'>anna</a>, <i title='2026-03-01 10:11'>1 March</i></p><ol><li"
        " class=message><h3><a class=username href='/members/anna.7/'>anna</a></h3><div"
        " class=info><blockquote class='messageText QuoteContainer'>Dry, all.</blockquote><div"
        " class=meta><a class=username href='/members/anna.7/'>anna</a>, <a href='#1'><i"
        " title='2026-03-01 10:11'>1 March</i></a> <a href='/report/1'>Report this</a></div><div"
        " class=likes><a class=username href='/members/b.8/'>bertold</a> likes"
        " this.</div></div></li></ol>"
    ),
    "now in the foot": (
        "<div class=post><b class=author>anna</b> <i>2026-03-01 10:11</i><div class=text>Dry,"
        " all.</div></div><div class=foot><p>Powered by <a href='http://engine.example/'>Engine</a>"
        " <a href='/archiver/'>Archiver</a></p><p>GMT+8, 2026-11-20 10:11, <span>Processed in 0.021"
        " second(s), 8 queries.</span></p></div>"
    ),
}


@pytest.mark.parametrize("body", LONE.values(), ids=LONE)
def test_the_only_post_is_its_writer_s_words(body: str) -> None:
    assert read(body + "<form><textarea></textarea></form>") == [
        ("anna", "03-01 10:11", "Dry, all.")
    ]


def signed(number: int, name: str, when: str, text: str, inner: str = "") -> str:
    return (
        f"<article id=c{number}><header><h3><a href='#c{number}'>Re: {TITLE}</a></h3></header><div"
        f" class=content><p>{text}</p></div><footer><p>— <a href='/u/{name}' rel=author>{name}</a>,"
        f" <time datetime='{when}'>{when}</time></p><p class=tools><a href='#re{number}'>Reply</a>"
        f" · <button>♥ {number}</button></p></footer>{inner}</article>"
    )


def test_writers_below_their_texts_and_answers_below_those() -> None:
    third = signed(7, "carla", "2026-03-02 08:05", "Not all kinds need it.")
    second = signed(6, "bertold", "2026-03-01 12:40", "Eight hours at fifty degrees.", third)
    fourth = signed(8, "dora", "2026-03-03 09:15", "Which oven did you use?")
    found = read(
        f"<section>{signed(5, 'anna', '2026-03-01 10:11', 'They were dry, all of them.')}{second}"
        f"{fourth}</section>"
    )
    assert [(name, text) for name, _, text in found] == [
        ("anna", "They were dry, all of them."),
        ("bertold", "Eight hours at fifty degrees."),
        ("carla", "Not all kinds need it."),
        ("dora", "Which oven did you use?"),
    ]


@pytest.mark.parametrize(
    "when",
    [
        "Sunday, 1 March 2026, 10.11",
        "2026/03/01(Mo) 10:11:00.93 ID:80fa755f",
        "2026 年 3 月 1 日 10 時 11 分",
    ],
)
def test_clocks_after_a_year_with_a_dot_or_a_short_day_of_the_week_and_dates_with_blanks(
    when: str,
) -> None:
    post = (
        f"<div class=post><b class=author>anna</b> <i>{when}</i><div class=text>They were dry, all"
        " of them.</div></div>"
    )
    assert read(post + "<form><textarea></textarea></form>") == [
        ("anna", "03-01 10:11", "They were dry, all of them.")
    ]


def test_rows_of_threads_alike_whose_counts_stand_apart_are_no_posts() -> None:
    post = (
        "<article class=post><aside><a class=name href='/profile/7-anna/'>anna</a> <a"
        " href='/message/7'>Send message</a></aside><div><p>Posted <time"
        " datetime='2026-03-01T10:11:00Z'>1 March</time></p><div class=said>They were"
        " dry.</div></div></article>"
    )
    rows = "".join(
        f"<li class=row><div><h4><a href='/topic/{at}-x/'>{title}</a></h4><p>by <a"
        f" href='/profile/30-x/'>ivo</a>, <time datetime='2026-02-0{at - 90}T04:06:00Z'>{at - 90}"
        f" February</time></p></div><ul><li><b>{at - 88}</b> <span>Replies</span></li></ul></li>"
        for at, title in enumerate(
            ["Show us your shed", "Rules of this place", "Photo contest"], 91
        )
    )
    page = (
        f"<html><head><title>{TITLE}</title></head><body><h1>{TITLE}</h1>{post}<h2>Similar</h2>"
        f"<ol>{rows}</ol></body></html>"
    )
    found = read_page(page, "http://site.example/topic/41-x/", NOW).records
    assert [(post.author, post.text) for post in found if isinstance(post, PostRecord)] == [
        ("anna", "They were dry.")
    ]
    assert len(found) == 1
