"""Overview pages: what a page shows, how far it is trusted, and how the adaptive policy uses it."""

from __future__ import annotations

import hashlib
from datetime import date
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forums.schedule.adaptive import AdaptiveLoop, LoopOptions, LoopSources, Seen, Source
from forums.schedule.bounds import FIRST_DOUBT
from forums.schedule.delay_report import event_delays
from forums.schedule.events import from_rows
from forums.schedule.loop_values import LONGEST_LAG_HOURS, MIN_DOUBT, Figures
from forums.schedule.overview import Overview
from forums.schedule.pacing import Budget
from forums.simulation.delay_simulation import BoardLog, Setup, Simulation
from tests.forums.test_adaptive import DIURNAL, NOTHING, sites_of
from tests.forums.test_delay_simulation import FIRST, synthetic

DAY, HOUR = 86400.0, 3600.0
NOW = FIRST
BOARDS = np.arange(3)
NAN = np.nan


@pytest.fixture(scope="module")
def simulation():
    return Simulation(synthetic(), Setup(date(2026, 1, 5), test_days=4))


def overview_of(*sources: Source) -> Overview:
    made = Overview(sources or [Source(BOARDS)], np.full(3, NOW), np.ones(3), np.full(3, 0.5))
    for number in range(len(made)):
        shown = made.rows(number).stop - made.rows(number).start
        made.calibrate(
            number, figures([10, 20, 30][:shown], [100, 200, 300][:shown], [NOW] * shown), NOW
        )
    return made


def figures(threads, posts, last) -> Figures:
    return Figures(
        np.array(threads, dtype=float), np.array(posts, dtype=float), np.array(last, dtype=float)
    )


def visit(overview, board, times, weights, now):
    many = np.full(len(times), board)
    return overview.visited(
        np.array([board]), many, np.array(times, dtype=float), np.array(weights, dtype=float), now
    )


def delay(simulation, policy, visits, **given):
    followed = simulation.follow(policy, visits, **given)
    horizon = max(simulation.stop, float(followed.moments.max()))
    found = event_delays(
        simulation.test_board, simulation.test_times, followed.board, followed.moments, horizon
    )
    return float((found.hours * simulation.test_weights).sum())


# --- what a page shows
# --------------------------------------------------------------------------------------------------


def test_new_threads_and_posts_become_waiting_weight_at_even_times():
    overview = overview_of()
    told = overview.read(
        0,
        figures([11, 20, 30], [104, 200, 300], [NOW + 2 * HOUR, NOW, NOW]),
        NOW + 3 * HOUR,
        np.zeros(3),
    )
    assert overview.known.tolist() == [1.0 + 3 * 0.5, 0.0, 0.0]
    assert told.board.tolist() == [0] * 4 and np.diff(told.times).tolist() == [HOUR / 2] * 3
    assert told.times[-1] == NOW + 2 * HOUR
    assert overview.known_hours(NOW + 3 * HOUR)[0] == pytest.approx(0.625 * (1 + 1.5 + 2 + 2.5))
    assert (overview.look == NOW + 3 * HOUR).all()


def test_a_second_look_tells_only_what_came_since_the_first():
    overview = overview_of()
    overview.read(
        0,
        figures([11, 20, 30], [104, 200, 300], [NOW + HOUR, NOW, NOW]),
        NOW + 2 * HOUR,
        np.zeros(3),
    )
    again = overview.read(
        0,
        figures([11, 20, 30], [105, 200, 300], [NOW + 3 * HOUR, NOW, NOW]),
        NOW + 4 * HOUR,
        np.zeros(3),
    )
    assert again.weights.tolist() == [0.5] and overview.known[0] == 3.0


def test_what_a_visit_fetched_is_not_told_again():
    overview = overview_of()
    visit(overview, 0, [NOW + HOUR, NOW + 2 * HOUR], [1.0, 0.5], NOW + 3 * HOUR)
    told = overview.read(
        0,
        figures([11, 20, 30], [102, 200, 300], [NOW + 2 * HOUR, NOW, NOW]),
        NOW + 4 * HOUR,
        np.zeros(3),
    )
    assert not len(told.board) and overview.known.tolist() == [0.0, 0.0, 0.0]


