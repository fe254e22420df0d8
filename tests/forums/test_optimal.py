"""The optimal timetable: the dynamic programme compared with brute force, the final refinement, and
the planner's guarantees."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forums.schedule.optimal import (
    DayProgramme,
    OptimalPlanner,
    closed_form_hours,
    expected_cost,
    polish,
    polished_closed_form,
)
from forums.schedule.paper import Demand, bra, era, grid, lra, wra
from forums.schedule.rhythm import Intensity
from forums.schedule.timetable import Timetable

DIURNAL = np.array(
    [2, 1, 1, 0.5, 0.5, 0.5, 1, 2, 4, 6, 7, 7, 6, 6, 7, 8, 8, 7, 7, 8, 9, 9, 7, 4], dtype=float
)


def demand(seed, boards):
    rng = np.random.default_rng(seed)
    return Demand(
        rng.lognormal(0, 1.2, boards)[:, None] * rng.dirichlet(40 * DIURNAL / DIURNAL.sum(), boards)
    )


RATES = st.lists(st.floats(0, 10), min_size=24, max_size=24).filter(lambda row: sum(row) > 0.1)


@settings(max_examples=6, deadline=None)
@given(RATES)
def test_programme_equals_brute_force(rates):
    intensity = Intensity.of(np.array([rates]))
    programme = DayProgramme.of(intensity, 0, most=3, size=24)
    for visits in (1, 2, 3):
        best = min(
            intensity.day_cost(0, np.array(hours, dtype=float))
            for hours in itertools.combinations(range(24), visits)
        )
        assert programme.costs[visits - 1] == pytest.approx(best, rel=1e-9, abs=1e-9)
        found = programme.hours(visits)
        assert len(found) == visits
        assert intensity.day_cost(0, found) == pytest.approx(best, rel=1e-9, abs=1e-9)


def test_programme_is_convex_in_the_number_of_visits():
    intensity = Intensity.of(demand(5, 4).rates)
    for board in range(4):
        costs = DayProgramme.of(intensity, board, most=12, size=48).costs
        assert (np.diff(costs, n=2) > -1e-9).all()


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6), st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(0, 3)
)
def test_polish_never_loses_and_no_single_visit_can_be_improved(seed, visits, night):
    rng = np.random.default_rng(seed)
    rates = rng.exponential(size=(len(visits), 24))
    rates[:, : 3 * night] = 0.0
    intensity = Intensity.of(rates)
    board, _ = grid(np.array(visits))
    start = closed_form_hours(rates, np.array(visits))[1]
    hours = polish(intensity, board, start, sweeps=400)
    for number in range(len(visits)):
        own = hours[board == number]
        least = intensity.day_cost(number, own)
        assert least <= intensity.day_cost(number, start[board == number]) + 1e-9
        for place, step in itertools.product(range(len(own)), (-0.25, -0.05, 0.05, 0.25)):
            moved = own.copy()
            moved[place] += step
            assert intensity.day_cost(number, moved) >= least * (1 - 1e-4)


def test_closed_form_with_polish_comes_near_the_programme():
    wish = demand(8, 8)
    exact = OptimalPlanner(wish, exact=True)
    quick = OptimalPlanner(wish, exact=False)
    intensity = Intensity.of(wish.rates)
    for per_board in (4, 8, 11):
        best = expected_cost(intensity, exact.plan(8 * per_board)).sum()
        near = expected_cost(intensity, quick.plan(8 * per_board)).sum()
        assert best <= near * (1 + 1e-9)
        assert near < 1.03 * best


def test_optimal_expects_less_than_every_policy_of_the_paper():
    wish = demand(4, 8)
    intensity = Intensity.of(wish.rates)
    planner = OptimalPlanner(wish)
    for per_board in (4, 11):
        best = expected_cost(intensity, planner.plan(8 * per_board)).sum()
        for policy in (era, wra, lra, bra):
            assert best < expected_cost(intensity, policy(wish, 8 * per_board)).sum()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 30), st.booleans())
def test_budget_is_exact_with_fewer_visits_than_boards_too(seed, boards, visits, exact):
    planner = (
        OptimalPlanner(demand(seed, boards), exact=exact)
        if not exact
        else OptimalPlanner(demand(seed, min(boards, 3)))
    )
    table = planner.plan(visits)
    assert (table.visits_per_day() == visits).all()
    assert set(table.board.tolist()) == set(range(table.boards))
    assert table.hour.min() >= 0 and table.hour.max() < 24


def test_importance_moves_visits():
    rates = np.tile(DIURNAL, (4, 1))
    plain = np.bincount(OptimalPlanner(Demand(rates), exact=False).plan(24).board)
    weighed = np.bincount(
        OptimalPlanner(Demand(rates * np.array([[4.0], [1.0], [1.0], [1.0]])), exact=False)
        .plan(24)
        .board
    )
    assert plain.tolist() == [6, 6, 6, 6]
    assert weighed[0] in (9, 10)


def test_more_visits_than_the_programme_knows():
    wish = Demand(np.array([DIURNAL * 50, DIURNAL * 0.01]))
    table = OptimalPlanner(wish).plan(60)
    visits = np.bincount(table.board)
    assert visits.sum() == 60 and visits[0] > 50


def test_boards_without_any_rate_get_their_floor():
    table = OptimalPlanner(Demand(np.vstack([DIURNAL, np.zeros(24)])), exact=False).plan(6)
    assert np.bincount(table.board).tolist() == [5, 1]


def test_phases_only_help():
    wish = demand(6, 20)
    intensity, visits = Intensity.of(wish.rates), np.full(20, 4)
    one = Timetable.of(20, *polished_closed_form(intensity, visits, phases=1))
    four = Timetable.of(20, *polished_closed_form(intensity, visits, phases=8))
    assert expected_cost(intensity, four).sum() <= expected_cost(intensity, one).sum()


def test_expected_cost_of_a_board_never_visited_is_infinite():
    intensity = Intensity.of(np.array([DIURNAL, DIURNAL]))
    cost = expected_cost(intensity, Timetable.of(2, np.array([0]), np.array([5.0])))
    assert np.isfinite(cost[0]) and np.isinf(cost[1])
