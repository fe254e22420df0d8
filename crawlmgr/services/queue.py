"""The queue: tasks by dotted name, added on commit. Besides tasks.py and the queue's admin page, only this module uses django-q2.

Whatever is in the queue's tables, a worker only calls functions of `TASKS` with plain arguments: see `Broker`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.core.signing import BadSignature
from django.db import Error as DatabaseProblem
from django.db import connection, connections, transaction
from django.db.models import Case, Q, QuerySet, Value, When
from django.db.models.signals import post_save
from django.dispatch import receiver
from django.utils import timezone
from django_q.brokers.orm import ORM
from django_q.conf import Conf
from django_q.models import OrmQ, Schedule, Task
from django_q.signals import call_hook, pre_enqueue
from django_q.status import Stat
from django_q.tasks import async_task

from crawlmgr.services import events, standing, task_check

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
"""Number of the lock that nodes which start together take before they make the schedules; they have no unique name."""
STANDING_SECONDS = 2.0
"""Seconds for which a cluster caches the state of the other nodes."""
QUIET_SECONDS = 10.0
"""Seconds for which it caches that state while the queue is empty."""
LONGEST_POLL_SECONDS = 1.0
STATE_SECONDS = 2
"""Seconds between two reports of a cluster's state."""
TASKS = frozenset((SLICE, TICK, REFUSED, ALARMS, MOVE, *(task for _name, task, _kind in SCHEDULES)))
"""The functions that a worker may be asked to call."""

post_save.disconnect(call_hook, sender=Task)  # otherwise django-q2 would call any function that a stored result names as its hook


