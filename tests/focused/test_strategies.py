"""Every strategy on small webs: orders and values computed by hand, and an explanation for each
choice."""

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from focused.graph import MemoryGraph, Node
from focused.judge.relevance import Relevance
from focused.pages import Page
from focused.run.loop import crawl
from focused.strategies.base import BUILT_IN, GIVEN_UP, strategy_class
from focused.strategies.breadth_first import BreadthFirst
from focused.strategies.context_graph import layers
from tests.focused.webs import (
    OFF,
    ON,
    Web,
    build,
    fetch,
    node,
    order,
    random_web,
    run,
    start,
    topic,
    url,
)

TREE = Web(
    {
        "s": (OFF, ["a", "b"]),
        "a": (OFF, ["a1", "a2"]),
        "b": (ON, ["b1", "b2"]),
        "a1": (OFF, []),
        "a2": (ON, []),
        "b1": (OFF, []),
        "b2": (ON, []),
    }
)


# the order in which each strategy fetches pages
# --------------------------------------------------------------------------------------------------


def test_breadth_first():
    assert order("breadth_first", TREE, ["s"]) == ["s", "a", "b", "a1", "a2", "b1", "b2"]


def test_breadth_first_with_random_ties_goes_depth_by_depth():
    web = random_web(4, 50, links=2)
    graph = MemoryGraph(random.Random(2))
    trail = crawl(
        strategy_class("breadth_first")(Relevance(topic(["p0"])), graph),
        graph,
        web,
        [url("p0")],
        100,
    )
    depths = [step.depth for step in trail.steps]
    assert depths == sorted(depths)
    assert [step.url for step in trail.steps] != [
        url(name) for name in order("breadth_first", web, ["p0"])
    ]


def test_depth_first_plain_in_page_order():
    assert order("depth_first", TREE, ["s"], order="page", tree=False) == [
        "s",
        "a",
        "a1",
        "a2",
        "b",
        "b1",
        "b2",
    ]


def test_depth_first_takes_likely_words_first():
    web = Web(
        {"s": (OFF, [("x", "soup"), ("y", "crawlers topical")]), "x": (OFF, []), "y": (ON, [])}
    )
    assert order("depth_first", web, ["s"], tree=False) == ["s", "y", "x"]
    assert order("depth_first", web, ["s"], tree=False, order="page") == ["s", "x", "y"]


def test_best_first_takes_links_of_the_most_similar_page():
    assert order("best_first", TREE, ["s"]) == ["s", "a", "b", "b1", "b2", "a1", "a2"]


def test_pure_best_first_drops_links_of_pages_off_topic():
    assert order("best_first", TREE, ["s"], off_topic="drop") == ["s", "a", "b", "b1", "b2"]


def test_seeds_come_first_and_are_never_moved_back():
    web = Web({"s": (ON, ["t", "x"]), "t": (OFF, ["y"]), "x": (ON, []), "y": (ON, [])})
    for name in BUILT_IN:
        assert order(name, web, ["s", "t"])[:2] == ["s", "t"], name


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name not in ("fish", "shark")])
def test_every_page_that_can_be_reached_is_fetched_once(name):
    web = random_web(3)
    found = order(name, web, ["p0"])
    assert len(found) == len(set(found))
    assert set(found) == set(order("breadth_first", web, ["p0"]))


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_the_same_seed_gives_the_same_order(name):
    assert order(name, random_web(5), ["p0"], pages=40) == order(
        name, random_web(5), ["p0"], pages=40
    )


# values of fish, shark and pagerank by hand
# --------------------------------------------------------------------------------------------------


def test_fish_by_hand():
    fish = start("fish", [f"l{i}" for i in range(10)], relevant=True, front=False)
    assert [node(fish, f"l{i}").priority for i in (0, 6, 7, 9)] == [
        1.0,
        1.0,
        0.0,
        0.0,
    ]  # int(5 * 1.5) = 7 links are chosen
    assert node(fish, "l0").data["left"] == 3
    fetch(fish, "l0", [f"m{i}" for i in range(6)])
    assert [node(fish, f"m{i}").priority for i in (0, 4, 5)] == [0.5, 0.5, 0.0]
    assert node(fish, "m0").data["left"] == 2


