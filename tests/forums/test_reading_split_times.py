"""Dates split into elements for day, month and year, with a separate clock time; and elements that
only look like these."""

from __future__ import annotations

import pytest

from forums.reading import PostRecord, read_page
from forums.reading.document import Page
from tests.forums.boards import NOW

TITLE = "Reels of tape that stick after a winter in the shed"
TEXTS = [
    ("anna", "They were dry. Has anybody baked some?"),
    ("bertold", "Eight hours at fifty degrees."),
    ("carla", "Not all kinds need it."),
]
LEAVES = {
    "inline": "<div class=leaf><span>{day}</span> <span>Mar</span> <span>2025</span></div>",
    "blocks": "<div class=leaf><div>March</div><div>{day}</div><div>2025</div></div>",
    "weekday": "<div class=leaf><p>Sat</p><p>{day}</p><p>Mar</p><p>2025</p></div>",
    "russian": "<div class=leaf><p>{day}</p><p>марта</p><p>2025</p></div>",
    "chinese": "<div class=leaf><b>2025年</b><b>3月</b><b>{day}日</b></div>",
}
DAYS = (1, 8, 15)  # Saturdays of March 2025


def times(body: str) -> list[str]:
    page = Page(
        f"<html><head><title>{TITLE}</title></head><body><h1>{TITLE}</h1>{body}</body></html>",
        "http://site.example/t/41",
        NOW,
    )
    return [time.moment.value.strftime("%Y-%m-%d %H:%M") for time in page.times]


def posts(leaf: str, role: str = "") -> str:
    return "".join(
        "<section"
        f" class='contribution{role if at == 1 else ''}'><header>{leaf.format(day=DAYS[at])}<h3><a"
        f" href='/people/{at}'>{name}</a></h3><p class=clock>1{at}:45</p></header><div"
        f" class=said><p>{text}</p></div></section>"
        for at, (name, text) in enumerate(TEXTS)
    )


@pytest.mark.parametrize("leaf", LEAVES.values(), ids=LEAVES)
@pytest.mark.parametrize("role", ["", " official"], ids=["alike", "one-of-an-official"])
def test_a_day_in_parts_with_its_clock_apart_is_the_time_of_a_post(leaf: str, role: str) -> None:
    page = (
        f"<html><head><title>{TITLE}</title></head><body><h1>{TITLE}</h1><main>"
        f"{posts(leaf, role)}</main></body></html>"
    )
    found = [
        post
        for post in read_page(page, "http://site.example/topic/41", NOW).records
        if isinstance(post, PostRecord)
    ]
    assert [
        (post.author, post.posted and post.posted.value.strftime("%m-%d %H:%M"), post.text)
        for post in found
    ] == [(name, f"03-{DAYS[at]:02} 1{at}:45", text) for at, (name, text) in enumerate(TEXTS)]


def test_a_day_without_a_clock_is_that_day_and_two_clocks_are_nobody_s() -> None:
    leaf = LEAVES["blocks"].format(day=8)
    assert times(f"<div>{leaf}<p>Eight hours.</p></div>") == ["2025-03-08 00:00"]
    assert times(f"<div>{leaf}<p>18:30</p><p>19:45</p></div>")[0] == "2025-03-08 00:00"


def test_numbers_beside_words_that_are_no_months_are_no_days() -> None:
    assert times("<div><b>8</b><i>Replies</i><b>2025</b></div><div><b>8</b><i>anna</i></div>") == []


def test_an_attribute_tells_better_than_the_parts_below_it() -> None:
    leaf = LEAVES["blocks"].format(day=8)
    assert (
        times(f"<time datetime='2025-03-09T07:15:00Z'>{leaf}</time><p>18:30</p>")[0]
        == "2025-03-09 07:15"
    )


def test_a_note_of_an_edit_below_a_short_text_leaves_it_a_text() -> None:
    body = "".join(
        f"<div class=m><div><b>{name}</b> · <i>2026-03-01 1{at}:11</i></div><div class=t>Dry,"
        f" all.<p><small>Last edited by {name}, 2026-03-02</small></p></div><div"
        " class=signature><hr><small>No place like home, I said</small></div></div>"
        for at, (name, _) in enumerate(TEXTS[:1])
    )
    page = (
        f"<html><head><title>{TITLE}</title></head><body><h1>{TITLE}</h1>{body}<form><textarea>"
        f"</textarea></form></body></html>"
    )
    found = [
        post
        for post in read_page(page, "http://site.example/topic/41", NOW).records
        if isinstance(post, PostRecord)
    ]
    assert [(post.author, post.text) for post in found] == [("anna", "Dry, all.")]
