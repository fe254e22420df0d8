"""Runs: allowed changes of state, leases with fences, requests of users, slices that end with
errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings

from crawlmgr.clock import SYSTEM
from crawlmgr.management import foreground
from crawlmgr.models import TRANSITIONS, Event, Run, RunState
from crawlmgr.runs import runs
from tests.clocks import ManualClock

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
pytestmark = pytest.mark.django_db


def make(**values: object) -> Run:
    return runs.create(  # type: ignore[arg-type]
        "forum", "a forum", parameters={}, now=NOW, start=False, **values
    )


def test_two_active_runs_never_share_what_is_exclusive() -> None:
    first = make(exclusive="forum 1")
    with pytest.raises(runs.Busy) as busy:
        make(exclusive="forum 1")
    assert busy.value.run == first
    runs.stop(first.pk, NOW)
    assert make(exclusive="forum 1").pk != first.pk
    make(exclusive="forum 2")


def test_a_lease_is_held_by_one_and_expires() -> None:
    run = make()
    lease = runs.take(run.pk, "a", NOW, 30)
    assert lease is not None
    assert runs.take(run.pk, "b", NOW + timedelta(seconds=29), 30) is None
    second = runs.take(run.pk, "b", NOW + timedelta(seconds=30), 30)
    assert second is not None and second.fence == lease.fence + 1
    with pytest.raises(runs.LeaseLost):
        runs.count(lease, NOW, {"fetched": 1})
    with pytest.raises(runs.LeaseLost):
        runs.beat(lease, NOW)
    runs.count(second, NOW, {"fetched": 2, "bytes": 10})
    run.refresh_from_db()
    assert (run.fetched, run.bytes, run.state, run.started) == (2, 10, RunState.RUNNING, NOW)


def test_a_holder_whose_clock_stands_still_keeps_its_lease_by_the_real_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, hour = make(), timedelta(hours=1)
    clock, real = ManualClock(NOW - hour), ManualClock(NOW)
    monkeypatch.setattr(foreground, "SYSTEM", real)

    def slice_(run_id: int, *, clock: ManualClock, lag: Callable[[], float], **_: Any) -> str:
        lease = runs.take(run_id, "a", clock.now(), 30, lag)
        assert lease is not None
        for _page in range(5):
            real.sleep(20)
            assert runs.take(run_id, "b", real.now(), 30) is None
            runs.count(lease, clock.now(), {"fetched": 1})
        real.sleep(20)
        runs.beat(lease, clock.now())
        real.sleep(29)
        assert runs.take(run_id, "b", real.now(), 30) is None
        real.sleep(1)
        assert runs.take(run_id, "b", real.now(), 30) is not None
        runs.stop(run_id, real.now())
        return str(RunState.STOPPED)

    monkeypatch.setattr(foreground.engine, "run_slice", slice_)
    assert foreground.work(run, "pages", clock).fetched == 5


def test_a_wish_is_carried_out_at_once_where_nobody_works_and_noted_where_somebody_does() -> None:
    run = make()
    assert runs.pause(run.pk, NOW).state == RunState.PAUSED
    assert runs.take(run.pk, "a", NOW, 30) is None
    assert runs.resume(run.pk, NOW, start=False).state == RunState.QUEUED
    lease = runs.take(run.pk, "a", NOW, 30)
    assert lease is not None
    assert runs.stop(run.pk, NOW).state == RunState.RUNNING
    assert runs.beat(lease, NOW) == "stop"
    runs.end(lease, RunState.STOPPED, "stopped", NOW)
    run.refresh_from_db()
    assert (run.state, run.wanted, run.finished, run.lease_until) == (
        RunState.STOPPED,
        "",
        NOW,
        None,
    )


def test_a_wish_for_a_dead_holder_needs_no_holder() -> None:
    run = make()
    runs.take(run.pk, "a", NOW, 30)
    assert runs.stop(run.pk, NOW + timedelta(seconds=31)).state == RunState.STOPPED


@pytest.mark.parametrize("state", list(RunState))
@pytest.mark.parametrize(
    ("verb", "target"), [(runs.pause, "paused"), (runs.stop, "stopped"), (runs.resume, "queued")]
)
def test_only_what_the_table_allows(state: RunState, verb: object, target: str) -> None:
    run = make()
    Run.objects.filter(pk=run.pk).update(state=state)
    words = {"start": False} if verb is runs.resume else {}
    if target in TRANSITIONS[state]:
        assert verb(run.pk, NOW, **words).state == target  # type: ignore[operator]
    elif state == target and verb is not runs.resume:
        assert (
            verb(  # type: ignore[operator]
                run.pk, NOW
            ).state
            == state
        ), "asking twice is no error"
    else:
        with pytest.raises(runs.WrongState):
            verb(run.pk, NOW, **words)  # type: ignore[operator]
        run.refresh_from_db()
        assert run.state == state


def test_ended_runs_stay_ended() -> None:
    for state in (RunState.FINISHED, RunState.STOPPED):
        assert TRANSITIONS[state] == frozenset()


def test_a_slice_that_breaks_three_times_without_progress_fails_the_run() -> None:
    run = make()
    for number in range(3):
        lease = runs.take(run.pk, "a", NOW, 30)
        assert lease is not None
        assert runs.broke(lease, "KeyError: x", NOW) is (number == 2)
    run.refresh_from_db()
    assert run.state == RunState.FAILED and run.stopped_by == "program_error"
    assert Event.objects.filter(run=run, code="slice_broke").count() == 3


def test_progress_forgives_earlier_breaks() -> None:
    run = make()
    for _ in range(5):
        lease = runs.take(run.pk, "a", NOW, 30)
        assert lease is not None
        runs.count(lease, NOW, {"fetched": 1})
        assert not runs.broke(lease, "x", NOW)


def test_the_dispatcher_leaves_a_run_to_its_caller_until_that_should_have_taken_it() -> None:
    now = SYSTEM.now()
    yesterday = now - timedelta(days=1)  # of a demonstration's clock
    run = runs.create("forum", "a forum", parameters={}, now=yesterday, start=False)
    late = now + timedelta(seconds=settings.LEASE_SECONDS + 5)
    assert runs.ready(now) == [] and runs.ready(late) == [run.pk]
    assert runs.take(run.pk, "the caller", yesterday, 30) is not None
    Run.objects.filter(pk=run.pk).update(state=RunState.PAUSED, lease_until=None)
    runs.resume(run.pk, yesterday, start=False)
    assert runs.ready(now) == [] and runs.ready(late) == [run.pk]


def test_ready_names_runs_without_a_worker_whose_wait_is_over() -> None:
    fresh, held, waiting, over, paused = (make() for _ in range(5))
    Run.objects.filter(pk=fresh.pk).update(waiting_until=None)
    runs.take(held.pk, "a", NOW, 30)
    for run, until in ((waiting, NOW + timedelta(minutes=5)), (over, NOW - timedelta(seconds=1))):
        lease = runs.take(run.pk, "a", NOW, 30)
        assert lease is not None and runs.wait(lease, "h", until, NOW)
    runs.pause(paused.pk, NOW)
    assert runs.ready(NOW) == [fresh.pk, over.pk]
    waiting.refresh_from_db()
    over.refresh_from_db()
    assert (waiting.waits, waiting.waited_seconds, over.waits, over.waited_seconds) == (
        1,
        300.0,
        1,
        0.0,
    )
    assert runs.ready(NOW + timedelta(minutes=6)) == [fresh.pk, held.pk, waiting.pk, over.pk]


def test_a_resumed_run_starts_with_a_clean_count() -> None:
    run = make()
    for _ in range(runs.BREAKS_ALLOWED):
        lease = runs.take(run.pk, "a", NOW, 30)
        assert lease is not None
        runs.broke(lease, "x", NOW)
    Run.objects.filter(pk=run.pk).update(strains=7)
    runs.resume(run.pk, NOW)
    run.refresh_from_db()
    assert (run.state, run.breaks, run.strains) == (RunState.QUEUED, 0, 0)
    lease = runs.take(run.pk, "a", NOW, 30)
    assert lease is not None and not runs.broke(lease, "x", NOW), (
        "one break after that is the first one"
    )


def test_passing_trouble_is_counted_apart_and_forgiven_by_progress() -> None:
    run = make()
    lease = runs.take(run.pk, "a", NOW, 30)
    assert lease is not None and runs.strained(lease, "locked", NOW) == 1
    lease = runs.take(run.pk, "a", NOW, 30)
    assert lease is not None and runs.strained(lease, "locked", NOW) == 2
    lease = runs.take(run.pk, "a", NOW, 30)
    assert lease is not None
    runs.count(lease, NOW, {"fetched": 1})
    assert runs.strained(lease, "locked", NOW) == 1
    Run.objects.filter(pk=run.pk).update(strains=runs.STRAINS_ALLOWED)
    assert runs.strained(lease, "locked", NOW) == 0, "for ever is no passing trouble"
    with pytest.raises(runs.LeaseLost):
        runs.strained(replace(lease, fence=lease.fence - 1), "locked", NOW)
    run.refresh_from_db()
    assert run.state == RunState.RUNNING and run.breaks == 0
    assert Event.objects.filter(run=run, code="database_trouble").count() == 2, (
        "told once, until there is progress"
    )