def test_fish_starves_off_topic_and_recovers_on_topic():
    fish = start("fish", ["a"], depth=2)
    for parent, child in (("a", "b"), ("b", "c")):
        fetch(fish, parent, [child])
    assert node(fish, "b").data["left"] == 0
    assert node(fish, "c").queue == GIVEN_UP  # b had no depth left and was off topic
    other = start("fish", ["a"], depth=2)
    fetch(other, "a", ["b"])
    fetch(other, "b", ["c"], relevant=True)
    assert node(other, "c").data["left"] == 2


def test_fish_takes_the_greater_potential_and_depth_of_two_pages():
    fish = start("fish", ["a", "x"], front=False)
    fetch(fish, "a", ["x"], relevant=True)
    assert (node(fish, "x").priority, node(fish, "x").data["left"]) == (1.0, 3)


def test_shark_by_hand():
    about = topic(["s"])
    relevance = Relevance(about)
    links = [
        ("a", "topical crawler", "soup"),
        ("b", "soup", "topical crawler garden"),
        ("c", "soup", "soup"),
    ]
    shark = start("shark", links, similarity=0.4)
    anchor = relevance.text(["topic", "crawler"])
    context = relevance.page(Counter(["topic", "crawler", "garden"]))
    assert node(shark, "a").priority == pytest.approx(
        0.5 * (0.5 * 0.4) + 0.5 * (0.8 * anchor + 0.2 * 1)
    )
    assert node(shark, "b").priority == pytest.approx(0.5 * 0.2 + 0.5 * (0.2 * context))
    assert node(shark, "c").priority == pytest.approx(0.5 * 0.2)
    fetch(shark, "c", ["d"], similarity=0.0)
    assert node(shark, "d").priority == pytest.approx(
        0.5 * (0.5 * 0.2)
    )  # d inherits half of what c inherited
    assert (node(shark, "c").data["left"], node(shark, "d").data["left"]) == (3, 2)


def test_pagerank_by_hand():
    ranked = start("pagerank", ["a", "b"], relevant=True)
    assert node(ranked, "a").data["score"] == 1.0
    fetch(ranked, "a", ["b", "c", "d", "e"], relevant=True)
    assert node(ranked, "b").data["score"] == pytest.approx(1 + 1 / 4)
    fetch(ranked, "b", ["c"], relevant=True)
    assert node(ranked, "c").data["score"] == pytest.approx(1 + 1.25)
    assert ranked.select().url == url("c")


# dolphin
# --------------------------------------------------------------------------------------------------


def test_ra_grows_with_every_anchor_and_the_same_of_a_host_counts_once():
    about = topic(["s"], documents=("crawler crawler page",))
    dolphin = start("dolphin", [("x", "crawler", ""), ("y", "crawler", "soup")], about=about)
    # Frequencies: the topic has "crawler" twice and "page" once, the anchors of x have "crawler"
    # once.
    assert node(dolphin, "x").data["ra"] == pytest.approx(2 / (5**0.5 * 1))
    assert node(dolphin, "y").data["ra"] == pytest.approx(2 / (5**0.5 * (1 + 0.25) ** 0.5))
    fetch(dolphin, "y", [("x", "crawler", "")])
    assert node(dolphin, "x").data["ra"] == pytest.approx(2 / 5**0.5)
    fetch(dolphin, "z", [("x", "page", "")])
    assert node(dolphin, "x").data["ra"] == pytest.approx((2 + 1) / (5**0.5 * 2**0.5))


def test_ra_of_the_best_anchor():
    about = topic(["s"], documents=("crawler crawler page",))
    dolphin = start("dolphin", [("x", "crawler")], about=about, aggregate="max")
    fetch(dolphin, "z", [("x", "soup")])
    assert node(dolphin, "x").data["ra"] == pytest.approx(2 / 5**0.5)


def test_timely_rank_by_hand():
    dolphin = start("dolphin", ["a", "b"], gamma=1, alpha=0, beta=0, normalise="none")
    assert (node(dolphin, "a").priority, node(dolphin, "b").priority) == (
        2.0,
        2.0,
    )  # initial TimelyRank 1, plus 1 from the seed
    fetch(dolphin, "a", ["b", "c"])
    assert (node(dolphin, "b").priority, node(dolphin, "c").priority) == (4.0, 3.0)
    fetch(dolphin, "b", ["a", "c"])
    assert node(dolphin, "c").priority == 7.0
    assert node(dolphin, "a").data["tr"] == 6.0  # the rank of a fetched page still grows


