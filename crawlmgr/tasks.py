"""Functions that django-q2's workers call by dotted name: work on a slice of a run, a node's
heartbeat (a node is one cluster of workers), the dispatcher, pruning; and the handling of worker
processes that died."""

from __future__ import annotations

import logging
import os
import signal
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.core.cache import cache
from django.db import Error as DatabaseProblem
from django.dispatch import receiver
from django.utils.module_loading import import_string
from django_q.cluster import Sentinel
from django_q.signals import post_spawn

from crawlmgr import engine, jobs
from crawlmgr.alarms import alarms
from crawlmgr.archive import archive, offload
from crawlmgr.clock import SYSTEM
from crawlmgr.database import caches, sql
from crawlmgr.models import Run, RunState
from crawlmgr.schedule import due
from crawlmgr.upkeep import pruning
from crawlmgr.workers import nodes, queue
from crawlmgr.workers.supervisor import group, memory_bytes

log = logging.getLogger("crawlmgr.tasks")
BEAT_SECONDS = 2.0
LEFT_FILES_SECONDS = 600  # seconds between two searches for WARC files whose writers were killed
# seconds between two measurements of the workers' memory; not shorter, because each costs CPU time
# in the operating system
MEMORY_SECONDS = 60
RECYCLED = -2
"""Timer value that django-q2 sets for a worker that ended as planned after its number of tasks."""


@receiver(post_spawn)
def listen_for_the_end(**_: Any) -> None:
    """Installs a handler of SIGUSR1 in every new worker process: the signal, which
    crawlmgr.workers.supervisor sends, ends the current slice after the current page."""
    signal.signal(signal.SIGUSR1, lambda *_: engine.shutdown.set())


_reincarnate = Sentinel.reincarnate


def _tell_of_the_end(guard: Sentinel, process: Any) -> None:
    """Called by django-q2 in a cluster's guard process, in place of its own function, when another
    process ended or exceeded its time limit. Records this, so that the process's run can continue
    at once, and starts a new process. A worker over its limit is killed, since it may not react to
    a request to end.

    If the monitor ended, the process that deletes finished tasks, the guard exits instead, and the
    supervisor starts another cluster: a new monitor would wait for ever on a lock that the dead one
    held."""
    worker = process not in (guard.monitor, guard.pusher)
    late = worker and process.timer.value == 0
    if late or not (worker and int(process.timer.value) == RECYCLED):
        ended = "exceeded the time limit of a task" if late else _ending(process.exitcode)
        try:
            nodes.process_ended(
                nodes.own_name(), process.pid, f"{_title(guard, process)} {ended}", SYSTEM.now()
            )
        except DatabaseProblem as error:
            log.warning(
                "the end of process %s could not be recorded: %s",
                process.pid,
                sql.one_line(error),
            )
            sql.let_go()
    if process == guard.monitor:
        os._exit(1)
    _reincarnate(guard, process)
    if late:
        process.kill()


def _title(guard: Sentinel, process: Any) -> str:
    """Returns a description of a cluster's process for messages."""
    if process == guard.monitor:
        return "the process that deletes finished tasks"
    return (
        f"the process that distributes tasks ({process.name})"
        if process == guard.pusher
        else str(process.name)
    )


def _ending(status: int | None) -> str:
    """Returns how a process ended, for messages, from its exit status."""
    return (
        f"was killed by signal {-status}"
        if status is not None and status < 0
        else f"died with status {status}"
    )


Sentinel.reincarnate = _tell_of_the_end


class _Beat:
    """Callback for stored pages: counts them, and writes the node's heartbeat with their number if
    the last one is two seconds old."""

    def __init__(self, node: str) -> None:
        self.node, self.pages, self.last = node, 0, SYSTEM.now()

    def __call__(self, *_: Any) -> None:
        self.pages += 1
        if (SYSTEM.now() - self.last).total_seconds() >= BEAT_SECONDS:
            self.give()

    def give(self) -> None:
        """Writes a heartbeat with the number of pages since the last one. After a temporary
        database error the pages are kept for the next heartbeat; other database errors are raised.
        """
        self.last = SYSTEM.now()
        try:
            nodes.beat(self.node, self.last, self.pages)
            self.pages = 0
        except DatabaseProblem as error:
            if not sql.passing(error):
                raise
            sql.let_go()


