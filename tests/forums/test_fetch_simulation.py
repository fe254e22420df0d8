"""Tests of finding changed threads in simulated lists of threads: all are found in lists without
faults and nearly all in faulty ones, and policies that predict changes fetch exactly as many
threads as their budget allows."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from forums.schedule.events import from_rows, read_events
from forums.simulation.fetch_simulation import (
    FetchSetup,
    posts_per_day,
    simulate_fetch,
    summary,
    usual_changes,
)
from forums.simulation.simulated_lists import ListStyle, SimulatedForum

HOUR, DAY = 3600.0, 86400.0
LOGS = Path(__file__).resolve().parents[3] / "shared" / "data" / "events"
EXACT = ListStyle(
    pinned=0, unmarked_pins=0, relative_boards=0.0, deleted_share=0.0, page_seconds=0.0
)


def forum_log(seed=0, days=40, per_day=20):
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(days * per_day):
        board, moment = f"b{rng.integers(0, 3)}", rng.random() * days * DAY
        rows.append((board, str(number), True, moment))
        for _ in range(rng.geometric(0.2) - 1):
            moment += rng.exponential(3.0) * HOUR
            rows.append((board, str(number), False, moment))
    return from_rows(rows)


@pytest.fixture(scope="module")
def log():
    return forum_log()


@pytest.fixture(scope="module")
def setup():
    return FetchSetup(start=30 * DAY, days=6, history_days=25.0)


class TestLists:
    def test_rows_stand_newest_first_and_pins_on_top(self, log):
        forum = SimulatedForum(
            log, 30 * DAY, ListStyle(relative_boards=0.0), np.random.default_rng(1)
        )
        rows, more = forum.page(0, 1)
        assert more and len(rows) == 25 + 3
        assert [row.pinned for row in rows[:4]] == [True, True, False, False]
        times = [row.last_reply.value for row in rows[3:]]
        assert times == sorted(times, reverse=True)
        assert {row.key for row in forum.page(0, 2)[0]}.isdisjoint(row.key for row in rows)

    def test_rows_shift_while_time_passes(self, log):
        forum = SimulatedForum(log, 30 * DAY, ListStyle(), np.random.default_rng(1))
        before = [row.key for row in forum.page(1, 1)[0]]
        forum.advance(31 * DAY)
        assert [row.key for row in forum.page(1, 1)[0]] != before

    def test_deleted_replies_lower_the_count_and_raise_the_version(self):
        events = from_rows(
            [("b", "t", True, 0.0), ("b", "t", False, 10 * HOUR), ("b", "t", False, 11 * HOUR)]
        )
        forum = SimulatedForum(
            events, HOUR, replace(EXACT, deleted_share=0.999999), np.random.default_rng(3)
        )
        forum.advance(11 * HOUR)
        seen = int(forum.version[0])
        forum.advance(80 * HOUR)
        assert forum.version[0] == seen + 2 or forum.version[0] == 5
        assert forum.page(0, 1)[0][0].replies == 0
        assert forum.last[0] == 0.0

    def test_relative_times_are_rounded_to_their_unit(self):
        events = from_rows([("b", "t", True, 0.0), ("b", "u", True, 50 * HOUR)])
        forum = SimulatedForum(
            events, 53.5 * HOUR, replace(EXACT, relative_boards=1.0), np.random.default_rng(3)
        )
        near, far = (row.last_reply for row in forum.page(0, 1)[0])
        assert (near.precision_seconds, far.precision_seconds) == (3600, 86400)
        assert near.relative and near.value.timestamp() == (53.5 - 3) * HOUR
        assert far.value.timestamp() == (53.5 - 48) * HOUR


class TestBic:
    def test_exact_lists_give_every_change_and_nothing_else(self, log, setup):
        days = simulate_fetch(log, replace(setup, style=EXACT, interrupted_share=0.0), "bic")
        assert [(day.precision, day.recall) for day in days] == [(1.0, 1.0)] * 6
        assert all(day.fetched == day.changed for day in days)

    def test_faulty_lists_and_broken_visits_cost_little(self, log, setup):
        total = summary(
            simulate_fetch(log, replace(setup, interrupted_share=0.2), "bic"),
            posts_per_day(log, setup),
        )
        assert total.precision >= 0.97
        assert total.recall >= 0.99
        assert 2.9 < total.mean_delay_hours < 3.5  # half of a cycle of 6 hours

    def test_a_visit_reads_few_list_pages(self, log, setup):
        total = summary(simulate_fetch(log, setup, "bic"), posts_per_day(log, setup))
        assert total.list_pages < 2 * 3 * 4 * 6  # 2 per visit; boards, cycles a day, days


class TestPredictions:
    @pytest.mark.parametrize("policy", ["eic", "rate", "hazard", "oracle"])
    def test_the_budget_is_kept(self, log, setup, policy):
        days = simulate_fetch(log, replace(setup, fetches=9), policy)
        assert [day.fetched for day in days] == [36] * 6

    def test_eic_as_printed_fetches_dead_threads_again_and_again(self, log, setup):
        total = summary(simulate_fetch(log, setup, "eic"), posts_per_day(log, setup))
        assert total.precision < 0.2
        assert total.fetched > 3 * total.changed

    def test_hazard_waits_less_than_rate_and_eic_at_equal_fetches(self, log, setup):
        same = replace(setup, fetches=usual_changes(log, setup))
        waits = {
            policy: (
                summary(
                    simulate_fetch(log, same, policy), posts_per_day(log, same)
                ).mean_delay_hours
            )
            for policy in ("oracle", "hazard", "rate", "eic")
        }
        assert waits["oracle"] < waits["hazard"] < waits["rate"] < waits["eic"]

    def test_an_unknown_policy_is_refused(self, log, setup):
        with pytest.raises(ValueError, match="unknown"):
            simulate_fetch(log, setup, "luck")


def test_usual_changes_counts_threads_a_cycle():
    events = from_rows(
        [
            ("b", "t", True, 1.0),
            ("b", "t", False, 2.0),
            ("b", "u", True, 3.0),
            ("b", "u", False, 7 * HOUR),
        ]
    )
    assert usual_changes(events, FetchSetup(start=12 * HOUR, history_days=0.5)) == 2


@pytest.mark.skipif(not LOGS.is_dir(), reason="the shared event logs are not on this machine")
def test_bic_on_a_real_log():
    events = read_events(LOGS / "gbadev_phpbb.csv.gz")[0]
    setup = FetchSetup(start=1148515200.0, days=5)
    total = summary(simulate_fetch(events, setup, "bic"), posts_per_day(events, setup))
    assert total.precision >= 0.97 and total.recall >= 0.99
