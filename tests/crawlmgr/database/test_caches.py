"""Queries that the parts of one page share."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from crawlmgr.database import caches
from crawlmgr.runs import run_reads as reads
from crawlmgr.runs import runs
from crawlmgr.schedule import due
from crawlmgr.workers.nodes import all_paused

NOW = datetime(2026, 11, 1, tzinfo=UTC)
pytestmark = pytest.mark.django_db


def test_a_query_is_made_once_inside_the_block_and_anew_after_it() -> None:
    run = runs.create("forum", "a forum", target=1, parameters={}, now=NOW)
    with caches.reused(), CaptureQueriesContext(connection) as asked:
        assert (
            list(reads.at_work("forum")) == [1]
            and reads.at_work("topic") == {}
            and reads.active() == [run]
        )
        assert not all_paused() and not all_paused() and due.current() is due.current() is None
    assert len(asked) == 3
    due.pause_all(NOW)
    assert all_paused() and due.current() is not None, (
        "outside the block every call reads the database"
    )


def test_an_error_ends_the_block() -> None:
    with pytest.raises(ZeroDivisionError), caches.reused():
        assert not all_paused()
        1 / 0  # noqa: B018
    due.pause_all(NOW)
    assert all_paused()


def test_each_request_sees_the_present_state(admin_client: Client) -> None:
    assert "All crawling is paused" not in admin_client.get("/admin/").content.decode()
    admin_client.post(reverse("admin:schedules-pause"))
    assert "All crawling is paused" in admin_client.get("/admin/").content.decode()
    admin_client.post(reverse("admin:schedules-resume"))
    assert "All crawling is paused" not in admin_client.get("/admin/").content.decode()


def test_the_home_page_reads_active_runs_and_the_pause_once(admin_client: Client) -> None:
    runs.create("forum", "a forum", target=1, parameters={}, now=NOW)
    admin_client.get("/admin/")
    with CaptureQueriesContext(connection) as asked:
        admin_client.get("/admin/")
    statements = [query["sql"] for query in asked]
    assert sum('FROM "crawlmgr_hold"' in one for one in statements) <= 2, (
        "the banner's row and whether there is one"
    )
    assert sum("WHERE state IN ('queued', 'running', 'paused')" in one for one in statements) == 1
