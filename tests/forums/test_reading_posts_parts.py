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


def read(posts: str, url: str = "http://site.example/read.php?7,41") -> list[PostRecord]:
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
    found = read(posts)
    assert [(post.author, post.text) for post in found] == [(name, text) for name, _, text in TEXTS[:number]]
