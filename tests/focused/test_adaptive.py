"""The strategy `adaptive`: features and credit computed by hand, a repeatable order, corrections
during the crawl, and a prior trained on other webs."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from focused.graph import MemoryGraph
from focused.judge.probability import Feedback, otsu_means, reward
from focused.judge.relevance import Relevance
from focused.lab.evaluate import Label
from focused.pages import Page, hashed
from focused.run.loop import crawl
from focused.strategies.adaptive import (
    ENOUGH,
    SHARPEN_EVERY,
    Adaptive,
    Credit,
    exponent,
    shipped_prior,
)
from focused.strategies.link_features import FEATURES, Found, LinkFeatures
from tests.benches.topics.relevance import auc
from tests.focused.webs import OFF, ON, Web, order, random_web, run, start, topic, url
from tests.training import prior

PLACE = {name: i for i, name in enumerate(FEATURES)}


def found(*links):
    return [Found(url(name), anchor, context, (word,)) for name, anchor, context, word in links]


def test_features_by_hand():
    links = LinkFeatures()
    links.add(url("s"), 0, 1.0, found(("a", 0.2, 0.1, "red"), ("b", 0.0, 0.0, "blue")), -1, True)
    links.close(url("s"), 0)
    links.add(url("a"), 1, 0.5, found(("b", 0.4, 0.3, "blue"), ("c", 0.0, 0.0, "red")), 0, False)
    links.close(url("a"), 1)
    assert [links.urls[t] for t in links.open_targets()] == [url("b"), url("c")]
    b, c = links.features()
    mean = 0.75
    of_s = (0.5 + 5 * (mean + 1.0) / 2) / (1 + 5)  # a, the fetched link of s, has reward 0.5
    of_a = (0.0 + 5 * (mean + 0.5) / 2) / 5
    assert (b[PLACE["anchor"]], b[PLACE["context"]]) == (0.4, 0.3)
    assert (b[PLACE["parent_best"]], b[PLACE["parent_mean"]]) == (1.0, 0.75)
    assert b[PLACE["siblings_best"]] == pytest.approx(max(of_s, of_a)) and c[
        PLACE["siblings_best"]
    ] == pytest.approx(of_a)
    assert b[PLACE["siblings_mean"]] == pytest.approx((of_s + of_a) / 2)
    assert b[PLACE["template"]] == pytest.approx((1.5 + 5 * mean) / (2 + 5)) and b[
        PLACE["host"]
    ] == pytest.approx((1.5 + 20 * mean) / 22)
    assert (b[PLACE["in_links"]], c[PLACE["in_links"]]) == (
        pytest.approx(np.log(3)),
        pytest.approx(np.log(2)),
    )
    assert (b[PLACE["depth"]], c[PLACE["depth"]]) == (1 / 2, 1 / 3)
    assert (b[PLACE["off_topic_run"]], c[PLACE["off_topic_run"]]) == (0, 1)
    assert b[PLACE["rank"]] == pytest.approx(np.log1p(10 * (0.5 + 0.25)))
    assert c[PLACE["words"]] < 0, "a link named red has led to less than the mean"
    assert links.parent(links.number(url("b"))) == 0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_a_revised_worth_gives_the_features_of_a_table_that_knew_it_from_the_first(seed):
    draw = random.Random(seed)
    pages = [(f"p{i}", [f"p{draw.randrange(12)}" for _ in range(3)]) for i in range(8)]
    early, late = [draw.random() for _ in pages], [draw.random() for _ in pages]

    def table(worth):
        links = LinkFeatures()
        for number, (name, targets) in enumerate(pages):
            links.add(
                url(name),
                1,
                worth[number],
                found(*[(t, 0.1, 0.1, t) for t in dict.fromkeys(targets) if t != name]),
                number - 1,
                False,
            )
            links.close(url(name), number)
        return links

    revised, direct = table(early), table(late)
    revised.revise(np.array(late))
    # not the rank, which links get from their page when it is fetched: `revise` does not change it
    same = [i for i, name in enumerate(FEATURES) if name != "rank"]
    assert np.allclose(revised.features()[:, same], direct.features()[:, same])


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 1))
def test_credit_is_that_of_the_definition(seed, share):
    draw = random.Random(seed)
    parents = [-1] + [draw.randrange(-1, i) for i in range(1, 12)]
    worth = [draw.random() for _ in parents]

    def whole(values, page):
        below = [whole(values, i) for i, parent in enumerate(parents) if parent == page]
        return values[page] + (share * sum(below) / len(below) if below else 0.0)

    credit = Credit()
    for value, parent in zip(worth, parents, strict=True):
        credit.add(value, parent, share)
    assert np.allclose(credit.of(range(12)), [whole(worth, page) for page in range(12)])
    other = [draw.random() for _ in parents]
    credit.revise(np.array(other), share)
    assert np.allclose(credit.of(range(12)), [whole(other, page) for page in range(12)])


def test_two_levels_are_the_means_of_the_two_groups():
    assert otsu_means(np.array([0.1, 0.2, 0.3, 2.0, 2.2])) == pytest.approx((0.2, 2.1))


def pages_about(draw, words, number):
    return [{word: draw.randint(1, 3) for word in draw.sample(words, 5)} for _ in range(number)]


def test_the_judge_learns_words_that_the_samples_do_not_have_and_heeds_marks():
    draw = random.Random(1)
    on = ["crawler", "frontier", *[f"web{i}" for i in range(8)]]
    off = [f"soup{i}" for i in range(10)]
    judge = Feedback([{"crawler": 1, "frontier": 1}])
    for words in [*pages_about(draw, on, 20), *pages_about(draw, off, 60)]:
        judge.add(hashed(words))
    judge.add(hashed({"web1": 1, "web2": 1}))  # contains no word of the samples
    judge.add(hashed({"soup1": 1, "soup2": 1}))
    scores = judge.rank()
    assert scores[80] > scores[81]
    assert judge.score(80) == pytest.approx(scores[80])
    for number in range(20, 30):
        judge.mark(number, True)
    for number in range(10):
        judge.mark(number, False)
    marked = judge.rank()
    assert marked[81] - marked[80] > scores[81] - scores[80]


def test_pages_linked_beside_pages_on_topic_are_judged_better():
    draw = random.Random(3)
    words = [f"w{i}" for i in range(12)]
    judge = Feedback([{"w0": 1, "w1": 1}])
    for _ in range(2):
        judge.add(hashed({"list": 1}))
    for side in (words[:6], words[6:]):
        for _ in range(10):
            judge.add(hashed(dict.fromkeys(draw.sample(side, 3), 1)))
    for _ in range(2):
        # pages 22 and 23 have the same words; only 22 is linked from page 0, beside the ten pages
        # on topic
        judge.add(hashed({"w3": 1, "w9": 1}))
    alone = judge.rank()
    assert alone[22] == pytest.approx(alone[23])
    parents = np.array([0] * 11 + [1] * 11)
    children = np.array([*range(2, 12), 22, *range(12, 22), 23])
    beside = judge.rank(parents, children)
    assert beside[22] > beside[23] + 0.1
    judge.add(hashed({"w3": 1, "w9": 1}))
    assert judge.score(24, 0) > judge.score(24) > judge.score(24, 1), (
        "a page that no ranking knew, by where it was found"
    )


def test_words_that_no_ranking_knew_tell_nothing_and_thin_a_page_out():
    judge = Feedback([{"crawler": 1}])
    for words in [{"crawler": 1, "web": 1}] * 10 + [{"soup": 1, "salt": 1}] * 10:
        judge.add(hashed(words))
    scores = judge.rank()
    new = {f"new{i}": 1 for i in range(200)}
    for words in ({"crawler": 1, "web": 1}, {"crawler": 1, "web": 1, "new0": 1}, new, {}):
        judge.add(hashed(words))
    known, mixed, unknown, empty = (judge.score(number) for number in range(20, 24))
    assert known == pytest.approx(scores[0]) and unknown == pytest.approx(empty)
    assert known > mixed > unknown


def test_the_order_does_not_depend_on_anything_but_the_pages():
    web = random_web(8, 80)
    whole = order("adaptive", web, ["p0"])
    assert whole == order("adaptive", random_web(8, 80), ["p0"], seed=99)
    assert order("adaptive", web, ["p0"], pages=30) == whole[:30]


def test_it_learns_what_the_prior_has_wrong():
    """The prior relies only on the words around links, which tell nothing on this web. Most
    relevant pages are reached by links with the anchor "soup", which the strategy can learn only
    during the crawl."""
    kinds = [("crawler topical", 30, False), ("soup", 30, True), ("crawler topical", 6, True)]
    links, pages, draw = [], {}, random.Random(5)
    for anchor, number, good in kinds:
        for i in range(number):
            name = f"{anchor[:1]}{good}{i}"
            links.append((name, anchor, draw.choice(["crawler topical", "garden"])))
            pages[name] = (f"{ON if good else OFF} {name}", [])
    draw.shuffle(links)
    pages["s"] = (OFF, links)
    for extra in ("soup one", "soup two"):
        pages["s"][1].insert(0, (extra[5:], "soup", ""))
        pages[extra[5:]] = (ON, [])
    about = topic(["s", "one"])
    weights = np.zeros(len(FEATURES))
    weights[PLACE["context"]] = 0.02

    def harvest(learn):
        graph = MemoryGraph()
        given = shipped_prior()._replace(weights=weights)
        strategy = Adaptive(
            Relevance(about), graph, values={"learn": learn, "trust": 1.0}, prior=given
        )
        return sum(
            step.relevant for step in crawl(strategy, graph, Web(pages), about.seeds, 40).steps
        )

    assert harvest(True) >= harvest(False) + 5


def test_a_chosen_link_is_not_given_out_twice_while_its_page_is_on_the_way():
    web = Web({"s": (ON, [f"p{i}" for i in range(9)])})
    graph, about = MemoryGraph(), topic(["s"])
    strategy = Adaptive(Relevance(about), graph)
    crawl(strategy, graph, web, about.seeds, 1)
    given_out = [node.url for node in iter(strategy.select, None)]
    assert len(given_out) == len(set(given_out)) == 9


def test_links_of_a_resting_host_wait_and_those_of_others_come():
    links = [f"p{i}" for i in range(6)] + [f"http://other.example/{i}" for i in range(3)]
    web = Web({"s": (ON, links)})
    graph, about = MemoryGraph(), topic(["s"])
    strategy = Adaptive(Relevance(about), graph)
    crawl(strategy, graph, web, about.seeds, 1)
    graph.resting = {"site.example"}
    assert sorted(node.url for node in iter(strategy.select, None)) == [
        f"http://other.example/{i}" for i in range(3)
    ]
    graph.resting = ()
    assert sorted(node.url for node in iter(strategy.select, None)) == [
        url(f"p{i}") for i in range(6)
    ]


def test_links_to_the_address_that_a_page_was_redirected_to_are_closed_with_it():
    strategy = start("adaptive", ["a", "b", "c"])
    landed = Web({"b": (ON, [])}).pages[url("b")]
    strategy.expand(strategy.graph.node(url("a")), Page(url("a"), 1, landed, 0.5, True))
    links = strategy.links
    assert [links.urls[target] for target in links.open_targets()] == [url("c")]


@pytest.mark.parametrize(("on_topic", "judged"), [(ENOUGH - 1, False), (ENOUGH, True)])
def test_the_learning_judge_waits_for_enough_pages_on_topic(on_topic, judged):
    names = [f"p{i}" for i in range(90)]
    web = Web(
        {
            name: (ON if i < on_topic else OFF, [to])
            for i, (name, to) in enumerate(zip(names, [*names[1:], "p0"], strict=True))
        }
    )
    graph, about = MemoryGraph(), replace(topic(["p0"]), threshold=0.1)
    strategy = Adaptive(Relevance(about), graph)
    assert (
        sum(step.relevant for step in crawl(strategy, graph, web, about.seeds, 90).steps)
        == on_topic
    )
    assert bool(strategy._judge.ranked) == judged
    strategy.mark(url("p0"), True)
    assert strategy._judge.ranked == 90, "a mark is heeded at once"


def test_rewards_are_plain_until_relevant_and_other_pages_have_come():
    assert (
        exponent(0, 0, 2.0)
        == exponent(0, 300, 2.0)
        == exponent(300, 300, 2.0)
        == exponent(50, 100, 1.0)
        == 1.0
    )
    assert exponent(40, 80, 2.0) == pytest.approx(1.5), "evidence 40 * 40 / 80 is half way"
    assert (
        exponent(40, 80, 3.0) == pytest.approx(2.0)
        and 1.5 < exponent(40, 400, 2.0) < exponent(4000, 8000, 2.0) < 2.0
    )


@pytest.mark.parametrize(
    ("on_topic", "threshold", "values", "power"),
    [
        (20, 0.4, {}, exponent(20, 50, 2.0)),
        (0, 0.4, {}, 1.0),
        (20, 0.4, {"sharpness": 1.0}, 1.0),
        (20, 0.4, {"learn": False}, 1.0),
        (ENOUGH, 0.15, {"feedback": False}, 1.0),
    ],
)
def test_rewards_are_sharpened_by_what_the_crawl_has_met(on_topic, threshold, values, power):
    pages = 3 * SHARPEN_EVERY if on_topic == ENOUGH else 2 * SHARPEN_EVERY
    names = [f"p{i}" for i in range(pages)]
    web = Web(
        {
            name: (ON if i < on_topic else OFF, [to])
            for i, (name, to) in enumerate(zip(names, [*names[1:], "p0"], strict=True))
        }
    )
    graph, about = MemoryGraph(), replace(topic(["p0"]), threshold=threshold)
    strategy = Adaptive(Relevance(about), graph, values=values)
    similarities = [
        step.similarity for step in crawl(strategy, graph, web, about.seeds, pages).steps
    ]
    own = np.array([reward(similarity, threshold) for similarity in similarities])
    assert strategy._relevant == on_topic and bool(on_topic) == bool(
        np.any((own > 0) & (own < 1))
    ), "a power tells"
    expected = own**power
    for page in range(pages - 2, -1, -1):
        expected[page] += 0.5 * expected[page + 1]
    assert strategy._credit.of(np.arange(pages)) == pytest.approx(expected)


def test_the_parts_of_a_score_add_up_to_it():
    web = random_web(4, 40)
    graph, about = MemoryGraph(), topic(["p0"])
    strategy = Adaptive(Relevance(about), graph)
    crawl(strategy, graph, web, about.seeds, 12)
    parts = dict(strategy.explain(strategy.select()))
    assert parts.pop("score") == pytest.approx(sum(parts.values())) and set(parts) == set(FEATURES)


def test_a_prior_is_learned_from_other_webs_and_leads_to_more():
    """On a web where only anchors are informative, a learned prior finds more on another such web
    than weights of zero."""

    def anchored(seed):
        draw, pages = random.Random(seed), {}
        names = [f"p{i}" for i in range(150)]
        on = set(draw.sample(names[1:], 40))
        for i, name in enumerate(names):
            targets = {*draw.sample(names, 5), names[(i + 1) % 150]} - {name}
            links = [
                (to, "crawler topical" if to in on else draw.choice(["soup", "garden"]), "")
                for to in sorted(targets)
            ]
            pages[name] = (f"{ON if name in on else OFF} w{i}", links)
        return Web(pages), {url(name): Label(name in on, True) for name in names}

    class Source:
        def __init__(self, web):
            self.web = web

        def get(self, wanted):
            return self.web.get(wanted)

    taught, labels = anchored(1)
    lesson = prior.Lesson("one", topic(["p0"]), Source(taught), labels, 60)
    trained = prior.train([lesson], rounds=2)
    assert trained.weights[PLACE["anchor"]] == max(trained.weights)
    other, others = anchored(2)

    def recall(given):
        graph, about = MemoryGraph(), topic(["p0"])
        trail = crawl(
            Adaptive(Relevance(about), graph, values={"learn": False}, prior=given),
            graph,
            other,
            about.seeds,
            50,
        )
        return sum(others[step.url].relevant for step in trail.steps)

    assert recall(trained) > 1.3 * recall(trained._replace(weights=0 * trained.weights))
    stored = prior.as_json(trained, ["one"])
    assert tuple(stored["features"]) == FEATURES and len(stored["weights"]) == len(FEATURES)


def test_the_shipped_prior_fits_the_features():
    shipped = shipped_prior()
    assert all(len(column) == len(FEATURES) for column in shipped) and (shipped.spread > 0).all()


def test_pages_without_samples_or_keywords_do_not_stop_it():
    bare = replace(topic(["p0"]), documents=(), keywords={"crawler": 1.0}, threshold=None)
    assert run("adaptive", random_web(3, 30), ["p0"], about=bare).fetched == 30


def test_area_under_the_roc_curve_by_hand():
    assert auc(
        np.array([0.9, 0.8, 0.8, 0.1]), np.array([True, True, False, False])
    ) == pytest.approx(3.5 / 4)
    assert auc(np.array([0.1, 0.2]), np.array([False, True])) == 1.0
