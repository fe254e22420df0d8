"""Jobs: pause, stop, the end of the process and a program error, each at different points of the
run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.conf import LazySettings

from crawlmgr import engine, jobs, tasks
from crawlmgr.models import Event, Run, RunState
from crawlmgr.runs import runs

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 1, tzinfo=UTC)


class Counting:
    """A job of three steps, each of which stores one number; `meanwhile` holds a function that is
    called during a step."""

    stored: list[int] = []
    meanwhile: Callable[[Run, jobs.Pulse], None] = staticmethod(lambda run, pulse: None)
    ends: list[str] = []

    def __init__(self, run: Run) -> None:
        self.run = run

    def step(self, pulse: jobs.Pulse) -> Callable[[], None] | str:
        if len(self.stored) == 3:
            return "counted"
        type(self).meanwhile(self.run, pulse)
        return lambda: self.stored.append(len(self.stored))

    def ended(self, state: str, now: datetime) -> None:
        self.ends.append(state)


@pytest.fixture(autouse=True)
def job(settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.JOBS = {"counting": "tests.crawlmgr.test_jobs.Counting"}
    Counting.stored, Counting.ends = [], []
    monkeypatch.setattr(Counting, "meanwhile", staticmethod(lambda run, pulse: None))
    monkeypatch.setattr(jobs, "import_string", lambda name: Counting)


def made() -> Run:
    return runs.create("counting", "count", parameters={}, now=NOW, start=False)


def state(run: Run) -> tuple[str, str, int]:
    run.refresh_from_db()
    return run.state, run.stopped_by, run.items


def test_a_job_works_step_by_step_to_its_end() -> None:
    run, steps = made(), []
    assert jobs.run_slice(run.pk, on_step=lambda: steps.append(1)) == RunState.FINISHED
    assert (
        state(run) == ("finished", "counted", 3)
        and Counting.stored == [0, 1, 2]
        and len(steps) == 3
    )
    assert Counting.ends == ["finished"] and jobs.run_slice(run.pk) == "leased"


def test_a_slice_that_is_over_leaves_the_rest_to_the_next() -> None:
    run = made()
    assert jobs.run_slice(run.pk, seconds=0) == RunState.RUNNING
    assert Counting.stored == [] and run.pk in runs.ready(datetime.now(UTC))


@pytest.mark.parametrize(("wish", "reached"), [(runs.pause, "paused"), (runs.stop, "stopped")])
def test_what_a_person_wants_is_heeded_within_a_step(
    monkeypatch: pytest.MonkeyPatch, wish: Any, reached: str
) -> None:
    run = made()

    def ask(this: Run, pulse: jobs.Pulse) -> None:
        wish(this.pk, datetime.now(UTC))
        # as if a second had passed since the last beat
        pulse.__self__.heartbeat.last = NOW  # type: ignore[attr-defined]
        pulse()

    monkeypatch.setattr(Counting, "meanwhile", staticmethod(ask))
    assert jobs.run_slice(run.pk) == reached
    assert state(run)[0] == reached and Counting.stored == [] and Counting.ends == [reached]


def test_the_end_of_the_process_gives_the_run_back() -> None:
    run = made()
    engine.shutdown.set()
    try:
        assert jobs.run_slice(run.pk) == RunState.RUNNING
    finally:
        engine.shutdown.clear()
    run.refresh_from_db()
    assert run.lease_until is None and Counting.stored == []


def test_an_error_of_the_program_is_told_and_ends_the_run_at_the_third(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = made()

    def fail(this: Run, pulse: jobs.Pulse) -> None:
        raise RuntimeError("no luck")

    monkeypatch.setattr(Counting, "meanwhile", staticmethod(fail))
    for _ in range(3):
        with pytest.raises(RuntimeError):
            jobs.run_slice(run.pk)
    assert state(run)[:2] == ("failed", "program_error") and Counting.ends == ["failed"]
    assert Event.objects.filter(code="slice_broke").count() == 3


def test_another_worker_that_took_the_run_keeps_this_one_from_writing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = made()

    def lose(this: Run, pulse: jobs.Pulse) -> None:
        Run.objects.filter(pk=this.pk).update(fence=99)

    monkeypatch.setattr(Counting, "meanwhile", staticmethod(lose))
    assert jobs.run_slice(run.pk) == "leased" and Counting.stored == []


def test_the_task_sends_a_job_to_the_jobs() -> None:
    run = made()
    assert tasks.run_slice(run.pk) == RunState.FINISHED and len(Counting.stored) == 3
