"""Title attributes: they tell what a count means, against a misleading class name, and give the
exact time of a link."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from forums.reading import PageKind, PostRecord, ThreadRecord, read_page

NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)
_ROW = (
    '<li class="entry"><a class="entry-title" href="/t/thing-{n}/{n}/">A question about thing'
    ' {n}</a><div class="low"><span class="thread-hits" title="{n} replies"><span'
    ' class="icon">chat_bubble_outline</span> {n}</span><a class="late"'
    ' href="/t/thing-{n}/{n}/last/" title="Nov. {day}, 2026, 11:{day} p.m. - latest activity">Nov.'
    " {day}, 2026</a></div></li>"
)


def test_titles_of_elements_say_what_a_count_is_and_when_it_was() -> None:
    rows = "".join(_ROW.format(n=n, day=20 - n) for n in range(1, 9))
    page = read_page(
        f"<html><body><h1>Things</h1><ul>{rows}</ul></body></html>",
        "http://forum.test/c/things/4/",
        NOW,
    )
    records = [record for record in page.records if isinstance(record, ThreadRecord)]
    assert [record.replies for record in records] == list(range(1, 9))
    assert {record.views for record in records} == {None}
    assert [record.last_reply.value if record.last_reply else None for record in records] == [
        datetime(2026, 11, 20 - n, 23, 20 - n, tzinfo=UTC) for n in range(1, 9)
    ]


_HEAD = (
    '<div class="head"><h1>Lamps</h1><div class="card"><a class="item-title"'
    ' href="/u/anna/3/">anna</a><span title="Started on: Nov. 1, 2026, 1:16 p.m.">Nov. 1,'
    ' 2026</span></div><span class="hits" title="37 replies"><span'
    ' class="{icon}">chat_bubble_outline</span> 37</span></div>'
)
_POST = (
    '<li id="post-{n}" class="post"><a class="item-title" href="/u/{who}/{n}/">{who}</a>'
    '<a href="/t/lamps/26/post/{n}/" title="Nov. {n}, 2026, 4:09 p.m.">Nov. {n}, 2026</a>'
    "<article><p>The lamp number {n} flickers whenever the heating is on.</p></article></li>"
)


@pytest.mark.parametrize("icon", ["material-icon", "m"])
@pytest.mark.parametrize("people", [["bob"], ["bob", "carol", "anna"]])
def test_the_head_of_a_thread_with_an_icon_and_a_count_is_no_post(
    icon: str, people: list[str]
) -> None:
    posts = "".join(_POST.format(n=n, who=who) for n, who in enumerate(people, 11))
    html = (
        f"<html><head><title>Lamps</title></head><body>{_HEAD.format(icon=icon)}<ul>{posts}"
        f"</ul></body></html>"
    )
    page = read_page(html, "http://forum.test/t/lamps/26/2/", NOW, expect=PageKind.thread)
    records = [record for record in page.records if isinstance(record, PostRecord)]
    assert [(record.author, record.post_id) for record in records] == [
        (who, str(n)) for n, who in enumerate(people, 11)
    ]
    assert all("flickers" in record.text and "chat_bubble" not in record.text for record in records)
