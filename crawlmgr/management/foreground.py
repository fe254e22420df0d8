"""Works on a run in the foreground of a command: shows progress on standard error, and ends cleanly
at Ctrl-C and SIGTERM."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import Error as DatabaseProblem
from tqdm import tqdm

from crawlmgr import engine, jobs
from crawlmgr.clock import SYSTEM, Clock
from crawlmgr.database import sql
from crawlmgr.frontier import hosts
from crawlmgr.management.base import PARTLY, Missing, Stopped, say
from crawlmgr.models import Run, RunState
from crawlmgr.runs import runs, slices
from crawlmgr.runs.runs import DISK_LOW
from crawlmgr.web.http.guard import check_entries
from crawlmgr.web.url import UrlError, canonical, host_key
from crawlmgr.workers import nodes, queue

NODES_SECONDS = 0.5
"""Seconds between two checks of a run that worker nodes work on."""
NO_NODE = "No worker node is running: start one with `manage.py node`, then repeat this command."


def web_settings(options: dict[str, Any], urls: Iterable[str], stored: str = "") -> dict[str, Any]:
    """Returns the crawl settings in the options of `arguments.add_web_arguments`; options that were
    not given are left out.

    `urls` are the addresses that the user named: --allow-private allows only their hosts and ports.
    `stored` are the private addresses that the site's settings already allow; they are kept. Raises
    CommandError for an invalid host.
    """
    chosen = {
        "delay_seconds": options["delay"],
        "connections": options["connections"],
        "in_flight": options["in_flight"],
    }
    chosen["pages_per_host"] = options["pages_per_host"]
    named = [*options["private_host"], *(hosts_of(urls) if options["allow_private"] else ())]
    if named:
        chosen["allow_private"] = ",".join(
            dict.fromkeys([*(part for part in stored.split(",") if part), *named])
        )
        try:
            check_entries(frozenset(named))
        except ValueError as error:
            raise CommandError(f"--private-host: {error}", returncode=2) from None
    return {key: value for key, value in chosen.items() if value is not None}


def hosts_of(urls: Iterable[str]) -> list[str]:
    """Returns host and port of each address, in the form in which the address guard's exceptions
    are written; invalid addresses are skipped."""
    found = set()
    for url in urls:
        with suppress(UrlError):
            found.add(host_key(canonical(url if "://" in url else f"http://{url}")))
    return sorted(found)


@contextmanager
def _signals() -> Iterator[None]:
    """Context manager in which Ctrl-C and SIGTERM end the current slice instead of the process."""

    def handle(number: int, frame: Any) -> None:
        engine.shutdown.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        engine.shutdown.clear()


def _leased(run: Run) -> str:
    """Returns the message that a run cannot be worked on because another process holds it, and at
    what time its lease expires if it has one now."""
    run.refresh_from_db()
    told = (
        f"Run {run.pk} is being worked on by another process; stop it on the desk, or wait until it"
        " ends."
    )
    if run.lease_until is None:
        return told
    return (
        f"{told} If that process was killed, the run is free again at {run.lease_until:%H:%M:%S}"
        " UTC."
    )


def work(run: Run, label: str, clock: Clock = SYSTEM, *, by_nodes: bool = False) -> Run:
    """Works on a run until it ends, and returns it. Raises Stopped if interrupted (the run is
    paused and can be resumed), CommandError if it failed, if another process holds its lease, or if
    the disk is full.

    With `by_nodes` this process only queues the run and waits until worker nodes have ended it. If
    `clock` is behind the real time, each renewal makes the lease longer by the difference, so that
    workers, which use the real time, do not take the run. `label` names the run in messages.
    """

    def lag() -> float:
        return max(0.0, (SYSTEM.now() - clock.now()).total_seconds())

    hosts.cut_times(SYSTEM.now())
    with (
        _signals(),
        tqdm(desc=label, unit=" pages", file=sys.stderr, disable=not sys.stderr.isatty()) as bar,
    ):
        if by_nodes:
            state = _await_nodes(run, bar)
        elif run.kind in settings.JOBS:
            state = jobs.run_slice(run.pk, seconds=None, on_step=lambda: bar.update() and None)
        else:
            state = engine.run_slice(
                run.pk, clock=clock, seconds=None, on_page=lambda *_: bar.update(), lag=lag
            )
        if state == RunState.RUNNING:
            runs.pause(run.pk, clock.now())
            raise Stopped(
                f"Stopped; fetched pages are stored. Run {run.pk} is paused and continues where it"
                " stopped."
            )
        if state == slices.NO_ROOM:
            raise CommandError(_no_room(run), returncode=PARTLY)
        if state == slices.LEASED:
            raise CommandError(_leased(run))
    run.refresh_from_db()
    if run.state == RunState.FAILED:
        say(f"{label}: {run.state}, {run.stopped_by} {run.detail}".rstrip())
        raise CommandError(f"{label} failed: {run.stopped_by} {run.detail}".rstrip())
    return run


def unfinished(run: Run) -> list[Missing] | None:
    """Returns what a command tells of the paused run that it worked on (see `Result.missing`); None
    if the run has ended."""
    if run.state != RunState.PAUSED:
        return None
    why = f"run {run.pk}: {run.stopped_by} {run.detail}".rstrip(": ")
    further = "it continues by itself once there is room" if run.stopped_by == DISK_LOW else ""
    return [Missing("paused runs", 1, "; ".join(part for part in (why, further) if part))]


def _await_nodes(run: Run, bar: Any) -> str:
    """Queues a run and waits until worker nodes have ended or paused it. Returns its state, or
    "running" if a signal came first. Raises CommandError if no node is alive."""
    if not nodes.living(SYSTEM.now()):
        runs.pause(run.pk, SYSTEM.now())
        raise CommandError(NO_NODE)
    queue.run_slice(run.pk)
    while not engine.shutdown.wait(NODES_SECONDS):
        if not _refreshed(run):
            continue
        bar.update(run.fetched - bar.n)
        if run.state not in (RunState.QUEUED, RunState.RUNNING):
            return run.state
    return RunState.RUNNING


def _refreshed(run: Run) -> bool:
    """Reads a run's row again. Returns False if the database does not answer now, as while it is
    started again."""
    try:
        run.refresh_from_db()
    except DatabaseProblem as error:
        if not sql.passing(error):
            raise
        sql.let_go()
        return False
    return True


def begun(create: Callable[[], Run], of: str, *, by_nodes: bool) -> Run:
    """Starts a run with `create` and returns it; `of` names the crawled object in messages.

    An active run may prevent that. If it has the same parameters, it is returned instead, resumed
    if needed. If a schedule started it, this call waits for its end, working on it unless
    `by_nodes`, and tries again. Any other run is left alone, and CommandError says which it is.
    Raises Stopped, CommandError, and what `create` raises except runs.Busy.
    """
    while True:
        try:
            return create()
        except runs.Busy as busy:
            if busy.same:
                return joined(busy, of)
            if not busy.run.scheduled:
                raise CommandError(
                    f"Run {busy.run.pk} of this {of} ({busy.run.label}, {busy.run.kind}) is"
                    f" {busy.run.state} with other options; stop it on the desk, or let it end,"
                    " before this command can start its own."
                ) from None
            say(
                f"Run {busy.run.pk} of this {of} is active and does other work; this command's own"
                " run starts when it ends."
            )
            _await_end(busy.run, by_nodes)


def joined(busy: runs.Busy, of: str) -> Run:
    """Returns the active run that prevented a new one, resumed if it was interrupted, and prints
    which run that is; `of` names the crawled object in the message."""
    if busy.run.state == RunState.PAUSED:
        say(f"Run {busy.run.pk} was interrupted; it continues where it stopped.")
        return runs.resume(busy.run.pk, SYSTEM.now(), start=False)
    say(f"Run {busy.run.pk} of this {of} is active; this command works on it if no worker does.")
    return busy.run


def _await_end(run: Run, by_nodes: bool) -> None:
    """Waits for the end of an active run that this command did not start. If `by_nodes` is False,
    works on that run as long as no worker does. Raises Stopped on a signal, or CommandError if the
    run is paused or no node is alive.
    """
    if by_nodes and not nodes.living(SYSTEM.now()):
        raise CommandError(NO_NODE)
    with _signals():
        while True:
            known = _refreshed(run)
            if known and run.state == RunState.PAUSED:
                raise CommandError(
                    f"Run {run.pk}, which has to end first, is paused: resume or stop it on the"
                    " desk."
                )
            if known and run.state not in (RunState.QUEUED, RunState.RUNNING):
                return
            waits = run.waiting_until is not None and run.waiting_until > SYSTEM.now()
            if known and not by_nodes and not waits:
                _slice(run)
            if engine.shutdown.wait(NODES_SECONDS):
                raise Stopped(
                    f"Stopped; nothing was started. Run {run.pk}, which has to end first, is"
                    f" {run.state}."
                )


def _slice(run: Run) -> None:
    """Works on a run for one slice. Raises CommandError if the database takes no data."""
    work_on = jobs.run_slice if run.kind in settings.JOBS else engine.run_slice
    if work_on(run.pk, seconds=settings.SLICE_SECONDS) == slices.NO_ROOM:
        raise CommandError(_no_room(run), returncode=PARTLY)


def _no_room(run: Run) -> str:
    return (
        f"The database takes no data, because its disk is full or it may only be read; run {run.pk}"
        " continues where it stopped once it does."
    )
