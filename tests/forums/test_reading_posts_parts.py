"""What belongs to a post and what only stands at it: links to its own place, offers to answer, quotes, paragraphs."""

from __future__ import annotations

import pytest

from forums.reading import PageKind, PostRecord, read_page
from tests.forums.boards import NOW

TITLE = "Reels of tape that stick after a winter in the shed"
TEXTS = [
    ("anna", "2026-03-01 10:11", "They were dry. Has anybody baked some?"),
    ("bertold", "2026-03-01 12:40", "Eight hours at fifty degrees."),
    ("carla", "2026-03-02 08:05", "Not all kinds need it."),
]
WORDS = {"en": ("Reply", "Quote"), "zh": ("回复", "引用")}


def read(posts: str, url: str = "http://site.example/showthread.php?t=41") -> list[PostRecord]:
    page = f"<html><head><title>{TITLE}</title></head><body><h1>{TITLE}</h1>{posts}</body></html>"
    reading = read_page(page, url, NOW)
    assert reading.kind is PageKind.thread
    return [record for record in reading.records if isinstance(record, PostRecord)]


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
@pytest.mark.parametrize("number", [2, 3])
def test_subjects_that_lead_to_their_own_place_are_no_threads(words: tuple[str, str], number: int) -> None:
    posts = "".join(
        f'<div><table><tr><td><a href="/profile.php?7,{at}">{name}</a> <small><strong><a name="msg-{at}" href="/read.php?7,41,{at}#msg-{at}">'
        f"Re: {TITLE}</a></strong><br>{when}</small></td><td>Joined: 12.05.2009<br>Posts: {at}0</td></tr></table><div>{text}"
        f'<div><a href="/do.php?7,{at}">{words[0]}</a> <a href="/do.php?7,{at},quote=1">{words[1]}</a></div></div></div>'
        for at, (name, when, text) in enumerate(TEXTS[:number], 51)
    )
    found = read(posts, "http://site.example/read.php?7,41")
    assert [(post.author, post.text) for post in found] == [(name, text) for name, _, text in TEXTS[:number]]


PARTED = [("anna", "2026-03-01 10:11", ["They were dry.", "Has anybody baked some?"]), ("bertold", "2026-03-01 12:40", ["Eight hours."])]


def whole(records: list[PostRecord]) -> list[tuple[str | None, str]]:
    return [(record.author, record.text) for record in records]


def joined() -> list[tuple[str | None, str]]:
    return [(name, "\n".join(lines)) for name, _, lines in PARTED]


def test_paragraphs_without_an_element_around_them_are_one_text() -> None:
    posts = "".join(
        f"<section><header><b>{name}</b> · <time>{when}</time></header>"
        f"{'<blockquote>Was it dry there?</blockquote>' if at else ''}{''.join(f'<p>{line}</p>' for line in lines)}"
        "<p><a href='?reply'>Reply</a></p></section>"
        for at, (name, when, lines) in enumerate(PARTED)
    )
    assert whole(read(posts)) == joined()


@pytest.mark.parametrize("head", ["<b>{name}:</b> Was it dry there?", "{name} 说: „Was it dry there?“"])
def test_boxes_that_begin_with_who_said_it_are_quotes(head: str) -> None:
    posts = "".join(
        f"<div class=item><div><b>{name}</b> <i>{when}</i></div><div>"
        f"{'<div>' + head.format(name='anna') + '</div>' if at else ''}{'<br>'.join(lines)}</div></div>"
        for at, (name, when, lines) in enumerate(PARTED)
    )
    assert whole(read(posts)) == joined()


def test_a_column_of_facts_is_no_text_however_long_it_is() -> None:
    facts = "Advanced Member<br>Group: Members<br>Posts: 312<br>Joined: 5.03.2004<br>Location: Bath<br>Member No.: 61216"
    told = [(PARTED[0][0], PARTED[0][1], "Eight hours."), (PARTED[1][0], PARTED[1][1], "Not all kinds need it, ask before. " * 3)]
    posts = "".join(
        f"<table><tr><td class=r><div class=c><a href='/user/{at}'>{name}</a></div></td><td class=r><span>{when}</span></td></tr>"
        f"<tr><td class=d><span>{facts}</span></td><td class=d id=m-{at}><div class=c id=p-{at}>{text}</div></td></tr></table>"
        for at, (name, when, text) in enumerate(told)
    )
    assert whole(read(posts)) == [(name, text.strip()) for name, _, text in told]


def test_messages_between_rules_are_posts() -> None:
    posts = "".join(
        f"<hr><a name={at}></a><b>From:</b> {name}<br><b>Date:</b> {when}<br><b>Subject:</b> {TITLE}<br><br>{'<br>'.join(lines)}<p>"
        for at, (name, when, lines) in enumerate(PARTED)
    )
    assert whole(read(f"<p><a href=1.html>Next</a></p>{posts}<hr><address>Since 1998</address>")) == joined()
