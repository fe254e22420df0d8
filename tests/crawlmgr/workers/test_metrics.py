"""The metrics page: who may read it, its content, and that its cost does not grow with the data."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from crawlmgr.access import roles
from crawlmgr.models import Host, Run, RunState
from crawlmgr.workers import nodes

pytestmark = pytest.mark.django_db
TOKEN = "0123456789abcdef"


def _figures(client: Client) -> dict[tuple[str, tuple[str, ...]], float]:
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200 and answer["Content-Type"].startswith("text/plain")
    families = text_string_to_metric_families(answer.content.decode())
    return {
        (one.name, tuple(one.labels.values())): one.value
        for family in families
        for one in family.samples
    }


def test_without_the_token_or_a_login_it_says_what_to_do(client: Client, settings: Any) -> None:
    for token, sent in (
        (TOKEN, None),
        (TOKEN, "Bearer wrong"),
        (TOKEN, f"Basic {TOKEN}"),
        ("", "Bearer "),
        ("", "Bearer"),
    ):
        settings.METRICS_TOKEN = token
        answer = client.get(
            "/metrics", headers={"Authorization": sent} if sent is not None else None
        )
        assert (
            answer.status_code == 401
            and b"CRAWLMGR_METRICS_TOKEN" in answer.content
            and b"crawlmgr_nodes" not in answer.content
        )
    settings.METRICS_TOKEN = TOKEN
    assert client.post("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 405


def test_a_person_who_may_see_runs_sees_it(client: Client) -> None:
    user = get_user_model().objects.create_user("v", password="viewer-viewer", is_staff=True)
    client.force_login(user)
    assert client.get("/metrics").status_code == 401
    user.groups.add(Group.objects.get(name=roles.VIEWER))
    client.force_login(get_user_model().objects.get(pk=user.pk))
    assert client.get("/metrics").status_code == 200


def test_it_counts_what_is_there(client: Client, settings: Any) -> None:
    settings.METRICS_TOKEN, now = TOKEN, timezone.now()
    nodes.register("north", pid=1, workers=4, queues="crawl", now=now)
    nodes.beat("north", now)
    Host.objects.create(key="a.example", requests=7, bytes=900, errors=2, refused_by_robots=1)
    Host.objects.create(key="b.example", requests=3, failures=1, next_at=now + timedelta(hours=1))
    Run.objects.create(kind="forum", label="x", created=now, state=RunState.FAILED, finished=now)
    Run.objects.create(
        kind="forum",
        label="y",
        created=now,
        state=RunState.RUNNING,
        progressed=now - timedelta(minutes=5),
    )
    seen = _figures(client)
    assert seen[("crawlmgr_workers", ())] == 4 and seen[("crawlmgr_nodes", ())] == 1
    assert (
        seen[("crawlmgr_requests_total", ())] == 10
        and seen[("crawlmgr_received_bytes_total", ())] == 900
    )
    assert seen[("crawlmgr_hosts", ())] == 2 and seen[("crawlmgr_hosts_held", ())] == 1
    assert (
        seen[("crawlmgr_runs", ("forum", "failed"))] == 1
        and seen[("crawlmgr_runs", ("forum", "running"))] == 1
    )
    assert seen[("crawlmgr_alarms", ("run_failed",))] == 1
    assert 299 <= seen[("crawlmgr_run_idle_seconds", ())] < 400
    assert seen[("crawlmgr_disk_free_bytes", ())] > 0


def test_alarms_are_counted_beyond_those_that_the_desk_lists(client: Client, settings: Any) -> None:
    settings.METRICS_TOKEN, now = TOKEN, timezone.now()
    Run.objects.bulk_create(
        Run(kind="forum", label="x", created=now, state=RunState.FAILED, finished=now)
        for _ in range(30)
    )
    Host.objects.bulk_create(
        Host(key=f"h{n}.example", failures=4, next_at=now + timedelta(hours=1)) for n in range(20)
    )
    seen = _figures(client)
    assert (
        seen[("crawlmgr_alarms", ("run_failed",))] == 30
        and seen[("crawlmgr_alarms", ("host_backs_off",))] == 20
    )


def test_its_cost_does_not_grow(
    client: Client, settings: Any, django_assert_num_queries: Any
) -> None:
    settings.METRICS_TOKEN, now = TOKEN, timezone.now()
    nodes.register("north", pid=1, workers=4, queues="crawl", now=now)
    nodes.beat("north", now)
    with CaptureQueriesContext(connection) as few:
        _figures(client)
    Host.objects.bulk_create(Host(key=f"h{n}.example", requests=n) for n in range(300))
    Run.objects.bulk_create(
        Run(kind="forum", label="x", created=now, state=RunState.FINISHED) for _ in range(300)
    )
    cache.clear()
    with django_assert_num_queries(len(few)):
        found = _figures(client)
    assert found[("crawlmgr_runs", ("forum", "finished"))] == 300