def run_slice(run_id: int) -> str:
    """Works on a slice of the run, and queues the next slice if the run goes on and is not waiting.
    Returns the run's state, "leased" if another worker has it, or "shutdown" if this process is to
    end; the slice is then queued again.
    """
    beat = _Beat(nodes.own_name())
    beat.give()
    if engine.shutdown.is_set():
        queue.run_slice(run_id)
        return "shutdown"
    kind = sql.calmly(
        lambda: Run.objects.filter(pk=run_id).values_list("kind", flat=True).first(), SYSTEM
    )
    if kind in settings.JOBS:
        state = jobs.run_slice(run_id, seconds=settings.SLICE_SECONDS, on_step=beat.give)
    else:
        state = engine.run_slice(run_id, seconds=settings.SLICE_SECONDS, on_page=beat)
    caches.free_grown()
    beat.give()
    if state == RunState.RUNNING:
        sql.calmly(lambda: _go_on(run_id), SYSTEM)
    return state


def _go_on(run_id: int) -> None:
    """Queues the run's next slice unless it is waiting until a set time."""
    if Run.objects.filter(pk=run_id, waiting_until__isnull=True).exists():
        queue.run_slice(run_id)


def tick(node: str) -> None:
    """Writes the heartbeat of the node and does its regular work: measures memory, closes WARC
    files of killed writers, queues their move to the object store. If no node has run the
    dispatcher lately, runs it. Queued every few seconds by the node's supervisor."""
    now = SYSTEM.now()
    weighed = cache.add(f"memory-{quote(node)}", 1, MEMORY_SECONDS)
    if weighed:
        nodes.measured(node, now, memory_bytes(group(os.getpgrp())))
    if nodes.tick(node, now):
        due.dispatch(now)
    if cache.add(f"left-files-{quote(node)}", 1, LEFT_FILES_SECONDS):
        archive.close_left(now)
    if settings.ARCHIVE_STORE and offload.waiting():
        queue.move_files(node, os.environ.get("Q_CLUSTER_NAME") or settings.Q_CLUSTER["name"])


def move_archive(node: str) -> int:
    """Moves closed WARC files of this machine to the object store, for as long as a slice lasts;
    returns how many were moved."""
    beat = _Beat(node)
    end = SYSTEM.now() + timedelta(seconds=settings.SLICE_SECONDS)

    def late() -> bool:
        beat.give()
        return engine.shutdown.is_set() or SYSTEM.now() >= end

    return offload.move(SYSTEM.now(), late).moved


def dispatch_due() -> None:
    """Runs the dispatcher, which starts what is due; called on a schedule in worker clusters
    without supervisor."""
    due.dispatch(SYSTEM.now())


def watch() -> None:
    """Runs the functions in WATCHERS, which look for missing results, such as forums that should
    have had new posts and had none."""
    for name in settings.WATCHERS:
        import_string(name)(SYSTEM.now())


def prune() -> dict[str, int]:
    """Deletes history that has been kept for long enough, for at most the time of a slice, and
    queues another task for the rest. Returns the number of deleted rows by kind."""
    done = sql.calmly(lambda: pruning.prune(SYSTEM.now(), settings.SLICE_SECONDS), SYSTEM)
    if done.left:
        queue.prune()
    else:
        sql.calmly(sql.refresh_statistics, SYSTEM)
    return done.rows


def send_alarms() -> int:
    """Sends the messages of alarms that are due; returns how many were sent."""
    beat = _Beat(nodes.own_name())
    return alarms.send(SYSTEM.now, beat.give)


def refused(what: str) -> None:
    """Reports that a queued task was refused; runs in place of that task. `what`: its function, and
    what is wrong with it."""
    queue.record_refusal(what)
