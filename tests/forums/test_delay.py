"""Delays of single events, of boards and in total."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forums.schedule.delay_report import daily_totals, event_delays, summarise

HOUR = 3600.0


def test_next_visit_of_the_own_board_at_or_after_the_event():
    board = np.array([0, 0, 1, 1])
    times = np.array([1.0, 2.0, 1.0, 9.0]) * HOUR
    delays = event_delays(
        board, times, np.array([1, 0, 0]), np.array([4.0, 5.0, 2.0]) * HOUR, 10 * HOUR
    )
    assert delays.hours.tolist() == [1.0, 0.0, 3.0, 1.0]
    assert delays.found.tolist() == [True, True, True, False]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 200)), min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 200)), max_size=30),
)
def test_equals_a_plain_search(events, visits):
    board, times = np.array([b for b, _ in events]), np.array([t for _, t in events]) * HOUR
    owner, moments = (
        np.array([b for b, _ in visits], dtype=int),
        np.array([t for _, t in visits], dtype=float) * HOUR,
    )
    delays = event_delays(board, times, owner, moments, 300 * HOUR)
    for number, (name, moment) in enumerate(events):
        later = [t for b, t in visits if b == name and t >= moment]
        assert delays.hours[number] == pytest.approx(min(later) - moment if later else 300 - moment)
        assert delays.found[number] == bool(later)


def test_theta_and_importance_weigh_the_total():
    board, times = np.array([0, 0, 1]), np.array([0.0, 1.0, 2.0]) * HOUR
    delays = event_delays(board, times, np.array([0, 1]), np.array([4.0, 4.0]) * HOUR, 10 * HOUR)
    weights = np.array(
        [1.0, 0.5, 3.0]
    )  # a new thread, a reply at theta 0.5, a new thread on a board of importance 3
    summary = summarise(delays, weights, days=2, target_hours=3.0)
    assert summary.total_per_day == pytest.approx((4 + 0.5 * 3 + 3 * 2) / 2)
    assert summary.mean_hours == pytest.approx(11.5 / 4.5)
    assert (summary.median_hours, summary.share_within_target, summary.not_found) == (
        3.0,
        pytest.approx(2 / 3),
        0,
    )
    assert daily_totals(delays, times, weights, 0.0, 2).tolist() == [11.5, 0.0]


def test_nothing_to_find_has_no_mean():
    none = event_delays(np.array([], dtype=int), np.array([]), np.array([0]), np.array([1.0]), 2.0)
    summary = summarise(none, np.array([]), 1)
    assert (summary.total_per_day, summary.mean_hours) == (0.0, None)
