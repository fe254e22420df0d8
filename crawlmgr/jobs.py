"""Jobs: runs that send no web requests but compute step by step, such as exports and simulations.
Works on them in slices, with the same lease, pause and stop as for crawls."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string

from crawlmgr.clock import SYSTEM, Clock
from crawlmgr.models import Run, RunState
from crawlmgr.runs import runs, slices
from crawlmgr.runs.slices import LIMIT_SHARE, Heartbeat, Interrupted
from crawlmgr.workers import nodes

Pulse = Callable[[], None]


class StepTooLong(Exception):
    """Raised by the heartbeat function that a step calls, if the step still runs shortly before the
    time limit of its worker's task."""


class Job(Protocol):
    """One kind of job; an instance belongs to one run.

    `step` computes for some seconds outside any transaction, and must call `pulse`, the heartbeat,
    at least every second. It returns either a function that stores the step's result, which is
    called inside the transaction that checks the run's lease, or, if no step is left, a code of the
    reason for which the run ends. `ended` is called when the run ends or pauses.
    """

    def step(self, pulse: Pulse) -> Callable[[], None] | str: ...

    def ended(self, state: str, now: datetime) -> None: ...


def run_slice(
    run_id: int,
    *,
    clock: Clock = SYSTEM,
    seconds: float | None = None,
    on_step: Pulse | None = None,
) -> str:
    """Works on a run for one slice of `seconds` (None: until it ends), which a running step may
    exceed. `on_step` is called after each step. Returns the run's state, or "leased" if another
    worker has it."""

    def make(run: Run, lease: runs.Lease, left: float | None) -> _Slice:
        return _Slice(run, import_string(settings.JOBS[run.kind])(run), lease, clock, left, on_step)

    return slices.work(run_id, make, holder=nodes.holder(), clock=clock, seconds=seconds)


class _Slice:
    """One slice of a job's run, with the methods that `slices.work` calls."""

    def __init__(
        self,
        run: Run,
        job: Job,
        lease: runs.Lease,
        clock: Clock,
        seconds: float | None,
        on_step: Pulse | None,
    ) -> None:
        self.run, self.job, self.lease, self.clock, self.on_step = run, job, lease, clock, on_step
        self.until = None if seconds is None else clock.now() + timedelta(seconds=seconds)
        self.heartbeat = Heartbeat(lease, clock, seconds, run.wanted)

    def failed(self, now: datetime) -> None:
        """Tells the job that the run failed; called inside the transaction that marks the run as
        failed."""
        self.job.ended(RunState.FAILED, now)

    def forget(self) -> None:
        """Does nothing; called after a transaction was rolled back. No state is kept in memory
        between slices, since each slice creates its job anew."""

    def work(self) -> str:
        """Makes steps until the slice or the run ends; returns the run's state."""
        try:
            while True:
                self.heartbeat.check()
                if self.until is not None and self.clock.now() >= self.until:
                    runs.release(self.lease)
                    return RunState.RUNNING
                outcome = self.job.step(self._pulse)
                if isinstance(outcome, str):
                    return self._end(RunState.FINISHED, outcome)
                with transaction.atomic():
                    now = self.clock.now()
                    self.heartbeat.renewed(runs.count(self.lease, now, {"items": 1}), now)
                    outcome()
                if self.on_step is not None:
                    self.on_step()
        except Interrupted as request:
            if request.why == "shutdown":
                runs.release(self.lease)
                return RunState.RUNNING
            paused = request.why == "pause"
            return self._end(
                RunState.PAUSED if paused else RunState.STOPPED, "" if paused else "stopped"
            )

    def _pulse(self) -> None:
        """The heartbeat function that a step calls. Raises Interrupted if a pause, stop or shutdown
        was requested, and StepTooLong if the task has almost reached its time limit."""
        try:
            self.heartbeat.pulse()
        except Interrupted as interrupted:
            if interrupted.why != "time":
                raise
            raise StepTooLong(f"{settings.TASK_TIMEOUT_SECONDS * LIMIT_SHARE:.0f} s") from None

    def _end(self, state: str, stopped_by: str) -> str:
        """Ends or pauses the run, with the reason code `stopped_by`; returns `state`."""
        now = self.clock.now()
        with transaction.atomic():
            runs.end(self.lease, state, stopped_by, now)
            self.job.ended(state, now)
        return state
