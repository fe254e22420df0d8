"""The in-memory graph: order, moves between queues, aliases, and agreement with sorting all
links."""

import random

from hypothesis import given
from hypothesis import strategies as st

from focused.graph import MemoryGraph, OutLink, State


def test_highest_priority_first_then_first_pushed():
    graph = MemoryGraph()
    for name, priority in (("a", 1.0), ("b", 2.0), ("c", 2.0), ("d", 0.0)):
        graph.push(graph.add(name, 0, None), priority)
    assert [graph.pop().url for _ in range(4)] == ["b", "c", "a", "d"]
    assert graph.pop() is None


def test_a_node_waits_once_in_the_queue_it_was_pushed_to_last():
    graph = MemoryGraph()
    node = graph.add("a", 0, None)
    graph.push(node, 1.0)
    graph.push(node, 5.0, "tunnel", parent="p")
    assert (graph.waiting(), graph.waiting("tunnel")) == (0, 1)
    assert graph.pop() is None
    assert graph.pop("tunnel").parent == "p"
    assert graph.pop("tunnel") is None


def test_depth_is_the_least_until_fetched():
    graph = MemoryGraph()
    node = graph.add("a", 5, "x")
    graph.add("a", 3, "y")
    assert (node.depth, node.parent) == (3, "x")
    node.state = State.FETCHED
    graph.add("a", 1, "z")
    assert node.depth == 3


def test_alias_and_links():
    graph = MemoryGraph()
    node = graph.add("a", 0, None)
    graph.alias("b", node)
    assert graph.node("b") is node
    graph.store_links(node, [OutLink("c", 0.5)])
    assert graph.links(node)[0].score == 0.5
    assert graph.links(graph.add("c", 1, "a")) == ()


def test_drop_and_reprioritise():
    graph = MemoryGraph()
    for name in "abcd":
        graph.push(graph.add(name, 0, None), 1.0)
    graph.drop(graph.node("b"))
    graph.reprioritise(lambda node: 9.0 if node.url == "d" else 1.0)
    assert [graph.pop().url for _ in range(3)] == ["d", "a", "c"]
    assert graph.pop() is None
    assert graph.waiting() == 0


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcdefgh"), st.integers(0, 3), st.sampled_from(["push", "pop", "drop"])
        ),
        max_size=300,
    )
)
def test_agrees_with_sorting_everything(actions):
    graph = MemoryGraph()
    model: dict[str, tuple[int, int]] = {}
    for number, (name, priority, action) in enumerate(actions):
        if action == "push":
            graph.push(graph.add(name, 0, None), priority)
            model[name] = (-priority, number)
        elif action == "drop":
            graph.drop(graph.add(name, 0, None))
            model.pop(name, None)
        else:
            expected = min(model, key=model.get) if model else None
            node = graph.pop()
            assert (node.url if node else None) == expected
            model.pop(expected, None)
        assert graph.waiting() == len(model) == len(list(graph.queued()))


def test_random_ties_are_repeatable_and_not_first_come():
    def drawn(seed):
        graph = MemoryGraph(random.Random(seed))
        for i in range(20):
            graph.push(graph.add(str(i), 0, None), 1.0)
        return [graph.pop().url for _ in range(20)]

    assert drawn(3) == drawn(3) != drawn(4)
