"""Index rows that count the posts of hidden sub-boards: which boards are expected to have new
posts, which are visited, and which sources are trusted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forums.plans.plan_state import _below
from forums.schedule.adaptive import AdaptiveLoop, LoopSources, Source
from forums.schedule.loop_values import Figures, RowCoverage
from forums.schedule.overview import Overview
from forums.schedule.pacing import Budget
from tests.forums.test_adaptive import DIURNAL, NOTHING, sites_of
from tests.forums.test_delay_simulation import FIRST as NOW

DAY, HOUR = 86400.0, 3600.0
SHOWN, HIDDEN = np.array([0, 1]), np.array([2, 3])  # boards 2 and 3 are sub-boards of board 0


def source() -> Source:
    return Source(SHOWN, hidden=HIDDEN, row=np.array([0, 0]))


def figures(threads, posts, last) -> Figures:
    return Figures(
        np.array(threads, dtype=float), np.array(posts, dtype=float), np.array(last, dtype=float)
    )


def overview_of(*sources: Source) -> Overview:
    made = Overview(sources or [source()], np.full(4, NOW), np.ones(4), np.full(4, 0.5))
    for number in range(len(made)):
        count = len(made.board[made.rows(number)])
        made.calibrate(number, figures([10] * count, [100] * count, [NOW] * count), NOW)
    return made


def visit(overview, board, times, weights, now):
    many = np.full(len(times), board)
    return overview.visited(
        np.array([board]), many, np.array(times, dtype=float), np.array(weights, dtype=float), now
    )


WAITING = np.array([3.0, 1.0, 1.0, 0.0])


def test_what_a_row_tells_waits_on_its_boards_by_their_forecasts():
    overview = overview_of()
    told = overview.read(
        0, figures([11, 10], [102, 100], [NOW + HOUR] * 2), NOW + 2 * HOUR, WAITING
    )
    assert overview.known.tolist() == pytest.approx([1.5 * 0.75, 0.0, 1.5 * 0.25, 0.0])
    assert told.weights.sum() == pytest.approx(1.5) and (overview.look == NOW + 2 * HOUR).all()
    assert sorted(overview.trusted_boards(0).tolist()) == [0, 1, 2, 3]


def test_what_a_visit_does_not_find_waits_on_the_boards_below():
    overview = overview_of()
    overview.read(0, figures([11, 10], [101, 100], [NOW + HOUR] * 2), NOW + 2 * HOUR, WAITING)
    assert visit(overview, 0, [], [], NOW + 3 * HOUR).tolist() == []
    assert overview.known.tolist() == pytest.approx([0.0, 0.0, 1.0, 0.0])
    assert overview.known_hours(NOW + 3 * HOUR)[2] == pytest.approx(2.0), "since it was posted"
    visit(overview, 2, [NOW + HOUR], [1.0], NOW + 4 * HOUR)
    assert (
        not overview.known.any() and not overview.wrong.any() and not overview.reported_posts.any()
    )
    assert not overview.coverage.apart.any() and overview.lag_hours[0] == 0.0


def test_what_a_visit_finds_is_awaited_nowhere_else():
    overview = overview_of()
    overview.read(0, figures([10, 10], [102, 100], [NOW + HOUR] * 2), NOW + 2 * HOUR, WAITING)
    visit(overview, 2, [NOW + HOUR], [0.5], NOW + 3 * HOUR)
    assert overview.known.tolist() == pytest.approx([0.5, 0.0, 0.0, 0.0])
    visit(overview, 0, [NOW + HOUR], [0.5], NOW + 3 * HOUR)
    assert not overview.known.any() and not overview.wrong.any()
    again = overview.read(
        0, figures([10, 10], [102, 100], [NOW + HOUR] * 2), NOW + 4 * HOUR, WAITING
    )
    assert not len(again.board) and not overview.reported_posts.any()


def test_a_visit_of_all_boards_at_once_is_one_comparison():
    overview = overview_of()
    overview.read(0, figures([12, 10], [103, 100], [NOW + HOUR] * 2), NOW + 2 * HOUR, WAITING)
    times = np.full(3, NOW + HOUR)
    overview.visited(
        np.arange(4), np.array([2, 2, 3]), times, np.array([1.0, 1.0, 0.5]), NOW + 3 * HOUR
    )
    assert not overview.known.any() and not overview.wrong.any() and overview.source_wrong[0] == 0


def test_a_row_that_no_board_bears_out_is_a_contradiction():
    overview = overview_of()
    overview.read(0, figures([10, 10], [104, 100], [NOW + HOUR] * 2), NOW + 2 * HOUR, WAITING)
    for board in (0, 2):
        visit(overview, board, [], [], NOW + 3 * HOUR)
    assert overview.wrong.tolist() == [0, 0] and overview.known.tolist() == pytest.approx(
        [0.0, 0.0, 0.0, 2.0]
    )
    visit(overview, 3, [], [], NOW + 3 * HOUR)
    assert overview.wrong.tolist() == [1, 0] and not overview.known.any()


def test_a_row_that_does_not_count_the_boards_below_is_found_out_and_taken_back():
    overview, now = overview_of(), NOW
    for turn in (1, 2):
        now += 5 * HOUR
        overview.read(0, figures([10, 10], [100, 100], [NOW] * 2), now, WAITING)
        visit(overview, 2, [now - 3 * HOUR, now - 2 * HOUR], [0.5, 0.5], now + HOUR)
        assert overview.coverage.counted().tolist() == [True, turn < 2, True, True]
    assert not overview.wrong.any() and overview.lag_hours[0] == 0.0 and overview.doubts()[2] == 1.0
    before = overview.look[2]
    overview.read(0, figures([10, 10], [101, 100], [now + HOUR] * 2), now + 2 * HOUR, WAITING)
    assert overview.known[2] == 0.0 and overview.look[2] == before
    for board in (3, 0):
        visit(overview, board, [], [], now + 3 * HOUR)
    assert overview.coverage.counted().all() and not overview.wrong.any(), (
        "it counts something that its own board has not brought"
    )


def test_another_source_tells_on_which_of_the_boards_it_was():
    overview = overview_of(source(), Source(np.array([2])))
    overview.read(1, figures([10], [101], [NOW + HOUR]), NOW + 2 * HOUR, WAITING)
    overview.read(0, figures([10, 10], [101, 100], [NOW + HOUR] * 2), NOW + 3 * HOUR, WAITING)
    assert (
        overview.known.tolist() == pytest.approx([0.0, 0.0, 0.5, 0.0]) and overview.posts[0] == 101
    )


def test_a_page_without_counts_tells_of_a_board_below_too():
    overview = Overview([source()], np.full(4, NOW), np.ones(4), np.full(4, 0.5))
    nothing = [np.nan] * 2
    overview.calibrate(0, figures(nothing, nothing, [NOW - HOUR] * 2), NOW)
    visit(overview, 0, [], [], NOW + HOUR)
    overview.read(
        0, figures(nothing, nothing, [NOW + 0.5 * HOUR, NOW - HOUR]), NOW + 2 * HOUR, WAITING
    )
    assert overview.known[2] > 0.0 and overview.known[1] == 0.0, (
        "posted before the visit of the row's own board"
    )
    visit(overview, 2, [NOW + 0.5 * HOUR], [1.0], NOW + 3 * HOUR)
    assert not overview.known.any() and not overview.wrong.any()
    overview.read(
        0, figures(nothing, nothing, [NOW + 0.5 * HOUR, NOW - HOUR]), NOW + 4 * HOUR, WAITING
    )
    assert not overview.known.any(), "that post is known"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0.1, 40.0), st.sampled_from([0, 2, 3]), st.booleans()), max_size=14
    ),
    st.lists(
        st.tuples(st.floats(0.2, 40.0), st.sampled_from(["look", 0, 2, 3])), min_size=1, max_size=14
    ),
)
def test_an_honest_row_loses_no_post_and_is_never_doubted(posts, steps):
    """Random posts, overviews and visits: at any time, the weight of the posts that the overview
    reports as waiting equals that of the posts it has shown and no visit has fetched. In the end,
    no row was contradicted."""
    overview = overview_of()
    fetched, looked = dict.fromkeys([0, 2, 3], NOW), NOW
    last = max([at for at, _what in steps], default=0.0)
    for after, what in [
        *sorted(steps, key=lambda one: one[0]),
        (last + 1, "look"),
        (last + 2, 0),
        (last + 2, 2),
        (last + 2, 3),
    ]:
        now = NOW + after * HOUR
        if what == "look":
            so_far = [opener for at, _board, opener in posts if NOW + at * HOUR <= now]
            shown = figures([10 + sum(so_far), 10], [100 + len(so_far), 100], [np.nan, np.nan])
            overview.read(0, shown, now, WAITING)
            looked = now
        else:
            new = [
                (NOW + at * HOUR, opener)
                for at, board, opener in posts
                if board == what and fetched[what] < NOW + at * HOUR <= now
            ]
            visit(
                overview,
                what,
                [at for at, _opener in new],
                [1.0 if opener else 0.5 for _at, opener in new],
                now,
            )
            fetched[what] = now
        waits = sum(
            1.0 if o else 0.5 for at, b, o in posts if fetched[b] < NOW + at * HOUR <= looked
        )
        assert overview.known.sum() == pytest.approx(waits, abs=1e-6)
    assert (
        not overview.wrong.any()
        and not overview.coverage.apart.any()
        and overview.lag_hours[0] == 0.0
    )


def test_the_loop_visits_the_board_below_next_and_pays_for_each_visit_once():
    rates = np.outer([20.0, 20.0, 5.0, 5.0], DIURNAL / DIURNAL.sum())
    overview_sources = LoopSources([source()], np.ones(4), np.full(4, 0.5))
    loop = AdaptiveLoop(
        rates,
        sites_of(4),
        NOTHING,
        np.full(4, NOW),
        NOW - 20 * DAY,
        Budget(48),
        overview_sources=overview_sources,
    )
    loop.overview.calibrate(0, figures([10, 10], [100, 100], [NOW] * 2), NOW)
    nothing = np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)
    loop.record_figures(0, figures([40, 10], [160, 100], [NOW + HOUR] * 2), NOW + 2 * HOUR)
    assert loop.index(NOW + 2 * HOUR).argmax() == 0
    used, visited = 0, []
    for step in range(1, 200):
        now = NOW + 2 * HOUR + step * 180.0
        due = loop.due(now)
        used = used + len(due) if step > 1 else loop.budget.used
        assert loop.budget.used == used
        visited += due.tolist()
        found = (
            (np.full(60, 3), np.full(60, NOW + HOUR), np.r_[np.ones(30), np.full(30, 0.5)])
            if 3 in due
            else nothing
        )
        loop.observe(due, *found, now)
        if 3 in due:
            break
    assert 3 in visited and visited.index(0) < visited.index(3) and not loop.overview.wrong.any()
    assert not loop.overview.known.any()


def test_boards_below_are_those_of_the_nearest_row_above():
    above = np.array([-1, 0, 1, 2, -1, 4])
    hidden, row = _below(np.array([0, 2]), np.arange(6), above)
    assert hidden.tolist() == [1, 3] and row.tolist() == [
        0,
        1,
    ], "those below a board without a row tell on their own"
    circle = _below(np.array([0]), np.arange(3), np.array([-1, 2, 1]))
    assert circle[0].tolist() == []


def test_rows_keep_their_order_whatever_is_below_them():
    coverage = RowCoverage(
        [
            Source(np.array([5, 1]), hidden=np.array([7, 8]), row=np.array([1, 0])),
            Source(np.array([2])),
        ]
    )
    assert (
        coverage.board.tolist() == [5, 8, 1, 7, 2]
        and coverage.row.tolist() == [0, 0, 1, 1, 2]
        and coverage.own.tolist() == [0, 2, 4]
    )
    assert coverage.of(slice(1, 3)) == slice(2, 5)
    assert coverage.total(slice(0, 2), np.arange(9.0)).tolist() == [13.0, 8.0]
    assert coverage.shares(
        np.array([0, 1, 4]), np.array([0, 0, 0, 0, 0, 3.0, 0, 0, 1.0])
    ).tolist() == [0.75, 0.25, 1.0]
