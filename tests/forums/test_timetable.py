"""Timetables: equal days in a cycle, local times across clock changes, and minimum gaps between the
visits of a site."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forums.schedule.timetable import (
    BudgetError,
    Timetable,
    cycle_days,
    keep_gap,
    spread_over_days,
)

UTC = ZoneInfo("UTC")


def test_hours_outside_the_day_move_to_the_neighbouring_day():
    table = Timetable.of(
        2, np.array([0, 1, 0]), np.array([24.0, -1.0, 5.0]), np.array([0, 0, 1]), days=2
    )
    assert list(zip(table.day, table.hour, table.board, strict=True)) == [
        (1, 0.0, 0),
        (1, 5.0, 0),
        (1, 23.0, 1),
    ]
    assert table.visits_per_day().tolist() == [0, 3]


def test_moments_repeat_the_cycle_in_the_sites_zone():
    table = Timetable.of(2, np.array([0, 1]), np.array([6.0, 7.0]), np.array([0, 1]), days=2)
    zone = ZoneInfo("Asia/Shanghai")
    board, moments = table.moments(date(2026, 1, 1), 3, zone)
    assert board.tolist() == [0, 1, 0]
    assert [datetime.fromtimestamp(moment, zone).isoformat()[:16] for moment in moments] == [
        "2026-01-01T06:00",
        "2026-01-02T07:00",
        "2026-01-03T06:00",
    ]


def test_wall_clock_times_hold_on_days_when_the_clock_changes():
    zone = ZoneInfo("Europe/Berlin")
    table = Timetable.of(1, np.array([0]), np.array([18.5]))
    moments = table.moments(date(2026, 3, 28), 3, zone)[1]
    assert [datetime.fromtimestamp(moment, zone).hour for moment in moments] == [18, 18, 18]
    assert np.diff(moments).tolist() == [23 * 3600, 24 * 3600]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=15), st.integers(1, 9))
def test_days_of_a_cycle_get_equal_numbers_and_boards_are_spread(visits, days):
    counts = np.array(visits)
    counts[0] += (-counts.sum()) % days
    table = spread_over_days(counts, days)
    assert table.sum(axis=0).tolist() == counts.tolist()
    assert len(set(table.sum(axis=1).tolist())) == 1
    assert (np.ptp(table, axis=0) <= 1).all()


def test_cycles_are_as_long_as_every_board_needs_for_its_turn():
    assert [cycle_days(10, visits) for visits in (20, 10, 9, 5, 3)] == [1, 1, 2, 2, 4]
    with pytest.raises(BudgetError):
        cycle_days(10, 0)
    with pytest.raises(BudgetError):
        spread_over_days(np.array([1, 1, 1]), 2)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.floats(0, 23.99), min_size=2, max_size=20), st.floats(0.01, 1.1), st.integers(1, 2)
)
def test_visits_of_a_site_keep_their_gap_around_midnight(hours, gap, days):
    board = np.arange(len(hours)) % 3
    table = Timetable.of(3, board, np.array(hours), np.arange(len(hours)) % days, days)
    site = np.array([0, 0, 1])
    moved = keep_gap(table, site, np.array([gap, 0.0]))
    assert (
        np.bincount(moved.board, minlength=3).tolist() == np.bincount(board, minlength=3).tolist()
    )
    clock = np.sort((moved.day * 24 + moved.hour)[site[moved.board] == 0])
    if len(clock) > 1:
        around = np.append(np.diff(clock), clock[0] + 24 * days - clock[-1])
        assert around.min() >= gap - 1e-6
    free = site[table.board] == 1
    assert np.sort((table.day * 24 + table.hour)[free]).tolist() == pytest.approx(
        np.sort((moved.day * 24 + moved.hour)[site[moved.board] == 1]).tolist()
    )


def test_visits_far_apart_do_not_move_and_too_many_are_refused():
    table = Timetable.of(1, np.zeros(3, dtype=int), np.array([1.0, 2.0, 3.0]))
    assert keep_gap(table, np.array([0]), np.array([0.5])).hour.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(BudgetError, match="3 visits"):
        keep_gap(table, np.array([0]), np.array([9.0]))