def test_a_page_without_counts_tells_by_the_time_of_the_last_post():
    overview = Overview([Source(BOARDS)], np.full(3, NOW), np.ones(3), np.full(3, 0.5))
    overview.calibrate(0, figures([NAN] * 3, [NAN] * 3, [NOW - HOUR, NOW, NAN]), NOW)
    told = overview.read(
        0,
        figures([NAN] * 3, [NAN] * 3, [NOW + HOUR, NOW, NAN]),
        NOW + 2 * HOUR,
        np.array([4.0, 1.0, 1.0]),
    )
    assert overview.known[0] == pytest.approx(4.0 / (1 - np.exp(-4.0 / 0.65))) and overview.known[
        1:
    ].tolist() == [0.0, 0.0]
    assert told.times.max() == NOW + HOUR
    assert overview.look.tolist() == [NOW + 2 * HOUR, NOW + 2 * HOUR, NOW]


@pytest.mark.parametrize(
    "counts", [True, False], ids=["read for the first time", "never with counts"]
)
def test_a_page_that_cannot_tell_how_many_is_not_blamed_for_their_number(counts):
    overview = Overview([Source(BOARDS)], np.full(3, NOW), np.ones(3), np.full(3, 0.5))
    shown = ([10, 20, 30], [100, 200, 300]) if counts else ([NAN] * 3, [NAN] * 3)
    now = NOW + HOUR
    overview.read(0, figures(*shown, [now - 60] * 3), now, np.full(3, 0.2))
    assert (overview.known > 0).all() and overview.guessed.all()
    for board in range(3):
        visit(
            overview,
            board,
            [NOW + 60.0 * number for number in range(1, 6)],
            [0.5] * 5,
            now + 60.0 * (board + 1),
        )
    assert overview.trusted().all() and not overview.guessed.any() and overview.source_wrong[0] == 0
    overview.read(0, figures(*shown, [now + HOUR] * 3), now + 2 * HOUR, np.full(3, 0.2))
    for board in range(3):
        visit(overview, board, [], [], now + 2 * HOUR + 60.0 * (board + 1))
    assert overview.source_wrong[0] == 0 if counts else not overview.trusted().any(), (
        "signs of nothing are contradictions"
    )


def test_a_board_that_the_page_does_not_show_keeps_its_own_forecast():
    overview = overview_of()
    overview.read(
        0, figures([10, NAN, 30], [100, NAN, 300], [NOW, NAN, NOW]), NOW + HOUR, np.zeros(3)
    )
    assert overview.look[1] == NOW and overview.trusted().tolist() == [True, False, True]
    gains, part = overview.gains(
        np.full(3, 2.0), np.full(3, 9.0), NOW + 2 * HOUR, np.ones(3, dtype=bool), 0.5
    )
    assert part[1] == 0.0 and gains[0] == pytest.approx(2.0 * (1.0 - FIRST_DOUBT))


def test_two_sources_do_not_tell_the_same_posts_twice():
    overview = overview_of(Source(BOARDS), Source(BOARDS[:2]))
    shown = [NOW + HOUR, NOW, NOW]
    overview.read(0, figures([11, 20, 30], [101, 200, 300], shown), NOW + 2 * HOUR, np.zeros(3))
    overview.read(1, figures([11, 20], [101, 200], shown[:2]), NOW + 3 * HOUR, np.zeros(3))
    assert overview.known.tolist() == [1.0, 0.0, 0.0]


# --- trust in a source
# --------------------------------------------------------------------------------------------------


def test_a_lag_is_learned_and_taken_off():
    overview = overview_of()
    overview.read(0, figures([10, 20, 30], [100, 200, 300], [NOW] * 3), NOW + 2 * HOUR, np.zeros(3))
    visit(overview, 0, [NOW + 1.75 * HOUR, NOW + 1.9 * HOUR], [0.5, 0.5], NOW + 3 * HOUR)
    assert overview.lag_hours[0] == pytest.approx(0.25) and overview.trusted().all()
    overview.read(0, figures([10, 20, 30], [102, 200, 300], [NOW] * 3), NOW + 4 * HOUR, np.zeros(3))
    assert overview.look[1] == pytest.approx(NOW + 3.75 * HOUR)


@pytest.mark.parametrize("lie", ["frozen", "invented"])
def test_a_source_that_contradicts_visits_twice_running_is_not_believed_until_it_agrees(lie):
    overview = overview_of()
    posts, moment = 100.0, NOW
    for turn in (1, 2):
        moment += 5 * HOUR
        posts += 7 if lie == "invented" else 0
        overview.read(
            0, figures([10, 20, 30], [posts, 200, 300], [moment, NOW, NOW]), moment, np.zeros(3)
        )
        found = [moment - 3 * HOUR, moment - 2.5 * HOUR] if lie == "frozen" else []
        visit(overview, 0, found, [0.5] * len(found), moment + HOUR)
        assert overview.trusted().tolist() == [turn < 2, True, True]
    assert overview.doubts()[0] == 1.0
    before = overview.look[0]
    for _ in range(2):
        moment += 5 * HOUR
        posts += 1
        overview.read(
            0, figures([10, 20, 30], [posts, 200, 300], [moment, NOW, NOW]), moment, np.zeros(3)
        )
        assert overview.look[0] in (before, moment) and overview.known[0] == 0.0
        visit(overview, 0, [moment - 2 * HOUR], [0.5], moment + HOUR)
        before = overview.look[0]
        if overview.trusted()[0]:
            break
    assert overview.trusted().all()


