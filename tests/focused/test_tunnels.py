"""Tunnels, paths through off-topic pages: each change of their state, the parameter `hold` and its
cap, pages with several parents, and the processing of stored pages again."""

import random

import pytest

from focused.graph import MemoryGraph, State
from focused.judge.relevance import Relevance
from focused.pages import Page
from focused.strategies.base import GIVEN_UP, strategy_class
from focused.strategies.best_first import RESERVE
from focused.strategies.tunnel import TUNNEL, UNSET
from tests.focused.webs import OFF, ON, Web, order, topic, url

PROMISING = (  # as an anchor it gives a link the relevance R > 0.3 (tested below)
    "crawler topical pages"
)
DULL = "soup"


class Machine:
    """A tunnelling strategy that is given pages one by one."""

    def __init__(self, name="dynamic_tunnel", **values):
        self.strategy = strategy_class(name)(
            Relevance(topic(["s"])), MemoryGraph(), random.Random(1), values
        )
        self.strategy.start([url("s")])

    def node(self, name):
        """The graph node of the page `name`; None if it is unknown or was given up by the tunnel
        rules."""
        node = self.strategy.graph.node(url(name))
        return None if node is None or node.queue == GIVEN_UP else node

    def fetch(self, name, *links, on_topic=False, similarity=0.1):
        node = self.node(name)
        self.strategy.graph.drop(node)
        node.state = State.FETCHED
        content = Web({name: ("", links)}).pages[url(name)]
        self.strategy.expand(node, Page(node.url, node.depth, content, similarity, on_topic))
        return self

    def k(self, name):
        return self.node(name).get("k")

    def queue(self, name):
        node = self.node(name)
        return node.queue if node.state == State.WAITING else None


def test_on_topic_gives_infinity_and_its_similarity_as_priority():
    machine = Machine().fetch("s", ("a", DULL), ("b", PROMISING), on_topic=True, similarity=0.7)
    assert (machine.k("a"), machine.queue("a"), machine.node("a").priority) == (UNSET, "", 0.7)
    assert machine.node("b").priority == 0.7
    assert machine.strategy.select().url == url("a")  # the first one among equals


def test_first_page_off_topic_sets_the_depth_and_takes_one_whatever_the_link_promises():
    machine = Machine(depth=12).fetch("s", ("a", DULL), ("b", PROMISING))
    assert (machine.k("a"), machine.k("b")) == (11, 11)
    assert machine.queue("a") == TUNNEL
    assert (
        Machine(depth=12, first_predict=True).fetch("s", ("a", DULL), ("b", PROMISING)).k("b") == 12
    )


def test_further_pages_off_topic_hold_for_promising_links_and_take_one_for_others():
    machine = Machine(depth=5).fetch("s", ("a", DULL)).fetch("a", ("b", PROMISING), ("c", DULL))
    assert (machine.k("a"), machine.k("b"), machine.k("c")) == (4, 4, 3)


def test_on_topic_inside_a_tunnel_ends_it():
    machine = (
        Machine(depth=2)
        .fetch("s", ("a", DULL))
        .fetch("a", ("b", DULL), on_topic=True, similarity=0.5)
    )
    assert (machine.k("b"), machine.queue("b")) == (UNSET, "")


def test_nothing_goes_on_from_zero():
    machine = Machine(depth=1, beyond="drop").fetch("s", ("a", DULL)).fetch("a", ("b", DULL))
    assert machine.k("a") == 0
    assert machine.node("b") is None
    kept = Machine(depth=1).fetch("s", ("a", DULL)).fetch("a", ("b", DULL))
    assert kept.queue("b") == RESERVE


def test_a_hold_ends_at_the_cap():
    machine = Machine(depth=3, cap=4, beyond="drop").fetch("s", ("t0", PROMISING))
    for i in range(6):
        if machine.node(f"t{i}") is None:
            break
        machine.fetch(f"t{i}", (f"t{i + 1}", PROMISING))
    # Page s and then t0, t1 and t2 are off topic, four in a row: with cap=4 the links of t2 are not
    # followed.
    assert machine.node("t2") is not None
    assert machine.k("t2") == 2
    assert machine.node("t3") is None


def test_the_greatest_k_of_several_parents_counts_in_either_order():
    first = Machine(depth=6).fetch("s", ("a", DULL), ("x", DULL)).fetch("a", ("x", DULL))
    second = (
        Machine(depth=6)
        .fetch("s", ("a", DULL), ("y", DULL))
        .fetch("a", ("x", DULL))
        .fetch("y", ("x", PROMISING))
    )
    assert first.k("x") == 5
    assert second.k("x") == 5


def test_a_fetched_page_that_gets_more_steps_hands_its_links_on_again_without_a_fetch():
    machine = Machine(depth=2, beyond="drop")
    machine.fetch("s", ("a", DULL), ("z", DULL)).fetch("a", ("b", DULL)).fetch("b", ("c", DULL))
    assert machine.k("b") == 0
    assert machine.node("c") is None
    machine.fetch("z", ("b", DULL), on_topic=True)
    assert machine.k("b") == UNSET
    assert (machine.k("c"), machine.queue("c")) == (1, TUNNEL)


