"""Tests of the delay report: means by group, by weekday and by hour, and the delays that equally
spaced visits would have had."""

from __future__ import annotations

from datetime import UTC, date, datetime

import numpy as np
import pytest

from forums.schedule import delay_report
from forums.schedule.delay_report import Items

FIRST = date(2026, 11, 2)  # a Monday
START = datetime(2026, 11, 2, tzinfo=UTC).timestamp()


def items(moments: list[float], waits: list[float], board: list[int], opener: list[bool]) -> Items:
    """Returns posts made `moments` hours after Monday 00:00 UTC; `opener` marks first posts of
    threads."""
    times = START + np.array(moments) * 3600
    weights = np.where(opener, 1.0, 0.5)
    return Items(np.array(board), times, times / 3600, np.array(opener), np.array(waits), weights)


def test_the_same_posts_under_equal_visits_wait_for_the_next_of_them() -> None:
    some = items([1.0, 5.0, 6.0, 23.0, 30.0], [9.0] * 5, [0, 0, 0, 1, 1], [True] * 5)
    # eight visits a day, of the two boards in turn: the first at 0, 6, 12, …, the second at 3, 9, …
    found = delay_report.with_equal_visits(some, 2, 8.0, START, START + 2 * 86400)
    assert found.tolist() == pytest.approx([5.0, 1.0, 0.0, 4.0, 3.0])
    # half a visit a day: the first board at 0 and 96 h, the second at 48 and 144 h
    rare = delay_report.with_equal_visits(some, 2, 0.5, START, START + 2 * 86400)
    assert rare.tolist() == pytest.approx([95.0, 91.0, 90.0, 25.0, 18.0])


def test_means_are_weighted_and_empty_groups_stay_empty() -> None:
    found = delay_report.means(
        np.array([0, 0, 2]), np.array([2.0, 4.0, 7.0]), np.array([1.0, 0.5, 1.0]), 4
    )
    assert (
        found[0] == pytest.approx(8 / 3)
        and found[1] is None
        and found[2] == 7.0
        and found[3] is None
    )


def test_weekdays_hours_and_days_are_those_of_the_site() -> None:
    some = items([0.5, 24.5, 6 * 24 + 23.5], [1.0, 2.0, 3.0], [0, 0, 0], [True, False, True])
    grid = delay_report.weekday_hours(some, some.hours)
    assert (grid[0][0], grid[1][0], grid[6][23]) == (1.0, 2.0, 3.0)
    assert sum(value is not None for row in grid for value in row) == 3
    assert delay_report.local_days(some, FIRST, 7).tolist() == [0, 1, 6]
    assert delay_report.day_hours(some).tolist() == [0, 0, 23]


def test_boards_without_a_post_are_left_out() -> None:
    some = items([1.0, 2.0, 3.0], [0.5, 1.5, 4.0], [2, 0, 2], [True, True, False])
    rows = delay_report.by_board(some, np.array([1.0, 1.0, 4.0]), 4, 1.0, [1.0] * 4)
    assert [row.board for row in rows] == [0, 2]
    assert rows[1].delay.events == 2 and rows[1].delay.mean_hours == pytest.approx(
        (0.5 + 2.0) / 1.5
    )
    assert (
        rows[1].era_hours == pytest.approx((1.0 + 2.0) / 1.5)
        and rows[1].delay.share_within_target == 0.5
    )


def test_the_summary_is_the_pure_one() -> None:
    some = items([1.0, 2.0], [1.0, 3.0], [0, 0], [True, False])
    found = delay_report.summary(some, some.hours, 2.0, 1.0)
    assert (found.events, found.total_per_day, found.mean_hours, found.median_hours) == (
        2,
        1.25,
        pytest.approx(2.5 / 1.5),
        2.0,
    )