def test_a_source_that_contradicts_on_all_boards_is_dropped_as_a_whole_and_probed():
    overview = overview_of()
    overview.read(0, figures([10, 20, 30], [100, 200, 300], [NOW] * 3), NOW + 9 * HOUR, np.zeros(3))
    lost = [
        visit(overview, board, [NOW + 2 * HOUR], [0.5], NOW + 10 * HOUR).tolist()
        for board in range(3)
    ]
    assert lost == [[], [], [0, 1]] and not overview.trusted().any()
    assert overview.to_probe(NOW + 40 * HOUR).tolist() == []
    assert overview.to_probe(NOW + 60 * HOUR).tolist() == [0]


def test_a_newest_list_that_misses_posts_is_not_believed():
    overview = overview_of(Source(BOARDS, newest=True))
    for turn in (1, 2):
        now = NOW + turn * 5 * HOUR
        overview.record_threads_fetched(
            0, BOARDS, np.array([1]), np.array([now - HOUR]), np.array([0.5]), now
        )
        visit(overview, 0, [now - 2 * HOUR], [0.5], now + HOUR)
    assert overview.trusted().tolist() == [False, True, True]
    assert overview.fetched_until(np.full(3, NOW)).tolist() == [
        NOW,
        NOW + 10 * HOUR,
        NOW + 10 * HOUR,
    ]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0.1, 30.0), st.booleans()), max_size=12), st.integers(1, 4))
def test_an_honest_page_is_never_doubted_and_never_loses_a_post(posts, turns):
    """If a source reports correctly, then whatever is posted and however often it is read, the
    estimated weight of the unfetched posts is the true one, and the source remains trusted."""
    events = from_rows(
        [("a", "1", True, NOW - HOUR)]
        + [("a", "1", opener, NOW + at * HOUR) for at, opener in posts]
    )
    log = BoardLog(events, events.weights(0.5), NOW)
    overview = Overview([Source(np.array([0]))], np.array([NOW]), np.ones(1), np.array([0.5]))
    overview.calibrate(0, log.figures(np.array([0]), NOW), NOW)
    for turn in range(1, turns + 1):
        now = NOW + turn * 7 * HOUR
        overview.read(0, log.figures(np.array([0]), now), now, np.zeros(1))
        waiting = sum(1.0 if opener else 0.5 for at, opener in posts if NOW + at * HOUR <= now)
        assert overview.known[0] == pytest.approx(waiting)
    end = NOW + 40 * HOUR
    overview.visited(np.array([0]), *log.take(np.array([0]), end), end)
    assert overview.trusted().all() and overview.lag_hours[0] == 0.0 and overview.known[0] == 0.0
    overview.read(0, log.figures(np.array([0]), end + HOUR), end + HOUR, np.zeros(1))
    assert overview.known[0] == 0.0


# --- how the adaptive policy uses overview sources
# ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("visits", "digest"),
    [
        (12, "98f80af934d20e6c5d03bca822dd2939c481a39e577f881cc4cf4a92f21c9c5b"),
        (40, "1f96f2767be1fa738ebcc0c0741d8376c5fcfd93460fb79b4bb0ed8024050bca"),
    ],
)
def test_without_sources_the_loop_is_byte_for_byte_what_it_was_before_there_were_any(
    simulation, visits, digest
):
    board, moments = simulation.run_loop(visits)
    # boards by their names, "b0" to "b3": their numbers follow the first events
    board = np.array([int(name[1:]) for name in simulation.events.boards])[board]
    assert (
        hashlib.sha256(board.astype("<i8").tobytes() + moments.astype("<f8").tobytes()).hexdigest()
        == digest
    )


def test_looks_shorten_the_delay_at_the_same_cost(simulation):
    loop = delay(simulation, "adaptive", 32)
    glances, newest = delay(simulation, "glances", 32), delay(simulation, "newest", 32)
    assert glances < 0.95 * loop and newest < 0.6 * glances


