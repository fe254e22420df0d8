"""Parameters of strategies: each changes the order, none is undeclared or untested, and invalid
values are refused."""

from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from focused.pages import Link
from focused.parameters import Parameter, read_settings
from focused.strategies.base import BUILT_IN, strategy_class
from tests.focused.webs import (
    OFF,
    ON,
    Web,
    build,
    fetch,
    node,
    order,
    random_web,
    start,
    topic,
    url,
)

HOSTS = Web(
    {
        "s": (ON, ["a", "http://other.example/x", "b"]),
        "a": (ON, ["a1", "http://other.example/y"]),
        "b": (OFF, ["b1"]),
        "a1": (ON, []),
        "b1": (ON, []),
        "http://other.example/x": (ON, []),
        "http://other.example/y": (OFF, []),
    }
)
CHANGES = [
    ("depth_first", {"order": "page"}, {}),
    ("depth_first", {"tree": False}, {"training_pages": 10}),
    ("depth_first", {"training_pages": 8}, {}),
    ("depth_first", {"tree_depth": 10}, {"training_pages": 12, "tree_depth": 1}),
    ("best_first", {"anchor": 0.9}, {}),
    ("best_first", {"off_topic": "reserve"}, {"anchor": 0.5}),
    ("best_first", {"off_topic": "drop"}, {}),
    ("adaptive", {"trust": 0.1}, {}),
    ("adaptive", {"tunnel": 0.0}, {"trust": 0.1}),
    ("adaptive", {"together": 20}, {}),
    ("adaptive", {"learn": False}, {"trust": 0.1}),
    ("adaptive", {"sharpness": 8.0}, {"trust": 0.1}),
    ("fish", {"width": 1}, {}),
    ("fish", {"factor": 1.0}, {"width": 2, "factor": 3.0}),
    ("fish", {"depth": 1}, {}),
    ("fish", {"front": False}, {}),
    ("shark", {"delta": 0.0}, {}),
    ("shark", {"beta": 0.0}, {}),
    ("shark", {"gamma": 1.0}, {}),
    ("shark", {"depth": 1}, {"similar": 0.5}),
    ("shark", {"similar": 0.5}, {}),
    ("pagerank", {"off_topic": "follow"}, {}),
    ("pagerank", {"off_topic": "drop"}, {}),
    ("dolphin", {"alpha": 1.0}, {}),
    ("dolphin", {"beta": 1.0}, {}),
    ("dolphin", {"gamma": 1.0}, {}),
    ("dolphin", {"importance": "split"}, {}),
    ("dolphin", {"importance": "opic"}, {}),
    ("dolphin", {"normalise": "log"}, {}),
    ("dolphin", {"normalise": "rank"}, {}),
    ("dolphin", {"normalise": "none"}, {}),
    ("dolphin", {"aggregate": "max"}, {}),
    ("dolphin", {"context": 0.0}, {}),
    ("static_tunnel", {"length": 0}, {}),
    ("dynamic_tunnel", {"depth": 1}, {}),
    ("dynamic_tunnel", {"anchor": 0.0}, {}),
    ("dynamic_tunnel", {"context": 0.0}, {}),
    ("dynamic_tunnel", {"page": 0.0}, {}),
    ("dynamic_tunnel", {"step": 0.5}, {}),
    ("dynamic_tunnel", {"hold": 0.0}, {"depth": 2}),
    ("dynamic_tunnel", {"first_predict": True}, {"depth": 1, "hold": 0.05}),
    ("dynamic_tunnel", {"mode": "literal"}, {}),
    ("dynamic_tunnel", {"share": 1.0}, {}),
    ("dynamic_tunnel", {"order": "level"}, {}),
    ("dynamic_tunnel", {"width": 1}, {"mode": "literal"}),
    ("dynamic_tunnel", {"cap": 1}, {}),
    ("dynamic_tunnel", {"host_budget": 1}, {}),
    ("dynamic_tunnel", {"beyond": "drop"}, {"depth": 1}),
    ("context_graph", {"layers": 1}, {"first": 10}),
    ("context_graph", {"terms": 5}, {"first": 10}),
    ("context_graph", {"confidence": 1.0}, {"first": 10}),
    ("context_graph", {"first": 10}, {}),
    ("classifier_distiller", {"hub": 0.9}, {"every": 10}),
    ("classifier_distiller", {"every": 10}, {}),
    ("classifier_distiller", {"smoothing": 5.0}, {"every": 10}),
    ("ant_colony", {"ants": 2}, {}),
    ("ant_colony", {"depth": 1}, {}),
    ("ant_colony", {"alpha": 0.0}, {"revisit": True}),
    ("ant_colony", {"beta": 0.0}, {}),
    ("ant_colony", {"rho": 1.0}, {}),
    ("ant_colony", {"q0": 0.1}, {}),
    ("ant_colony", {"initial": 0.1}, {}),
    ("ant_colony", {"local": 0.9}, {"revisit": True}),
    ("ant_colony", {"pool": 2}, {}),
    ("ant_colony", {"starts": 10}, {}),
    ("ant_colony", {"h1": 0.0}, {}),
    ("ant_colony", {"h2": 0.0}, {}),
    ("ant_colony", {"h3": 0.0}, {}),
    ("ant_colony", {"quantile": 0.0}, {}),
    ("ant_colony", {"threshold": 0.0}, {}),
    ("ant_colony", {"prior": 50.0}, {}),
    ("ant_colony", {"siblings": False}, {}),
    ("ant_colony", {"revisit": True}, {}),
    ("ant_colony", {"similarity": "words"}, {}),
    ("space_evolution", {"library": 5}, {}),
    ("space_evolution", {"pages": 2}, {}),
    ("space_evolution", {"toward": "seeds"}, {}),
]


