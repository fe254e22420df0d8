"""Which node takes a task that any node may take, and how long the other nodes wait."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone
from django_q.conf import Conf
from django_q.models import OrmQ

from crawlmgr.models import Node, NodeState, Run, RunState
from crawlmgr.workers import nodes, queue, queue_rows, ranking

pytestmark = pytest.mark.django_db
NOW = timezone.now()


def _node(name: str, pages_a_minute: int = 0, workers: int = 4) -> Node:
    node = nodes.register(
        name, pid=1, workers=workers, queues="crawl", now=NOW - timedelta(minutes=30)
    )
    minute = int(NOW.timestamp()) // 60
    Node.objects.filter(pk=node.pk).update(
        heartbeat=NOW, minutes=[[minute - back, pages_a_minute] for back in range(8)]
    )
    return node


def _hold(node: str, count: int) -> None:
    for _ in range(count):
        Run.objects.create(
            kind="x",
            label="x",
            created=NOW,
            state=RunState.RUNNING,
            lease_holder=f"{node}:1",
            lease_until=NOW + timedelta(hours=1),
        )


def _turn(name: str) -> float | None:
    return ranking.turn(name, "crawl", NOW).seconds


def test_a_node_alone_or_unknown_waits_for_nobody() -> None:
    assert ranking.turn("north", "crawl", NOW) == ranking.Turn(0.0, True)
    _node("north")
    assert ranking.turn("north", "crawl", NOW) == ranking.Turn(0.0, True)
    other = _node("south")
    Node.objects.filter(pk=other.pk).update(queues="elsewhere")
    assert ranking.turn("north", "crawl", NOW).alone
    Node.objects.filter(pk=other.pk).update(queues="crawl", heartbeat=NOW - timedelta(hours=1))
    assert ranking.turn("north", "crawl", NOW).alone


def test_the_faster_goes_first_until_its_load_is_the_greater(settings: Any) -> None:
    settings.SLICE_SECONDS = 20
    _node("fast", 600)
    _node("slow", 200)
    step = ranking.STEP_SECONDS
    # A run that a node works on counts as a load of 20 s * (600 + 200) pages a minute / 8 workers =
    # 33 pages. The node with the smaller ratio of load to speed goes first; the speeds are chosen
    # so that there are no ties.
    seen = []
    for fast, slow in ((0, 0), (1, 0), (1, 1), (2, 1), (4, 1)):
        Run.objects.all().delete()
        _hold("fast", fast)
        _hold("slow", slow)
        assert {_turn("fast"), _turn("slow")} == {0.0, step}
        seen.append("fast" if _turn("fast") == 0 else "slow")
    assert seen == ["fast", "slow", "fast", "fast", "slow"]


def test_one_with_more_than_a_minute_in_hand_takes_what_nobody_wants() -> None:
    _node("fast", 6000)
    _node("idle", 0)
    _hold("idle", 1)
    assert (_turn("fast"), _turn("idle")) == (0.0, ranking.LONGEST_SECONDS)


def test_one_that_drains_or_is_paused_takes_nothing_and_keeps_nobody_waiting() -> None:
    _node("north", 100)
    south = _node("south", 900)
    for state in (NodeState.DRAINING, NodeState.PAUSED):
        nodes.request_state(south, state, NOW)
        south.refresh_from_db()
        assert ranking.turn("south", "crawl", NOW) == ranking.Turn(None, False)
        assert ranking.turn("north", "crawl", NOW) == ranking.Turn(0.0, True)


def _broker(node: str, monkeypatch: pytest.MonkeyPatch) -> queue_rows.Broker:
    monkeypatch.setenv("CRAWLMGR_NODE", node)
    return queue_rows.Broker("crawl")


def test_the_cluster_leaves_a_slice_to_the_other_for_a_moment_and_then_takes_it(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    _node("fast", 600)
    _node("slow", 100)
    Node.objects.update(heartbeat=timezone.now())
    queue.requeue([1], timezone.now())
    slow = _broker("slow", monkeypatch)
    slow._turn, slow._looked = (
        ranking.Turn(3600.0, False),
        float("inf"),
    )  # as if it had been determined a moment ago
    assert slow.dequeue() is None
    OrmQ.objects.update(lock=timezone.now() - timedelta(seconds=3700))
    assert slow.dequeue() is not None


def test_beside_others_a_cluster_takes_no_more_than_it_has_workers_for(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.WORKERS = 2
    _node("north", 100)
    _node("south", 100)
    Node.objects.update(heartbeat=timezone.now())
    queue.requeue([1, 2, 3], timezone.now())
    OrmQ.objects.update(lock=timezone.now() - timedelta(seconds=60))
    queue.tick("north", "crawl", timezone.now())
    north = _broker("north", monkeypatch)
    taken = [north.dequeue() for _ in range(4)]
    assert [one is not None for one in taken] == [
        True,
        True,
        True,
        False,
    ]  # the node's heartbeat task, then two of the three runs
    assert OrmQ.objects.filter(lock__lte=timezone.now()).count() == 1
    assert taken[1] is not None and len(north._in_hand) == 2
    north.acknowledge(taken[1][0][0])
    assert north.dequeue() is not None


def test_a_paused_cluster_gives_signs_of_life_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes.request_state(_node("north"), NodeState.PAUSED, NOW)
    queue.requeue([1], timezone.now())
    queue.tick("north", "crawl", timezone.now())
    north = _broker("north", monkeypatch)
    assert north.dequeue() is not None and north.dequeue() is None
    assert OrmQ.objects.filter(key="crawl/run/1", lock__lte=timezone.now()).count() == 1


def test_nodes_that_wait_look_less_often_and_one_alone_as_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("crawlmgr.workers.queue_rows.time.sleep", pauses.append)
    monkeypatch.setattr(
        "crawlmgr.workers.queue_rows.connection", SimpleNamespace(vendor="postgresql")
    )
    _node("north")
    alone = _broker("north", monkeypatch)
    for _ in range(20):
        assert alone.dequeue() is None
    assert set(pauses) == {Conf.POLL}
    _node("south")
    Node.objects.update(heartbeat=timezone.now())
    north = _broker("north", monkeypatch)
    pauses.clear()
    for _ in range(20):
        assert north.dequeue() is None
    assert (
        pauses[0] == Conf.POLL
        and pauses[-1] == queue_rows.LONGEST_POLL_SECONDS
        and pauses == sorted(pauses)
    )
    queue.tick("north", "crawl", timezone.now())
    taken = north.dequeue()
    assert taken is not None, "its own heartbeat"
    north.acknowledge(taken[0][0])
    assert north.dequeue() is None and pauses[-1] == queue_rows.LONGEST_POLL_SECONDS, (
        "is no work that others might follow"
    )
    queue.requeue([1], timezone.now())
    OrmQ.objects.update(lock=timezone.now() - timedelta(seconds=60))
    assert north.dequeue() is not None
    assert north.dequeue() is None and pauses[-1] == Conf.POLL
