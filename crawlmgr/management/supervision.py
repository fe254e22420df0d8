"""Runs worker clusters under supervision; used by the commands `serve` and `node`."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

from django.conf import settings
from django.core.checks import Tags, run_checks
from django.core.checks.registry import registry
from django.core.management.base import CommandError
from django.db import Error as DatabaseProblem
from django.db import connection, connections

from crawlmgr.clock import SYSTEM
from crawlmgr.database import sql
from crawlmgr.management.base import say
from crawlmgr.workers import nodes, queue
from crawlmgr.workers.child import die_with
from crawlmgr.workers.supervisor import (
    AlreadyRunning,
    Asker,
    Child,
    StallDetector,
    Supervisor,
    lock,
)

log = logging.getLogger("crawlmgr.workers.supervisor")
GRACE_SECONDS = 5.0
WEB = "web server"
PROGRAM = "crawlmgr.management.program"  # the module that runs every command
ATTEMPTS = 3
REFUSED = 2  # exit status of a forked process whose work raised CommandError
DOUBT_TICKS = 3
"""Number of heartbeat checks that a cluster with a killed worker may miss before it is restarted.
"""


@dataclass(slots=True)
class Cluster:
    """The worker processes that one node has on this machine: the node's name, the queue they take
    tasks from, their number, their process group (`child`), and the record of heartbeats that tells
    whether they have stopped taking tasks (`stalls`).
    """

    node: str
    queue: str
    workers: int
    child: Child
    stalls: StallDetector


def cluster(node: str, queue_name: str, workers: int) -> Cluster:
    """Returns a cluster, not started yet, that takes tasks from one queue under a node's name."""
    environment = {
        "CRAWLMGR_DATA": str(settings.DATA_DIR),
        "CRAWLMGR_NODE": node,
        "CRAWLMGR_WORKERS": str(workers),
        "Q_CLUSTER_NAME": queue_name,
    }
    child = Child(
        f"worker cluster {node}",
        [PROGRAM, "cluster"],
        folder=settings.BASE_DIR,
        environment=environment,
        ends_early=True,
    )
    busy, doubt = settings.TASK_TIMEOUT_SECONDS + 10, DOUBT_TICKS * settings.TICK_SECONDS
    stalls = StallDetector(settings.STALL_SECONDS, busy_seconds=busy, doubt_seconds=doubt)
    return Cluster(node, queue_name, workers, child, stalls)


def run_system_checks() -> str:
    """Runs Django's system checks and returns ""; raises CommandError with the first error in one
    line.

    The checks of URLs are left out: they would load every view of the web interface, about 100 MB
    in the supervisor.
    """
    tags = [tag for tag in registry.tags_available() if tag not in (Tags.urls, Tags.admin)]
    for message in run_checks(tags=tags):
        if message.is_serious():
            raise CommandError(f"{message.msg} ({message.id})")
    return ""


def in_subprocess(work: Callable[[], str]) -> str:
    """Returns the result of `work`, called in a forked process so that the long-lived supervisor
    does not keep the 30 MB that it loads.

    If that process is killed, `work` is called again, ATTEMPTS times in all. Raises CommandError if
    `work` raises it or was killed each time, SystemExit if it failed otherwise (the forked process
    has then printed the error).
    """
    connections.close_all()
    for _ in range(ATTEMPTS):
        text, code = _forked(work)
        if code == 0:
            return text
        if code == REFUSED:
            raise CommandError(text)
        if code > 0:
            raise SystemExit(1)
        say(f"Preparing the start was killed ({signal.Signals(-code).name}); it is done again.")
    raise CommandError(
        f"Preparing the start was killed {ATTEMPTS} times: is there too little memory?"
    )


def _forked(work: Callable[[], str]) -> tuple[str, int]:
    """Returns the result and exit status of `work` in a forked process. The status is REFUSED if
    `work` raised CommandError, and the negative number of the signal if one ended the process."""
    reading, writing = os.pipe()
    parent, child = os.getpid(), os.fork()
    if child == 0:
        code = 1
        try:
            die_with(
                parent
            )  # the parent holds the lock and the port, without which this process is of no use
            os.close(reading)
            try:
                text, code = work(), 0
            except CommandError as error:
                text, code = str(error), REFUSED
            with open(writing, "w", encoding="utf-8") as answer:
                answer.write(text)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    os.close(writing)
    with open(reading, encoding="utf-8") as answer:
        text = answer.read()
    return text, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def only_one(name: str) -> IO[str]:
    """Takes the lock that keeps a second process with this name from running on the same data
    folder. Returns the lock's file, which holds the lock as long as it is open. Raises CommandError
    if the lock is taken."""
    path: Path = settings.DATA_DIR / f"{name}.lock"
    try:
        return lock(path)
    except AlreadyRunning as other:
        who = f" (process {other})" if str(other) else ""
        raise CommandError(f"{name} already runs on {settings.DATA_DIR}{who}.") from None


