"""Tests of the figures shown on the tuning page: policies and replays keep their budgets, the
approximate optimal timetable is close to the exact one, and waiting times at fixed intervals are
right."""

from __future__ import annotations

from datetime import date
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from forums.schedule.events import Events, from_rows
from forums.schedule.optimal import OptimalPlanner
from forums.schedule.paper import Demand
from forums.schedule.policies import PAPER_POLICIES
from forums.simulation import tuning
from forums.simulation.delay_simulation import Setup, Simulation


def basis(boards: int = 6, seed: int = 2) -> tuning.Basis:
    rng = np.random.default_rng(seed)
    hours = np.arange(24)
    volume = np.exp(rng.normal(0, 1.2, boards))[:, None] * 4
    rates = (
        volume
        * (1.05 + np.sin((hours - rng.uniform(10, 16, boards)[:, None]) / 24 * 2 * np.pi))
        / 24
    )
    return tuning.Basis(rates, rates.copy(), np.full(boards, 6.0))


@pytest.mark.parametrize("policy", tuning.CURVES)
@pytest.mark.parametrize("visits", [1, 5, 6, 37])
def test_every_policy_keeps_its_budget_also_with_fewer_visits_than_boards(
    policy: str, visits: int
) -> None:
    table = tuning.day(policy, basis(), visits)
    assert (table.visits_per_day() == visits).all()
    assert tuning.visits_per_board(table).sum() == pytest.approx(visits)
    assert (tuning.visits_per_board(table) > 0).all()


@pytest.mark.parametrize("visits", [12, 40, 90])
def test_the_quick_timetable_is_near_the_exact_one(visits: int) -> None:
    known = basis()
    quick = tuning.expected(tuning.day("optimal", known, visits), known).sum()
    exact = tuning.expected(
        tuning.day("adaptive", known, visits, OptimalPlanner(Demand(known.rates))), known
    ).sum()
    assert exact <= quick * (1 + 1e-9) and quick <= exact * 1.025


def test_the_curve_falls_and_the_optimum_lies_lowest() -> None:
    known = basis()
    numbers = tuning.numbers_around(24)
    assert numbers[0] == 6 and numbers[-1] == 96 and 24 in numbers
    curves = {policy: tuning.curve(policy, known, numbers) for policy in tuning.CURVES}
    assert all(
        later < sooner
        for sooner, later in zip(curves["optimal"], curves["optimal"][1:], strict=False)
    )
    assert all(
        best <= other
        for name in PAPER_POLICIES
        for best, other in zip(curves["optimal"], curves[name], strict=True)
    )


@pytest.mark.parametrize(("boards", "visits"), [(6, 40), (19, 76), (19, 300)])
def test_between_its_points_the_optimal_curve_is_near_what_it_would_be(
    boards: int, visits: int
) -> None:
    known = basis(boards, seed=9)
    numbers = tuning.numbers_around(visits)
    drawn = tuning.curve("optimal", known, numbers)
    true = [
        tuning.expected(tuning.day("optimal", known, number), known).sum() for number in numbers
    ]
    assert drawn == pytest.approx(true, rel=0.02)
    assert all(
        best <= other * 1.005
        for best, other in zip(drawn, tuning.curve("wra", known, numbers), strict=True)
    )


def test_a_fixed_interval_waits_half_of_it() -> None:
    known = basis(3)
    assert tuning.interval_visits(known) == pytest.approx(12)
    assert tuning.interval_delay(known) == pytest.approx(known.rates.sum(axis=1) * 3.0)


def log(days: int = 30) -> Events:
    rng = np.random.default_rng(5)
    start = 1_700_000_000 // 86400 * 86400
    rows = [
        (
            f"b{board}",
            f"{board}-{number}",
            number % 3 == 0,
            start + float(rng.uniform(0, days)) * 86400,
        )
        for board in range(3)
        for number in range(60 * (board + 1))
    ]
    return from_rows(rows)


def test_a_replay_uses_any_budget_exactly() -> None:
    events = log()
    start = date.fromordinal(date(1970, 1, 1).toordinal() + int(events.times[0] // 86400) + 22)
    experiment = Simulation(
        events, Setup(start=start, history_days=15, test_days=5, zone=ZoneInfo("UTC"))
    )
    found = tuning.replay(experiment, ("era", "bra", "optimal", "adaptive"), 17)
    assert [one.visits_used_per_day for one in found] == [17.0] * 4
    assert all(one.delay.mean_hours is not None and 0 < one.delay.mean_hours < 24 for one in found)
    with pytest.raises(ValueError, match="no timetable"):
        tuning.day("nonsense", basis(), 4)


def test_requests_are_held_to_the_limits_of_their_sites() -> None:
    visits, cost, site = np.array([10.0, 5.0, 20.0]), np.array([2.0, 4.0, 1.0]), np.array([0, 0, 1])
    free = tuning.requests(visits, cost, site, np.array([np.inf, 20.0]))
    assert (free.asked, free.allowed, free.over, free.visits) == (60.0, np.inf, 0, 35.0)
    held = tuning.requests(visits, cost, site, np.array([20.0, 19.0]))
    assert (held.over, held.allowed) == (2, 39.0) and held.visits == pytest.approx(7.5 + 19.0)
