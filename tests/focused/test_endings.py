"""A run ends only when no waiting link may be followed by its strategy, and reports the rule by
which links were left out."""

import random
from copy import copy
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from focused.graph import MemoryGraph, State
from focused.judge.relevance import Relevance
from focused.run.loop import crawl
from focused.strategies.base import BUILT_IN, GIVEN_UP, strategy_class
from tests.focused.webs import OFF, ON, Web, run, topic, url

GRAPHS = 1000
RULED = {
    "fish": ({"depth": 1}, "rule_depth"),
    "shark": ({"depth": 1, "similar": 0.2}, "rule_depth"),
    "best_first": ({"off_topic": "drop"}, "rule_off_topic"),
    "pagerank": ({"off_topic": "drop"}, "rule_off_topic"),
    "static_tunnel": ({"length": 1}, "rule_tunnel"),
    "dynamic_tunnel": ({"depth": 1, "beyond": "drop"}, "rule_tunnel"),
    "ant_colony": ({"stop": True, "threshold": 1.0, "rho": 1.0}, "no_direction"),
}
EVERY = [*BUILT_IN, *(f"{name} ruled" for name in RULED)]


def any_web(number: int) -> Web:
    """Returns the random web number `number`, with an empty list of requests."""
    web = copy(made(number))
    web.asked = []
    return web


@lru_cache(maxsize=GRAPHS)
def made(number: int) -> Web:
    """A small random graph: chains, islands, cycles, dead ends, broken pages, few or many links,
    all or no pages on topic."""
    draw = random.Random(number)
    pages, links = draw.randint(2, 24), draw.choice([1, 2, 3, 8])
    share = draw.choice([0.0, 0.1, 0.5, 1.0])
    names = [f"p{i}" for i in range(pages)]
    words = ON.split() + OFF.split()
    found = {}
    for i, name in enumerate(names):
        targets = draw.choices([*names, "nowhere"], k=draw.randint(0, links))
        if draw.random() < 0.7 and i + 1 < pages:
            targets.append(names[i + 1])
        out = [
            (target, " ".join(draw.choices(words, k=2)), draw.choice(words))
            for target in dict.fromkeys(targets)
        ]
        found[name] = (ON if draw.random() < share else OFF, out)
    return Web(found, broken=[name for name in names[2:] if draw.random() < 0.1])


def reachable(web: Web, seeds: list[str]) -> set[str]:
    found, ahead = set(), [url(seed) for seed in seeds]
    while ahead:
        one = ahead.pop()
        if one in found:
            continue
        found.add(one)
        if one not in web.broken and one in web.pages:
            ahead.extend(link.url for link in web.pages[one].links)
    return found


def run_over(name: str, number: int) -> str:
    """Runs a strategy ("fish", or "fish ruled" with its strictest rule) over the random graph with
    the seed `number`; checks that the pages left unfetched agree with the reason for which the run
    ended, and returns this reason.
    """
    web = any_web(number)
    seeds = ["p0"] if number % 3 else ["p0", "p1"]
    strategy_name, _, ruled = name.partition(" ")
    graph, about = MemoryGraph(), topic(seeds)
    values = RULED[strategy_name][0] if ruled else {}
    strategy = strategy_class(strategy_name)(Relevance(about), graph, random.Random(number), values)
    trail = crawl(strategy, graph, web, about.seeds, 1000)
    everything = reachable(web, seeds)
    assert len(web.asked) == len(set(web.asked)), number
    left = everything - set(web.asked)
    if trail.stopped_by == "frontier":
        assert not left and set(web.asked) == everything, number
        return trail.stopped_by
    assert trail.stopped_by == strategy.ending() != "pages", number
    if trail.stopped_by == "no_direction":
        assert any(graph.node(one) is not None for one in left), number
    else:
        given_up = {node.url for node in graph.queued(GIVEN_UP)}
        assert given_up and given_up <= left, number
        assert all(graph.node(one) is None or graph.node(one).queue == GIVEN_UP for one in left), (
            number
        )
        assert not any(
            node.state == State.WAITING for one in left - given_up if (node := graph.node(one))
        ), number
    return trail.stopped_by


@pytest.mark.parametrize(
    "name",
    [
        (
            pytest.param(one, marks=pytest.mark.slow)
            if one in ("ant_colony ruled", "space_evolution")
            else one
        )
        for one in EVERY
    ],
)
def test_every_strategy_asks_for_all_that_it_may_or_says_which_rule_left_links_out(name):
    ended = {run_over(name, number) for number in range(GRAPHS)}
    strategy, _, ruled = name.partition(" ")
    assert ended <= {"frontier", RULED.get(strategy, ("", ""))[1]}
    assert not ruled or RULED[strategy][1] in ended


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=10)
@given(number=st.integers(GRAPHS, 10**9))
def test_the_same_on_graphs_that_nobody_chose(name, number):
    run_over(name, number)


def test_fish_says_that_its_depth_rule_ended_it():
    web = Web(
        {"s": (OFF, ["a"]), "a": (OFF, ["b"]), "b": (OFF, ["c"]), "c": (OFF, ["d"]), "d": (ON, [])}
    )
    assert run("fish", web, ["s"], depth=2).stopped_by == "rule_depth"
    assert run("fish", web, ["s"], depth=9).stopped_by == "frontier"


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_seeds_added_after_the_end_are_followed(name):
    web = Web({"s": (ON, []), "t": (ON, ["u"]), "u": (ON, [])})
    graph, about = MemoryGraph(), topic(["s"])
    strategy = strategy_class(name)(Relevance(about), graph)
    assert crawl(strategy, graph, web, about.seeds, 9).fetched == 1
    more = crawl(strategy, graph, web, [url("t")], 9)  # adds a seed, as editing an active run does
    assert (more.fetched, more.stopped_by) == (2, "frontier")
