"""Times that a clock stored which was once ahead are cut to what the program's own rules can make,
and told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.apps import apps
from django.conf import settings
from django.db.models import DateTimeField

from crawlmgr.clock import SYSTEM
from crawlmgr.frontier import hosts
from crawlmgr.models import Event, Export, Host, Node, Run, RunState
from crawlmgr.runs import runs
from crawlmgr.web.politeness import LONGEST_PAUSE
from focused.models import Topic

pytestmark = pytest.mark.django_db(transaction=True)
AHEAD = timedelta(days=400)


def a_run(**values: object) -> Run:
    run = runs.create("topic", "a run", parameters={}, now=SYSTEM.now(), start=False)
    Run.objects.filter(pk=run.pk).update(**{"waiting_until": None, **values})
    return run


def test_a_run_that_was_leased_or_waits_until_then_can_be_taken() -> None:
    now = SYSTEM.now()
    run = a_run(state="running", lease_holder="x", lease_until=now + AHEAD)
    waiting = a_run(state="running", waiting_until=now + AHEAD)
    assert runs.take(run.pk, "me", now, 60) is None
    assert hosts.cut_times(now) == 2
    assert set(runs.ready(now)) == {run.pk, waiting.pk}
    assert runs.take(run.pk, "me", now, 60) is not None


def test_the_end_of_a_run_and_the_next_start_of_a_topic_are_cut_and_told() -> None:
    now = SYSTEM.now()
    a_run(state=RunState.FINISHED, finished=now + AHEAD, started=now + AHEAD)
    Topic.objects.create(name="t", added=now, next_run=now + AHEAD)
    Export.objects.create(
        name="e", table="posts", format="csv", created=now, next_at=now + AHEAD, every_hours=24
    )
    assert hosts.cut_times(now) == 4
    assert (Run.objects.get().finished, Topic.objects.get().next_run) == (now, now)
    told = Event.objects.filter(code="time_cut").values_list("text", flat=True)
    assert len(told) == 4 and all(f"{now + AHEAD:%Y-%m-%d %H:%M}" in text for text in told)
    assert hosts.cut_times(now) == 0


def test_a_robots_file_that_would_be_valid_for_years_is_asked_for_again() -> None:
    now = SYSTEM.now()
    Host.objects.create(
        key="a.example", robots_fetched_at=now + AHEAD, robots_expires_at=now + AHEAD
    )
    Host.objects.create(key="b.example", next_at=now + AHEAD, last_request_at=now + AHEAD)
    hosts.cut_times(now)
    first, second = Host.objects.order_by("key")
    assert first.robots_expires_at is None and first.robots_fetched_at is None
    assert (second.next_at, second.last_request_at) == (now, now)
    codes = sorted(Event.objects.values_list("code", flat=True))
    assert codes == ["pause_cut", "time_cut"]


def test_a_node_of_the_future_is_not_alive() -> None:
    now = SYSTEM.now()
    Node.objects.create(name="n", started=now, heartbeat=now + AHEAD, dispatched=now + AHEAD)
    hosts.cut_times(now)
    assert Node.objects.get().heartbeat == now


def test_what_the_rules_can_make_stays() -> None:
    now = SYSTEM.now()
    Host.objects.create(key="a.example", next_at=now + LONGEST_PAUSE)
    a_run(state="running", waiting_until=now + timedelta(days=7), started=now)
    Topic.objects.create(name="t", added=now, next_run=now + timedelta(days=31))
    assert hosts.cut_times(now) == 0 and not Event.objects.exists()


def test_a_clock_that_is_behind_cuts_nothing() -> None:
    now = SYSTEM.now()
    run = a_run(state=RunState.FINISHED, finished=now)
    assert hosts.cut_times(datetime(1970, 1, 2, tzinfo=UTC)) == 0
    run.refresh_from_db()
    assert run.finished == now


def test_every_named_column_is_a_time() -> None:
    for label, columns in settings.STORED_TIMES.items():
        for column in columns:
            assert isinstance(apps.get_model(label)._meta.get_field(column), DateTimeField)
