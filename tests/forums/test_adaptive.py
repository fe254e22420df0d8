"""The closed loop with a simulated clock: exact budgets, the order of boards, pauses, failures,
changed budgets."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forums.schedule.adaptive import AdaptiveLoop, LoopOptions, Seen
from forums.schedule.events import Events, LocalClock, Sites
from forums.schedule.pacing import Budget
from forums.simulation.delay_simulation import BoardLog

HOUR, DAY = 3600.0, 86400.0
START = datetime(2026, 1, 5, tzinfo=UTC).timestamp()
DIURNAL = 1.2 + np.sin((np.arange(24) - 9) / 24 * 2 * np.pi)
NOTHING = Seen(np.array([], dtype=int), np.array([]), np.array([]))


def sites_of(boards, zones=("UTC",)):
    clocks = [LocalClock(ZoneInfo(zone), START - 30 * DAY, START + 30 * DAY) for zone in zones]
    return Sites(np.arange(boards) % len(zones), clocks)


def loop_of(volumes, visits, seen=NOTHING, start=START, options=None, zones=("UTC",), budget=None):
    rates = np.outer(volumes, DIURNAL / DIURNAL.sum())
    boards = len(volumes)
    return AdaptiveLoop(
        rates,
        sites_of(boards, zones),
        seen,
        np.full(boards, start),
        start - 20 * DAY,
        budget or Budget(visits),
        options,
    )


def run_day(loop, start=START, hours=24.0, pause=(0.0, 0.0), log=None):
    """Runs the loop without posts, or with those of an event log, except in the hours `pause`;
    returns board and hour of each visit."""
    board, hour = [], []
    step = loop.options.tick_seconds
    for number in range(int(hours * HOUR / step)):
        now = start + number * step
        if pause[0] <= (now - start) / HOUR < pause[1]:
            continue
        due = loop.due(now)
        found = (
            (NOTHING.board, NOTHING.times, NOTHING.weights) if log is None else log.take(due, now)
        )
        loop.observe(due, *found, now)
        board += due.tolist()
        hour += [(now - start) / HOUR] * len(due)
    return np.array(board, dtype=int), np.array(hour)


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.floats(0.0, 60.0), min_size=1, max_size=8),
    st.integers(1, 90),
    st.sampled_from([60.0, 180.0, 600.0]),
)
def test_budget_is_used_exactly_between_midnights(volumes, visits, tick):
    visits = min(visits, 60 * len(volumes))
    loop = loop_of(np.array(volumes), visits, options=LoopOptions(tick_seconds=tick))
    for day in range(2):
        assert len(run_day(loop, START + day * DAY)[0]) == visits


def test_visits_follow_the_square_root_of_volume_when_nothing_surprises():
    loop = loop_of(np.array([4.0, 64.0]), 60)
    run_day(loop)
    visits = np.bincount(run_day(loop, START + DAY)[0], minlength=2)
    assert (
        1.5 < visits[1] / visits[0] < 5.0
    )  # sqrt(64 / 4) = 4, but less here because no visit finds any posts


def test_visits_follow_the_day():
    loop = loop_of(np.full(6, 20.0), 60)
    hour = run_day(loop)[1]
    assert ((hour >= 10) & (hour < 22)).sum() > ((hour < 4).sum() + (hour >= 22).sum())


def test_a_board_that_was_just_answered_comes_before_its_twin():
    twins = loop_of(np.array([5.0, 5.0]), 20)
    now = START + 10 * HOUR
    twins.observe(
        np.array([0, 1]),
        np.array([0, 0, 0]),
        now - np.array([60.0, 300.0, 900.0]),
        np.array([1.0, 0.5, 0.5]),
        now,
    )
    later = twins.index(now + HOUR)
    assert later[0] > 2 * later[1]
    assert twins.expected_events(now).tolist() == pytest.approx([0.0, 0.0])
    assert twins.outlook(now, now + 13 * HOUR).board[0] == 0


def test_history_is_replayed():
    times = START - np.array([0.5, 0.4, 0.3]) * HOUR
    loop = loop_of(np.array([5.0, 5.0]), 20, seen=Seen(np.zeros(3, dtype=int), times, np.ones(3)))
    waiting = loop.expected_events(START + HOUR)
    assert waiting[0] > 2 * waiting[1]


def test_events_after_the_last_visit_are_not_known():
    late = Seen(np.zeros(3, dtype=int), START + np.array([0.1, 0.2, 0.3]) * HOUR, np.ones(3))
    known = loop_of(np.array([5.0, 5.0]), 20, seen=late).expected_events(START + 2 * HOUR)
    assert known[0] == pytest.approx(known[1])


def test_a_board_rests_until_its_visit_is_told():
    loop = loop_of(np.array([50.0, 50.0]), 40)
    now = START + 6 * HOUR
    loop.budget.price = 1e-6
    first = loop.due(now)
    assert sorted(first.tolist()) == [0, 1]
    assert not len(loop.due(now + 60))
    loop.missed(first)
    assert sorted(loop.due(now + 120).tolist()) == [0, 1]
    assert (loop.last_visit == START).all()


def test_boards_that_may_not_be_visited_are_left_out():
    loop = loop_of(np.array([50.0, 50.0, 1.0]), 40)
    due = loop.due(START + 8 * HOUR, allowed=np.array([False, True, True]))
    assert 0 not in due and 1 in due


def test_after_a_pause_the_rest_of_the_day_is_spread_not_burst():
    loop = loop_of(np.full(5, 30.0), 100)
    hour = run_day(loop, pause=(8.0, 14.0))[1]
    assert len(hour) == 100
    assert ((hour >= 14.0) & (hour < 14.5)).sum() <= 12
    assert not ((hour >= 8) & (hour < 14)).any()


def test_after_a_pause_over_midnight_the_day_counts_from_its_end():
    loop = loop_of(np.full(5, 30.0), 100)
    run_day(loop, hours=20.0)
    made = len(run_day(loop, START + DAY + 18 * HOUR, hours=6.0)[0])
    assert 20 <= made <= 40
    assert len(run_day(loop, START + 2 * DAY)[0]) == 100


def test_a_start_in_the_middle_of_the_day_uses_its_share():
    loop = loop_of(np.full(5, 30.0), 100, start=START + 18 * HOUR)
    made = len(run_day(loop, START + 18 * HOUR, hours=6.0)[0])
    assert 20 <= made <= 40
    assert len(run_day(loop, START + DAY)[0]) == 100


def test_a_changed_budget_counts_from_now():
    loop = loop_of(np.full(5, 30.0), 40)
    run_day(loop, hours=12.0)
    price = loop.budget.price
    loop.change_budget(80, START + 12 * HOUR)
    assert loop.budget.price == pytest.approx(price / 4)
    rest = len(run_day(loop, START + 12 * HOUR, hours=12.0)[0])
    assert 35 <= rest <= 60
    assert len(run_day(loop, START + DAY)[0]) == 80


def test_a_loop_built_anew_goes_on_with_its_budget():
    budget = Budget(30)
    first = loop_of(np.array([10.0, 20.0]), 30, budget=budget)
    made = len(run_day(first, hours=12.0)[0])
    again = AdaptiveLoop(
        np.outer([10.0, 20.0], DIURNAL / DIURNAL.sum()),
        sites_of(2),
        NOTHING,
        first.last_visit,
        START - 20 * DAY,
        budget,
    )
    assert made + len(run_day(again, START + 12 * HOUR, hours=12.0)[0]) == 30


def test_sites_of_other_zones_are_visited_by_their_own_day():
    rng = np.random.default_rng(3)
    shapes = [
        np.roll(DIURNAL, -8 * (board % 2)) for board in range(8)
    ]  # in UTC: the afternoon of Shanghai comes eight hours earlier
    counts = rng.poisson([20.0 * shape / DIURNAL.sum() for shape in shapes for _ in range(3)])
    row, slot = np.divmod(np.repeat(np.arange(counts.size), counts.ravel()), 24)
    times = START + (24 * (row % 3) + slot + rng.random(len(row))) * HOUR
    order = np.argsort(times)
    names = tuple(str(board) for board in range(8))
    alike = np.zeros(len(row), dtype=np.int64)
    events = Events(names, ("t",), (row // 3)[order], alike, alike == 0, times[order])
    loop = loop_of(np.full(8, 20.0), 80, zones=("UTC", "Asia/Shanghai"))
    log = BoardLog(events, np.ones(len(row)), START)
    days = [run_day(loop, START + day * DAY, log=log) for day in range(3)]
    board, hour = (np.concatenate([day[part] for day in days]) for part in (0, 1))
    mean = [np.exp(2j * np.pi * hour[board % 2 == site] / 24).mean() for site in (0, 1)]
    assert min(np.abs(mean)) > 0.1
    assert 5.0 < np.angle(mean[0] / mean[1]) / (2 * np.pi) * 24 < 11.0


def test_the_reason_of_a_rank_is_told():
    loop = loop_of(np.array([10.0, 20.0]), 30)
    now = START + 9.5 * HOUR
    reason = loop.explain(1, now)
    assert reason.hours_since_visit == pytest.approx(9.5)
    assert reason.usual_per_hour == pytest.approx(20 * DIURNAL[9] / DIURNAL.sum())
    assert reason.rank == pytest.approx(reason.waiting * 9.5 / 2)
    assert reason.price > 0


def test_boards_without_any_event_are_expected_to_bring_the_floor_at_first_and_less_after_silence():
    rates = np.outer([0.0, 24.0], DIURNAL / DIURNAL.sum())
    waiting = [
        AdaptiveLoop(
            rates, sites_of(2), NOTHING, np.full(2, START), since, Budget(20)
        ).expected_events(START + 24 * HOUR)[0]
        for since in (START, START - 20 * DAY)
    ]
    assert waiting[0] == pytest.approx(LoopOptions().forecast.floor_per_day, rel=0.05)
    assert 0 < waiting[1] < waiting[0] / 2


def test_the_outlook_uses_the_budget_and_changes_nothing():
    loop = loop_of(np.array([5.0, 20.0, 60.0]), 24)
    loop.due(START)
    before = [array.copy() for part in loop.packed() for array in part.values()]
    boards, moments, events, delay = loop.outlook(START, START + 2 * DAY - 1)
    assert (events > 0).all() and (delay > 0).all()
    day = np.floor((moments - START) / DAY).astype(int)
    assert np.bincount(day).tolist() == [24, 24]
    counts = np.bincount(boards[day == 1])
    assert counts[0] < counts[1] < counts[2]
    after = [array for part in loop.packed() for array in part.values()]
    assert all(
        np.array_equal(one, two, equal_nan=True) for one, two in zip(before, after, strict=True)
    )


def test_a_packed_loop_goes_on_as_it_was():
    one = loop_of(np.array([5.0, 20.0, 60.0]), 24, zones=("UTC", "Asia/Shanghai"))
    run_day(one, hours=7.0)
    fixed, moving = one.packed()
    two = AdaptiveLoop.unpacked(
        {k: v.copy() for k, v in fixed.items()},
        {k: v.copy() for k, v in moving.items()},
        sites_of(3, ("UTC", "Asia/Shanghai")),
    )
    rest = [run_day(loop, START + 7 * HOUR, hours=17.0) for loop in (one, two)]
    assert rest[0][0].tolist() == rest[1][0].tolist() and rest[0][1].tolist() == rest[1][1].tolist()
    assert one.budget == two.budget


@pytest.mark.parametrize("boards", [1, 3, 400])
def test_an_outlook_foresees_what_is_forecast_at_each_moment(boards):
    rng = np.random.default_rng(boards)
    board, times = rng.integers(0, boards, 50), START - 48 * HOUR * rng.random(50)
    loop = loop_of(
        rng.gamma(1.0, 20.0, boards),
        40,
        Seen(board, times, np.ones(50)),
        zones=("UTC", "Asia/Kolkata")[:boards],
    )
    moments = START + 120.0 * np.arange(1.0, 60.0)
    foreseen = loop.forecast.foreseen(moments)
    some = np.arange(0, boards, 2)
    for moment in moments.tolist():
        assert (
            foreseen.expected(moment, some).tobytes()
            == loop.forecast.expected(moment, some).tobytes()
        )
        assert (
            foreseen.expected_by_visits(moment).tobytes()
            == loop.forecast.expected_by_visits(moment).tobytes()
        )


@given(
    st.floats(START - 40 * DAY, START + 40 * DAY),
    st.sampled_from(["UTC", "America/St_Johns", "Europe/Berlin"]),
)
def test_the_hour_of_one_moment_is_that_of_many(now, zone):
    clock = LocalClock(ZoneInfo(zone), START - 30 * DAY, START + 30 * DAY)
    assert clock.local_hour(now) == clock.local_hours(np.array([now]))[0]
