"""Sharing work among nodes: speed, weight, threshold and choice of a node checked on small numbers,
and in a simulation."""

from __future__ import annotations

import doctest
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlmgr.workers import work_sharing
from crawlmgr.workers.work_sharing import Dispatcher, filled, speed, threshold, trailing, weight
from tests.benches.nodes.simulated import Simulation, World, policies, unequal_speeds, zipf_sizes


def test_the_examples_hold() -> None:
    assert doctest.testmod(work_sharing).failed == 0


def test_equation_1() -> None:
    assert speed(120, 4) == 30.0
    assert speed(7, 0) == 0.0


def test_tasks_of_the_last_minutes_by_hand() -> None:
    buckets = {100: 12, 99: 40, 98: 20, 97: 0, 96: 8, 95: 100, 94: 999}
    # a quarter of minute 100 has passed: three quarters of the oldest minute of each window are
    # counted
    assert trailing(buckets, 100.25) == [12 + 30, 52 + 15, 72 + 0, 72 + 6, 80 + 75]
    assert trailing({}, 100.25) == [0.0] * 5


def test_equation_2_by_hand() -> None:
    # mean of (tasks in i minutes) / i, i = 1 … 5
    assert weight([42, 67, 72, 78, 155], 60) == pytest.approx((42 + 33.5 + 24 + 19.5 + 31) / 5)
    # a node started 2.5 minutes ago: its counts of the last 3, 4 and 5 minutes are divided by 2.5
    # instead
    assert weight([50, 100, 125, 125, 125], 2.5) == pytest.approx((50 + 50 + 50 + 50 + 50) / 5)
    assert weight([50, 100], 0.99) is None


def test_equation_2_weighs_the_minutes_by_hand() -> None:
    """A task j minutes ago has the weight (1/k) (1/j + … + 1/k): all k = 5 terms for the last
    minute, only the last term for the fifth."""
    sums = [137 / 60, 77 / 60, 47 / 60, 27 / 60, 12 / 60]  # 1/j + … + 1/5 for j = 1 to 5
    for back, wanted in enumerate(sums, 1):
        counts = trailing(
            {100 - back: 60.0}, 100.0
        )  # 60 tasks in the minute that ended `back` - 1 minutes ago
        assert counts == [60.0 * (i >= back) for i in range(1, 6)]
        assert weight(counts, 60) == pytest.approx(60 * wanted / 5)
    # the five weights have the mean 1: n tasks in every minute give the weight n, as a plain mean
    # does
    assert sum(sums) / 5 == pytest.approx(1.0)


def test_shares_and_thresholds_of_three_nodes_by_hand() -> None:
    """Checks weights, shares and thresholds, computed from tasks per minute, for two nodes that ran
    the whole time and one that started half a minute ago."""
    minutes = {
        "fast": {99: 60, 98: 60, 97: 60, 96: 60, 95: 60},
        "tired": {99: 0, 98: 0, 97: 30, 96: 30, 95: 30},
        "new": {99: 5},
    }
    up = {"fast": 60.0, "tired": 60.0, "new": 0.5}
    found = {name: weight(trailing(counts, 100.0), up[name]) for name, counts in minutes.items()}
    # tasks of “tired” in 1 … 5 minutes: (0 + 0 + 30/3 + 60/4 + 90/5) / 5 = 8.6
    assert found == {"fast": pytest.approx(60.0), "tired": pytest.approx(8.6), "new": None}
    known = filled(found)
    assert known["new"] == pytest.approx((60 + 8.6) / 2)
    part = work_sharing.shares(known)
    assert [part[name] for name in ("fast", "tired", "new")] == pytest.approx(
        [60 / 102.9, 8.6 / 102.9, 34.3 / 102.9]
    )
    assert {name: threshold(one) for name, one in known.items()} == {
        "fast": 60,
        "tired": 9,
        "new": 35,
    }
    assert {name: threshold(one, 0.25) for name, one in known.items()} == {
        "fast": 15,
        "tired": 3,
        "new": 9,
    }


@given(st.floats(1, 1e4), st.floats(1, 600))
def test_a_steady_node_weighs_its_speed(rate: float, uptime: float) -> None:
    counts = [rate * min(i, uptime) for i in range(1, 6)]
    assert weight(counts, uptime) == pytest.approx(rate)


