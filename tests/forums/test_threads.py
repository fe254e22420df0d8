"""Times of a post seen again: finer times are adopted, coarser ones are not, and the post does not
count as new."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from crawlmgr.text.dates import Moment
from forums.models import BoardHour, Post, Thread
from forums.reading import PostRecord, ThreadRecord
from forums.visits import threads
from tests.forums.planned import make_site

pytestmark = pytest.mark.django_db
SEEN = datetime(2026, 11, 21, 9, 2, 24, 718509, tzinfo=UTC)
LATER = SEEN + timedelta(hours=7)


def ago(seconds: int, unit: int, at: datetime = SEEN) -> Moment:
    return Moment(at - timedelta(seconds=seconds), unit, relative=True)


def exact(hour: int, minute: int, second: int = 0, unit: int = 60) -> Moment:
    return Moment(datetime(2026, 11, 21, hour, minute, second, tzinfo=UTC), unit)


@pytest.fixture
def thread() -> Thread:
    site = make_site("forum.test", (1.0,))
    board = site.boards.get()
    return Thread.objects.create(
        site=site,
        board=board,
        key="t1",
        url="http://forum.test/t/1",
        title="Lamps",
        first_seen=SEEN,
    )


def look(
    thread: Thread, *moments: Moment | None, at: datetime, ids: bool = True
) -> threads.PageStored:
    texts = ["The lamp flickers.", "Change the bulb.", "It was the switch."]
    records = [
        PostRecord("anna", moment, text, post_id=str(n) if ids else None)
        for n, (moment, text) in enumerate(zip(moments, texts, strict=False), 1)
    ]
    stored = threads.store_page(thread, 1, records, at)
    thread.refresh_from_db()
    threads.set_opening(thread, records)
    threads.fetched(thread, at, {})
    thread.refresh_from_db()
    return stored


def hours() -> dict[int, tuple[int, int]]:
    return {
        row.hour.hour: (row.threads, row.replies)
        for row in BoardHour.objects.all()
        if row.threads or row.replies
    }


@pytest.mark.parametrize(
    ("first", "second", "taken"),
    [
        (ago(180, 60), exact(8, 58), True),  # equally precise, but absolute instead of relative
        (ago(180, 60), exact(8, 58, 51, 1), True),
        (ago(3600, 3600), ago(25200 + 3600, 60, LATER), True),  # both relative, the second finer
        (exact(0, 0, unit=86_400), exact(8, 58), True),
        (None, exact(8, 58), True),
        (ago(12, 1), exact(9, 2), False),  # the second time has a larger unit
        (exact(8, 58), ago(25200 + 300, 3600, LATER), False),
        (exact(8, 58), exact(0, 0, unit=86_400), False),
        (
            exact(8, 58),
            ago(25200 + 240, 60, LATER),
            False,
        ),  # relative, and no finer than the exact one
        (
            ago(180, 60),
            exact(15, 30),
            False,
        ),  # a later time, such as that of an edit, not a finer form of the same time
    ],
)
def test_a_finer_time_is_taken_over_and_a_coarser_one_is_not(
    thread: Thread, first: Moment | None, second: Moment, taken: bool
) -> None:
    assert look(thread, first, at=SEEN).new == 1
    again = look(thread, second, at=LATER)
    assert (again.new, again.altered, again.arrivals) == (0, 0, ())
    post, kept = Post.objects.get(), second if taken else first
    assert kept is not None
    assert (post.posted, post.precision_seconds, post.edited_at) == (
        kept.value,
        kept.precision_seconds,
        None,
    )
    assert thread.last_reply == kept.value and thread.posts == 1
    assert thread.created == kept.value
    assert sum(opened + replies for opened, replies in hours().values()) == (
        kept.precision_seconds <= 3600
    )


def test_a_finer_time_moves_a_post_to_its_hour(thread: Thread) -> None:
    look(thread, ago(180, 60), ago(60, 60), at=SEEN)
    assert hours() == {8: (1, 0), 9: (0, 1)}
    look(thread, exact(8, 58), exact(9, 0), exact(15, 1), at=LATER)
    assert hours() == {8: (1, 0), 9: (0, 1), 15: (0, 1)}
    look(thread, exact(8, 58, 30, 1), exact(8, 59, 58, 1), exact(15, 1), at=LATER)
    assert hours() == {8: (1, 1), 15: (0, 1)}


def test_posts_without_ids_are_not_doubled_by_a_finer_time(thread: Thread) -> None:
    look(thread, exact(7, 0), exact(7, 30), ago(60, 60), at=SEEN, ids=False)
    again = look(thread, exact(7, 0), exact(7, 30), exact(9, 0), at=LATER, ids=False)
    assert (
        again.new,
        again.altered,
        Post.objects.filter(gone_at__isnull=True).count(),
        Post.objects.count(),
    ) == (0, 0, 3, 3)
    assert Post.objects.get(text="It was the switch.").posted == exact(9, 0).value


def test_a_date_in_the_list_does_not_round_the_last_reply(thread: Thread) -> None:
    look(thread, exact(8, 58), at=SEEN)
    for shown, kept in ((exact(0, 0, unit=86_400), exact(8, 58)), (exact(9, 30), exact(9, 30))):
        record = ThreadRecord(thread.url, "Lamps", last_reply=shown)
        row = threads.to_row(record)
        Thread.objects.filter(pk=thread.pk).update(key=row.key)
        threads.store_rows(thread.board, [(row, record)], (), LATER)
        thread.refresh_from_db()
        assert thread.last_reply == kept.value


def test_a_count_beyond_the_column_is_stored_as_the_most_it_holds(thread: Thread) -> None:
    record = ThreadRecord(thread.url, "Lamps", replies=10**22)
    threads.store_rows(thread.board, [(threads.to_row(record), record)], [], SEEN)
    assert Thread.objects.get(title="Lamps", replies__isnull=False).replies == threads.MAX_REPLIES
