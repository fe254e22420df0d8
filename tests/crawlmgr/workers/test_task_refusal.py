"""Whatever rows the queue's tables contain, workers call only known functions with plain arguments;
other tasks are reported."""

from __future__ import annotations

import os
from datetime import timedelta
from multiprocessing import Event as Signal
from multiprocessing import Value
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from django.utils import timezone
from django_q.models import OrmQ, Schedule, Task
from django_q.monitor import monitor
from django_q.pusher import pusher
from django_q.scheduler import scheduler
from django_q.signing import SignedPackage
from django_q.tasks import async_task
from django_q.worker import worker

from crawlmgr.models import Event
from crawlmgr.workers import queue, queue_rows

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.once,
]  # on PostgreSQL the worker would end the test's transaction, since it closes its connection


@pytest.fixture
def proof(tmp_path: Path) -> Path:
    """A file that exists only if a worker executed our command."""
    return tmp_path / "ran"


def _enqueue(task: dict[str, Any]) -> None:
    """Inserts a signed row as django-q2 makes it, bypassing our checks."""
    whole = {
        "id": "1" * 32,
        "name": "x",
        "args": (),
        "kwargs": {},
        "started": timezone.now(),
        **task,
    }
    OrmQ.objects.create(
        key="crawl", payload=SignedPackage.dumps(whole), lock=timezone.now() - timedelta(seconds=1)
    )


def _work(rounds: int = 1) -> list[dict[str, Any]]:
    """Runs django-q's pusher, worker and monitor one after the other in this process; returns the
    tasks that the worker did."""
    tasks: Any = Queue()
    enough = Signal()
    enough.set()
    for _ in range(rounds):
        pusher(tasks, enough, queue_rows.Broker("crawl"))
    tasks.put("STOP")
    results: Any = Queue()
    worker(tasks, results, Value("f", -1))
    done = list(results.queue)
    results.put("STOP")
    monitor(results, queue_rows.Broker("crawl"))
    return done


def _told() -> list[str]:
    return list(
        Event.objects.filter(code="task_refused").order_by("id").values_list("text", flat=True)
    )


@pytest.mark.parametrize(
    ("task", "told"),
    [
        ({"func": "os.system"}, "os.system"),
        ({"func": os.system}, "posix.system"),
        ({"func": "subprocess.check_output", "kwargs": {"shell": True}}, "subprocess.check_output"),
        ({"func": "crawlmgr.tasks.prune", "hook": "os.abort"}, "crawlmgr.tasks.prune with hook"),
        (
            {"func": "crawlmgr.tasks.prune", "chain": [("os.system", ("true",))]},
            "crawlmgr.tasks.prune with chain",
        ),
        (
            {"func": "crawlmgr.tasks.prune", "args": (1.5,)},
            "crawlmgr.tasks.prune with other arguments",
        ),
        ({"func": "crawlmgr.workers.queue.drop", "args": ((1,),)}, "crawlmgr.workers.queue.drop"),
        (
            {"func": "crawlmgr.tasks.import_string", "args": ("os.abort",)},
            "crawlmgr.tasks.import_string",
        ),
    ],
)
def test_a_row_of_the_queue_that_asks_for_more_is_struck_off_and_told(
    task: dict[str, Any], told: str, proof: Path
) -> None:
    if task["func"] in ("os.system", os.system):
        task = {**task, "args": (f"touch {proof}",)}
    _enqueue(task)
    assert _work() == []
    assert not proof.exists() and not OrmQ.objects.exists()
    assert _told() == [told]


def test_rows_that_nobody_here_signed_or_that_are_damaged_are_struck_off() -> None:
    OrmQ.objects.create(
        key="crawl", payload="no task at all", lock=timezone.now() - timedelta(seconds=1)
    )
    OrmQ.objects.create(
        key="crawl",
        payload=SignedPackage.dumps(["no table"]),
        lock=timezone.now() - timedelta(seconds=1),
    )
    assert _work(2) == [] and not OrmQ.objects.exists()
    assert _told() == ["a task that this installation did not sign", "no task"]


