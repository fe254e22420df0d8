"""A database that takes no row in the middle of a visit, because its file may not grow or may only
be read: told in one line, and nothing is lost."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from crawlmgr import engine
from crawlmgr.frontier import hosts
from crawlmgr.models import Run, RunState
from crawlmgr.runs import runs, slices
from forums.models import Post
from forums.sites import sites
from forums.visits import visits
from tests.forums.test_crawl import OPEN, added, now, stored
from tests.site.forum import ForumServer, LocalForum

pytestmark = pytest.mark.django_db(transaction=True)


def pragma(name: str, value: int | None = None) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA {name}" + (f" = {value}" if value is not None else ""))
        found = cursor.fetchone()
        return int(found[0]) if found else 0


def may_not_grow() -> None:
    pragma("max_page_count", pragma("page_count"))


def may_only_be_read() -> None:
    if connection.vendor == "postgresql":
        connection.cursor().execute("SET default_transaction_read_only = on")
    else:
        pragma("query_only", 1)


def may_be_written() -> None:
    if connection.vendor == "postgresql":
        connection.cursor().execute("SET default_transaction_read_only = off")
    else:
        pragma("query_only", 0)
        pragma("max_page_count", 1 << 30)


@pytest.fixture
def served() -> Iterator[ForumServer]:
    hosts.forget()
    with ForumServer(LocalForum(threads=20, longest=30)) as server:
        if connection.vendor == "sqlite":
            connection.cursor().execute("VACUUM")  # no free pages in the file
        yield server


@pytest.mark.parametrize("after", [0, 1, 5])
@pytest.mark.parametrize(
    ("refuse", "said"),
    [(may_not_grow, "disk is full"), (may_only_be_read, r"read-?only (database|transaction)")],
)
def test_a_database_that_takes_no_row_is_told_once_and_loses_nothing(
    served: ForumServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    refuse: Callable[[], None],
    said: str,
    after: int,
) -> None:
    if refuse is may_not_grow and connection.vendor != "sqlite":
        pytest.skip("by a pragma of SQLite")
    run = sites.crawl_now(
        added(served).pk, now=now(), parameters={"history_days": 400, **OPEN}, start=False
    )
    store, pages = visits.store_thread, 0

    def storing(*given: Any) -> Any:
        nonlocal pages
        pages += 1
        if pages > after:
            refuse()
        return store(*given)

    try:
        with monkeypatch.context() as refused:
            refused.setattr(visits, "store_thread", storing)
            caplog.clear()
            ended = [engine.run_slice(run.pk) for _ in range(3)]
            assert not {*ended} - {RunState.PAUSED, slices.NO_ROOM, slices.LEASED}
            told = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
            assert len(told) == 1 and re.search(said, told[0]) and "\n" not in told[0]
    finally:
        may_be_written()
    Run.objects.filter(pk=run.pk).update(lease_until=None)
    run.refresh_from_db()
    if run.state == RunState.PAUSED:
        assert run.stopped_by == runs.DISK_LOW
        runs.resume(run.pk, now(), start=False)
    assert engine.run_slice(run.pk) == RunState.FINISHED
    assert stored() == served.forum.truth() and Post.objects.count() == served.forum.posts