@pytest.mark.parametrize("policy", ["glances", "newest"])
@pytest.mark.parametrize("cost", [1, 2, 3])
def test_budget_is_exact_whatever_a_look_costs(policy, cost):
    simulation = Simulation(synthetic(), Setup(date(2026, 1, 5), test_days=2, glance_cost=cost))
    outcome = simulation.run(policy, 3)
    assert outcome.visits_used_per_day == 12 and outcome.delay.not_found == 0
    followed = simulation.follow(policy, 12)
    readings = followed.spent_at[np.flatnonzero(np.diff(followed.spent_at, prepend=0.0) > 0)]
    assert len(np.unique(readings)) == len(readings)


def test_the_price_follows_spending_by_its_own_strength_where_index_pages_are_read(simulation):
    for policy, changes in (("adaptive", False), ("newest", False), ("glances", True)):
        usual, other = (
            simulation.follow(policy, 12, LoopOptions(index_steer=steer)) for steer in (8.0, 1.0)
        )
        assert (usual.moments.tolist() != other.moments.tolist()) is changes


def frozen(log, boards, now):
    return BoardLog.figures(log, boards, FIRST)


def lying():
    rng, count = np.random.default_rng(1), np.zeros(4)

    def shows(log, boards, now):
        count[:] += rng.poisson(1.0, 4)
        return Figures(np.floor(count / 5), count.copy(), np.full(4, now))

    return shows


@cache
def simulated(seed):
    """A simulation, and its delay without overview fetches."""
    simulation = Simulation(synthetic(seed=seed), Setup(date(2026, 1, 5), test_days=6))
    return simulation, delay(simulation, "adaptive", 32)


@pytest.mark.parametrize("shows", [frozen, lying()], ids=["frozen", "lying"])
def test_a_source_that_lies_or_freezes_costs_at_most_a_twentieth(shows):
    drawn = [simulated(seed) for seed in range(4, 7)]
    assert sum(
        delay(simulation, "glances", 32, shows=shows) for simulation, _ in drawn
    ) <= 1.05 * sum(plain for _, plain in drawn)


@pytest.mark.parametrize(("days_before", "named"), [(30.0, False), (0.1, True)])
def test_a_newest_list_tells_nothing_of_a_board_that_it_does_not_name(days_before, named):
    events = synthetic()
    kept = zip(events.board, events.thread, events.opener, events.times, strict=True)
    rows = [(events.boards[b], str(t), bool(o), float(m)) for b, t, o, m in kept]
    rows.append(("quiet", "q", True, FIRST - days_before * DAY))
    simulation = Simulation(from_rows(rows), Setup(date(2026, 1, 5), test_days=2))
    quiet = simulation.events.boards.index("quiet")
    assert (quiet in simulation.named(FIRST)) is named and quiet not in simulation.named(
        FIRST - 31 * DAY
    )
    followed = simulation.follow("newest", 12)
    first = followed.board[
        followed.moments == followed.moments.min()
    ]  # the overview is read before anything is visited
    assert len(first) >= 3 and (quiet in first) is named


@pytest.mark.parametrize("policy", ["glances", "newest"])
def test_what_comes_later_changes_nothing_before(simulation, policy):
    events = synthetic()
    kept = zip(events.board, events.thread, events.opener, events.times, strict=True)
    rows = [(events.boards[b], str(t), bool(o), float(m)) for b, t, o, m in kept if m < FIRST + DAY]
    rows += [("b3", "x", True, FIRST + DAY + 60.0 * number) for number in range(300)]
    changed = Simulation(from_rows(rows), Setup(date(2026, 1, 5), test_days=4))
    found = []
    for one in (simulation, changed):
        followed = one.follow(policy, 12)
        first = followed.moments < FIRST + DAY
        found.append(
            [
                (one.events.boards[b], at)
                for b, at in zip(followed.board[first], followed.moments[first], strict=True)
            ]
        )
    assert sorted(found[0]) == sorted(found[1]) and len(found[0]) >= 6


def looking(visits: int, **given: object) -> AdaptiveLoop:
    rates = np.outer([5.0, 20.0, 60.0], DIURNAL / DIURNAL.sum())
    overview_sources = LoopSources([Source(BOARDS)], np.ones(3), np.full(3, 0.5))
    loop = AdaptiveLoop(
        rates,
        sites_of(3),
        NOTHING,
        np.full(3, NOW),
        NOW - 20 * DAY,
        Budget(visits),
        overview_sources=overview_sources,
        **given,
    )
    loop.overview.calibrate(0, figures([10, 20, 30], [100, 200, 300], [NOW] * 3), NOW)
    return loop