class Broker(ORM):
    """django-q2's ORM broker, with three kinds of rows in a queue, distinguished by their key.

    `crawl` is any task; `crawl/run/7` a slice of run 7, so that one query tells whether one is waiting; `crawl/node/n` a task
    that only node n takes, before all others: a heartbeat must not wait behind hours of work or be given by another node.

    Every task of a cluster's workers passes `dequeue`, in the cluster's own process: a row that calls anything but a function of
    `TASKS` with plain arguments, or that this installation did not sign, is deleted and reported.

    If several nodes share a queue, each leaves tasks for a moment to nodes with less work, and takes no more than it has workers
    for (`standing.patience`); a draining or paused node takes only its own tasks.
    """

    _turn = standing.Turn(0.0, True)
    _looked = float("-inf")
    _in_hand: frozenset[int] = frozenset()
    _empty = 0  # consecutive queries that found nothing
    _told = float("-inf")

    def dequeue(self) -> list[tuple[int, str]] | None:
        node = os.environ.get("CRAWLMGR_NODE", "")
        own, files, now = _node_key(self.list_key, node), _files_key(self.list_key, node), timezone.now()
        if not self._anything_free(now):
            self._empty += 1
            time.sleep(self._pause(node, now))
            return None
        rows = self.get_connection().filter(Q(key__in=(own, files)) | _shared(self.list_key), lock__lt=now)
        due = list(rows.order_by(Case(When(key=own, then=Value(0)), default=Value(1)), "id")[: Conf.BULK])
        taken = [
            (row.pk, row.payload)
            for row in due
            if (row.key in (own, files) or self._may_take(node, row, now))
            and self.get_connection().filter(pk=row.pk, lock=row.lock).update(lock=self.timeout(row))
        ]
        if not self._turn.alone:
            self._in_hand |= {row.pk for row in due if row.key not in (own, files) and (row.pk, row.payload) in taken}
        self._empty = self._empty + 1 if all(row.key == own for row in due) else 0  # a heartbeat alone is no work
        if not taken:
            time.sleep(self._pause(node, now))
        return [(pk, payload) for pk, payload in taken if self._allowed(pk, payload)] or None

    def _anything_free(self, now: datetime) -> bool:
        """Tells whether any row of any queue may be taken, in one plain statement: a cluster asks five times a second, mostly in
        vain, and building the ORM query that chooses a row takes thirty times as long. The connection is not tested before each
        use, which would be a statement more: a broken one fails here and is opened anew."""
        database = connections[Conf.ORM]
        asked = f'SELECT EXISTS (SELECT 1 FROM "{OrmQ._meta.db_table}" WHERE "lock" < %s)'  # noqa: S608 - Django's own name
        for attempt in (1, 2):
            try:
                with database.cursor() as cursor:
                    cursor.execute(asked, [database.ops.adapt_datetimefield_value(now)])
                    return bool(cursor.fetchone()[0])
            except DatabaseProblem:
                if attempt == 2 or database.in_atomic_block:
                    raise
                database.close()
        return False

    def set_stat(self, key: str, value: str, timeout: int) -> Any:
        """Reports this cluster's state, at most every two seconds: django-q2's guard would write it to a file every second."""
        if time.monotonic() - self._told < STATE_SECONDS:
            return None
        self._told = time.monotonic()
        return super().set_stat(key, value, timeout + STATE_SECONDS)

    def _pause(self, node: str, now: datetime) -> float:
        """Seconds until the next query. It grows while the queue is empty and other nodes query too, so that ten idle nodes cost
        the database little."""
        if not self._empty or connection.vendor == "sqlite":
            return float(Conf.POLL)
        self._look(node, now, QUIET_SECONDS)
        return float(Conf.POLL if self._turn.alone else min(LONGEST_POLL_SECONDS, Conf.POLL * 2 ** min(self._empty // 4, 8)))

    def _look(self, node: str, now: datetime, seconds: float) -> None:
        """Updates this node's standing among the others if the last update is older than `seconds`."""
        if time.monotonic() - self._looked >= seconds:
            self._looked, self._turn = time.monotonic(), standing.turn(node, self.list_key, now)

    def _may_take(self, node: str, row: OrmQ, now: datetime) -> bool:
        """Tells whether this node may now take a task that any node may take."""
        self._look(node, now, STANDING_SECONDS)
        wait, alone = self._turn
        if wait is None or row.lock > now - timedelta(seconds=wait):
            return False
        if alone:
            return True
        held = self.get_connection().filter(pk__in=self._in_hand, lock__gt=now).values_list("pk", flat=True)
        self._in_hand = frozenset(held)
        return len(self._in_hand) < settings.WORKERS

    def _allowed(self, pk: int, payload: str) -> bool:
        objection = _objection(payload)
        if objection:
            self.delete(pk)
            refused(objection)
        return not objection

    def queue_size(self) -> int:
        return int(self.get_connection().filter(_family(self.list_key), lock__lte=timezone.now()).count())

    def lock_size(self) -> int:
        return int(self.get_connection().filter(_family(self.list_key), lock__gt=timezone.now()).count())

    def purge_queue(self) -> Any:
        return self.get_connection().filter(_family(self.list_key)).delete()


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The reported state of a running cluster: its process ids and start time."""

    pid: int
    guard: int
    monitor: int
    pusher: int
    workers: tuple[int, ...]
    since: datetime


def _objection(payload: str) -> str:
    """What is wrong with a row of the queue; "" if it is valid."""
    try:
        return task_check.objection(task_check.opened(payload, settings.Q_CLUSTER["name"]), TASKS)
    except BadSignature:
        return "a task that this installation did not sign"
    except task_check.NotPlain as error:
        return str(error)


@receiver(pre_enqueue)
def _only_ours(task: dict[str, Any], **_: Any) -> None:
    """Checks a task that is being queued, also from a schedule: a foreign one is replaced by a task that reports it."""
    if objection := task_check.objection(task, TASKS):
        for option in set(task) - task_check.OPTIONS:
            del task[option]
        task |= {"func": REFUSED, "args": (objection[:200],), "kwargs": {}, "save": False, "name": "refused"}


def refused(what: str) -> None:
    """Records that a task was refused, and deletes schedules that call foreign functions."""
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


def _shared(queue: str) -> Q:
    return Q(key=queue) | Q(key__startswith=f"{queue}/run/")


def _family(queue: str) -> Q:
    return _shared(queue) | Q(key__startswith=f"{queue}/node/") | Q(key__startswith=f"{queue}/files/")


def _run_key(run_id: int) -> str:
    return f"{settings.Q_CLUSTER['name']}/run/{run_id}"


def _node_key(queue: str, node: str) -> str:
    return f"{queue}/node/{node}"[:100]


def _files_key(queue: str, node: str) -> str:
    return f"{queue}/files/{node}"[:100]


def _add(key: str, task: str, *args: Any) -> None:
    async_task(task, *args, cluster=key, save=False)


def run_slice(run_id: int) -> None:
    """Queues a run's next slice when the transaction commits, unless one is already waiting."""
    transaction.on_commit(partial(_add_slice, run_id))


def _add_slice(run_id: int) -> None:
    if not OrmQ.objects.filter(key=_run_key(run_id), lock__lte=timezone.now()).exists():
        _add(_run_key(run_id), SLICE, run_id)


def next_pruning() -> datetime | None:
    """The time of the next pruning; None before a node has created its schedules."""
    return Schedule.objects.filter(func=PRUNE).values_list("next_run", flat=True).first()


def prune() -> None:
    """Queues a pruning when the transaction commits."""
    transaction.on_commit(lambda: _add(settings.Q_CLUSTER["name"], PRUNE))


def send_alarms() -> None:
    """Queues the sending of alarms when the transaction commits, unless it is already waiting."""
    transaction.on_commit(_add_alarms)


def _add_alarms() -> None:
    key = f"{settings.Q_CLUSTER['name']}/run/alarms"
    if not OrmQ.objects.filter(key=key, lock__lte=timezone.now()).exists():
        _add(key, ALARMS)


def hand_on(run_id: int) -> None:
    """Queues a slice of a run whose worker died, replacing the one that it had taken."""
    OrmQ.objects.filter(key=_run_key(run_id), lock__gt=timezone.now()).delete()
    run_slice(run_id)


def requeue(run_ids: Iterable[int], now: datetime) -> int:
    """Queues slices of runs that no worker holds, skipping those whose slice is waiting or was taken within a lease's length (a
    taken slice may still wait in its cluster's memory). Returns how many it queued."""
    wanted = {_run_key(run_id): run_id for run_id in run_ids}
    fresh = now + timedelta(seconds=settings.RETRY_SECONDS - settings.LEASE_SECONDS)
    rows = OrmQ.objects.filter(key__in=wanted).filter(Q(lock__lte=now) | Q(lock__gt=fresh))
    queued = set(rows.values_list("key", flat=True))
    for key, run_id in wanted.items():
        if key not in queued:
            _add(key, SLICE, run_id)
    return len(wanted) - len(queued)


def tick(node: str, queue: str, now: datetime) -> None:
    """Asks the node's own cluster for a heartbeat, unless a request is already waiting or was taken recently. One taken long ago
    was lost with its worker and must not block further requests."""
    key = _node_key(queue, node)
    fresh = now + timedelta(seconds=settings.RETRY_SECONDS - settings.STALL_SECONDS / 3)
    if not OrmQ.objects.filter(Q(lock__lte=now) | Q(lock__gt=fresh), key=key).exists():
        _add(key, TICK, node)


def move_files(node: str, queue: str) -> None:
    """Has a worker of this node move closed WARC files into the store, unless one is about to or at it."""
    key = _files_key(queue, node)
    if not OrmQ.objects.filter(key=key).exists():
        _add(key, MOVE, node)


def forget_node(node: str, queue: str) -> None:
    """Deletes the tasks that only this node's cluster could take, because that cluster is gone."""
    OrmQ.objects.filter(key__in=(_node_key(queue, node), _files_key(queue, node))).delete()


def give_back(queue: str, now: datetime) -> int:
    """Frees every taken task of a queue at once. Use it only if all clusters that took from it are known to be dead."""
    return OrmQ.objects.filter(_family(queue), lock__gt=now).update(lock=now)


def length() -> int:
    """The number of tasks in the queue, in progress or waiting."""
    return OrmQ.objects.count()


def clusters() -> list[ClusterState]:
    """The clusters that reported their state within the last five seconds, on machines that share this data folder."""
    return [
        ClusterState(stat.pid, stat.sentinel, stat.monitor, stat.pusher, tuple(stat.workers), stat.tob) for stat in Stat.get_all()
    ]


def make_schedules() -> None:
    """Creates the schedules that keep a worker node running without `serve`; existing intervals are kept. A schedule that calls a
    foreign function is deleted and reported."""
    for schedule in _foreign_schedules():
        events.error("task_refused", f"{schedule.func} ({schedule.name or schedule.pk})", now=timezone.now())
        schedule.delete()
    with transaction.atomic():
        if connection.vendor == "postgresql":  # SQLite has one writer at a time
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [SCHEDULES_LOCK])
        for name, task, kind in SCHEDULES:
            kept, *doubled = Schedule.objects.filter(name=name).order_by("pk").values_list("pk", flat=True) or [None]
            Schedule.objects.filter(pk__in=doubled).delete()
            if kept is None:
                now = timezone.now()
                Schedule.objects.create(name=name, func=task, schedule_type=kind, minutes=1, repeats=-1, next_run=now)


def ended(before: datetime) -> QuerySet[Task]:
    """Stored results of tasks that ended before a time."""
    return Task.objects.filter(stopped__lt=before)


def described(row: OrmQ) -> tuple[str, str]:
    """The function and arguments of a waiting task as text; only plain values are unpickled."""
    try:
        task = task_check.opened(row.payload, settings.Q_CLUSTER["name"])
    except (BadSignature, task_check.NotPlain):
        return "–", ""
    return str(task.get("func")), ", ".join(str(one) for one in task.get("args") or ())


def free(rows: Iterable[int], now: datetime) -> int:
    """Makes waiting tasks available at once, also those taken but not finished. Returns how many."""
    return int(OrmQ.objects.filter(pk__in=list(rows)).update(lock=now))


def drop(rows: Iterable[int]) -> int:
    """Deletes tasks from the queue; the dispatcher queues a run again whose slice was deleted. Returns how many."""
    return int(OrmQ.objects.filter(pk__in=list(rows)).delete()[0])


def again(results: Iterable[str]) -> int:
    """Queues failed tasks again and deletes their results, skipping those that workers would refuse. Returns how many."""
    count = 0
    for result in Task.objects.filter(pk__in=list(results), success=False, func__in=TASKS - {TICK, REFUSED}).only("func", "args"):
        arguments = tuple(result.args or ())
        if task_check.objection({"func": result.func, "args": arguments}, TASKS):
            continue
        if result.func == SLICE:
            _add_slice(*arguments)
        else:
            _add(settings.Q_CLUSTER["name"], result.func, *arguments)
        count += 1
        forget([result.pk])
    return count


def forget(results: Iterable[str]) -> int:
    """Deletes stored results of tasks. Returns how many."""
    return int(Task.objects.filter(pk__in=list(results)).delete()[0])
