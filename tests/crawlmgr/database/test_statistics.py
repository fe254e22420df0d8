"""Tests that refreshing the database's query planner statistics updates their row counts and
changes no row."""

from __future__ import annotations

import pytest
from django.db import connection

from crawlmgr.database import sql
from crawlmgr.models import Host


@pytest.mark.django_db
@pytest.mark.skipif(
    connection.vendor != "sqlite", reason="PostgreSQL keeps its statistics by itself"
)
def test_statistics_are_of_the_rows_there_are() -> None:
    def known() -> list[str]:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT stat FROM sqlite_stat1 WHERE tbl = 'crawlmgr_host' AND idx ="
                " 'sqlite_autoindex_crawlmgr_host_1'"
            )
            return [row[0] for row in cursor.fetchall()]

    Host.objects.bulk_create(Host(key=f"{n}.example") for n in range(300))
    sql.refresh_statistics()
    assert known() == ["300 1"]
    Host.objects.filter(key__startswith="1").delete()
    sql.refresh_statistics()
    assert known() == [f"{Host.objects.count()} 1"]


@pytest.mark.django_db
def test_a_refresh_changes_no_row() -> None:
    Host.objects.create(key="one.example")
    sql.refresh_statistics()
    assert list(Host.objects.values_list("key", flat=True)) == ["one.example"]