def test_a_board_known_to_have_posts_is_visited_before_those_expected_to():
    loop = looking(24)
    loop.record_figures(
        0, figures([14, 20, 30], [104, 200, 300], [NOW + 2 * HOUR, NOW, NOW]), NOW + 3 * HOUR
    )
    assert loop.index(NOW + 4 * HOUR).argmax() == 0
    assert loop.due(NOW + 6 * HOUR)[0] == 0 and loop.explain(0, NOW + 6 * HOUR).known == 4.0


def test_a_packed_loop_with_looks_goes_on_as_it_was():
    one = looking(24)
    one.record_figures(
        0, figures([12, 20, 30], [103, 201, 300], [NOW + HOUR, NOW + HOUR, NOW]), NOW + 2 * HOUR
    )
    fixed, moving = one.packed()
    overview_sources = LoopSources([Source(BOARDS)], np.ones(3), np.full(3, 0.5))
    two = AdaptiveLoop.unpacked(
        fixed,
        {k: v.copy() for k, v in moving.items()},
        sites_of(3),
        overview_sources=overview_sources,
    )
    for step in range(60):
        now = NOW + (3 + step / 4) * HOUR
        chosen = [loop.choose(now, None, np.ones(1, dtype=bool)) for loop in (one, two)]
        assert (
            chosen[0].boards.tolist() == chosen[1].boards.tolist()
            and chosen[0].source == chosen[1].source
        )
        for loop, choice in zip((one, two), chosen, strict=True):
            loop.observe(choice.boards, np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), now)
    assert one.budget == two.budget and (one.overview.known == two.overview.known).all()


def test_the_outlook_counts_looks_too_and_changes_nothing():
    loop = looking(24)
    loop.overview.doubt[:] = MIN_DOUBT
    loop.due(NOW)
    before = [array.copy() for part in loop.packed() for array in part.values()]
    outlook, readings = loop.ahead(NOW, NOW + DAY - 1)
    assert len(outlook.board) + len(readings) == 24 and len(readings) > 0
    after = [array for part in loop.packed() for array in part.values()]
    assert all(
        np.array_equal(one, two, equal_nan=True) for one, two in zip(before, after, strict=True)
    )


def test_a_deadline_is_kept_on_a_quiet_board():
    loop = looking(40, deadline_hours=np.array([3.0, np.inf, np.inf]))
    waits, last = [], NOW
    for step in range(480):
        now = NOW + step * 180.0
        due, source = loop.choose(now, None, np.ones(1, dtype=bool))
        if 0 in due:
            waits.append((now - last) / HOUR)
            last = now
        if len(due):
            loop.observe(due, np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), now)
        if source >= 0:
            loop.record_figures(source, figures([10, 20, 30], [100, 200, 300], [NOW] * 3), now)
    assert len(waits) >= 7 and max(waits) <= 3.0
    assert loop.budget.used == 40


def test_a_deadline_counts_from_when_posts_were_fetched_by_whichever_way():
    rates = np.outer([5.0, 20.0, 60.0], DIURNAL / DIURNAL.sum())
    overview_sources = LoopSources([Source(BOARDS, newest=True)], np.ones(3), np.full(3, 0.5))
    deadlines = np.array([6.0, np.inf, np.inf])
    loop = AdaptiveLoop(
        rates,
        sites_of(3),
        NOTHING,
        np.full(3, NOW),
        NOW - 20 * DAY,
        Budget(24),
        overview_sources=overview_sources,
        deadline_hours=deadlines,
    )
    loop.overview.trust_shown(0, BOARDS, NOW)
    now = NOW + 5 * HOUR
    assert loop.hours_left_to_wait(now)[0] == pytest.approx(1.0)
    loop.record_threads_fetched(0, np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), now)
    assert loop.hours_left_to_wait(now)[0] == pytest.approx(6.0) and loop.last_visit[0] == NOW
    assert loop.overdue(now + 6 * HOUR).tolist() == [True, False, False]


def test_lags_beyond_the_longest_are_no_lags():
    overview = overview_of()
    overview.read(0, figures([10, 20, 30], [100, 200, 300], [NOW] * 3), NOW + 5 * HOUR, np.zeros(3))
    visit(overview, 0, [NOW + HOUR], [0.5], NOW + 6 * HOUR)
    assert overview.lag_hours[0] == 0.0 < LONGEST_LAG_HOURS and overview.wrong[0] == 1
    assert isinstance(NOTHING, Seen)
