"""The predicted rate of replies: its input, its ranking, and that it is better than simpler rules
on threads that become inactive."""

from zoneinfo import ZoneInfo

import numpy as np
import pytest

from forums.schedule.events import LocalClock, from_rows
from forums.schedule.reply_hazard import (
    HazardModel,
    ThreadHistory,
    board_gaps,
    facts,
    overdue,
    rate_times_elapsed,
    site_activity,
    train,
)

HOUR, DAY = 3600.0, 86400.0
UTC = ZoneInfo("UTC")


def dying_threads(seed, days=60, per_day=12):
    """Threads whose replies come in a burst that fades within a day or two."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(days * per_day):
        born = rng.random() * days * DAY
        rows.append(("b", str(number), True, born))
        moment = born
        for _ in range(rng.geometric(0.25) - 1):
            moment += rng.exponential(2.5) * HOUR
            rows.append(("b", str(number), False, moment))
    return from_rows(rows)


def history_of(events):
    clock = LocalClock(UTC, 0.0, 90 * DAY)
    return ThreadHistory(events, clock, np.ones(24))


def test_facts_use_only_posts_up_to_the_fetch():
    events = from_rows(
        [
            ("b", "t", True, 0.0),
            ("b", "t", False, 4 * HOUR),
            ("b", "t", False, 10 * HOUR),
            ("b", "u", True, HOUR),
        ]
    )
    known = facts(
        history_of(events), np.array([0, 0, 1]), np.array([5 * HOUR, 30 * HOUR, 5 * HOUR])
    )
    assert known.replies.tolist() == [1, 2, 0]
    assert known.age.tolist() == pytest.approx([5, 30, 4])
    assert known.silence.tolist() == pytest.approx([1, 20, 4])
    assert known.recent.tolist() == [[2, 2, 2], [0, 1, 3], [1, 1, 1]]
    assert known.gap_hours[:2].tolist() == pytest.approx([4, 5])
    assert np.isnan(known.gap_hours[2])


def test_eic_predicts_the_mean_gap_after_the_last_post():
    events = from_rows([("b", "t", True, 0.0), ("b", "t", False, 4 * HOUR), ("b", "u", True, HOUR)])
    known = facts(history_of(events), np.array([0, 1]), np.array([5 * HOUR, 5 * HOUR]))
    late = overdue(known, 8 * HOUR, np.array([3.0, 3.0]))
    assert late[0] == pytest.approx(0.0)  # last post at 4 h, mean gap 4 h: due at 8 h, which is now
    assert late[1] == pytest.approx(7 / 3 - 1)


def test_quiet_hours_count_less():
    activity = np.where(np.arange(24) < 12, 0.0, 1.0)
    history = ThreadHistory(from_rows([("b", "t", True, 0.0)]), LocalClock(UTC, 0.0, DAY), activity)
    hours = history.active_hours(np.array([0.0, 12.0, 24.0]) * HOUR)
    assert hours[1] - hours[0] < 0.2 * (hours[2] - hours[1])
    assert hours[2] - hours[0] == pytest.approx(24.0)


def test_the_fit_expects_what_comes_and_ranks_better_than_the_mean_rate():
    events = dying_threads(1)
    history = history_of(events)
    model = train(history, 0.0, 40 * DAY, np.random.default_rng(2), samples=8000)
    assert model.weights is not None
    rng = np.random.default_rng(3)
    now = np.full(4000, 55 * DAY)
    threads = rng.choice(np.flatnonzero(events.times[events.opener] < 50 * DAY), 4000)
    fetched = np.minimum(
        history.times[history.first[threads]] + rng.exponential(20, 4000) * HOUR, now - HOUR
    )
    later = fetched + 6 * HOUR
    came = history.known(threads, later) - history.known(threads, fetched)
    known, elapsed = facts(history, threads, fetched), np.full(4000, 6.0)
    hazard, rate = model.expected(known, elapsed), rate_times_elapsed(known, elapsed)
    assert hazard.sum() == pytest.approx(came.sum(), rel=0.25)
    best = [came[np.argsort(-score)[:400]].sum() for score in (hazard, rate)]
    assert best[0] > 1.1 * best[1]


def test_expectation_falls_with_silence():
    events = dying_threads(4)
    history = history_of(events)
    model = train(history, 0.0, 50 * DAY, np.random.default_rng(5), samples=8000)
    thread = int(np.argmax(history.stop - history.first))
    last = history.times[history.stop[thread] - 1]
    known = facts(
        history, np.array([thread, thread]), np.array([last + 0.5 * HOUR, last + 72 * HOUR])
    )
    few = model.expected(known, np.array([6.0, 6.0]))
    assert few[0] > 3 * few[1]


def test_with_little_history_it_falls_back_to_the_rate():
    events = from_rows([("b", str(number), True, number * HOUR) for number in range(50)])
    history = history_of(events)
    model = train(history, 0.0, 50 * HOUR, np.random.default_rng(1))
    assert model.weights is None
    known = facts(history, np.array([3]), np.array([40 * HOUR]))
    assert (
        model.expected(known, np.array([6.0])).tolist()
        == rate_times_elapsed(known, np.array([6.0])).tolist()
    )
    assert train(history, 80 * DAY, 81 * DAY, np.random.default_rng(1)).trained_on == 0


def test_area_score_prefers_the_longer_wait_at_equal_expectation():
    flat = HazardModel(None, np.zeros(0), np.ones(0), 0)
    events = from_rows([("b", "t", True, 0.0), ("b", "u", True, 0.0), ("b", "u", False, HOUR)])
    known = facts(history_of(events), np.array([0, 0]), np.array([2 * HOUR, 2 * HOUR]))
    scores = flat.score(known, np.array([2.0, 8.0]))
    assert scores[1] / scores[0] == pytest.approx(4 * 2)


def test_activity_and_gaps_come_from_the_given_window():
    events = from_rows(
        [
            ("a", "1", True, 0.0),
            ("a", "1", False, 2 * HOUR),
            ("b", "2", True, 3 * HOUR),
            ("a", "1", False, 9 * DAY),
        ]
    )
    activity = site_activity(events, LocalClock(UTC, 0.0, DAY), 0.0, DAY)
    assert activity.sum() == 3 and activity[[0, 2, 3]].tolist() == [1, 1, 1]
    posts, openers = board_gaps(events, 0.0, DAY)
    assert posts.tolist() == [12.0, 24.0]
    assert openers.tolist() == [24.0, 24.0]
