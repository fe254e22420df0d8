"""The task queue in Redis behaves like that in the database; no task is lost if the server or a
worker is killed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from django_q.signing import SignedPackage
from django_q.tasks import async_task

from crawlmgr.models import Event, Node, NodeState
from crawlmgr.workers import nodes, queue, queue_redis, ranking
from tests.redis_server import MISSING, SERVER, Redis

pytestmark = [pytest.mark.django_db, pytest.mark.skipif(SERVER is None, reason=MISSING)]


@pytest.fixture
def server(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Redis]:
    one = Redis()
    one.start()
    settings.BROKER_URL, settings.QUEUE_STORE = one.url, "crawlmgr.workers.queue_redis"
    monkeypatch.setattr("django_q.conf.Conf.BROKER_CLASS", "crawlmgr.workers.queue_redis.Broker")
    yield one
    one.end()


def _broker(node: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("CRAWLMGR_NODE", node)
    monkeypatch.setattr("crawlmgr.workers.queue_redis.time.sleep", lambda seconds: None)
    return queue_redis.Broker("crawl")


def _taken(broker: Any) -> list[tuple[str, Any]]:
    tasks = [SignedPackage.loads(payload) for _, payload in broker.dequeue() or []]
    return [(task["func"], tuple(task["args"])) for task in tasks]


def test_one_slice_a_run_waits_and_the_oldest_comes_first(
    server: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, broker = timezone.now(), _broker("north", monkeypatch)
    assert (
        queue.requeue([2, 1], now) == 2
        and queue.requeue([1, 2, 3], now) == 1
        and queue.length() == 3
    )
    assert [_taken(broker) for _ in range(4)] == [[(queue.SLICE, (run,))] for run in (2, 1, 3)] + [
        []
    ]
    assert queue.requeue([1, 2], now) == 0, "they may lie in the cluster's memory"
    queue.forget_node("north", "crawl")
    assert queue.requeue([1, 2], now) == 0
    assert queue.release_all("crawl", now) == 3 and queue.requeue([1, 2], now) == 2


def test_a_node_takes_its_own_tick_first_and_never_anothers(
    server: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = timezone.now()
    queue.requeue([1], now)
    for _ in range(2):
        assert queue.tick("north", "crawl", now) and queue.tick("south", "crawl", now)
    queue.move_files("north", "crawl")
    queue.move_files("north", "crawl")
    north = _broker("north", monkeypatch)
    taken = [_taken(north) for _ in range(4)]
    assert taken == [
        [(queue.TICK, ("north",))],
        [(queue.MOVE, ("north",))],
        [(queue.SLICE, (1,))],
        [],
    ]
    queue.tick("north", "crawl", now)
    assert _taken(north) == [], "it was asked a moment ago"
    assert _taken(_broker("south", monkeypatch)) == [(queue.TICK, ("south",))]


def test_a_task_that_died_with_its_worker_is_queued_again(
    server: Redis, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    broker = _broker("north", monkeypatch)
    queue.requeue([1, 2], timezone.now())
    assert _taken(broker) and _taken(broker)
    settings.LEASE_SECONDS = 0.0  # as if a lease's length had passed
    assert queue.requeue([1, 2], timezone.now()) == 2


def test_all_that_a_killed_server_held_is_queued_again(
    server: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker, now = _broker("north", monkeypatch), timezone.now()
    queue.requeue([1, 2, 3], now)
    assert _taken(broker) == [(queue.SLICE, (1,))]
    server.end()
    assert broker.dequeue() is None and queue.length() == 0
    assert not queue.tick("north", "crawl", now), "the supervisor learns that nothing can be asked"
    assert queue.requeue([1, 2, 3], now) == 0, "nothing can be queued, and nobody fails of it"
    queue.hand_on(1)
    broker.acknowledge("crawl/run/1")
    server.start()
    assert queue.tick("north", "crawl", now) and queue.requeue([1, 2, 3], now) == 3
    assert [_taken(broker) for _ in range(4)] == [
        [(queue.TICK, ("north",))],
        *([(queue.SLICE, (run,))] for run in (1, 2, 3)),
    ]


def test_beside_others_a_cluster_takes_no_more_than_it_has_workers_for(
    server: Redis, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.WORKERS = 2
    north = _broker("north", monkeypatch)
    north._turn, north._looked = (
        ranking.Turn(0.0, False),
        float("inf"),
    )  # a fixed turn: inf keeps it from being renewed
    queue.requeue([1, 2, 3], timezone.now())
    first, second, third = (north.dequeue() for _ in range(3))
    assert first and second and third is None and queue.length() == 1
    north.acknowledge(first[0][0])
    assert north.dequeue()
    north._turn = ranking.Turn(3600.0, False)
    queue.requeue([4], timezone.now())
    north.acknowledge(second[0][0])
    assert north.dequeue() is None, "the task is left to others for so long"


def test_a_paused_cluster_gives_signs_of_life_all_the_same(
    server: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = timezone.now()
    node = nodes.register("north", pid=1, workers=2, queues="crawl", now=now - timedelta(minutes=1))
    nodes.beat("north", now)
    nodes.request_state(node, NodeState.PAUSED, now)
    queue.requeue([1], now)
    queue.tick("north", "crawl", now)
    north = _broker("north", monkeypatch)
    assert _taken(north) == [(queue.TICK, ("north",))] and _taken(north) == []
    Node.objects.update(state=NodeState.ACTIVE)
    north._looked = float("-inf")
    assert _taken(north) == [(queue.SLICE, (1,))]


def test_what_others_put_there_is_refused(server: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    broker = _broker("north", monkeypatch)
    broker.enqueue("no task at all")
    async_task("os.system", "touch x", cluster="crawl", save=False)
    assert broker.dequeue() is None and _taken(broker)[0][0] == queue.REFUSED
    assert Event.objects.filter(code="task_refused").exists()
