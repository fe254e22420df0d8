"""The queue of tasks for workers, kept in the database (`queue_rows`) or in Redis (`queue_redis`).
Apart from these two modules, apps.py, tasks.py and the queue's admin page, nothing uses django-q2.

Tasks name functions by their dotted names. Whatever the queue contains, a worker only calls the
functions in `TASKS`, with plain arguments: brokers check each task with `allowed`.
Pickled tasks are read without executing any code in them."""

from __future__ import annotations

import io
import logging
import pickle
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib import import_module
from typing import Any, cast

from django.conf import settings
from django.core.signing import BadSignature, TimestampSigner
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.db.models.signals import post_save
from django.dispatch import receiver
from django.utils import timezone
from django_q.models import Schedule, Task
from django_q.signals import call_hook, pre_enqueue
from django_q.status import Stat
from django_q.tasks import async_task

from crawlmgr.models import events

OPTIONS = frozenset(
    {"id", "name", "func", "args", "kwargs", "started", "save", "cluster", "ack_failure", "group"}
)
LONGEST_TEXT = 300
_TIME = frozenset({"datetime", "timezone", "timedelta"})


class NotPlain(Exception):
    """A pickled task contains more than plain values; the text names what."""


class _PlainReader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module == "datetime" and name in _TIME:
            return super().find_class(module, name)
        raise NotPlain(f"{module}.{name}")


class _Plain:
    """Serializer for django.core.signing that unpickles only plain values and times."""

    @staticmethod
    def loads(data: bytes) -> Any:
        try:
            return _PlainReader(io.BytesIO(data)).load()
        except NotPlain:
            raise
        except Exception as error:  # damaged bytes can raise any exception
            raise NotPlain(f"a damaged task ({type(error).__name__})") from None


def opened(payload: str, salt: str) -> dict[str, Any]:
    """Returns a queued task as a dict, after checking its signature and unpickling it safely.
    Raises BadSignature, NotPlain."""
    task = TimestampSigner(key=settings.SECRET_KEY, salt=salt).unsign_object(
        payload, serializer=cast(Any, _Plain)
    )
    if not isinstance(task, dict):
        raise NotPlain("no task")
    return task


def objection_to(task: Mapping[str, Any], known: Collection[str]) -> str:
    """Returns the reason why a task must not be executed, in a few words; "" if it calls a function
    in `known` with plain arguments.

    >>> [objection({"func": name, "args": (7,)}, {"ours.work"}) for name in ("os.abort", \
"ours.work")]
    ['os.abort', '']
    """
    name = task.get("func")
    if not isinstance(name, str) or name not in known:
        return str(name)[:LONGEST_TEXT]
    if odd := sorted(str(option) for option in set(task) - OPTIONS):
        return f"{name} with {odd[0]}"
    arguments = task.get("args") or ()
    if (
        task.get("kwargs")
        or not isinstance(arguments, tuple)
        or not all(_plain(one) for one in arguments)
    ):
        return f"{name} with other arguments"
    return ""


def _plain(value: Any) -> bool:
    return type(value) is int or (type(value) is str and len(value) <= LONGEST_TEXT)


log = logging.getLogger("crawlmgr.queue")
SLICE = "crawlmgr.tasks.run_slice"
TICK = "crawlmgr.tasks.tick"
REFUSED = "crawlmgr.tasks.refused"
PRUNE = "crawlmgr.tasks.prune"
ALARMS = "crawlmgr.tasks.send_alarms"
MOVE = "crawlmgr.tasks.move_archive"
SCHEDULES = (
    ("dispatch what is due", "crawlmgr.tasks.dispatch_due", Schedule.MINUTES),
    ("prune old rows", PRUNE, Schedule.DAILY),
    ("look for silence", "crawlmgr.tasks.watch", Schedule.HOURLY),
)
SCHEDULES_LOCK = 0x5C4ED
"""Lock number: nodes that start at the same time create the schedules one after the other, because
schedules have no unique name."""
TASKS = frozenset((SLICE, TICK, REFUSED, ALARMS, MOVE, *(task for _name, task, _kind in SCHEDULES)))
"""The functions that a worker may be asked to call."""

