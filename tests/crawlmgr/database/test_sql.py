"""Tests that `services.sql` gives the same results and errors whether or not Django records the
executed statements."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from crawlmgr.database import sql
from crawlmgr.models import Host

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = datetime(2026, 3, 1, 15, 0, 0, 250, tzinfo=timezone(timedelta(hours=2)))
SELECT = (
    "SELECT key, next_at, failures, crawl_delay_seconds FROM crawlmgr_host WHERE next_at <= %s"
    " ORDER BY key"
)
UPDATE = "UPDATE crawlmgr_host SET next_at = %s, failures = %s, last_error = %s WHERE key = %s"


@pytest.mark.parametrize("watched", [False, True])
def test_values_go_in_and_come_out_alike(watched: bool) -> None:
    for key in ("a.example", "b.example"):
        Host.objects.create(key=key, next_at=NOON, crawl_delay_seconds=None)

    def work() -> None:
        assert sql.execute(UPDATE, (LATER, 2, "100 % of 它", "a.example")) == 1
        assert sql.execute(UPDATE, (LATER, 2, "", "c.example")) == 0
        sql.execute_many(UPDATE, [(NOON, 3, "x", "b.example"), (NOON, 4, "y", "b.example")])
        assert [(row[0], sql.moment(row[1]), *row[2:]) for row in sql.fetch(SELECT, (LATER,))] == [
            ("a.example", LATER.astimezone(UTC), 2, None),
            ("b.example", NOON, 4, None),
        ]

    if watched:
        with CaptureQueriesContext(connection) as caught:
            work()
        assert len(caught) >= 4
    else:
        work()
    assert (
        Host.objects.get(key="a.example").next_at == LATER
        and Host.objects.get(key="a.example").last_error == "100 % of 它"
    )


def test_errors_are_the_databases_own_of_django_and_a_broken_transaction_takes_no_more() -> None:
    Host.objects.create(key="a.example")
    Host.objects.create(key="b.example")
    with pytest.raises(IntegrityError), transaction.atomic():
        sql.execute("UPDATE crawlmgr_host SET key = %s WHERE key = %s", ("a.example", "b.example"))
    with transaction.atomic():
        transaction.set_rollback(True)
        with pytest.raises(transaction.TransactionManagementError):
            sql.fetch(SELECT, (NOON,))
