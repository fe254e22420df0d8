"""Checks what a run is waiting for, as shown on its page, in the report, in the list of runs and in
the API."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from crawlmgr.api import shared
from crawlmgr.api.shared import run_document
from crawlmgr.clock import SYSTEM
from crawlmgr.frontier import frontier
from crawlmgr.models import Host, Node, NodeState, Run, RunState, Url, UrlState
from crawlmgr.runs import run_reads, runs
from crawlmgr.runs.desk import story
from crawlmgr.schedule import due
from crawlmgr.workers import nodes
from tests.crawlmgr.admin.rows import tight

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 5, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def _begun(urls: list[str], holder: str, now: datetime = NOW) -> tuple[Run, runs.Lease]:
    """A run with these addresses that the worker `holder` ("node:process") has taken."""
    run = runs.create("plain", "plain", parameters={}, now=now, start=False)
    frontier.add(run.pk, [frontier.NewUrl(url, "page") for url in urls], now)
    lease = runs.take(run.pk, holder, now, 600.0)
    assert lease is not None
    run.refresh_from_db()
    return run, lease


def _told(run: Run, capsys: Any) -> list[tuple[str, str]]:
    """What the report, the list of runs and the API say a run waits for, and why."""
    call_command("run", "list", "--json")
    listed = {row["id"]: row for row in json.loads(capsys.readouterr().out)["runs"]}[run.pk]
    documents = [run_reads.report(run, NOW), listed, run_document(run.pk)]
    return [(one["waiting_for"], one["waiting_because"]) for one in documents]


@pytest.mark.parametrize(("connections", "other"), [(1, "north:8"), (2, "south:8")])
def test_a_run_whose_host_others_occupy_says_so(
    connections: int, other: str, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SYSTEM, "now", lambda: NOW)
    monkeypatch.setattr(shared, "_now", lambda: NOW)
    first, held = _begun(["http://a.example/1"], other)
    second, own = _begun(["http://a.example/2"], "north:9")
    Host.objects.update(connections=connections, delay_seconds=0.0)
    assert run_reads.waits_of(second, NOW) == run_reads.Waiting(), (
        "it has only not claimed its address yet"
    )
    assert frontier.claim_many(first.pk, held.fence, NOW, 600.0, 1, node=other.partition(":")[0])
    assert not frontier.claim_many(second.pk, own.fence, NOW + HOUR / 60, 600.0, 1, node="north")
    assert _told(second, capsys) == [("a.example", "connections")] * 3
    assert (
        story(second, NOW)["text"]
        == f"Waits for a free connection to a.example; run {first.pk} is sending requests to it"
        " now."
    )
    assert _told(first, capsys) == [("", "")] * 3, "it is working"
    Url.objects.filter(run_id=first.pk).update(state=UrlState.DONE, lease_until=None)
    assert _told(second, capsys) == [("", "")] * 3


def test_a_run_without_worker_or_outside_its_hours_says_so_and_a_wait_that_is_over_is_not_shown(
    capsys: Any,
) -> None:
    run = runs.create("plain", "plain", parameters={}, now=NOW, start=False)
    assert _told(run, capsys) == [("", "worker")] * 3
    later = datetime.now(UTC) + HOUR
    Run.objects.filter(pk=run.pk).update(
        state=RunState.RUNNING, waiting_for="hours 01:00-06:00 UTC", waiting_until=later
    )
    run.refresh_from_db()
    assert _told(run, capsys) == [("hours 01:00-06:00 UTC", "hours")] * 3
    Run.objects.filter(pk=run.pk).update(waiting_for="a.example", waiting_until=NOW - HOUR)
    run.refresh_from_db()
    assert _told(run, capsys) == [("", "worker")] * 3


def test_its_page_does_not_call_an_occupied_host_ready(admin_client: Client) -> None:
    now = datetime.now(UTC)
    first, held = _begun(["http://a.example/1"], "south:8", now)
    second, _own = _begun(["http://a.example/2"], "north:9", now)
    Host.objects.update(connections=1, delay_seconds=0.0)
    assert frontier.claim_many(first.pk, held.fence, now, 600.0, 1, node="south")
    page = tight(admin_client.get(f"/admin/runs/{second.pk}/"))
    assert (
        f"Waits for a free connection to a.example; run {first.pk} is sending requests to it now."
        in page
    )
    assert ">no free connection<" in page and ">ready<" not in page
    Url.objects.filter(run_id=first.pk).update(state=UrlState.DONE, lease_until=None)
    assert ">ready<" in tight(admin_client.get(f"/admin/runs/{second.pk}/"))


def test_a_run_without_worker_says_why_none_is_free() -> None:
    run = runs.create("plain", "plain", parameters={}, now=NOW, start=False)

    def detail() -> str:
        return str(story(run, NOW)["detail"])

    assert detail().startswith("No worker is alive")
    north = nodes.register("north", pid=1, workers=1, queues="crawl", now=NOW - HOUR)
    Node.objects.filter(pk=north.pk).update(heartbeat=NOW)
    assert detail() == "", "its worker is free"
    _begun(["http://a.example/1"], "north:9")
    assert detail() == "All workers (1) work on other runs."
    Node.objects.filter(pk=north.pk).update(state=NodeState.DRAINING)
    assert detail().startswith("All running nodes are paused or draining.")
    Node.objects.filter(pk=north.pk).update(started=NOW + HOUR)
    assert detail().startswith("No worker is alive"), "its heartbeat is older than its last start"
    assert nodes.status(NOW).nodes == 0, "the status bar counts the same nodes"


def test_a_run_that_was_paused_with_all_crawling_says_so() -> None:
    first = runs.create("plain", "plain", parameters={}, now=NOW, start=False)
    runs.pause(first.pk, NOW)
    second = runs.create("plain", "plain 2", parameters={}, target=2, now=NOW, start=False)
    due.pause_all(NOW)
    told = {}
    for run in (first, second):
        run.refresh_from_db()
        told[run.pk] = story(run, NOW)["text"]
    assert "by a user" in told[first.pk] and "all crawling is paused" in told[second.pk]
