"""Pausing all crawling: scheduled work waits, active runs stop, and exactly those continue
afterwards."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from crawlmgr.models import Event, Hold, Run, RunState
from crawlmgr.runs import runs
from crawlmgr.schedule import due
from focused.models import Topic
from forums.models import Board
from tests.crawlmgr.admin.rows import site, user

pytestmark = pytest.mark.django_db
NOW = datetime.now(UTC)


def _run(kind: str, state: str, **values: Any) -> Run:
    return Run.objects.create(kind=kind, label=kind, state=state, created=NOW, **values)


def _states(*of: Run) -> list[tuple[str, str]]:
    return [(run.state, run.wanted) for run in (Run.objects.get(pk=one.pk) for one in of)]


def test_what_crawls_is_paused_and_only_that_goes_on() -> None:
    queued, idle = _run("forum", "queued"), _run("topic", "running")
    worked = _run("forum", "running", lease_until=NOW + timedelta(minutes=1), lease_holder="a")
    before, local, over = (
        _run("topic", "paused"),
        _run("simulation", "running"),
        _run("forum", "finished"),
    )
    assert due.pause_all(NOW, user("operator")) == 3
    assert _states(queued, idle, worked) == [("paused", ""), ("paused", ""), ("running", "pause")]
    assert _states(before, local, over) == [("paused", ""), ("running", ""), ("finished", "")]
    assert Event.objects.filter(code="all_paused").count() == 1

    late = _run("forum", "running")
    assert (
        due.pause_all(NOW) == 2 and Hold.objects.count() == 1
    )  # a second call also pauses runs started since
    assert due.resume_all(NOW) == 4 and Hold.objects.count() == 0
    assert _states(queued, idle, worked, late) == [
        ("queued", ""),
        ("queued", ""),
        ("running", ""),
        ("queued", ""),
    ]
    assert _states(before) == [("paused", "")]
    assert due.resume_all(NOW) == 0


def test_a_run_that_a_person_ended_meanwhile_stays_ended() -> None:
    run = _run("forum", "queued")
    due.pause_all(NOW)
    runs.stop(run.pk, NOW)
    due.resume_all(NOW)
    assert _states(run) == [("stopped", "")]


def test_nothing_is_started_by_schedule_meanwhile() -> None:
    board = Board.objects.create(
        site=site(1),
        name="b",
        url="https://forum.example/1",
        key="1",
        next_visit=NOW - timedelta(hours=1),
    )
    topic = Topic.objects.create(
        name="t", added=NOW, interval_seconds=3600, next_run=NOW - timedelta(hours=1)
    )
    due.pause_all(NOW)
    due.dispatch(NOW)
    assert not Run.objects.exists()
    assert (
        Board.objects.get(pk=board.pk).next_visit == board.next_visit
        and Topic.objects.get(pk=topic.pk).next_run == topic.next_run
    )
    due.resume_all(NOW)
    due.dispatch(NOW)
    assert Run.objects.filter(kind="forum", target=board.site_id).count() == 1


def test_the_page_tells_and_its_buttons_do() -> None:
    Board.objects.create(
        site=site(1),
        name="b",
        url="https://forum.example/1",
        key="1",
        next_visit=NOW + timedelta(hours=1),
    )
    Topic.objects.create(
        name="Every day", added=NOW, interval_seconds=86_400, next_run=NOW + timedelta(hours=2)
    )
    run = _run("forum", "queued")
    client = Client(headers={"accept-language": "en"})
    client.force_login(user("operator"))
    shown = client.get("/admin/schedules/")
    assert [row.name for row in shown.context["rows"]][1:] == [
        "Every day"
    ] and "every 24 h" in shown.content.decode()
    told = client.post("/admin/schedules/pause/", follow=True).content.decode()
    assert (
        "All crawling is paused, including 1 run." in told
        and "operator has paused all crawling:" in told
    )
    assert "All crawling is paused:" in client.get("/admin/").content.decode()
    assert (
        "All crawling is resumed, including 1 run."
        in client.post("/admin/schedules/resume/", follow=True).content.decode()
    )
    assert _states(run) == [(RunState.QUEUED, "")]
    hits = client.get("/admin/palette/", {"q": "pause all"}).json()["hits"]
    assert (hits[0]["url"], hits[0]["send"]) == ("/admin/schedules/pause/", {})
