"""The queue: at most one waiting slice per run, heartbeats before all other tasks, no work lost
with a dead worker."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django_q.conf import Conf
from django_q.models import OrmQ, Schedule
from django_q.signing import SignedPackage

from crawlmgr.clock import SYSTEM
from crawlmgr.database import sql
from crawlmgr.workers import queue, queue_rows

pytestmark = pytest.mark.django_db
Capture = Callable[..., AbstractContextManager[Any]]


def _broker(node: str, monkeypatch: pytest.MonkeyPatch) -> queue_rows.Broker:
    monkeypatch.setenv("CRAWLMGR_NODE", node)
    return queue_rows.Broker("crawl")


def _taken(broker: queue_rows.Broker) -> list[tuple[str, Any]]:
    tasks = [SignedPackage.loads(payload) for _, payload in broker.dequeue() or []]
    return [(task["func"], task["args"]) for task in tasks]


def _take(key: str, seconds_ago: float, settings: Any) -> None:
    lock = timezone.now() + timedelta(seconds=settings.RETRY_SECONDS - seconds_ago)
    assert OrmQ.objects.filter(key=key).update(lock=lock)


def test_a_slice_is_queued_on_commit_and_once(django_capture_on_commit_callbacks: Capture) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        queue.run_slice(7)
        queue.run_slice(7)
        queue.run_slice(8)
        assert not OrmQ.objects.exists()
    assert list(OrmQ.objects.order_by("id").values_list("key", flat=True)) == [
        "crawl/run/7",
        "crawl/run/8",
    ]


def test_a_slice_at_work_may_queue_the_next(
    django_capture_on_commit_callbacks: Capture, settings: Any
) -> None:
    for _ in range(2):
        with django_capture_on_commit_callbacks(execute=True):
            queue.run_slice(7)
        _take("crawl/run/7", 1, settings)
    assert OrmQ.objects.count() == 2


def test_requeue_passes_over_what_waits_or_was_taken_lately(settings: Any) -> None:
    now = timezone.now()
    assert queue.requeue([1, 2, 3], now) == 3
    assert queue.requeue([1, 2, 3], timezone.now()) == 0
    _take("crawl/run/2", settings.LEASE_SECONDS - 5, settings)
    _take("crawl/run/3", settings.LEASE_SECONDS + 5, settings)
    assert queue.requeue([1, 2, 3], timezone.now()) == 1
    assert OrmQ.objects.filter(key="crawl/run/3").count() == 2


def test_a_node_takes_its_own_tick_first_and_never_anothers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = timezone.now()
    queue.requeue([1, 2], now)
    queue.tick("north", "crawl", now)
    queue.tick("south", "crawl", now)
    north, other = _broker("north", monkeypatch), []
    for _ in range(3):
        other += _taken(north)
    assert other == [(queue.TICK, ("north",)), (queue.SLICE, (1,)), (queue.SLICE, (2,))]
    assert _taken(north) == []
    assert _taken(_broker("south", monkeypatch)) == [(queue.TICK, ("south",))]


def test_files_are_moved_by_their_own_node(monkeypatch: pytest.MonkeyPatch) -> None:
    queue.move_files("north", "crawl")
    queue.move_files("north", "crawl")
    monkeypatch.setenv("CRAWLMGR_NODE", "south")
    assert queue_rows.Broker("crawl").dequeue() is None
    monkeypatch.setenv("CRAWLMGR_NODE", "north")
    broker = queue_rows.Broker("crawl")
    assert len(broker.dequeue() or []) == 1 and broker.dequeue() is None


def test_a_node_is_asked_once_and_again_when_the_task_died_with_its_worker(settings: Any) -> None:
    for _ in range(2):
        queue.tick("north", "crawl", timezone.now())
    assert OrmQ.objects.count() == 1
    _take("crawl/node/north", settings.STALL_SECONDS / 3 - 2, settings)
    queue.tick("north", "crawl", timezone.now())
    assert OrmQ.objects.count() == 1
    _take("crawl/node/north", settings.STALL_SECONDS / 3 + 2, settings)
    queue.tick("north", "crawl", timezone.now())
    assert OrmQ.objects.count() == 2
    queue.forget_node("north", "crawl")
    assert not OrmQ.objects.exists()


def test_what_a_dead_cluster_took_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    queue.requeue([1, 2], timezone.now())
    broker = _broker("north", monkeypatch)
    assert _taken(broker) and _taken(broker) and not _taken(broker)
    assert (broker.queue_size(), broker.lock_size()) == (0, 2)
    assert queue.release_all("crawl", timezone.now()) == 2
    assert (broker.queue_size(), broker.lock_size()) == (2, 0)
    assert _taken(broker) == [(queue.SLICE, (1,))]


def test_an_idle_cluster_asks_with_one_statement_and_opens_a_broken_connection_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker, failures = _broker("north", monkeypatch), [OperationalError("gone")]
    closed: list[bool] = []

    class Broken:
        in_atomic_block = False
        ops = connection.ops
        close = staticmethod(lambda: closed.append(True))

        def cursor(self) -> Any:
            if failures:
                raise failures.pop()
            return connection.cursor()

    with CaptureQueriesContext(connection) as asked:
        assert broker.dequeue() is None
    # only statements on the queue: on PostgreSQL a broker may also read the nodes' load
    assert sum('"django_q_ormq"' in one["sql"] for one in asked) == 1, asked.captured_queries
    queue.requeue([1], timezone.now())
    monkeypatch.setattr("crawlmgr.workers.queue_rows.connections", {Conf.ORM: Broken()})
    assert broker.dequeue() and closed == [True]


@pytest.mark.skipif("connection.vendor != 'sqlite'")
def test_rows_are_asked_for_again_only_after_a_write_or_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    standing = SimpleNamespace(monotonic=lambda: 100.0, sleep=time.sleep)
    monkeypatch.setattr(queue_rows, "time", standing)  # a busy machine may need a second here
    north = _broker("north", monkeypatch)
    assert north.dequeue() is None
    with CaptureQueriesContext(connection) as asked:
        assert north.dequeue() is None
    assert not [one for one in asked if '"django_q_ormq"' in one["sql"]]
    queue.requeue([1], timezone.now())
    assert _taken(north) == [(queue.SLICE, (1,))]
    assert north.dequeue() is None and queue_rows.OrmQ.objects.update(lock=timezone.now())
    north._asked -= queue_rows.LONGEST_POLL_SECONDS
    assert north.dequeue(), "free again by time"


def test_an_idle_cluster_is_not_kept_busy_by_what_only_others_may_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for node in ("south", "east"):
        queue.tick(node, "crawl", timezone.now())
    north = _broker("north", monkeypatch)
    with CaptureQueriesContext(connection) as asked:
        assert north.dequeue() is None
    assert sum('"django_q_ormq"' in one["sql"] for one in asked) == 1, asked.captured_queries


def test_a_task_is_taken_without_testing_the_connection_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queue.tick("north", "crawl", timezone.now())
    north = _broker("north", monkeypatch)
    monkeypatch.setattr(
        queue_rows.ORM, "get_connection", lambda *_: pytest.fail("tested once more")
    )
    assert _taken(north) == [(queue.TICK, ("north",))]


def test_other_queues_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    queue.requeue([1], timezone.now())
    monkeypatch.setenv("CRAWLMGR_NODE", "north")
    other = queue_rows.Broker("other")
    assert other.dequeue() is None and other.queue_size() == 0
    other.purge_queue()
    assert queue.length() == 1


@pytest.mark.django_db(transaction=True)
def test_nodes_that_start_together_make_each_schedule_once() -> None:
    Schedule.objects.all().delete()
    ready = threading.Barrier(4)
    failures: list[Exception] = []

    def start() -> None:
        try:
            ready.wait(60)
            # Threads share the tests' in-memory database, where a locked table raises an error at
            # once instead of a wait.
            sql.calmly(queue.make_schedules, SYSTEM)
        except Exception as error:
            failures.append(error)
        finally:
            connection.close()

    nodes = [threading.Thread(target=start) for _ in range(4)]
    for node in nodes:
        node.start()
    for node in nodes:
        node.join(120)
    assert not failures
    assert sorted(Schedule.objects.values_list("name", flat=True)) == sorted(
        name for name, _task, _kind in queue.SCHEDULES
    )
    first = Schedule.objects.order_by("pk").first()
    assert first is not None
    kept, first.pk = first.pk, None
    # a second row of the same schedule, as older versions created when nodes started at the same
    # time
    first.save()
    queue.make_schedules()
    assert (
        Schedule.objects.count() == len(queue.SCHEDULES)
        and Schedule.objects.filter(pk=kept).exists()
    )


def test_schedules_are_made_once_and_an_operators_change_stays() -> None:
    queue.make_schedules()
    Schedule.objects.filter(func="crawlmgr.tasks.dispatch_due").update(minutes=5)
    queue.make_schedules()
    made = dict(Schedule.objects.values_list("func", "minutes"))
    assert made == {
        "crawlmgr.tasks.dispatch_due": 5,
        "crawlmgr.tasks.prune": 1,
        "crawlmgr.tasks.watch": 1,
    }