def test_a_task_of_ours_is_done_and_not_told() -> None:
    _enqueue({"func": "crawlmgr.tasks.tick", "args": ("north",)})
    assert [(one["func"], one["success"]) for one in _work()] == [("crawlmgr.tasks.tick", True)]
    assert not _told() and not OrmQ.objects.filter(key="crawl").exists()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"func": "os.system", "args": "'touch PROOF'"}, "os.system"),
        ({"func": "crawlmgr.tasks.prune", "hook": "os.abort"}, "crawlmgr.tasks.prune with hook"),
        (
            {"func": "crawlmgr.tasks.prune", "kwargs": "q_options={'sync': True}"},
            "crawlmgr.tasks.prune with sync",
        ),
        (
            {"func": "os.system", "args": "'touch PROOF'", "kwargs": "q_options={'sync': True}"},
            "os.system",
        ),
        (
            {"func": "crawlmgr.tasks.prune", "kwargs": "q_options={'chain': [('os.abort',)]}"},
            "crawlmgr.tasks.prune with chain",
        ),
    ],
)
def test_a_schedule_that_asks_for_more_runs_nothing_and_goes(
    fields: dict[str, Any], told: str, proof: Path
) -> None:
    queue.make_schedules()
    Schedule.objects.update(next_run=timezone.now() + timedelta(days=1))
    due = {name: text.replace("PROOF", str(proof)) for name, text in fields.items()}
    Schedule.objects.create(
        name="mine",
        schedule_type=Schedule.MINUTES,
        next_run=timezone.now() - timedelta(minutes=1),
        **due,
    )
    scheduler(queue_rows.Broker("crawl"))
    assert [one["func"] for one in _work()] == [queue.REFUSED]
    assert not proof.exists() and _told() == [told]
    assert set(Schedule.objects.values_list("name", flat=True)) == {
        name for name, _task, _kind in queue.SCHEDULES
    }


def test_schedules_of_others_are_removed_at_the_start() -> None:
    Schedule.objects.create(name="prune old rows", func="os.system", args="'true'")
    Schedule.objects.create(name="look for silence", func="crawlmgr.tasks.watch", hook="os.abort")
    queue.make_schedules()
    assert dict(Schedule.objects.values_list("name", "func")) == {
        name: task for name, task, _kind in queue.SCHEDULES
    }
    assert not Schedule.objects.exclude(hook__isnull=True).exists() and len(_told()) == 2


def test_a_stored_result_calls_no_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Any] = []
    monkeypatch.setattr(queue, "hooked", called.append, raising=False)
    now = timezone.now()
    Task.objects.create(
        id="2" * 32,
        name="y",
        func="os.system",
        hook="crawlmgr.workers.queue.hooked",
        started=now,
        stopped=now,
    )
    assert called == []


def test_what_is_queued_by_name_is_held_to_the_list_as_well(proof: Path) -> None:
    async_task("os.system", f"touch {proof}", cluster="crawl", sync=True)
    assert [one["func"] for one in _work()] == [queue.REFUSED]
    assert not proof.exists() and _told() == ["os.system"]


def test_every_known_task_is_a_function_and_every_task_function_is_known() -> None:
    from crawlmgr import tasks

    ours = {
        f"{one.__module__}.{name}"
        for name, one in vars(tasks).items()
        if callable(one)
        and getattr(one, "__module__", "") == "crawlmgr.tasks"
        and not name.startswith("_")
        and name != "listen_for_the_end"
    }
    assert ours == queue.TASKS


def test_failed_tasks_go_back_once_and_strange_ones_not() -> None:
    now = timezone.now()
    fields = {"success": False, "started": now, "stopped": now}
    Task.objects.create(id="3" * 32, name="a", func=queue.SLICE, args=(7,), **fields)
    Task.objects.create(id="4" * 32, name="b", func="os.system", args=("true",), **fields)
    Task.objects.create(id="5" * 32, name="c", func=queue.SLICE, args=({"x": 1},), **fields)
    assert queue.again(Task.objects.values_list("pk", flat=True)) == 1
    assert [queue_rows.described(row) for row in OrmQ.objects.all()] == [(queue.SLICE, "7")]
    assert Task.objects.count() == 2