_web = cache(lambda seed: random_web(seed, 120))


@cache
def _order(seed, name, values):
    return order(name, _web(seed), ["p0"], **dict(values))


@pytest.mark.parametrize(("name", "change", "others"), CHANGES)
def test_every_parameter_changes_the_order(name, change, others):
    for seed in range(6):
        if _order(seed, name, tuple(others.items())) != _order(
            seed, name, tuple({**others, **change}.items())
        ):
            return
    pytest.fail("the order is the same on six webs")


def test_parameters_that_need_a_web_of_their_own():
    rich, about = random_web(1, 200, on_topic=0.7), replace(topic(["p0"]), threshold=0.02)
    judged, plain = (
        order("adaptive", rich, ["p0"], about=about, trust=0.1, feedback=feedback)
        for feedback in (True, False)
    )
    assert judged != plain
    assert order("fish", HOSTS, ["s"], 3, other_sites=True) != order("fish", HOSTS, ["s"], 3)
    same = Web(
        {
            "s": (OFF, [("a", "crawler"), ("b", "page")]),
            "a": (OFF, [("b", "page crawler")]),
            "b": (OFF, [("a", "")]),
        }
    )
    once = start("dolphin", [("x", "crawler"), ("y", "soup")])
    again = start("dolphin", [("x", "crawler"), ("y", "soup")], once_per_host=False)
    for strategy in (once, again):
        fetch(strategy, "y", [("x", "crawler")])
        assert strategy.graph.node(url("x")) is not None
    assert node(once, "x").data["anchors"] == {"crawler": 1}
    assert node(again, "x").data["anchors"] == {"crawler": 2}
    assert len(order("dolphin", same, ["s"])) == 3


def test_url_words_and_the_near_lexicon_count_in_tunnels():
    link = Link(url("tiyu/x"), "soup", ("soup",), Counter())
    plain = build("dynamic_tunnel")
    assert plain.relevance(link) == 0
    about = topic(["s"], near={"soup": 1.0}, url_words=("tiyu",))
    tunnel = build("dynamic_tunnel", about)
    assert tunnel.relevance(link) == pytest.approx(0.5 * 0.6 * 1.0 + 0.2 * 1)
    assert build("dynamic_tunnel", about, near=0.0).relevance(link) == pytest.approx(0.2)
    assert build("dynamic_tunnel", about, url=0.0).relevance(link) == pytest.approx(0.5 / 0.8 * 0.6)


def test_every_parameter_is_listed_with_a_range_and_tested():
    tested = {(name, key) for name, change, _ in CHANGES for key in change}
    tested |= {
        ("adaptive", "feedback"),
        ("fish", "other_sites"),
        ("dolphin", "once_per_host"),
        ("dynamic_tunnel", "near"),
        ("dynamic_tunnel", "url"),
        ("ant_colony", "stop"),
    }
    tested |= {("ant_colony", "one_per_concept")}  # tested in tests/focused/test_concepts.py
    for name in BUILT_IN:
        for parameter in strategy_class(name).parameters():
            assert (name, parameter.name) in tested
            assert parameter.help
            assert (
                parameter.choices
                or isinstance(parameter.default, bool)
                or parameter.low < parameter.high
            )
            assert parameter.read(parameter.default) == parameter.default


def test_wrong_parameters_are_refused_in_one_line():
    shark = strategy_class("shark")
    with pytest.raises(ValueError, match="no parameter depht; there are: delta"):
        read_settings(shark.Settings, {"depht": 3})
    with pytest.raises(ValueError, match="gamma lies between 0 and 1, not 2"):
        read_settings(shark.Settings, {"gamma": "2"})
    with pytest.raises(ValueError, match="depth is a whole number, not 2.5"):
        read_settings(shark.Settings, {"depth": "2.5"})
    with pytest.raises(ValueError, match="lies between"):
        read_settings(shark.Settings, {"gamma": "nan"})
    with pytest.raises(ValueError, match="one of share, literal"):
        read_settings(strategy_class("dynamic_tunnel").Settings, {"mode": "deep"})
    with pytest.raises(ValueError, match="front is yes or no"):
        read_settings(strategy_class("fish").Settings, {"front": "maybe"})
    assert read_settings(strategy_class("fish").Settings, {"front": "no", "width": "7"}).width == 7
    assert Parameter("x", 1.0, "h", 0, 2).kind == "float"


def test_a_strategy_is_added_by_its_dotted_name():
    assert strategy_class("mine", {"mine": "focused.strategies.shark.Shark"}).name == "shark"
    with pytest.raises(ValueError, match="no strategy mine; there are: adaptive, ant_colony"):
        strategy_class("mine")
    with pytest.raises(ValueError, match="is no strategy"):
        strategy_class("mine", {"mine": "focused.judge.relevance.Topic"})