def supervise(
    clusters: Sequence[Cluster],
    others: Sequence[Child] = (),
    *,
    asker: Asker | None = None,
    may_drain: bool = False,
) -> None:
    """Runs clusters and other child processes until Ctrl-C or SIGTERM; with `may_drain` also until
    an operator has requested that the clusters' nodes drain and none of their runs is left. The
    child WEB is restarted if it does not answer `asker`."""
    watch = _Watch(clusters, asker)
    supervisor = Supervisor(
        [*(one.child for one in clusters), *others],
        on_start=watch.started,
        on_end=watch.ended,
        on_tick=watch.tick,
        tick_seconds=settings.TICK_SECONDS,
        grace_seconds=settings.SLICE_SECONDS + GRACE_SECONDS,
    )
    if may_drain:
        watch.on_drained = supervisor.stop
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, supervisor.stop)
    signal.signal(signal.SIGCHLD, supervisor.look)
    log.info(
        "%s",
        ", ".join(child.name for child in supervisor.children),
        extra={"event": "supervision_started"},
    )
    with closing(connection):
        supervisor.run()
    log.info("all children have ended", extra={"event": "supervision_ended"})


class _Watch:
    """What the supervisor calls when a worker cluster starts, ends, and at regular intervals:
    registers its node in the database, has it write a heartbeat, and has the cluster restarted if
    the stored heartbeat stays unchanged for too long; the web server likewise, if it stops
    answering. While the database does not answer, nothing is restarted."""

    def __init__(self, clusters: Sequence[Cluster], asker: Asker | None) -> None:
        self.clusters = {one.child.name: one for one in clusters}
        self.asker, self.answers = asker, StallDetector(settings.STALL_SECONDS, busy_seconds=0)
        self.registered: set[str] = set()
        self.last_problem = (
            ""  # the problem of the database that was told last; "" while there is none
        )
        self.on_drained: Callable[[], None] | None = None

    def started(self, child: Child) -> None:
        log.info("%s", child.name, extra={"event": "child_started", "child": child.pid})
        one = self.clusters.get(child.name)
        if one is None:
            if child.name == WEB and self.asker is not None:
                self.answers.begin(time.monotonic(), self.asker.answers)
            return
        heartbeat = one.stalls.heartbeat
        try:
            first = one.node not in self.registered
            node = nodes.register(
                one.node,
                pid=child.pid,
                workers=one.workers,
                queues=one.queue,
                now=SYSTEM.now(),
                joins=first,
            )
            self.registered.add(one.node)
            heartbeat = node.heartbeat
        except DatabaseProblem as error:
            self._away(error)
        one.stalls.begin(time.monotonic(), heartbeat)

    def ended(self, child: Child, why: str) -> None:
        say(f"The {child.name} {why}; it is started again.")
        log.info("%s: %s", child.name, why, extra={"event": "child_ended"})
        one = self.clusters.get(child.name)
        try:
            if one is not None:
                nodes.restarted(one.node, why, SYSTEM.now())
            elif child.name == WEB:
                nodes.web_restarted(why, SYSTEM.now())
        except DatabaseProblem as error:
            self._away(error)

    def tick(self, child: Child) -> str:
        """Queues a task with which the cluster writes a heartbeat to the database, and looks at the
        last one written; or asks the web server. Returns why the child must be restarted; "" if it
        need not be."""
        one = self.clusters.get(child.name)
        if one is None:
            return self._ask_web() if child.name == WEB else ""
        now = SYSTEM.now()
        try:
            if not queue.tick(one.node, one.queue, now):
                one.stalls.pause(time.monotonic())
            signs = nodes.signs(one.node, now)
            if signs.draining and self.on_drained is not None and self._drained(now):
                say("Drained.")
                self.on_drained()
        except DatabaseProblem as error:
            self._away(error)
            one.stalls.pause(time.monotonic())
            return ""
        self.last_problem = ""
        one.stalls.count(signs.restarts, time.monotonic())
        if one.stalls.stalled(signs.heartbeat, signs.busy, time.monotonic()):
            return "stopped taking tasks"
        return ""

    def _ask_web(self) -> str:
        """Asks the web server, whose answer needs the database, too; returns why it must be
        restarted, "" if it need not be."""
        if self.asker is None:
            return ""
        if self.last_problem:
            self.answers.pause(time.monotonic())
        self.asker.ask(settings.STALL_SECONDS)
        stalled = self.answers.stalled(self.asker.answers, busy=False, at=time.monotonic())
        return "stopped answering" if stalled else ""

    def _drained(self, now: datetime) -> bool:
        return nodes.drained([one.node for one in self.clusters.values()], now)

    def _away(self, error: Exception) -> None:
        text = sql.one_line(error)
        if text != self.last_problem:
            log.warning("the database does not answer: %s", text)
        self.last_problem = text
        connection.close()
