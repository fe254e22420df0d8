"""What a row's own words say against the names of its classes, and times told in full in a link's title."""

from __future__ import annotations

from datetime import UTC, datetime

from forums.reading import ThreadRecord, read_page

NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)
_ROW = (
    '<li class="entry"><a class="entry-title" href="/t/thing-{n}/{n}/">A question about thing {n}</a>'
    '<div class="low"><span class="thread-hits" title="{n} replies"><span class="icon">chat_bubble_outline</span> {n}</span>'
    '<a class="late" href="/t/thing-{n}/{n}/last/" title="Nov. {day}, 2026, 11:{day} p.m. - latest activity">Nov. {day}, 2026</a>'
    "</div></li>"
)


def test_titles_of_elements_say_what_a_count_is_and_when_it_was() -> None:
    rows = "".join(_ROW.format(n=n, day=20 - n) for n in range(1, 9))
    page = read_page(f"<html><body><h1>Things</h1><ul>{rows}</ul></body></html>", "http://forum.test/c/things/4/", NOW)
    records = [record for record in page.records if isinstance(record, ThreadRecord)]
    assert [record.replies for record in records] == list(range(1, 9))
    assert {record.views for record in records} == {None}
    assert [record.last_reply.value if record.last_reply else None for record in records] == [
        datetime(2026, 11, 20 - n, 23, 20 - n, tzinfo=UTC) for n in range(1, 9)
    ]
