"""A live topic crawl needs few database statements per page, and addresses that were claimed in
advance are never lost."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from crawlmgr import engine
from crawlmgr.models import Host, RunState, Url, UrlState
from focused.models import TopicPage
from tests.focused.test_crawl import begun, topic_of, web
from tests.focused.topical import TopicalWeb

__all__ = ["web"]
pytestmark = pytest.mark.django_db(transaction=True)
STATEMENTS = 15
"""The statements of one page: its three rows; sums of the run and the topic; sums of the report by
status and by host; the host's clock and hourly sums; the end of its address; the next address and
its host entry; and the next claim (due hosts, the host's turn, the address)."""


def test_a_page_costs_one_transaction_of_few_statements(web: TopicalWeb) -> None:
    run = begun(topic_of(web), "shark")
    costs: list[list[str]] = []
    with CaptureQueriesContext(connection) as caught:

        def seen(*_: object) -> None:
            costs.append(
                [query["sql"] for query in caught.captured_queries[sum(map(len, costs)) :]]
            )

        assert engine.run_slice(run.pk, on_page=seen) == RunState.FINISHED
    pages = TopicPage.objects.filter(run=run, kind=TopicPage.Kind.PAGE).count()
    assert pages > 30
    plain = sorted(costs, key=len)[
        : pages // 2
    ]  # the other half may include further work since the last page
    for statements in plain:
        ends = [statement for statement in statements if statement.startswith(("BEGIN", "COMMIT"))]
        assert sum(statement.startswith("COMMIT") for statement in ends) == 1
        assert len(statements) - len(ends) <= STATEMENTS, statements


def test_an_address_claimed_ahead_goes_back_unasked_when_the_slice_ends(web: TopicalWeb) -> None:
    run = begun(topic_of(web), "shark")
    claimed: list[tuple[int, int]] = []

    def stop(*_: object) -> None:
        claimed.extend(
            Url.objects.filter(run=run, state=UrlState.CLAIMED).values_list("pk", "attempts")
        )
        engine.shutdown.set()

    try:
        assert engine.run_slice(run.pk, on_page=stop) == RunState.RUNNING
    finally:
        engine.shutdown.clear()
    assert len(claimed) == 1 and claimed[0][1] == 1, "claimed in the transaction of the page"
    row = Url.objects.get(pk=claimed[0][0])
    assert (row.state, row.attempts, row.fence) == (UrlState.WAITING, 0, None)
    assert len(web.asked()) == 1
    assert engine.run_slice(run.pk) == RunState.FINISHED
    assert len(web.asked()) == len(set(web.asked())) and Host.objects.get().failures == 0
