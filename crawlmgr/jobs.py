"""Runs that send no web requests: computed step by step, with the same lease, pause and stop as a crawl."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string

from crawlmgr.clock import SYSTEM, Clock
from crawlmgr.engine import holder
from crawlmgr.models import Run, RunState
from crawlmgr.services import runs, slices
from crawlmgr.services.heartbeat import LIMIT_SHARE, Heartbeat, Interrupted

Pulse = Callable[[], None]


class StepTooLong(Exception):
    """A step was still running when its worker's task was about to reach its time limit; raised by the pulse."""


class Job(Protocol):
    """One kind of work without web requests. `step` computes for some seconds outside any transaction, calling `pulse` at least
    every second. It returns either a function that stores its result, to be called inside the transaction that checks the
    fence, or the reason why the run has ended."""

    def step(self, pulse: Pulse) -> Callable[[], None] | str: ...

    def ended(self, state: str, now: datetime) -> None: ...


def run_slice(run_id: int, *, clock: Clock = SYSTEM, seconds: float | None = None, on_step: Pulse | None = None) -> str:
    """Works on a run for one slice (`seconds` None: until it ends), whole steps at a time. Returns the same values as
    `engine.run_slice`."""

    def make(run: Run, lease: runs.Lease, left: float | None) -> _Slice:
        return _Slice(run, import_string(settings.JOBS[run.kind])(run), lease, clock, left, on_step)

    return slices.work(run_id, make, holder=holder(), clock=clock, seconds=seconds)


class _Slice:
    def __init__(self, run: Run, job: Job, lease: runs.Lease, clock: Clock, seconds: float | None, on_step: Pulse | None) -> None:
        self.run, self.job, self.lease, self.clock, self.on_step = run, job, lease, clock, on_step
        self.until = None if seconds is None else clock.now() + timedelta(seconds=seconds)
        self.heartbeat = Heartbeat(lease, clock, seconds, run.wanted)

    def failed(self, now: datetime) -> None:
        """Ends the job's part of a failed run; called inside the transaction that marks the run as failed."""
        self.job.ended(RunState.FAILED, now)

    def forget(self) -> None:
        """Does nothing: no state is kept in memory between slices, since each slice creates its job anew."""

    def work(self) -> str:
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
        except Interrupted as wish:
            if wish.why == "shutdown":
                runs.release(self.lease)
                return RunState.RUNNING
            paused = wish.why == "pause"
            return self._end(RunState.PAUSED if paused else RunState.STOPPED, "" if paused else "stopped")

    def _pulse(self) -> None:
        """The heartbeat of a step. Raises Interrupted or StepTooLong if the step must not continue."""
        try:
            self.heartbeat.pulse()
        except Interrupted as interrupted:
            if interrupted.why != "time":
                raise
            raise StepTooLong(f"{settings.TASK_TIMEOUT_SECONDS * LIMIT_SHARE:.0f} s") from None

    def _end(self, state: str, stopped_by: str) -> str:
        now = self.clock.now()
        with transaction.atomic():
            runs.end(self.lease, state, stopped_by, now)
            self.job.ended(state, now)
        return state