# Otherwise django-q2 would call any function that a stored task result names as its hook.
post_save.disconnect(call_hook, sender=Task)


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The state that a running cluster of worker processes reports: the ids of its processes, and
    when it was started."""

    pid: int
    guard: int
    monitor: int
    pusher: int
    workers: tuple[int, ...]
    since: datetime


def allowed(payload: str) -> bool:
    """Tells whether a worker may execute a task from the queue; if not, records the refusal as an
    event."""
    objection = _objection(payload)
    if objection:
        record_refusal(objection)
    return not objection


def _objection(payload: str) -> str:
    """Returns the reason why a task in the queue must not be executed; "" if it may."""
    try:
        return objection_to(opened(payload, settings.Q_CLUSTER["name"]), TASKS)
    except BadSignature:
        return "a task that this installation did not sign"
    except NotPlain as error:
        return str(error)


@receiver(pre_enqueue)
def _only_ours(task: dict[str, Any], **_: Any) -> None:
    """Checks each task before it is queued, also those of schedules. A task that calls a function
    not in TASKS is replaced by one that records the refusal."""
    if objection := objection_to(task, TASKS):
        for option in set(task) - OPTIONS:
            del task[option]
        task |= {
            "func": REFUSED,
            "args": (objection[:200],),
            "kwargs": {},
            "save": False,
            "name": "refused",
        }


def record_refusal(what: str) -> None:
    """Records as an event that a task was refused (`what`: the text), and deletes schedules that
    call functions not in TASKS."""
    events.error("task_refused", what, now=timezone.now())
    _foreign_schedules().delete()


def _foreign_schedules() -> Any:
    plain = Q(args__isnull=True) | Q(args="()") | Q(args="")
    empty = Q(kwargs__isnull=True) | Q(kwargs="{}") | Q(kwargs="")
    unhooked = Q(hook__isnull=True) | Q(hook="")
    own = Q(pk__in=[])
    for name, task, _kind in SCHEDULES:
        own |= Q(name=name, func=task)
    return Schedule.objects.exclude(own & plain & empty & unhooked)


def _run_key(run_id: int) -> str:
    return f"{settings.Q_CLUSTER['name']}/run/{run_id}"


def node_key(queue: str, node: str) -> str:
    return f"{queue}/node/{node}"[:100]


def files_key(queue: str, node: str) -> str:
    return f"{queue}/files/{node}"[:100]


def _store() -> Any:
    """Returns the module that keeps the tasks: `queue_rows` or `queue_redis`."""
    return import_module(settings.QUEUE_STORE)


def _add(key: str, task: str, *args: Any) -> None:
    """Adds a task to the queue. If Redis is used and does not respond, the task is not queued: the
    dispatcher and the supervisor queue it again later."""
    try:
        async_task(task, *args, cluster=key, save=False)
    except _store().AWAY as error:
        log.warning("%s could not be queued: %s", task, error, extra={"event": "broker_away"})


def run_slice(run_id: int) -> None:
    """Queues a run's next slice when the current transaction commits, unless one is already
    queued."""
    transaction.on_commit(partial(_add_slice, run_id))


def _add_slice(run_id: int) -> None:
    if not _store().waits(_run_key(run_id)):
        _add(_run_key(run_id), SLICE, run_id)


def next_pruning() -> datetime | None:
    """Returns the time of the next daily pruning; None before a node has created its schedules."""
    return Schedule.objects.filter(func=PRUNE).values_list("next_run", flat=True).first()


def prune() -> None:
    """Queues the deletion of old rows when the current transaction commits."""
    transaction.on_commit(lambda: _add(settings.Q_CLUSTER["name"], PRUNE))


def send_alarms() -> None:
    """Queues the sending of alarms when the current transaction commits, unless it is already
    queued."""
    transaction.on_commit(_add_alarms)


def _add_alarms() -> None:
    key = f"{settings.Q_CLUSTER['name']}/run/alarms"
    if not _store().waits(key):
        _add(key, ALARMS)


def hand_on(run_id: int) -> None:
    """Queues a slice of a run whose worker died, in place of the task that the worker had taken."""
    _store().forget_taken(_run_key(run_id))
    run_slice(run_id)


def requeue(run_ids: Iterable[int], now: datetime) -> int:
    """Queues slices of runs that no worker holds; returns how many it queued. Skips runs whose
    slice is queued or was taken within the length of a lease, because a taken slice may still wait
    in its cluster's memory."""
    wanted = {_run_key(run_id): run_id for run_id in run_ids}
    queued = _store().wait_or_were_taken(wanted, settings.LEASE_SECONDS, now) if wanted else set()
    for key, run_id in wanted.items():
        if key not in queued:
            _add(key, SLICE, run_id)
    return len(wanted) - len(queued)