def test_what_waits_is_ranked_anew_each_time_the_number_of_pages_has_doubled(monkeypatch):
    dolphin, ranked = start("dolphin", ["a", "b"], gamma=1, normalise="saturating"), []
    monkeypatch.setattr(
        dolphin.graph, "reprioritise", lambda score: ranked.append(dolphin._fetched)
    )
    for number in range(2, 21):
        fetch(dolphin, f"p{number}", ["a"])
    assert ranked == [2, 4, 8, 16]


def test_opic_hands_its_cash_on():
    dolphin = start(
        "dolphin", ["a", "b"], importance="opic", gamma=1, alpha=0, beta=0, normalise="none"
    )
    assert node(dolphin, "a").priority == pytest.approx(0.5)
    fetch(dolphin, "a", ["b"])
    assert node(dolphin, "b").priority == pytest.approx(1.0)
    assert node(dolphin, "a").data["tr"] == 0


def test_d_mixes_the_three_and_depth_falls_with_a_shorter_way():
    dolphin = start("dolphin", ["a"], alpha=0, beta=1, gamma=0)
    assert node(dolphin, "a").priority == pytest.approx(1 / 2)  # distance 2 (seed: 1)
    fetch(dolphin, "a", ["c"])
    assert node(dolphin, "c").priority == pytest.approx(1 / 3)
    mixed = start(
        "dolphin",
        [("a", "crawler")],
        alpha=0.4,
        beta=0.3,
        gamma=0.3,
        about=topic(["s"], documents=("crawler",)),
    )
    parts = mixed.explain(node(mixed, "a"))
    assert parts["D"] == pytest.approx(0.4 * parts["Ra"] + 0.3 * parts["Rd"] + 0.3 * parts["TR"])
    assert parts["TR"] == pytest.approx(
        0.5
    )  # a TimelyRank (TR) equal to the frontier's median is scaled to 0.5


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_beta_one_is_breadth_first(seed):
    web = random_web(seed, 30)
    assert order("dolphin", web, ["p0", "p7"], alpha=0, beta=1, gamma=0) == order(
        "breadth_first", web, ["p0", "p7"]
    )


def replay(web, seeds, score):
    """Returns the order of a best-first crawl by `score(url, fetched pages)`; of equal scores, the
    one set first comes first."""
    queue = [url(seed) for seed in seeds]
    fetched, waiting, changes = [], {}, 0
    while queue or waiting:
        own = (
            queue.pop(0)
            if queue
            else min(waiting, key=lambda target: (-waiting[target][0], waiting[target][1]))
        )
        waiting.pop(own, None)
        fetched.append(own)
        for link in web.pages[own].links:
            if link.url in fetched or link.url in queue:
                continue
            value = score(link.url, fetched)
            if link.url not in waiting or waiting[link.url][0] != value:
                changes += 1
                waiting[link.url] = (value, changes)
    return [own.replace("http://site.example/", "") for own in fetched]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_alpha_one_is_anchor_first(seed):
    web = random_web(seed, 25)
    relevance = Relevance(topic(["p0"]))
    counts = relevance.counts
    length = sum(f * f for f in counts.values()) ** 0.5

    def ra(target, fetched):
        words = Counter()
        heard = set()
        for page in fetched:
            for link in web.pages[page].links:
                if link.url == target and link.anchor not in heard:
                    heard.add(link.anchor)
                    words.update(link.anchor_words)
        dot = sum(words[w] * counts[w] for w in words if w in counts)
        return round(dot / (length * sum(n * n for n in words.values()) ** 0.5), 12) if dot else 0.0

    assert order("dolphin", web, ["p0"], alpha=1, beta=0, gamma=0, context=0) == replay(
        web, ["p0"], ra
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["none", "saturating", "log"]))
def test_gamma_one_is_in_links_first_under_any_normalisation(seed, normalise):
    web = random_web(seed, 20, links=2)

    def tr(target, fetched):
        """TimelyRank (TR) of `target`, by definition: each fetched page adds its own TR to that of
        each page it links to."""
        rank = {url("p0"): 1}
        for page in fetched:
            frozen = rank.get(page, 1)
            for link in web.pages[page].links:
                rank[link.url] = rank.get(link.url, 1) + frozen
        return rank[target]

    assert order("dolphin", web, ["p0"], alpha=0, beta=0, gamma=1, normalise=normalise) == replay(
        web, ["p0"], tr
    )


# learning strategies
# --------------------------------------------------------------------------------------------------


def as_pages(web, names, relevant):
    return [Page(url(name), 0, web.pages[url(name)], 0.0, name in relevant) for name in names]


