"""Worker nodes: registration, heartbeats, restarts, and the release of runs and tasks that dead
processes had taken."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.utils import timezone
from django_q.models import OrmQ

from crawlmgr.clock import SYSTEM
from crawlmgr.database import upgrade
from crawlmgr.models import Event, Node, NodeState, Run, RunState
from crawlmgr.runs import runs
from crawlmgr.upkeep import pruning
from crawlmgr.workers import nodes, queue
from tests.clocks import ManualClock

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
NOBODY = 2**22 + 1  # above the largest process id of an ordinary Linux, so no such process exists


def _node(name: str = "north", now: datetime = NOW) -> Node:
    return nodes.register(name, pid=1, workers=4, queues="crawl", now=now)


def _held(holder: str, until: datetime) -> Run:
    return Run.objects.create(
        kind="forum",
        label="x",
        created=NOW,
        state=RunState.RUNNING,
        lease_holder=holder,
        lease_until=until,
        fence=3,
    )


def test_registering_again_keeps_restarts_and_the_last_sign_of_life() -> None:
    _node()
    nodes.beat("north", NOW + timedelta(seconds=5))
    nodes.restarted("north", "died, exit status 1", NOW + timedelta(seconds=9))
    node = _node(now=NOW + timedelta(seconds=10))
    assert (node.restarts, node.heartbeat, node.started) == (
        1,
        NOW + timedelta(seconds=5),
        NOW + timedelta(seconds=10),
    )
    event = Event.objects.get()
    assert (event.code, event.level, event.text) == (
        "cluster_restarted",
        30,
        "north: died, exit status 1",
    )


def test_leases_of_dead_processes_end_and_those_of_living_ones_stay() -> None:
    until = NOW + timedelta(seconds=80)
    dead, living, other = (
        _held(f"north:{NOBODY}", until),
        _held(f"north:{os.getpid()}", until),
        _held(f"south:{NOBODY}", until),
    )
    _node()
    leases = [Run.objects.get(pk=run.pk).lease_until for run in (dead, living, other)]
    assert leases == [None, until, until]
    told = Event.objects.get()
    assert (told.code, told.run_id, told.text) == (
        "worker_ended",
        dead.pk,
        f"north: process {NOBODY} is gone",
    )


def test_a_killed_worker_is_told_with_its_run_which_others_take_at_once(settings: Any) -> None:
    _node()
    mine, other = (
        _held("north:77", NOW + timedelta(seconds=80)),
        _held("north:78", NOW + timedelta(seconds=80)),
    )
    queue.requeue([mine.pk], timezone.now())
    OrmQ.objects.update(
        lock=timezone.now() + timedelta(seconds=settings.RETRY_SECONDS)
    )  # marks the task as taken
    nodes.process_ended("north", 77, "Process-1 was killed by signal 9", NOW + timedelta(seconds=3))
    event = Event.objects.get()
    assert (event.code, event.at, event.run_id) == (
        "worker_ended",
        NOW + timedelta(seconds=3),
        mine.pk,
    )
    assert event.text == "north: Process-1 was killed by signal 9"
    mine.refresh_from_db()
    other.refresh_from_db()
    assert mine.lease_until is None and other.lease_until is not None
    assert runs.ready(NOW + timedelta(seconds=3)) == [mine.pk] and Node.objects.get().restarts == 1
    nodes.process_ended("north", 79, "Process-2 died with status 1", NOW + timedelta(seconds=4))
    assert Event.objects.latest("pk").run_id is None and Node.objects.get().restarts == 2


def test_a_worker_that_fell_silent_is_told_when_another_takes_its_run() -> None:
    run = _held("north:77", NOW)
    assert runs.take(run.pk, "south:5", NOW + timedelta(seconds=4), 90) is not None
    event = Event.objects.get()
    assert (event.code, event.run_id) == ("worker_silent", run.pk)
    assert event.text == "north:77 sent no heartbeat for 94 s; south:5 goes on"


def test_a_web_server_that_ended_is_told() -> None:
    nodes.web_restarted("died, exit status -9", NOW)
    assert (Event.objects.get().code, Event.objects.get().text) == (
        "web_restarted",
        "died, exit status -9",
    )


def test_tasks_that_a_dead_cluster_took_come_back_only_where_no_other_node_works(
    settings: Any,
) -> None:
    now = timezone.now()
    queue.requeue([1], now)
    taken = now + timedelta(seconds=settings.RETRY_SECONDS)
    OrmQ.objects.update(lock=taken)
    nodes.register("south", pid=1, workers=1, queues="crawl", now=now)
    assert OrmQ.objects.get().lock == now
    OrmQ.objects.update(lock=taken)
    nodes.beat("south", now)
    _node(now=now)
    assert OrmQ.objects.get().lock == taken


def test_signs_tell_whether_a_worker_is_at_a_run() -> None:
    _node()
    assert nodes.signs("north", NOW) == (None, False, 0, False)
    nodes.beat("north", NOW)
    _held(f"north:{NOBODY}", NOW + timedelta(seconds=30))
    assert nodes.signs("north", NOW) == (NOW, True, 0, False)
    assert nodes.signs("north", NOW + timedelta(seconds=31)) == (NOW, False, 0, False)


def test_one_node_of_all_runs_the_dispatcher_in_a_tick(settings: Any) -> None:
    _node()
    nodes.register("south", pid=1, workers=1, queues="crawl", now=NOW)
    second = timedelta(seconds=settings.TICK_SECONDS)
    assert [
        nodes.tick("north", NOW),
        nodes.tick("south", NOW),
        nodes.tick("south", NOW + second / 2),
    ] == [True, False, False]
    assert Node.objects.get(name="south").heartbeat == NOW + second / 2
    assert [nodes.tick("south", NOW + second), nodes.tick("north", NOW + second)] == [True, False]
    assert nodes.tick("nobody", NOW + second), (
        "a cluster whose row was deleted does not wait for others"
    )


def test_a_clock_that_was_far_ahead_does_not_stop_the_dispatcher(settings: Any) -> None:
    _node()
    Node.objects.update(dispatched=NOW + timedelta(days=1))
    assert nodes.tick("north", NOW)


def test_levels_hold_the_last_hour() -> None:
    _node()
    _held(f"north:{NOBODY}", NOW + timedelta(days=1))
    for minute in range(70):
        nodes.measured("north", NOW + timedelta(minutes=minute), minute)
    levels = Node.objects.get().levels
    assert (
        len(levels) == nodes.HISTORY_MINUTES
        and levels[-1][1:] == [1, 69]
        and levels[0][1:] == [1, 10]
    )


def test_listing_counts_the_runs_in_hand() -> None:
    _node()
    _node("north-2")
    _held("north:11", NOW + timedelta(seconds=30))
    _held("north:12", NOW + timedelta(seconds=30))
    _held("north:13", NOW - timedelta(seconds=30))
    assert [(row["name"], row["outstanding"]) for row in nodes.listing(NOW)] == [
        ("north", 2),
        ("north-2", 0),
    ]


def test_speed_and_weight_follow_equations_1_and_2() -> None:
    _node()
    _node("south")
    assert [(row["weight"], row["pages_a_minute"]) for row in nodes.listing(NOW)] == [
        (None, 0.0)
    ] * 2
    nodes.beat("north", NOW, 500)
    for second in range(0, 240, 10):
        nodes.beat("north", NOW + timedelta(minutes=5, seconds=second), 5)
    nodes.beat("south", NOW + timedelta(minutes=9), 40)
    nodes.beat("nobody", NOW, 40)
    north, south = nodes.listing(NOW + timedelta(minutes=9, seconds=30))
    # “north” fetched 30 pages in each of minutes 5 to 8; before minute 9.5 thus 15 in the last
    # minute, 45 in the last two, etc.
    weights = (
        (15 / 1 + 45 / 2 + 75 / 3 + 105 / 4 + 120 / 5) / 5,
        (40 / 1 + 40 / 2 + 40 / 3 + 40 / 4 + 40 / 5) / 5,
    )
    assert (north["pages"], north["pages_a_minute"], north["weight"]) == (
        620,
        24.0,
        round(weights[0] / sum(weights), 3),
    )
    assert (south["pages"], south["weight"], south["heartbeat"]) == (
        40,
        round(weights[1] / sum(weights), 3),
        NOW + timedelta(minutes=9),
    )


def test_a_lost_node_has_no_share_and_a_drained_one_is_not_lost(settings: Any) -> None:
    for name in ("north", "south", "west"):
        _node(name)
    nodes.beat("north", NOW + timedelta(minutes=5), 60)
    nodes.beat("south", NOW + timedelta(minutes=5), 60)
    nodes.beat("west", NOW + timedelta(minutes=1), 60)
    nodes.request_state(Node.objects.get(name="south"), NodeState.PAUSED, NOW)
    at = NOW + timedelta(minutes=5, seconds=10)
    assert [(row["state"], row["weight"]) for row in nodes.listing(at)] == [
        ("active", 1.0),
        ("paused", None),
        ("lost", None),
    ]
    nodes.request_state(Node.objects.get(name="west"), NodeState.DRAINING, NOW)
    assert nodes.listing(at)[2]["state"] == "drained"
    assert Event.objects.filter(code="node_state").count() == 2


def test_a_node_of_another_version_or_another_machine_of_the_same_name_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        nodes, "seconds_ahead", lambda clock: 0.0
    )  # a manual clock differs from the clock of the database server
    clock = ManualClock(NOW)
    _node()
    nodes.beat("north", NOW)
    nodes.admit(["south"], clock)
    Node.objects.update(version="9.9.9")
    with pytest.raises(nodes.Refused, match=r"north is of version 9\.9\.9.*drain"):
        nodes.admit(["south"], clock)
    nodes.admit(["north"], clock)  # north replaces its old version
    Node.objects.update(state=NodeState.DRAINING)
    nodes.admit(
        ["south"], clock
    )  # north is draining and holds no run, so its version no longer matters
    run = _held("north:1", NOW + timedelta(seconds=80))
    with pytest.raises(nodes.Refused, match=r"north is of version 9\.9\.9.*drain"):
        nodes.admit(["south"], clock)  # north still holds a run, so it is not drained yet
    run.delete()
    Node.objects.update(state=NodeState.ACTIVE)
    nodes.admit(
        ["south"], ManualClock(NOW + timedelta(hours=1))
    )  # north sent no heartbeat for an hour
    Node.objects.update(version="", machine="elsewhere")
    with pytest.raises(nodes.Refused, match="elsewhere"):
        nodes.admit(["north"], clock)
    if connection.vendor == "sqlite":
        with pytest.raises(nodes.Refused, match="SQLite serves one machine only"):
            nodes.admit(["south"], clock)
    else:
        nodes.admit(["south"], clock)


def test_a_machine_whose_clock_is_off_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert abs(nodes.seconds_ahead(SYSTEM)) < 1
    nodes.admit(["south"], SYSTEM)
    for seconds, word in ((2.5, "2.5 s ahead of"), (-90, "90.0 s behind")):
        monkeypatch.setattr(nodes, "seconds_ahead", lambda clock, found=seconds: found)
        with pytest.raises(nodes.Refused, match=word):
            nodes.admit(["south"], SYSTEM)
    monkeypatch.undo()
    if connection.vendor == "postgresql":
        assert 3000 < nodes.seconds_ahead(ManualClock(timezone.now() + timedelta(hours=1))) < 4000


def test_drained_means_asked_to_and_nothing_in_hand() -> None:
    node = _node()
    assert not nodes.drained(["north"], NOW)
    nodes.request_state(node, NodeState.DRAINING, NOW)
    run = _held("north:11", NOW + timedelta(seconds=30))
    assert not nodes.drained(["north"], NOW)
    Run.objects.filter(pk=run.pk).update(lease_until=None)
    assert nodes.drained(["north"], NOW) and not nodes.drained(["north", "south"], NOW)
    assert (
        _node().state == NodeState.DRAINING
    )  # registered again, as after a restart of its cluster
    nodes.register("north", pid=1, workers=4, queues="crawl", now=NOW, joins=True)
    assert Node.objects.get().state == NodeState.ACTIVE


def test_a_node_is_renamed_for_people_only() -> None:
    node = _node()
    assert nodes.rename(node, "  the  big one ") and nodes.listing(NOW)[0]["label"] == "the big one"
    assert not nodes.rename(node, "x" * 61) and not nodes.rename(node, "a\x07b")
    assert nodes.rename(node, "north") and Node.objects.get().label == ""
    assert nodes.listing(NOW)[0]["name"] == "north"


def test_the_node_command_steers_a_node(capsys: pytest.CaptureFixture[str]) -> None:
    _node()
    call_command("node", "drain", "north")
    assert Node.objects.get().state == NodeState.DRAINING
    call_command("node", "resume", "north")
    assert Node.objects.get().state == NodeState.ACTIVE
    for words in (("drain",), ("pause", "nobody")):
        with pytest.raises(CommandError):
            call_command("node", *words)


def test_no_node_changes_tables_under_others_nor_uses_newer_ones(settings: Any) -> None:
    recorder = MigrationRecorder(connection)
    upgrade.ready_for_nodes()
    recorder.record_applied("forums", "9999_of_tomorrow")
    with pytest.raises(
        CommandError,
        match=(
            r"newer than this program, which does not know the migration forums\.9999_of_tomorrow"
        ),
    ):
        call_command("node", "list")
    recorder.record_unapplied("forums", "9999_of_tomorrow")
    newest = MigrationLoader(connection).graph.leaf_nodes("crawlmgr")[0]
    recorder.record_unapplied(*newest)
    now = timezone.now()
    _node(now=now - timedelta(minutes=1))
    nodes.beat("north", now)
    with pytest.raises(CommandError, match=r"older than this program.*drain"):
        upgrade.ready_for_nodes()
    recorder.record_applied(*newest)
    upgrade.ready_for_nodes()


@pytest.mark.django_db(
    transaction=True
)  # the command closes its connection before it checks the installation
def test_the_command_tells_a_refusal_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    now = timezone.now()
    _node(now=now - timedelta(minutes=1))
    nodes.beat("north", now)
    Node.objects.update(version="9.9.9")
    with pytest.raises(CommandError, match=r"^Node north is of version 9\.9\.9"):
        call_command("node", "--name", "south")


def test_health_needs_a_sign_of_life_of_this_life(client: Client) -> None:
    now = timezone.now()
    answer = client.get("/healthz")
    assert answer.status_code == 503 and answer.json() == {
        "database": True,
        "workers": False,
        "nodes": [],
    }
    _node(now=now - timedelta(seconds=20))
    nodes.beat("north", now - timedelta(seconds=5))
    answer = client.get("/healthz")
    assert answer.status_code == 200 and answer.json()["nodes"][0]["name"] == "north"
    _node(now=now)
    assert client.get("/healthz").status_code == 503
    nodes.beat("north", now - timedelta(hours=1))
    assert client.get("/healthz").status_code == 503
    assert client.post("/healthz").status_code == 405


def test_health_asks_the_database_once(client: Client, django_assert_num_queries: Any) -> None:
    _node(now=timezone.now())
    nodes.beat("north", timezone.now())
    with django_assert_num_queries(1):
        client.get("/healthz")


def test_pruning_keeps_what_is_young() -> None:
    for days in (1, 89, 91):
        Event.objects.create(at=NOW - timedelta(days=days), level=20, code="x")
    Session.objects.create(session_key="a", session_data="", expire_date=NOW - timedelta(days=1))
    Session.objects.create(session_key="b", session_data="", expire_date=NOW + timedelta(days=1))
    _node("old", NOW - timedelta(days=40))
    _node("new", NOW - timedelta(days=40))
    nodes.beat("new", NOW - timedelta(days=1))
    told = pruning.prune(NOW).rows
    assert (told["events"], told["sessions"], told["nodes"]) == (1, 1, 1)
    assert (
        list(Node.objects.values_list("name", flat=True)) == ["new"] and Event.objects.count() == 2
    )
