"""The numbers of requests in flight of a run and of hosts, and how the web interface shows them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from crawlmgr.frontier import frontier, host_reads, hosts
from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.models import Host, Run, RunState
from crawlmgr.runs import runs

pytestmark = pytest.mark.django_db


def flying(count: int, claimed: int, *, now: datetime, ago: float = 0.0) -> Run:
    """A working run with `count` addresses, of which `claimed` were claimed `ago` seconds before
    now."""
    hosts.forget()
    settings = {"in_flight": 7, "total_timeout_seconds": 20.0, "connections": 2}
    run = runs.create("topic", "a topic", parameters={"settings": settings}, now=now, start=False)
    frontier.add(run.pk, [NewUrl(f"http://h{n}.example/") for n in range(count)], now)
    Run.objects.filter(pk=run.pk).update(
        state=RunState.RUNNING, lease_until=now + timedelta(minutes=1), started=now
    )
    assert (
        len(frontier.claim_many(run.pk, 1, now - timedelta(seconds=ago), 50.0, claimed)) == claimed
    )
    return Run.objects.get(pk=run.pk)


def test_a_run_tells_how_many_of_how_many_and_on_which_hosts() -> None:
    now = datetime.now(UTC)
    run = flying(5, 3, now=now)
    found = host_reads.in_flight_of_run(run, now)
    assert found is not None and (found.number, found.most) == (3, 7)
    assert sorted(found.on.values()) == [1, 1, 1] and found.waited_for == ()
    assert (
        host_reads.in_flight_of_hosts(Host.objects.values_list("pk", flat=True), now) == found.on
        and host_reads.in_flight_total(now) == 3
    )
    assert host_reads.in_flight_total(now + timedelta(hours=1)) == 0, (
        "nobody has been heard of for longer than a lease"
    )
    run.state = RunState.PAUSED
    assert host_reads.in_flight_of_run(run, now) is None


def test_what_is_claimed_beyond_the_line_is_not_told_as_in_flight() -> None:
    now = datetime.now(UTC)
    found = host_reads.in_flight_of_run(flying(9, 9, now=now), now)
    assert found is not None and (found.number, found.most) == (7, 7)


def test_hosts_that_take_long_are_named_the_slowest_first() -> None:
    now = datetime.now(UTC)
    run = flying(3, 2, now=now, ago=9)
    found = host_reads.in_flight_of_run(run, now)
    assert (
        found is not None
        and [one.since for one in found.waited_for] == [now - timedelta(seconds=9)] * 2
    )


def test_the_desk_shows_it_at_the_same_cost_for_many(admin_client: Client) -> None:
    now = datetime.now(UTC)
    run = flying(4, 2, now=now, ago=9)
    body = admin_client.get(reverse("admin:run", args=[run.pk]), {"part": "live"}).content.decode()
    assert "Requests in flight" in body and "2 of 7" in body and "Slow to respond" in body
    assert "1 / 1" in admin_client.get(reverse("admin:hosts")).content.decode()
    assert "2 requests in flight" in admin_client.get(reverse("admin:status")).json()["rate"]
    with CaptureQueriesContext(connection) as few:
        host_reads.in_flight_of_run(run, now)
    flying(60, 40, now=now)
    with CaptureQueriesContext(connection) as many:
        host_reads.in_flight_of_run(run, now)
    assert len(few) == len(many) == 1
