"""Active runs are found without reading ended ones; lists of one state or kind use an index."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from crawlmgr.database.paging import fetch_page
from crawlmgr.models import Run
from crawlmgr.runs import run_reads
from crawlmgr.workers import nodes
from deepweb import reads as deepweb_reads
from focused import reads as focused_reads
from forums.sites import reads as forum_reads

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="asks SQLite for its plans"),
]
NOW = datetime.now(UTC)


def made(state: str, kind: str = "forum", target: int = 1, number: int = 1) -> list[Run]:
    return Run.objects.bulk_create(
        Run(kind=kind, label=state, target=target, state=state, created=NOW, finished=NOW)
        for _ in range(number)
    )


def plans(work: Any) -> list[str]:
    """SQLite's query plans for the statements that `work` executes."""
    with CaptureQueriesContext(connection) as caught:
        work()
    found = []
    with connection.cursor() as cursor:
        for query in caught.captured_queries:
            if "crawlmgr_run" in query["sql"]:
                cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
                found += [row[3] for row in cursor.fetchall() if "crawlmgr_run" in row[3]]
    return found


@pytest.mark.parametrize(
    "work",
    [
        lambda: run_reads.active(),
        lambda: run_reads.at_work("forum"),
        lambda: forum_reads.active_runs(range(1, 301)),
        lambda: focused_reads.active_topics(),
        lambda: deepweb_reads.working("deepweb-find", [1, 2]),
        lambda: nodes.status(NOW),
    ],
)
@pytest.mark.parametrize("known", [False, True], ids=["without statistics", "with statistics"])
def test_what_is_at_work_comes_from_its_own_index(work: Any, known: bool) -> None:
    made("finished", number=2_000)
    made("queued", number=3)
    if known:
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
    found = plans(work)
    walked = [plan for plan in found if "id=?" not in plan]
    assert walked and all("USING" in plan and "run_active" in plan for plan in walked), found


@pytest.mark.parametrize(
    ("states", "kind"), [(("failed",), ""), ((), "topic"), (("failed",), "topic")]
)
def test_lists_of_one_state_or_kind_walk_an_index(states: tuple[str, ...], kind: str) -> None:
    rows = run_reads.for_lists().filter(kind=kind) if kind else run_reads.for_lists()
    found = plans(lambda: fetch_page(run_reads.in_states(rows, states) if states else rows))
    assert found and all("USING INDEX run_recent" in plan for plan in found), found


def test_active_runs_stand_in_their_order_and_by_target() -> None:
    paused, queued, running, _ = (
        made(state, target=n)[0]
        for n, state in enumerate(("paused", "queued", "running", "finished"))
    )
    assert run_reads.active() == [running, queued, paused]
    assert run_reads.at_work("forum") == {0: paused, 1: queued, 2: running} and run_reads.at_work(
        "forum", [1, 3]
    ) == {1: queued}
    assert run_reads.at_work("topic") == {}