def test_a_link_found_on_topic_moves_out_of_the_tunnel():
    machine = (
        Machine()
        .fetch("s", ("a", DULL), ("x", DULL))
        .fetch("a", ("x", DULL), on_topic=True, similarity=0.6)
    )
    assert (machine.queue("x"), machine.node("x").priority, machine.node("x").parent) == (
        "",
        0.6,
        url("a"),
    )


def test_a_tunnels_links_come_by_their_own_promise_and_that_of_their_page():
    def places(**values):
        machine = Machine(**values).fetch(
            "s", ("a", DULL), ("b", DULL), ("dull", DULL), similarity=0.05
        )
        machine.fetch("a", ("behind", DULL), similarity=0.09)
        machine.fetch("b", ("promising", PROMISING), similarity=0.01)
        return [machine.node(name).priority for name in ("dull", "behind", "promising")]

    worth = places(page=0.0, step=0.0)[2]
    assert worth > 0.3
    # a link's priority is its relevance, plus `page` times the similarity of its page, minus `step`
    # for each off-topic page before it
    assert places(page=1.0, step=0.02) == pytest.approx(
        [0.05 - 0.02, 0.09 - 0.04, worth + 0.01 - 0.04]
    )
    assert places(page=0.5, step=0.0) == pytest.approx([0.025, 0.045, worth + 0.005])


def test_tunnels_get_their_share_and_what_the_other_queue_leaves():
    machine = Machine(share=0.25)
    machine.fetch(
        "s", *[(f"p{i}", DULL) for i in range(9)], ("off", DULL), on_topic=True, similarity=0.5
    )
    machine.fetch("off", *[(f"t{i}", DULL) for i in range(6)])
    kinds = "".join(machine.strategy.select().url.rpartition("/")[2][0] for _ in range(15))
    assert kinds == "ppptppptpppttttt"[:15] or kinds.count("t") == 6
    assert kinds[:12].count("t") == 3


@pytest.mark.parametrize("share", [0.1, 0.3, 0.7, 1.0])
def test_tunnels_get_neither_less_nor_more_than_their_share(share: float) -> None:
    machine = Machine(share=share)
    machine.fetch(
        "s", *[(f"p{i}", DULL) for i in range(250)], ("off", DULL), on_topic=True, similarity=0.5
    )
    machine.fetch("off", *[(f"t{i}", DULL) for i in range(250)])
    kinds = "".join(machine.strategy.select().url.rpartition("/")[2][0] for _ in range(200))
    assert kinds.count("t") == pytest.approx(200 * share, abs=1)


def test_literal_mode_goes_deep_until_a_page_on_topic():
    web = Web(
        {
            "s": (ON, ["off", "p1", "p2"]),
            "off": (OFF, ["t1", "t2", "t3", "t4"]),
            "p1": (OFF, ["q1"]),
            "p2": (OFF, []),
            "q1": (OFF, []),
            "t1": (OFF, ["u"]),
            "u": (f"{ON} {ON} anchors seeds queue frontier depth", []),
            "t2": (OFF, []),
            "t3": (OFF, []),
            "t4": (OFF, []),
        }
    )
    found = order("dynamic_tunnel", web, ["s"], mode="literal", order="level")
    assert found[:5] == ["s", "off", "t1", "u", "p1"]
    assert "t4" not in found  # a page off topic gives at most three links


def test_a_barren_host_has_to_wait():
    machine = Machine(host_budget=2).fetch("s", ("a", DULL))
    assert machine.queue("a") == TUNNEL
    machine.fetch("a", ("b", DULL))
    assert machine.queue("b") == RESERVE
    other = (
        Machine(host_budget=2)
        .fetch("s", ("a", DULL), ("o", DULL))
        .fetch("o", ("x", DULL), on_topic=True)
    )
    other.fetch("a", ("b", DULL))
    assert other.queue("b") == TUNNEL  # the page on topic reset the host's counter


@pytest.mark.parametrize(("on_topic", "expected"), [(True, 6), (False, 5)])
def test_static_tunnel_by_hand(on_topic, expected):
    machine = Machine("static_tunnel", length=6).fetch(
        "s", ("a", PROMISING), on_topic=on_topic, similarity=0.2
    )
    assert machine.k("a") == expected
    assert machine.node("a").priority == 0.2


def test_static_tunnel_ends_after_its_length():
    chain = {
        "s": (ON, ["c0"]),
        **{f"c{i}": (OFF, [f"c{i + 1}"]) for i in range(10)},
        "c10": (ON, []),
    }
    assert order("static_tunnel", Web(chain), ["s"], length=3) == ["s", "c0", "c1", "c2", "c3"]
    assert order("static_tunnel", Web(chain), ["s"], length=10)[-1] == "c10"
