"""Tests of schedules simulated on event logs: every policy finds all events within its budget and
uses no future events, delays are ordered as expected, and reference figures are reproduced if their
event logs are available."""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from forums.schedule.events import from_rows, read_events
from forums.schedule.policies import POLICIES
from forums.simulation.delay_simulation import (
    BoardLog,
    Setup,
    SetupError,
    Simulation,
    bootstrap_ratio,
    latest_start,
    run_all,
)

DAY = 86400.0
FIRST = 1767571200.0  # Monday 2026-01-05, UTC
LOGS = Path(__file__).resolve().parents[3] / "shared" / "data" / "events"
DIURNAL = 1.2 + np.sin((np.arange(24) - 9) / 24 * 2 * np.pi)


def synthetic(seed=0, volumes=(40, 12, 6, 2), days=29):
    rng = np.random.default_rng(seed)
    rows = []
    for number, volume in enumerate(volumes):
        counts = rng.poisson(volume * np.tile(DIURNAL / DIURNAL.sum(), days))
        for slot in np.repeat(np.arange(24 * days), counts):
            opener = rng.random() < 0.2
            rows.append(
                (
                    f"b{number}",
                    str(rng.integers(0, 500)),
                    opener,
                    FIRST - 20 * DAY + (slot + rng.random()) * 3600,
                )
            )
    return from_rows(rows)


@pytest.fixture(scope="module")
def simulation():
    return Simulation(synthetic(), Setup(date(2026, 1, 5), test_days=4))


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_finds_everything_within_its_budget(simulation, policy):
    outcome = simulation.run(policy, 3)
    assert outcome.delay.not_found == 0
    if policy in ("bra_literal", "clairvoyant"):
        assert outcome.visits_used_per_day <= 12
    else:
        assert outcome.visits_used_per_day == 12
    if outcome.daily is not None:
        assert outcome.daily.sum() / 4 == pytest.approx(outcome.delay.total_per_day)


def test_order_of_the_policies(simulation):
    total = {policy: simulation.run(policy, 5).delay.total_per_day for policy in POLICIES}
    assert total["clairvoyant"] < min(
        value for policy, value in total.items() if policy != "clairvoyant"
    )
    assert max(total["optimal"], total["adaptive"]) < min(
        total["era"], total["lra"], total["bra_literal"]
    )


def test_the_midnight_reading_uses_one_visit_more_a_board():
    midnight = Simulation(synthetic(), Setup(date(2026, 1, 5), test_days=4, reading="midnight"))
    assert midnight.run("bra", 3).visits_used_per_day == 16
    assert midnight.run("era", 3).visits_used_per_day == 12


def test_plans_do_not_look_ahead(simulation):
    """A change of later events changes neither a timetable nor the adaptive policy's visits before
    these events."""
    events = synthetic()
    other = from_rows(
        [
            (events.boards[b], str(t), bool(o), float(m))
            for b, t, o, m in zip(
                events.board, events.thread, events.opener, events.times, strict=True
            )
            if m < FIRST + DAY
        ]
        + [("b3", "x", True, FIRST + DAY + 60.0 * number) for number in range(300)]
    )
    changed = Simulation(other, Setup(date(2026, 1, 5), test_days=4))
    assert (
        changed.timetable("optimal", 12).hour.tolist()
        == simulation.timetable("optimal", 12).hour.tolist()
    )
    one, two = simulation.run_loop(12), changed.run_loop(12)
    first = [moments < FIRST + DAY for _, moments in (one, two)]
    assert one[1][first[0]].tolist() == two[1][first[1]].tolist()
    names = [
        [run.events.boards[board] for board in found[0][rows]]
        for run, found, rows in zip((simulation, changed), (one, two), first, strict=True)
    ]
    assert names[0] == names[1]


def test_importance_shortens_a_boards_delay():
    events = synthetic()
    plain = Simulation(events, Setup(date(2026, 1, 5), test_days=4))
    favoured = Simulation(events, Setup(date(2026, 1, 5), test_days=4, importance={"b3": 30.0}))
    for policy in ("optimal", "wra"):
        visits = [
            np.bincount(one.timetable(policy, 20).board, minlength=4)[3]
            for one in (plain, favoured)
        ]
        assert visits[1] > visits[0]


def test_boards_are_chosen_by_events():
    events = synthetic(volumes=(40, 0.5))
    assert Simulation(events, Setup(date(2026, 1, 5), test_days=4)).boards == 2
    assert Simulation(events, Setup(date(2026, 1, 5), test_days=4, min_events=30)).boards == 1
    with pytest.raises(SetupError):
        Simulation(events, Setup(date(2020, 1, 6)))


def test_days_begin_at_the_sites_midnight():
    zone = ZoneInfo("Asia/Shanghai")
    simulation = Simulation(synthetic(), Setup(date(2026, 1, 5), test_days=4, zone=zone))
    assert simulation.start == FIRST - 8 * 3600
    assert simulation.run("adaptive", 3).visits_used_per_day == 12


def test_a_loop_over_a_change_of_the_clock_keeps_its_budget():
    events = synthetic()
    shift = (
        1774828800.0 - 2 * DAY - FIRST
    )  # the test period contains 2026-03-29, when summer time begins
    moved = replace(events, times=events.times + shift)
    setup = Setup(date(2026, 3, 28), test_days=3, zone=ZoneInfo("Europe/Berlin"))
    assert Simulation(moved, setup).run("adaptive", 4).visits_used_per_day == 16


def test_ratio_to_era(simulation):
    rows = list(run_all(simulation, ["era", "optimal"], [2, 4]))
    assert [(outcome.policy, outcome.visits_per_board) for outcome, _ in rows] == [
        ("era", 2),
        ("optimal", 2),
        ("era", 4),
        ("optimal", 4),
    ]
    assert rows[0][1] == 1.0
    assert rows[3][1] == pytest.approx(
        rows[3][0].delay.total_per_day / rows[2][0].delay.total_per_day
    )


