"""Tests of the forum paper's visit policies: they use their budget exactly; both readings of the
block rule; the printed algorithm loses visits; proportional allocation is no better than equal
allocation."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from forums.schedule.optimal import closed_form_hours, expected_cost
from forums.schedule.paper import (
    Demand,
    bra,
    bra_literal,
    bra_method1,
    era,
    lra,
    with_midnight,
    wra,
)
from forums.schedule.rhythm import Intensity
from forums.schedule.timetable import Timetable, square_root

DIURNAL = np.array(
    [2, 1, 1, 0.5, 0.5, 0.5, 1, 2, 4, 6, 7, 7, 6, 6, 7, 8, 8, 7, 7, 8, 9, 9, 7, 4], dtype=float
)


def demand(seed=0, boards=6):
    rng = np.random.default_rng(seed)
    return Demand(
        rng.lognormal(0, 1.2, boards)[:, None] * rng.dirichlet(40 * DIURNAL / DIURNAL.sum(), boards)
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 40))
@example(0, 4, 3)
def test_every_policy_uses_its_budget_on_every_day(seed, boards, visits):
    wish = demand(seed, boards)
    for policy in (era, wra, lra, bra, bra_method1):
        table = policy(wish, visits)
        assert (table.visits_per_day() == visits).all()
        assert set(table.board.tolist()) == set(range(boards))


@pytest.mark.parametrize("bins", [1, 24, 96])
def test_a_boards_weight_is_its_events_a_day_however_finely_the_day_is_divided(bins):
    assert Demand(np.outer([1.0, 2.5], np.ones(bins))).weights.tolist() == pytest.approx(
        [24.0, 60.0]
    )


def test_era_visits_at_24_j_over_m():
    table = era(demand(boards=2), 8)
    assert table.visits_of(0).tolist() == [0.0, 6.0, 12.0, 18.0]


def test_wra_and_bra_divide_by_weight_and_lra_equally():
    wish = Demand(np.array([[1.0] * 24, [3.0] * 24]))
    assert np.bincount(wra(wish, 8).board).tolist() == [2, 6]
    assert np.bincount(bra(wish, 8).board).tolist() == [2, 6]
    assert np.bincount(lra(wish, 8).board).tolist() == [4, 4]


def test_equal_area_blocks_in_both_readings():
    wish = Demand(np.array([[1.0] * 24]))
    assert bra(wish, 3, blocks_more=1).hour.tolist() == [6.0, 12.0, 18.0]
    assert bra(wish, 3).hour.tolist() == [4.0, 12.0, 20.0]


def test_the_midnight_reading_adds_one_visit_to_every_board():
    table = with_midnight(bra(demand(boards=3), 12, blocks_more=1))
    assert table.visits_per_day().tolist() == [15]
    assert (table.hour == 0).sum() == 3


def test_the_printed_loop_loses_visits():
    table = bra_literal(demand(3, 20), 160)
    assert 0.3 * 160 < len(table.board) < 0.8 * 160
    flat = bra_literal(Demand(np.ones((1, 24))), 2)
    assert flat.hour.tolist() == pytest.approx(
        [8.0, 17.0]
    )  # not 16.0: the hour of the first visit is not counted


def test_the_printed_loop_may_leave_a_board_without_visits():
    rates = np.array([[100.0] * 24, [0.01] * 24])
    assert set(bra_literal(Demand(rates), 8).board.tolist()) == {0}


def test_method_one_finds_even_hours_on_a_flat_day_and_falls_back_where_it_fails():
    flat = bra_method1(Demand(np.ones((1, 24))), 3).hour
    assert np.diff(flat).tolist() == pytest.approx(
        [flat[0]] * 2
    )  # equal steps from c_0 = 0, as in eq. (9)
    night = np.zeros((1, 24))
    night[0, 0] = (
        1.0  # posts only before 01:00: five visits at least 15 minutes apart do not fit in there
    )
    fallback = bra_method1(Demand(night), 5)
    assert fallback.hour.tolist() == pytest.approx(bra(Demand(night), 5).hour.tolist())


def cost(wish, table):
    return expected_cost(Intensity.of(wish.rates), table).sum()


def test_proportional_rules_are_neutral_and_the_square_root_is_not():
    """With many visits, equal-area timing costs as much as even spacing, and allocation by weight
    as much as equal allocation."""
    smooth = 1.5 + np.sin(np.arange(96) / 96 * 2 * np.pi)
    wish = Demand(np.outer([1.0, 4.0, 9.0, 16.0], smooth))
    visits = 4 * 400
    base = cost(wish, era(wish, visits))
    assert cost(wish, lra(wish, visits)) == pytest.approx(base, rel=0.01)
    assert cost(wish, wra(wish, visits)) == pytest.approx(base, rel=0.01)
    assert cost(wish, bra(wish, visits)) == pytest.approx(base, rel=0.01)
    allocation = square_root(wish.rates, visits)
    root = Timetable.of(4, *closed_form_hours(wish.rates, allocation))
    roots = np.sqrt(wish.rates).sum() * 0.25
    assert cost(wish, root) == pytest.approx(
        roots**2 / (2 * visits), rel=0.01
    )  # the cost by theory: Z^2 / (2 M), Z the sum of the roots, M the visits
    assert cost(wish, root) < 0.85 * base