def tick(node: str, queue: str, now: datetime) -> bool:
    """Queues a task by which the node's own cluster sends a heartbeat, unless one is already queued
    or was taken recently. A task taken long ago counts as lost with its worker. Returns False if
    the queue is in Redis and Redis does not respond.
    """
    store, key = _store(), node_key(queue, node)
    try:
        store.ask()
    except store.AWAY as error:
        log.warning("the broker does not answer: %s", error, extra={"event": "broker_away"})
        return False
    if not store.wait_or_were_taken([key], settings.STALL_SECONDS / 3, now):
        _add(key, TICK, node)
    return True


def move_files(node: str, queue: str) -> None:
    """Queues a task by which a worker of this node moves closed WARC files into the object store,
    unless one is queued or running."""
    key = files_key(queue, node)
    if not _store().wait_or_were_taken([key], settings.RETRY_SECONDS, timezone.now()):
        _add(key, MOVE, node)


def forget_node(node: str, queue: str) -> None:
    """Deletes the tasks that only this node's cluster could take. Called when that cluster has
    ended."""
    _store().forget([node_key(queue, node), files_key(queue, node)])


def release_all(queue: str, now: datetime) -> int:
    """Makes every taken task of a queue available again and returns their number. Call it only if
    all clusters that took from the queue are known to be dead."""
    return int(_store().release_all(queue, now))


def length() -> int:
    """Returns the number of queued tasks; a queue in the database also counts tasks that a worker
    has taken."""
    return int(_store().length())


def clusters() -> list[ClusterState]:
    """Returns the clusters that reported their state within the last five seconds, on machines that
    share this data folder."""
    return [
        ClusterState(
            stat.pid, stat.sentinel, stat.monitor, stat.pusher, tuple(stat.workers), stat.tob
        )
        for stat in Stat.get_all()
    ]


def make_schedules() -> None:
    """Creates the periodic tasks (`SCHEDULES`) that every installation needs, so that work goes on
    even if only worker nodes run. Existing ones keep their intervals. Schedules that call functions
    not in TASKS are deleted and reported.
    """
    for schedule in _foreign_schedules():
        events.error(
            "task_refused", f"{schedule.func} ({schedule.name or schedule.pk})", now=timezone.now()
        )
        schedule.delete()
    with transaction.atomic():
        if (
            connection.vendor == "postgresql"
        ):  # SQLite needs no lock, since it has one writer at a time
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [SCHEDULES_LOCK])
        for name, task, kind in SCHEDULES:
            kept, *doubled = Schedule.objects.filter(name=name).order_by("pk").values_list(
                "pk", flat=True
            ) or [None]
            Schedule.objects.filter(pk__in=doubled).delete()
            if kept is None:
                now = timezone.now()
                Schedule.objects.create(
                    name=name, func=task, schedule_type=kind, minutes=1, repeats=-1, next_run=now
                )


def ended(before: datetime) -> QuerySet[Task]:
    """Returns the stored results of tasks that ended before a time."""
    return Task.objects.filter(stopped__lt=before)


def again(results: Iterable[str]) -> int:
    """Queues failed tasks again and deletes their results; tasks that workers would refuse are
    skipped. `results` are the ids of the results. Returns how many were queued."""
    count = 0
    for result in Task.objects.filter(
        pk__in=list(results), success=False, func__in=TASKS - {TICK, REFUSED}
    ).only("func", "args"):
        arguments = tuple(result.args or ())
        if objection_to({"func": result.func, "args": arguments}, TASKS):
            continue
        if result.func == SLICE:
            _add_slice(*arguments)
        else:
            _add(settings.Q_CLUSTER["name"], result.func, *arguments)
        count += 1
        forget([result.pk])
    return count


def forget(results: Iterable[str]) -> int:
    """Deletes the stored results with these ids. Returns how many were deleted."""
    return int(Task.objects.filter(pk__in=list(results)).delete()[0])
