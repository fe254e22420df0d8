"""Newest lists of a whole site: which rows show that a thread has changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from crawlmgr.text.dates import Moment
from forums.models import Thread
from forums.visits import overviews
from forums.visits.incremental import Row, signature

AT = datetime(2026, 11, 1, 12, tzinfo=UTC)


def row(minutes: float = 0.0, replies: int | None = 3, author: str | None = "anna") -> Row:
    return Row("7", "/t/7", Moment(AT + timedelta(minutes=minutes), 60.0), replies, author)


@pytest.mark.parametrize(
    ("shown", "changed"),
    [
        (row(), False),
        (row(minutes=5), True),
        (row(replies=4), True),
        (row(author="ben"), True),
        (row(minutes=5, replies=None), False),
        (row(minutes=5, author=None), False),
    ],
    ids=["as stored", "later", "more replies", "other author", "without replies", "without author"],
)
def test_a_row_that_lacks_a_part_of_the_stored_signature_is_no_change(
    shown: Row, changed: bool
) -> None:
    assert overviews._differs(Thread(signature=signature(row())), shown) is changed


def test_an_unknown_thread_is_a_change() -> None:
    assert overviews._differs(None, row()) is True
