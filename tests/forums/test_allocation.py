"""Allocation of visits: rounding to an exact sum, greedy compared with exhaustive search, and
budgets of requests."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forums.schedule.timetable import (
    BudgetError,
    greedy,
    rounded,
    square_root,
)

SHARES = st.lists(st.floats(0, 100), min_size=1, max_size=12)


@given(SHARES, st.integers(0, 60))
def test_rounding_keeps_the_sum_and_the_floor(shares, more):
    total = len(shares) + more
    visits = rounded(np.array(shares), total)
    assert visits.sum() == total
    assert visits.min() >= 1


@given(SHARES, st.integers(0, 60))
def test_rounding_keeps_the_order_of_shares(shares, more):
    visits = rounded(np.array(shares), len(shares) + more)
    order = np.argsort(shares, kind="stable")
    assert (np.diff(visits[order]) >= -1).all()


def test_rounding_by_largest_remainder_over_a_floor():
    assert rounded(np.array([0.1, 10.0, 20.0]), 10).tolist() == [1, 3, 6]
    assert rounded(np.zeros(3), 7).tolist() == [3, 2, 2]
    assert rounded(np.ones(4), 8, floor=0).tolist() == [2, 2, 2, 2]
    with pytest.raises(BudgetError):
        rounded(np.ones(4), 3)


def convex_costs(rng, boards, most):
    gains = -np.sort(-rng.exponential(size=(boards, most)), axis=1)
    return np.cumsum(gains[:, ::-1], axis=1)[:, ::-1]


@pytest.mark.parametrize("seed", range(20))
def test_greedy_equals_exhaustive_search(seed):
    rng = np.random.default_rng(seed)
    costs, total = convex_costs(rng, 3, 8), int(rng.integers(3, 11))
    best = min(
        sum(costs[board, visits - 1] for board, visits in enumerate(choice))
        for choice in itertools.product(range(1, 9), repeat=3)
        if sum(choice) == total
    )
    visits = greedy(costs, total)
    assert visits.sum() == total
    assert costs[np.arange(3), visits - 1].sum() == pytest.approx(best)


def test_greedy_goes_beyond_its_table_by_the_square_root_law():
    scale = np.array([1.0, 16.0, 100.0])
    costs = scale[:, None] / np.arange(1, 6)
    visits = greedy(costs, 1500)
    assert visits.sum() == 1500
    assert visits.tolist() == pytest.approx([100, 400, 1000], abs=1)


def test_greedy_takes_the_convex_minorant_of_a_row_that_is_not_convex():
    costs = np.array([[10.0, 9.9, 2.0, 1.9], [10.0, 8.0, 7.0, 6.5]])
    assert greedy(costs, 4).tolist() == [3, 1]


def test_ties_and_boards_without_events_still_sum_up():
    assert greedy(np.zeros((3, 4)), 9).sum() == 9
    assert greedy(np.ones((4, 1)), 4).tolist() == [1, 1, 1, 1]
    with pytest.raises(BudgetError):
        greedy(np.ones((4, 2)), 3)


def test_square_root_allocation_weighs_shape():
    rates = np.array([[1.0] * 24, [4.0] * 24, [4.0] * 12 + [0.0] * 12])
    assert square_root(rates, 80).tolist() == [20, 40, 20]
