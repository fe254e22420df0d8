"""Tests of uploaded event logs, and of simulations as runs: in steps, stopped, repeated, never by
two workers at once."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.conf import LazySettings

from crawlmgr import jobs
from crawlmgr.clock import SYSTEM
from crawlmgr.models import Host, Run, RunState
from crawlmgr.runs import runs
from forums.models import Board, EventLog, Post, Simulation, Site, Thread
from forums.schedule.events import EventsError, read_events
from forums.simulation import delay_simulation, event_logs, simulations

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SCHEDULES: dict[str, Any] = {
    "policies": ["era", "bra", "optimal"],
    "visits_per_board": [4, 6],
    "history_days": 20,
    "test_days": 5,
    "theta": 0.5,
    "timezone": "UTC",
    "reading": "cyclic",
    "min_events": 0.0,
    "bins": 24,
    "target_hours": 1.0,
}
FETCHING: dict[str, Any] = {
    "policies": ["bic", "eic"],
    "days": 3,
    "cycle_hours": 6.0,
    "fetches": None,
    "timezone": "UTC",
}


def stored(name: str, pieces: list[bytes], **values: Any) -> EventLog:
    return event_logs.read_if_small(event_logs.store(name, pieces, **values))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings: LazySettings) -> Iterator[Path]:
    settings.EVENTS_DIR = tmp_path / "events"
    yield tmp_path / "events"


def csv_of(boards: int = 3, days: int = 40, seed: int = 1) -> bytes:
    """A log of boards with different volumes, with more events in the evening than in the
    morning."""
    rng = np.random.default_rng(seed)
    lines = ["board,thread,kind,ts"]
    start = NOW.timestamp() - days * 86400
    for board in range(boards):
        for day in range(days):
            for number in range(int(rng.poisson(3.0 * (board + 1)))):
                hour = float(rng.choice([9.0, 14.0, 20.0, 21.0])) + float(rng.random())
                kind = "new" if number % 4 == 0 else "reply"
                lines.append(
                    f"b{board},{board}-{day},{kind},{start + day * 86400 + hour * 3600:.0f}"
                )
    return "\n".join(lines).encode()


def log(**values: Any) -> EventLog:
    return stored("log.csv", [csv_of()], now=NOW, **values)


def worked(simulation: Simulation, seconds: float | None = None) -> Simulation:
    assert simulation.run is not None
    jobs.run_slice(simulation.run.pk, seconds=seconds)
    simulation.refresh_from_db()
    simulation.run.refresh_from_db()
    return simulation


def test_an_upload_is_read_once_and_described(folder: Path) -> None:
    kept = stored("my log.csv.gz", [gzip.compress(csv_of() + b"\nnonsense\n")], now=NOW)
    assert (
        kept.boards == 3
        and kept.events > 100
        and kept.bad_rows == 1
        and kept.bad_first[0][1].startswith("1 columns")
    )
    assert kept.first is not None and kept.last is not None and kept.first < kept.last < NOW
    assert [path.name for path in folder.iterdir()] == [kept.file] and kept.file.endswith(".csv.gz")
    assert len(event_logs.read(kept)) == kept.events


@pytest.mark.parametrize(
    "name", ["../secret.key", "/etc/passwd", "a/../../x.csv", "..", ".csv", "x.csv\n", "secret.key"]
)
def test_a_log_of_a_changed_backup_reads_and_removes_no_other_file(
    folder: Path, tmp_path: Path, name: str
) -> None:
    outside = folder.parent / "secret.key"
    outside.write_text("board,thread,kind,ts\na,1,new,1700000000\n")
    kept = log()
    EventLog.objects.filter(pk=kept.pk).update(file=name if name != "secret.key" else str(outside))
    kept.refresh_from_db()
    with pytest.raises(EventsError, match="no name of an event file"):
        event_logs.read(kept)
    event_logs.remove(kept)
    assert outside.exists() and not EventLog.objects.exists()


@pytest.mark.parametrize(
    "text", [b"", b"a,b\n1,2\n", b"board,thread,kind,ts\n", b"\x1f\x8bbroken", b"\xff\xfe\x00"]
)
def test_what_is_no_log_is_refused_in_one_line_and_leaves_nothing(
    folder: Path, text: bytes
) -> None:
    with pytest.raises(ValueError) as refused:
        stored("upload.csv", [text], now=NOW)
    assert "\n" not in str(refused.value) and str(folder) not in str(refused.value)
    assert not list(folder.iterdir()) and not EventLog.objects.exists()


def test_a_small_file_that_unpacks_to_a_large_one_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_logs, "LARGEST_BYTES", 10_000)
    bomb = gzip.compress(b"board,thread,kind,ts\n" + b"b,t,new,1\n" * 5000)
    assert len(bomb) < 10_000
    with pytest.raises(ValueError, match="command line"):
        stored("bomb.csv.gz", [bomb], now=NOW)
    assert not list(folder.iterdir())


def site_with_posts() -> Site:
    host = Host.objects.create(key="forum.example")
    site = Site.objects.create(
        name="A forum",
        url="http://forum.example/",
        url_hash=1,
        host=host,
        timezone="Asia/Shanghai",
        added=NOW,
    )
    for number in range(2):
        board = Board.objects.create(
            site=site, name="Same name", url=f"http://forum.example/{number}", key=str(number)
        )
        thread = Thread.objects.create(
            site=site, board=board, key=str(number), url="http://x/", title="t", first_seen=NOW
        )
        for place in range(4):
            posted = None if place == 3 else NOW - timedelta(days=30 - place, hours=number)
            Post.objects.create(
                thread=thread, key=str(place), position=place, posted=posted, first_seen=NOW
            )
    return site


def test_stored_posts_become_a_log_that_stays_as_it_was() -> None:
    site = site_with_posts()
    kept = event_logs.read_if_small(event_logs.create_unwritten(site, now=NOW))
    events, bad = read_events(event_logs.path(kept))
    assert (kept.boards, kept.events, bad.count, kept.timezone) == (2, 6, 0, "Asia/Shanghai")
    assert events.opener.sum() == 2 and len(events.threads) == 2
    Post.objects.all().delete()
    assert len(event_logs.read(kept)) == 6
    with pytest.raises(ValueError, match="no post"):
        event_logs.read_if_small(event_logs.create_unwritten(site, now=NOW))


def test_a_simulation_gives_what_the_pure_program_gives() -> None:
    kept = log()
    made = worked(simulations.start(kept, "schedules", SCHEDULES, now=NOW))
    assert (
        made.run is not None
        and made.run.state == RunState.FINISHED
        and made.run.stopped_by == "simulated"
    )
    assert made.done == made.total == 7
    pure = delay_simulation.Simulation(
        event_logs.read(kept), simulations.schedule_setup(made.setup)
    )
    expected = [
        (outcome.policy, outcome.visits_per_board, outcome.delay.total_per_day)
        for outcome, _ratio in delay_simulation.run_all(
            pure, SCHEDULES["policies"], SCHEDULES["visits_per_board"]
        )
    ]
    assert [
        (row["policy"], row["visits_per_board"], row["total_delay_per_day"])
        for row in made.result["rows"]
    ] == expected
    window = made.result["window"]
    assert window["boards"] == 3 and len(window["profiles"]) == 3 and len(window["all"]) == 24
    assert [one["days"] for one in window["settling"]][-1] == 20 and window["settling"][-1][
        "weights_off"
    ] == 0


def test_a_slice_ends_in_time_and_the_next_goes_on_where_it_stood() -> None:
    made = simulations.start(log(), "schedules", SCHEDULES, now=NOW)
    seen = []
    for _ in range(20):
        made = worked(made, seconds=0.0001)
        seen.append(made.done)
        if made.run is not None and made.run.state == RunState.FINISHED:
            break
    assert seen[-1] == 7 and len(made.result["rows"]) == 6 and sorted(seen) == seen


def test_stop_takes_hold_within_a_step_and_what_was_found_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = simulations.start(
        log(),
        "schedules",
        {**SCHEDULES, "policies": ["era", "adaptive"], "visits_per_board": [4]},
        now=NOW,
    )
    assert made.run is not None
    run, calls = made.run, []
    true_pulse = jobs._Slice._pulse

    def pulse(slice_: jobs._Slice) -> None:
        calls.append(1)
        if len(calls) == 50:
            runs.stop(run.pk, SYSTEM.now())
            slice_.heartbeat.last -= timedelta(seconds=9)
        true_pulse(slice_)

    monkeypatch.setattr(jobs._Slice, "_pulse", pulse)
    made = worked(made)
    assert made.run is not None and made.run.state == RunState.STOPPED and len(calls) == 50
    assert [row["policy"] for row in made.result["rows"]] == ["era"]


def test_a_step_that_would_outlast_its_task_is_told_and_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = simulations.start(
        log(),
        "schedules",
        {**SCHEDULES, "policies": ["adaptive", "era"], "visits_per_board": [4]},
        now=NOW,
    )
    true_pulse = jobs._Slice._pulse

    def pulse(slice_: jobs._Slice) -> None:
        if (
            slice_.job._experiment is not None
            and slice_.job._experiment.setup.test_days == 5
            and slice_.job.simulation.done == 1
        ):  # type: ignore[attr-defined]
            raise jobs.StepTooLong("72 s")
        true_pulse(slice_)

    monkeypatch.setattr(jobs._Slice, "_pulse", pulse)
    made = worked(made)
    rows = {row["policy"]: row for row in made.result["rows"]}
    assert rows["adaptive"]["too_long"] == "72 s" and rows["era"]["total_delay_per_day"] > 0
    assert made.run is not None and made.run.state == RunState.FINISHED


def test_two_workers_do_not_do_the_same_twice() -> None:
    made = simulations.start(log(), "schedules", SCHEDULES, now=NOW)
    assert made.run is not None
    assert runs.take(made.run.pk, "another", SYSTEM.now(), 90) is not None
    assert jobs.run_slice(made.run.pk) == "leased"
    made.refresh_from_db()
    assert made.done == 0


def test_finding_changes_is_simulated_too() -> None:
    made = worked(simulations.start(log(), "fetching", FETCHING, now=NOW))
    assert made.run is not None and made.run.state == RunState.FINISHED and made.problem == ""
    assert [row["policy"] for row in made.result["rows"]] == ["bic", "eic"]
    assert all(len(row["days"]) == 3 for row in made.result["rows"])
    assert made.result["rows"][0]["recall"] > 0.9


def test_a_window_that_the_log_cannot_feed_is_told(settings: LazySettings) -> None:
    early = {**SCHEDULES, "start": "2020-01-01"}
    made = worked(simulations.start(log(), "schedules", early, now=NOW))
    assert (
        made.run is not None
        and made.run.stopped_by == "unusable_log"
        and "2020-01-01" in made.problem
    )
    kept = log()
    event_logs.path(kept).unlink()
    gone = worked(simulations.start(kept, "fetching", FETCHING, now=NOW))
    assert gone.problem.startswith("log.csv: ") and str(settings.EVENTS_DIR) not in gone.problem


def test_removal_takes_the_run_the_file_and_the_results(
    folder: Path, django_capture_on_commit_callbacks: Any
) -> None:
    kept = log()
    made = simulations.start(kept, "schedules", SCHEDULES, now=NOW)
    simulations.remove(made, NOW)
    assert Run.objects.get().state == RunState.STOPPED and not Simulation.objects.exists()
    with django_capture_on_commit_callbacks(execute=True):
        event_logs.remove(kept)
    assert not list(folder.iterdir()) and not EventLog.objects.exists()


def test_the_posts_of_a_large_forum_are_frozen_by_the_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_logs, "SMALL_POSTS", 3)
    promised = event_logs.create_unwritten(site_with_posts(), now=NOW)
    assert (
        not event_logs.small(promised)
        and event_logs.unread(promised)
        and not event_logs.path(promised).exists()
    )
    made = worked(simulations.start(promised, "fetching", FETCHING, now=NOW))
    promised.refresh_from_db()
    assert (
        (promised.events, promised.boards) == (6, 2)
        and event_logs.path(promised).exists()
        and made.setup["start"]
    )


def test_a_second_simulation_of_a_log_that_the_first_has_read_meanwhile_runs_too() -> None:
    EventLog.objects.filter(pk=log().pk).update(first=None, last=None)
    unread = EventLog.objects.get()
    both = [simulations.start(unread, "fetching", FETCHING, now=NOW) for _ in range(2)]
    first, second = (worked(one) for one in both)
    assert (
        second.setup["start"] == first.setup["start"] and second.done == first.done == first.total
    )
    assert (
        second.run is not None
        and second.run.state == RunState.FINISHED
        and second.run.stopped_by == "simulated"
    )