def test_a_new_node_weighs_the_mean_of_the_others() -> None:
    assert filled({"a": 10.0, "new": None, "b": 40.0, "c": 10.0}) == {
        "a": 10.0,
        "new": 20.0,
        "b": 40.0,
        "c": 10.0,
    }
    assert filled({"x": None}) == {"x": 2.0}


def test_the_threshold_by_hand() -> None:
    assert [threshold(w) for w in (0, 1.2, 2.0, 2.1, 59.01)] == [2, 2, 2, 3, 60]
    assert threshold(59.01, 2.0) == 119


def test_the_next_task_goes_to_the_least_loaded_below_its_threshold() -> None:
    node = Dispatcher()
    node.join("fast", 40.0)
    node.join("slow", 10.0)
    given_to = []
    for _ in range(5):
        name = node.best()
        assert name is not None
        node.give(name, 10)
        given_to.append(name)
    # loads (tasks / weight) of fast and slow before each choice: 0/40, 0/10 (equal: the faster is
    # taken); 10/40, 0/10; then 10/40, 20/40 and 30/40 with 10/10
    assert given_to == ["fast", "slow", "fast", "fast", "fast"]
    assert node.best() is None and node.ranking() == []
    node.done("slow", 4)
    assert node.best() == "slow" and node.ranking() == ["slow"]
    node.join("new", 20.0)
    assert node.ranking() == ["new", "slow"]
    node.leave("new")
    assert node.best() == "slow"
    node.done("new", 5)
    node.leave("slow")
    assert node.best() is None


def test_a_node_that_did_nothing_may_still_have_two_in_hand() -> None:
    node = Dispatcher()
    node.join("idle", 0.0)
    taken = 0
    while (name := node.best()) is not None:
        node.give(name, 1)
        taken += 1
    assert taken == 2


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcd"),
            st.sampled_from(("join", "give", "done", "leave")),
            st.integers(1, 30),
        )
    )
)
def test_the_heap_answers_what_the_ranking_does(steps: list[tuple[str, str, int]]) -> None:
    node = Dispatcher()
    known: set[str] = set()
    for name, what, number in steps:
        if what == "join":
            node.join(name, float(number))
            known.add(name)
        elif what == "leave":
            node.leave(name)
            known.discard(name)
        elif name in known:
            (node.give if what == "give" else node.done)(name, number)
        assert node.best() == next(iter(node.ranking()), None)


def _outcomes(world: World) -> dict[str, dict[str, float]]:
    return {
        name: Simulation(world, policy, 8).run().row()
        for name, policy in policies(world.speeds).items()
    }


def test_simulated_nodes_reach_what_they_can_do_and_hold_hosts_briefly() -> None:
    speeds = (10.0, 10.0, 10.0, 10.0, 2.5)
    found = _outcomes(World(speeds, zipf_sizes(4000, 400_000), 20))
    assert found["weights"]["throughput"] > 0.99 and found["weights"]["slowest_twentieth"] > 0.99
    assert found["weights"]["held_p95_seconds"] < 0.6 * found["round robin"]["held_p95_seconds"]
    assert found["strict turns"]["throughput"] < 0.5
    assert all(row["too_soon"] == 0 and row["repeated"] == 0 for row in found.values())


def test_where_hosts_are_scarce_nobody_starves() -> None:
    speeds = unequal_speeds(8, random.Random(3))
    found = _outcomes(World(speeds, [10**6] * round(1.1 * sum(speeds)), 25))
    assert found["weights"]["throughput"] > 0.98
    assert (
        found["largest credit"]["throughput"] < 0.9
        and found["largest credit"]["slowest_twentieth"] < 0.1
    )
    assert found["round robin"]["throughput"] < 0.8


def test_failures_repeat_a_page_a_host_at_the_most_and_never_hurry_one() -> None:
    world = World(
        unequal_speeds(10, random.Random(4)), zipf_sizes(20_000, 1_000_000), 30, failure_minutes=10
    )
    outcome = Simulation(world, Dispatcher(), 10).run()
    assert outcome.failures > 10 and outcome.too_soon == 0
    assert outcome.throughput > 0.97
    assert 0 < outcome.repeated < 0.01 * outcome.fetched


def test_a_finite_crawl_is_fetched_to_the_last_page_once() -> None:
    world = World((5.0, 20.0), [30] * 300, 600, failure_minutes=4)
    simulation = Simulation(world, Dispatcher())
    outcome = simulation.run()
    assert outcome.fetched == 9000 and not any(simulation.left) and outcome.failures > 0