def test_layers_are_clicks_backwards_from_the_pages_on_topic():
    web = Web(
        {"s": ("", ["a", "x"]), "a": ("", ["b"]), "b": ("", ["t"]), "x": ("", []), "t": ("", ["x"])}
    )
    pages = as_pages(web, "sabxt", {"t"})
    assert layers(pages, 3) == {url("t"): 0, url("b"): 1, url("a"): 2, url("s"): 3}
    assert layers(pages, 1) == {url("t"): 0, url("b"): 1}


def test_context_graph_follows_the_layers_of_an_earlier_run():
    kinds = {
        "index": "college college crawler",
        "list": "department department crawler",
        "t": "crawler crawler pages",
        "x": "soup soup",
    }
    chain = {f"{kind}{i}": (text, []) for kind, text in kinds.items() for i in range(6)}
    for i in range(6):
        chain[f"index{i}"] = (kinds["index"], [f"list{i}"])
        chain[f"list{i}"] = (kinds["list"], [f"t{i}"])
    earlier = as_pages(Web(chain), chain, {f"t{i}" for i in range(6)})
    new = Web(
        {
            "s": ("start", ["soup", "hall"]),
            "soup": ("soup soup", ["y1"]),
            "hall": ("college college crawler", ["door"]),
            "door": ("department department crawler", ["hit"]),
            "y1": ("soup", []),
            "hit": ("crawler crawler pages", []),
        }
    )
    found = order("context_graph", new, ["s"], history=earlier, terms=200)
    assert found.index("hit") < found.index("y1")


def test_hubs_raise_the_links_of_their_pages():
    good = [f"g{i}" for i in range(8)]
    web = Web(
        {
            "s": (OFF, ["hub", "plain"]),
            "hub": (f"crawler {OFF}", [*good, "late_hub"]),
            "plain": (f"crawler {OFF}", ["late_plain"]),
            **{name: (ON, []) for name in good},
            "late_hub": (OFF, []),
            "late_plain": (OFF, []),
        }
    )
    strategy = build("classifier_distiller", hub=1.0, every=10)
    crawl(strategy, strategy.graph, web, [url("s")], 10)
    assert strategy._hubs[url("hub")] == 1.0
    assert strategy._hubs[url("plain")] < 0.01


def test_every_waiting_url_can_be_explained():
    for name in BUILT_IN:
        strategy = start(name, [("a", "crawler", "topical"), "b"], similarity=0.2)
        parts = strategy.explain(node(strategy, "a"))
        assert all(isinstance(value, int | float) for value in parts.values()), name


def test_the_loop_counts_failures_and_passes_over_what_is_outside():
    web = Web({"s": (OFF, ["gone", "nowhere", "a"]), "a": (OFF, [])}, broken=["gone"])
    trail = run("breadth_first", web, ["s"])
    assert (trail.fetched, trail.failed, trail.outside, trail.stopped_by) == (3, 1, 1, "frontier")
    assert run("breadth_first", web, ["s"], pages=2).stopped_by == "pages"


def test_a_repeated_page_offers_only_links_that_are_new() -> None:
    text = (
        "focused crawler fetches topical pages and follows the links of pages that seem to be on"
        " topic"
    )
    pages = {
        "s": (OFF, [("a", "one"), ("b", "two")]),
        "a": (text, [("c", "three")]),
        "b": (text, [("c", "three"), ("d", "four")]),
    }
    web = Web({**pages, "c": (OFF, []), "d": (OFF, [])})
    for name in (
        "a",
        "b",
    ):  # gives both pages the same words and fingerprint, so that one duplicates the other
        old = web.pages[url(name)]
        web.pages[url(name)] = replace(
            old, words=web.pages[url("a")].words, fingerprint=web.pages[url("a")].fingerprint
        )
    offered: list[tuple[str, list[str]]] = []

    class Watching(BreadthFirst):
        def expand(self, node: Node, page: Page) -> None:
            offered.append(
                (node.url.rpartition("/")[2], [link.url.rpartition("/")[2] for link in page.links])
            )
            super().expand(node, page)

    strategy = Watching(Relevance(topic(["s"])), MemoryGraph())
    trail = crawl(strategy, strategy.graph, web, [url("s")], 10)
    assert offered[:3] == [("s", ["a", "b"]), ("a", ["c"]), ("b", ["d"])]
    assert [step.duplicate for step in trail.steps[:3]] == [False, False, True] and len(
        trail.steps
    ) == 5
