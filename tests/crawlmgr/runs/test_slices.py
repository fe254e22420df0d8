"""How a slice (one period of work on a run) ends after temporary database errors, a full disk, or a
program error."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from django.conf import LazySettings
from django.db import IntegrityError, InterfaceError, OperationalError

from crawlmgr import engine, jobs
from crawlmgr.conf import CrawlSettings
from crawlmgr.database import sql as trouble
from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.models import Event, Run, RunState
from crawlmgr.runs import runs, slices
from tests.clocks import ManualClock

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 3, 1, tzinfo=UTC)


def wrapped(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def locked(code: int = sqlite3.SQLITE_BUSY) -> Exception:
    cause = sqlite3.OperationalError("database is locked")
    cause.sqlite_errorcode = code
    return wrapped(OperationalError("database is locked"), cause)


def lost() -> Exception:
    return wrapped(
        OperationalError("lost"),
        psycopg.OperationalError("server closed the connection unexpectedly"),
    )


def from_postgresql(name: str) -> Exception:
    return wrapped(OperationalError(name), getattr(psycopg.errors, name)())


PASSING = [
    locked(),
    locked(sqlite3.SQLITE_BUSY_SNAPSHOT),
    locked(sqlite3.SQLITE_LOCKED_SHAREDCACHE),
    lost(),
    wrapped(InterfaceError("closed"), psycopg.InterfaceError("the connection is closed")),
    *map(
        from_postgresql,
        (
            "SerializationFailure",
            "DeadlockDetected",
            "AdminShutdown",
            "CrashShutdown",
            "CannotConnectNow",
        ),
    ),
]
FULL = [locked(sqlite3.SQLITE_FULL), from_postgresql("DiskFull")]
LASTING = [
    locked(sqlite3.SQLITE_CORRUPT),
    from_postgresql("SyntaxError"),
    from_postgresql("QueryCanceled"),
    ValueError("x"),
    wrapped(IntegrityError("twice"), psycopg.errors.UniqueViolation()),
    OperationalError("without a cause"),
    *FULL,
]


@pytest.mark.parametrize("error", PASSING, ids=str)
def test_what_passes(error: Exception) -> None:
    assert trouble.passing(error) and not trouble.full(error)


@pytest.mark.parametrize("error", LASTING, ids=str)
def test_what_does_not_pass(error: Exception) -> None:
    assert not trouble.passing(error) and trouble.full(error) == (error in FULL)


class Troubled:
    """A crawler that raises one of the prepared errors per slice and ends after the last."""

    errors: list[Exception] = []
    forgotten = 0

    def settings(self, run: Run) -> CrawlSettings:
        return CrawlSettings()

    def begin(self, run: Run, now: datetime) -> Sequence[NewUrl]:
        return ()

    def idle(self, run: Run, now: datetime) -> str:
        runs.Run.objects.filter(pk=run.pk).update(detail="half done")
        if Troubled.errors:
            raise Troubled.errors.pop(0)
        return "complete"

    def forget(self, run: Run) -> None:
        Troubled.forgotten += 1

    def ended(self, *_: Any) -> None:
        """Does nothing: the crawler holds no resources."""


class TroubledJob:
    """A job that raises the errors in `Troubled.errors`, one per slice, and ends after the last."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def step(self, pulse: jobs.Pulse) -> str:
        if Troubled.errors:
            raise Troubled.errors.pop(0)
        return "complete"

    def ended(self, *_: Any) -> None:
        """Does nothing: the job holds no resources."""


@pytest.fixture(params=["crawl", "job"])
def work(
    request: pytest.FixtureRequest, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> Any:
    settings.CRAWLERS = {"crawl": f"{__name__}.Troubled"}
    settings.JOBS = {"job": f"{__name__}.TroubledJob"}
    monkeypatch.setattr(Troubled, "forgotten", 0)
    run = runs.create(request.param, "a run", parameters={}, now=NOW, start=False)

    def one(errors: list[Exception], seconds: float | None = 20) -> tuple[str, Run, float]:
        clock = ManualClock(NOW)
        Troubled.errors = list(errors)
        slice_of = engine.run_slice if run.kind == "crawl" else jobs.run_slice
        state = slice_of(run.pk, clock=clock, seconds=seconds)
        run.refresh_from_db()
        return state, run, (clock.now() - NOW).total_seconds()

    return one


def test_passing_trouble_ends_neither_the_run_nor_its_slice(work: Any) -> None:
    state, run, waited = work(PASSING[:5])
    assert (state, run.state, run.stopped_by, run.breaks, run.detail) == (
        "finished",
        "finished",
        "complete",
        0,
        "",
    )
    assert waited >= 0.05 * 5 and not run.lease_holder
    assert [event.code for event in Event.objects.filter(run=run)] in (
        ["database_trouble"],
        ["database_trouble"] * 5,
    )
    assert Troubled.forgotten == (5 if run.kind == "crawl" else 0), (
        "what was kept in memory of it has not happened"
    )


def test_a_slice_goes_on_no_longer_than_its_time(work: Any) -> None:
    state, run, waited = work(PASSING * 20, seconds=2)
    assert (state, run.state, run.breaks) == ("running", "running", 0) and run.lease_until is None
    assert 2 <= waited < 8
    assert work([])[0] == "finished"


def test_trouble_that_does_not_pass_is_the_runs_own(work: Any) -> None:
    with pytest.raises(OperationalError):
        (
            work([locked()] * 1000, seconds=None)
            if Run.objects.get().kind == "job"
            else work([from_postgresql("SyntaxError")])
        )
    run = Run.objects.get()
    assert (run.breaks, run.state) == (1, RunState.RUNNING) and Event.objects.filter(
        code="slice_broke"
    ).count() == 1


@pytest.mark.parametrize("error", FULL, ids=str)
def test_a_full_disk_pauses_the_run(work: Any, error: Exception) -> None:
    state, run, _ = work([error])
    assert (state, run.state, run.stopped_by, run.breaks) == ("paused", "paused", "disk_low", 0)


def test_where_not_even_that_can_be_stored_it_is_said(
    work: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise FULL[0]

    monkeypatch.setattr(runs, "end", refuse)
    assert work([FULL[0]])[0] == slices.NO_ROOM