def test_fewer_visits_than_boards_still_find_everything():
    simulation = Simulation(
        synthetic(volumes=(20, 5, 2, 1, 1, 1)), Setup(date(2026, 1, 5), test_days=4)
    )
    board, moments = simulation._expanded(simulation.timetable("optimal", 4))
    assert set(board.tolist()) == set(range(6))
    inside = moments < simulation.stop
    assert inside.sum() == 16


def test_each_event_is_handed_out_once():
    events = from_rows(
        [
            ("a", "1", True, 10.0),
            ("b", "2", True, 20.0),
            ("a", "1", False, 30.0),
            ("b", "2", False, 90.0),
        ]
    )
    log = BoardLog(events, events.weights(0.5), 15.0)
    board, times, weights = log.take(np.array([0, 1]), 30.0)
    assert (board.tolist(), times.tolist(), weights.tolist()) == ([0, 1], [30.0, 20.0], [0.5, 1.0])
    assert len(log.take(np.array([0]), 60.0)[0]) == 0
    assert log.take(np.array([1]), 1e9)[1].tolist() == [90.0]


def test_bootstrap_gives_an_interval_around_the_ratio():
    rng = np.random.default_rng(1)
    base = rng.uniform(50, 100, 30)
    ratio, low, high = bootstrap_ratio(
        base * rng.normal(0.9, 0.02, 30), base, np.random.default_rng(2)
    )
    assert low < ratio < high < 0.93 and ratio == pytest.approx(0.9, abs=0.02)


def test_latest_start_is_the_last_whole_window():
    assert latest_start(synthetic(), 4, ZoneInfo("UTC")) == date(2026, 1, 9)


@pytest.mark.skipif(not LOGS.is_dir(), reason="the shared event logs are not on this machine")
def test_reference_figures_of_one_window():
    events = read_events(LOGS / "29th_vanilla.csv.gz")[0]
    simulation = Simulation(events, Setup(date(2016, 1, 31), min_events=30))
    assert simulation.boards == 5
    found = {policy: [] for policy in ("lra", "optimal", "adaptive")}
    eras = []
    for visits in (4, 7, 11):
        era = simulation.run("era", visits).delay.total_per_day
        eras.append(era)
        for policy, ratios in found.items():
            ratios.append(simulation.run(policy, visits).delay.total_per_day / era)
    assert np.mean(found["lra"]) == pytest.approx(1.074, abs=0.06)
    assert np.mean(found["optimal"]) < 0.78
    assert np.mean(found["adaptive"]) < 0.72


def _log(rows: Sequence[tuple[object, ...]], path: Path) -> Path:
    path.write_text("board,thread,kind,ts\n" + "".join(",".join(map(str, r)) + "\n" for r in rows))
    return path


def _forty_days() -> list[tuple[object, ...]]:
    rng, first = random.Random(1), 1_760_000_000
    return [
        (board, f"{day}-{number}", "new", first + day * 86_400 + rng.randrange(86_400))
        for day in range(40)
        for board in "abc"
        for number in range(rng.randint(2, 6))
    ]


def test_rows_in_another_order_give_the_same_log(tmp_path: Path) -> None:
    rows = [*_forty_days(), ("d", "x", "new", 1_760_000_500), ("c", "y", "new", 1_760_000_500)]
    one, _ = read_events(_log(rows, tmp_path / "one.csv"))
    random.Random(2).shuffle(rows)
    other, _ = read_events(_log(rows, tmp_path / "other.csv"))
    assert (one.boards, one.threads) == (other.boards, other.threads)
    for name in ("board", "thread", "opener", "times"):
        assert (getattr(one, name) == getattr(other, name)).all()


@pytest.mark.parametrize("far", [[12_300_000_000], [1_000], [-1_000_000_000, 12_300_000_000]])
def test_rows_far_from_all_others_are_left_out_and_told(tmp_path: Path, far: list[int]) -> None:
    rows = _forty_days()
    added = [*rows, *(("a", f"far {at}", "new", at) for at in far)]
    events, bad = read_events(_log(added, tmp_path / "log.csv"))
    assert (len(events), bad.count) == (len(rows), len(far))
    assert bad.first[0] == (0, "far from the time of all other rows")


def test_a_log_of_a_few_rows_has_no_outliers(tmp_path: Path) -> None:
    rows = [("a", str(year), "new", year * 31_536_000) for year in range(30, 49)]
    assert len(read_events(_log(rows, tmp_path / "log.csv"))[0]) == len(rows)


def test_a_part_of_a_log_after_a_long_gap_stays(tmp_path: Path) -> None:
    rows = [*_forty_days(), *(("a", f"later {at}", "new", 1_790_000_000 + at) for at in range(9))]
    assert len(read_events(_log(rows, tmp_path / "log.csv"))[0]) == len(rows)


def test_each_line_that_an_open_quote_takes_counts_as_bad(tmp_path: Path) -> None:
    rows = _forty_days()
    path = _log(rows, tmp_path / "log.csv")
    lines = path.read_text().splitlines()
    lines[100] = 'a,"open,new,1760000000'
    path.write_text("\n".join(lines) + "\n")
    events, bad = read_events(path)
    assert len(events) == 99 and bad.count == len(rows) - 99
    assert bad.first[0].line == 101 and "lines in one quote" in bad.first[0].reason


def test_more_visits_than_a_loop_can_make_are_one_line() -> None:
    with pytest.raises(SetupError, match="at most 480 visits a board and day"):
        Simulation(synthetic(), Setup(date(2026, 1, 5), test_days=2)).run("adaptive", 1_000)
