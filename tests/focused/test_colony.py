"""Ant colony and web space evolution: Pareto fronts, spread, the ants' transition rule, pheromone
and the table of links, computed by hand and by brute force."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from focused.graph import MemoryGraph
from focused.judge.relevance import Relevance
from focused.strategies.ant_colony import Ant
from focused.strategies.base import strategy_class
from focused.strategies.link_table import LinkTable, template
from focused.strategies.pareto import best_spread, fronts, nearest_farthest, normalised
from focused.strategies.pheromone import TAU_MAX, TAU_MIN, transition
from focused.strategies.space_evolution import enter
from tests.focused.webs import OFF, ON, Web, order, random_web, run, topic, url

points = st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=25).map(
    lambda rows: np.array(rows, dtype=float)
)


def dominates(a, b):
    return all(x >= y for x, y in zip(a, b, strict=True)) and any(
        x > y for x, y in zip(a, b, strict=True)
    )


@given(points)
def test_fronts_are_those_of_the_definition(objectives):
    left = set(range(len(objectives)))
    for front in fronts(objectives):
        best = {i for i in left if not any(dominates(objectives[j], objectives[i]) for j in left)}
        assert set(front.tolist()) == best
        left -= best
    assert not left


def test_fronts_by_hand():
    rows = np.array([[1, 1], [3, 1], [1, 3], [2, 2], [0, 0]], dtype=float)
    assert [front.tolist() for front in fronts(rows)] == [[1, 2, 3], [0], [4]]
    assert list(fronts(np.zeros((0, 3)))) == []


@given(points, st.integers(1, 8))
def test_nearest_farthest_is_the_greedy_of_the_definition(objectives, number):
    chosen = nearest_farthest(objectives, number)
    scaled = normalised(objectives)
    assert len(chosen) == len(set(chosen)) == min(number, len(objectives))
    extremes = list(dict.fromkeys(objectives.argmax(axis=0).tolist()))[:number]
    assert chosen[: len(extremes)] == extremes
    for n in range(len(extremes), len(chosen)):
        rest = [i for i in range(len(objectives)) if i not in chosen[:n]]
        nearest = {i: min(np.linalg.norm(scaled[i] - scaled[j]) for j in chosen[:n]) for i in rest}
        assert nearest[chosen[n]] == pytest.approx(max(nearest.values()))


@given(points, st.integers(1, 6))
def test_nearest_farthest_covers_within_twice_the_best_radius(objectives, number):
    objectives = objectives[:9]
    if number < 4:
        number = 4  # one more than the rows (up to three) that are selected as best in an objective
    scaled = normalised(objectives)

    def radius(centres):
        return max(min(np.linalg.norm(p - scaled[c]) for c in centres) for p in scaled)

    chosen = nearest_farthest(objectives, number)
    extremes = len(set(objectives.argmax(axis=0).tolist()))
    free = (
        number - extremes + 1
    )  # rows of the greedy selection, for which the factor 2 is proved: a start and the rest
    best = min(
        radius(c) for c in itertools.combinations(range(len(scaled)), min(free, len(scaled)))
    )
    assert radius(chosen) <= 2 * best + 1e-9


def test_best_spread_takes_whole_fronts_before_thinning_one_out():
    rows = np.array([[1, 1], [0, 0], [3, 1], [1, 3], [2, 2]], dtype=float)
    assert best_spread(rows, 2) == [
        2,
        3,
    ]  # row 2 is best in the first objective, row 3 in the second
    assert sorted(best_spread(rows, 4)) == [0, 2, 3, 4]
    assert sorted(best_spread(rows, 9)) == [0, 1, 2, 3, 4]


def test_transition_exploits_or_draws_in_proportion():
    pheromone, promise = np.array([1.0, 2.0, 1.0]), np.array([3.0, 1.0, 1.0])
    # weights tau * eta^2: 9, 2, 1 (sum 12)
    assert transition(pheromone, promise, 0.5, 1, 2, 0.5, 0.99) == 0
    picks = [
        transition(pheromone, promise, 0.5, 1, 2, 0.51, pick)
        for pick in (0.0, 0.74, 0.76, 0.9, 0.95)
    ]
    assert picks == [0, 0, 1, 1, 2]
    assert transition(pheromone, promise, 1, 5, 1, 0.0, 0.0) == 1  # pheromone^5 * promise: 3, 32, 1
    assert (
        transition(pheromone, promise, 0, 0, 0, 0.1, 0.5) == 1
    )  # both exponents are 0: equal probabilities
    assert transition(pheromone, 0 * promise, 0, 1, 1, 0.1, 0.5) in range(
        3
    )  # all weights 0: any link


def colony(**values):
    strategy = strategy_class("ant_colony")(
        Relevance(topic(["s"])), MemoryGraph(), random.Random(1), values
    )
    strategy.start([url("s")])
    return strategy


def test_pheromone_update_by_hand():
    ants = colony(rho=0.1)
    s, a, b, c = (url(name) for name in "sabc")
    ants._links.add(s, 0.5, [a, b], [0.1, 0.2], [0.1, 0.2], s)
    ants._links.add(a, 0.8, [c], [0.3], [0.3], a)
    ants._links.add(c, 0.4, [], [], [], c)
    ants._pheromone.tau[:3] = 1.0
    ants._pheromone.stamps = {s: 0, a: 0, c: 0}
    ants._pheromone.deposit([[0, 2], [0], []])
    # rows: s->a, s->b, a->c; path means: (0.8 + 0.4) / 2 and 0.8
    assert ants._pheromone.tau[:3] == pytest.approx([0.9 + 0.6 + 0.8, 0.9, 0.9 + 0.6])


@pytest.mark.parametrize(
    ("laid", "used", "expected"), [(0, 1, 1.0), (0, 2, 0.9), (1, 2, 0.9), (2, 4, 0.81)]
)
def test_pheromone_evaporates_once_a_cycle_also_on_the_links_of_seeds(laid, used, expected):
    ants = colony(rho=0.1)
    s, a = url("s"), url("a")
    ants._pheromone.cycle = laid
    ants._links.add(s, 0.5, [a], [0.1], [0.1], s)
    ants._pheromone.lay(s, 0)
    ants._pheromone.tau[0] = 1.0
    ants._pheromone.cycle = used
    ants._pheromone.evaporate(s)
    assert ants._pheromone.tau[0] == pytest.approx(expected)


def test_pheromone_evaporates_when_it_is_met_and_keeps_its_bounds():
    ants = colony(rho=0.5)
    s, a = url("s"), url("a")
    ants._links.add(s, 0.5, [a], [0.1], [0.1], s)
    ants._pheromone.tau[0] = 4.0
    ants._pheromone.stamps = {s: 0}
    ants._pheromone.cycle = 2
    ants._pheromone.evaporate(s)
    assert ants._pheromone.tau[0] == pytest.approx(1.0)
    ants._pheromone.cycle = 40
    ants._pheromone.evaporate(s)
    assert ants._pheromone.tau[0] == TAU_MIN
    ants._links.add(a, 1.0, [], [], [], a)
    ants._pheromone.deposit([[0]] * 9)
    assert ants._pheromone.tau[0] == TAU_MAX


def test_score_mixes_anchor_page_and_target():
    ants = colony(h1=0.5, h2=0.2, h3=0.3)
    ants._links.add(url("s"), 0.5, ["http://h.example/x/1.html"], [0.2], [0.4], url("s"))
    # no similar target is known, so the expected value is the prior
    assert ants.score(np.array([0]))[0] == pytest.approx(0.5 * 0.2 + 0.2 * 0.5 + 0.3 * 0.4)


def test_ants_walk_over_fetched_pages_where_nothing_else_is_left():
    ants = colony()
    s, a, b = url("s"), url("a"), url("b")
    ants._links.add(s, 0.5, [a, b], [0.1, 0.2], [0.1, 0.2], s)
    ants._links.add(a, 0.5, [url("c"), s], [0.3, 0.0], [0.3, 0.0], a)
    ant = Ant(s, {ants._links.number(s)}, [])
    assert ants._candidates(ant).tolist() == [1]  # b only, because a was already fetched
    ants._light[1] = True
    assert ants._candidates(ant).tolist() == [
        0
    ]  # b is excluded in this cycle for its low weight; a is followed, as it has an open link
    ants._too_light[ants._links.number(a)] = 1
    assert (
        ants._candidates(ant).tolist() == []
    )  # page a is not followed either: its only open link has too low a weight
    ants._links.close(url("c"))
    ants._too_light.clear()
    assert ants._candidates(ant).tolist() == []
    always = colony(revisit=True)
    always._links.add(s, 0.5, [a, b], [0.1, 0.2], [0.1, 0.2], s)
    always._links.add(a, 0.5, [url("c"), s], [0.3, 0.0], [0.3, 0.0], a)
    assert sorted(always._candidates(Ant(s, {0}, [])).tolist()) == [0, 1]
    assert always._candidates(Ant(a, {0, 1}, [])).tolist() == [
        2
    ]  # not s, which this ant has visited


def test_the_least_score_is_a_quantile_of_the_links_that_wait():
    ants = colony(h1=1.0, h2=0.0, h3=0.0, quantile=0.5)
    targets = [url(f"p{i}") for i in range(21)]
    ants._links.add(url("s"), 0.5, targets, [i / 20 for i in range(21)], [0.0] * 21, url("s"))
    ants._weigh()
    assert ants._eta == pytest.approx(0.5)
    for target in targets[11:]:
        ants._links.close(target)
    ants._weigh()
    assert ants._eta == pytest.approx(0.25)


def test_starts_are_pages_by_the_best_of_their_open_links():
    ants = colony(starts=1, h1=1.0, h2=0.0, h3=0.0)
    s, a, b = url("s"), url("a"), url("b")
    ants._links.add(s, 0.5, [a, b], [0.1, 0.9], [0.1, 0.9], s)
    ants._links.add(a, 0.5, [url("c"), url("d")], [0.2, 0.4], [0.2, 0.4], a)
    assert [ants._links.urls[row] for row in ants._best_of_pages(ants._links.open_rows())] == [
        b,
        url("d"),
    ]
    assert ants._starts() == [s]
    ants._links.close(b)
    assert ants._starts() == [a]  # s has no links left


def test_an_ant_colony_counts_fetches_once_for_all_ants():
    web = random_web(2, 40)
    trail = run("ant_colony", web, ["p0"], pages=25)
    assert trail.fetched == 25
    assert len({step.url for step in trail.steps}) == len(web.asked) == 25


def test_a_colony_without_direction_stops():
    web = Web({"s": (OFF, [f"p{i}" for i in range(8)]), **{f"p{i}": (OFF, []) for i in range(8)}})
    hopeless = {
        "threshold": 1.0,
        "rho": 1.0,
    }  # too few links to adapt the threshold, and no score reaches 1
    stopped = run("ant_colony", web, ["s"], **hopeless, stop=True)
    assert (stopped.fetched < 9, stopped.stopped_by) == (True, "no_direction")
    everything = run("ant_colony", web, ["s"], **hopeless)
    assert (everything.fetched, everything.stopped_by) == (9, "frontier")


def test_only_the_stopping_rule_with_links_left_says_that_no_direction_is_left():
    ants = colony()
    assert ants.ending() == "frontier"
    s, a = url("s"), url("a")
    ants._links.add(s, 0.5, [a], [0.1], [0.1], s)
    assert ants.ending() == "frontier", "a link is open, but the rule did not stop the crawl"
    ants._still = True
    assert ants.ending() == "no_direction"
    ants._links.close(a)
    assert ants.ending() == "frontier", "no link is left"


def test_entering_the_library_by_hand():
    seeds = np.array([[1.0, 1.0]])
    library = np.array([[0.0, 1.0], [1.0, 0.0]])  # each row has distance 1 to the seed
    tests = np.array([[0.5, 0.5], [0.0, 0.0], [0.0, 1.0]])
    assert enter(tests, library, seeds).tolist() == [True, False, False]
    assert enter(tests, np.zeros((0, 2)), seeds).all()


def test_space_evolution_measures_against_the_samples_or_the_seeds():
    web = Web(
        {"s": (OFF, [("a", "soup"), ("b", "crawler topical pages")]), "a": (OFF, []), "b": (ON, [])}
    )
    assert order("space_evolution", web, ["s"], pages=2, **{"library": 2})[1] == "b"


@settings(max_examples=30)
@given(st.integers(0, 1000), st.booleans())
def test_link_table_agrees_with_the_definition(seed, siblings):
    rng = random.Random(seed)
    urls = [f"http://h{i % 2}.example/{'ab'[i % 3 == 0]}/{i}.html" for i in range(20)]
    table = LinkTable(weight=5, siblings=siblings)
    fetched, failed, links = {}, set(), []
    for page in rng.sample(urls, 8):
        if rng.random() < 0.2:
            table.close(page)
            failed.add(page)
            continue
        fetched[page] = rng.random()
        found = [
            (page, target, rng.random(), rng.random())
            for target in rng.sample(urls, 5)
            if target != page
        ]
        links.extend(found)
        table.add(
            page,
            fetched[page],
            [x[1] for x in found],
            [x[2] for x in found],
            [x[3] for x in found],
            page,
        )
    rows = np.arange(len(links))
    for row, (page, target, anchor, prior) in zip(table.objectives(rows), links, strict=True):
        kin = [value for other, value in fetched.items() if template(other) == template(target)]
        expected = (sum(kin) + 5 * prior) / (len(kin) + 5)
        if siblings:
            closed = [
                fetched.get(x[1], 0.0)
                for x in links
                if x[0] == page and (x[1] in fetched or x[1] in failed)
            ]
            expected = (sum(closed) + 5 * expected) / (len(closed) + 5)
        expected = fetched.get(target, 0.0 if target in failed else expected)
        assert row == pytest.approx([anchor, fetched[page], expected])
    done = fetched.keys() | failed
    assert table.is_open(rows).tolist() == [target not in done for _, target, _, _ in links]
    reached = [
        number if number < 0 else table.name(number) for number in table.targets(rows).tolist()
    ]
    assert reached == [target if target in fetched else -1 for _, target, _, _ in links]
    assert [table.page_of(row) for row in rows] == [page for page, *_ in links]
    for page in urls:
        assert table.leads_on(page) == any(
            source == page and target not in done for source, target, _, _ in links
        )


def test_template_takes_out_what_varies():
    assert template("http://h.example/thread/12/34.html") == template(
        "http://h.example/thread/7/8.html"
    )
    assert template("http://h.example/a/x.html") != template("http://h.example/b/x.html")
    assert template("http://h.example/s.php?id=3&p=1") == template(
        "http://h.example/t.php?p=9&id=4"
    )
    assert template("http://h.example/") == "h.example//*.?"
