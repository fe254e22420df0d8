"""The lower bound of the delay: compared with the exact minimum over all sets of visit times, and
below every policy's delay."""

import itertools

import numpy as np
import pytest

from forums.schedule.optimal import bound, priced


def exact(board, hours, weights, budget):
    """The least delay of `budget` visits in total, by trying every set of visits at event times;
    infinite if a board has no visit at or after its last event."""
    best = np.inf
    moments = sorted(set(zip(board.tolist(), hours.tolist(), strict=True)))
    for chosen in itertools.combinations(moments, min(budget, len(moments))):
        total = 0.0
        for owner, moment, weight in zip(board, hours, weights, strict=True):
            later = [t for b, t in chosen if b == owner and t >= moment]
            total += weight * (min(later) - moment) if later else np.inf
        best = min(best, total)
    return best


def random_case(seed, events=9):
    rng = np.random.default_rng(seed)
    hours = np.sort(rng.choice(200, events, replace=False) / 4.0)
    return rng.integers(0, 2, events), hours, rng.choice([0.5, 1.0], events)


@pytest.mark.parametrize("seed", range(12))
def test_bound_equals_the_exact_programme_where_a_price_meets_the_budget(seed):
    board, hours, weights = random_case(seed)
    met = 0
    for budget in range(2, 9):
        found = bound(board, hours * 3600, weights, budget)
        least = exact(board, hours, weights, budget)
        if not np.isfinite(least):
            continue
        assert found.bound <= least + 1e-9
        if found.visits == budget:
            met += 1
            assert found.bound == pytest.approx(least)
            assert found.delay == pytest.approx(least)
    assert met >= 2


@pytest.mark.parametrize("seed", range(8))
def test_priced_solution_equals_a_plain_quadratic_programme(seed):
    rng = np.random.default_rng(seed)
    times, weights, price = (
        np.sort(rng.random(40) * 100),
        rng.choice([0.5, 1.0], 40),
        float(rng.exponential() * 5),
    )
    best = [0.0]
    for stop in range(1, 41):
        best.append(
            min(
                best[start]
                + price
                + (weights[start:stop] * (times[stop - 1] - times[start:stop])).sum()
                for start in range(stop)
            )
        )
    delay, visits = priced(times, weights, price)
    assert delay + price * visits == pytest.approx(best[-1])


def test_enough_visits_leave_no_delay_and_no_events_none():
    board, hours, weights = random_case(1)
    assert bound(board, hours * 3600, weights, 20).bound == pytest.approx(0.0, abs=1e-6)
    assert bound(np.array([], dtype=int), np.array([]), np.array([]), 3).bound == 0.0
    with pytest.raises(ValueError, match="at least one"):
        bound(board, hours * 3600, weights, 0)
