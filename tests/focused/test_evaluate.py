"""The evaluation figures computed by hand and compared with the linear algebra that defines
them."""

import random
from collections import Counter
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from focused.lab.evaluate import (
    Label,
    SimilarityJudge,
    bootstrap_difference,
    curve,
    growing_similarity,
    hits_authorities,
    pagerank_pages,
    targets,
    tunnel_lengths,
)
from focused.run.loop import Step


def steps(*pairs):
    return [Step(url, parent, 0, 0.0, False, False) for url, parent in pairs]


def test_targets_and_curve():
    labels = {"a": Label(True, True), "b": Label(True, False), "c": Label(False, True)}
    assert targets(labels) == {"a"}
    run = steps(*[(name, None) for name in "xaxbaxxxxx"])
    assert curve(run, frozenset("ab"), 5) == [(2, 1), (4, 2), (6, 3), (8, 3), (10, 3)]
    assert curve(run[:3], frozenset("a"), 20) == [(1, 0), (2, 1), (3, 1)]
    assert curve([], frozenset("a"), 5) == []


def test_tunnel_lengths_by_hand():
    run = steps(
        ("s", None),
        ("on1", "s"),
        ("x", "on1"),
        ("y", "x"),
        ("on2", "y"),
        ("on3", "on2"),
        ("z", "s"),
        ("on4", "z"),
    )
    # Off-topic pages on the path to each page: on1 has 1 (s), on2 has 2 (x, y), on3 none (linked by
    # on2), on4 has 2 (s, z).
    assert tunnel_lengths(run, frozenset({"on1", "on2", "on3", "on4"})) == {1: 1, 2: 2}


def test_similarity_by_hand():
    pages = {"p": {"crawler": 2, "soup": 1}, "q": {"soup": 1}}
    judge = SimilarityJudge({"crawler": 1, "harvest": 1}, pages)
    crawler, soup, harvest = (
        1 + log(2),
        1.0,
        1 + log(2),
    )  # no page contains “harvest”: its number of pages n_k is taken as 1
    expected = (
        2 * crawler * crawler / (sqrt(crawler**2 + harvest**2) * sqrt((2 * crawler) ** 2 + soup**2))
    )
    assert judge.page("p") == pytest.approx(expected)
    assert judge.page("q") == 0
    assert judge.mean(["p", "q"]) == pytest.approx(expected / 2)
    assert judge.mean([]) == 0


def test_growing_similarity_weighs_by_what_was_fetched_so_far():
    pages = [Counter(a=1), Counter(b=1), Counter(a=1, b=1)]
    first, second, third = growing_similarity({"a": 1}, pages, checkpoints=3)
    assert first == pytest.approx(1)
    assert second == pytest.approx(1 / 2)
    weight = 1 + log(3 / 2)
    assert third == pytest.approx((1 + weight / sqrt(2 * weight**2)) / 3)


GRAPH = {"h1": ["a", "b", "h1"], "h2": ["a"], "h3": ["a", "b"], "a": ["c"], "b": [], "c": []}
LINKS = {
    f"http://{name}.example/": [f"http://{t}.example/" for t in out] for name, out in GRAPH.items()
}


def test_hits_agrees_with_the_principal_eigenvector():
    names = list(LINKS)
    matrix = np.zeros((6, 6))
    for i, name in enumerate(names):
        for target in LINKS[name]:
            if target != name:
                matrix[i, names.index(target)] = 1
    values, vectors = np.linalg.eigh(matrix.T @ matrix)
    best = np.abs(vectors[:, values.argmax()])
    expected = [names[i] for i in np.argsort(-best, kind="stable") if best[i] > 1e-6]
    assert (
        hits_authorities(LINKS)[: len(expected)]
        == expected
        == ["http://a.example/", "http://b.example/"]
    )
    assert hits_authorities(LINKS, 1) == ["http://a.example/"]


def test_links_inside_a_host_do_not_count_where_there_are_many_hosts():
    inside = {f"http://a.example/{i}": ["http://a.example/0"] for i in range(1, 9)} | {
        "http://a.example/0": []
    }
    assert hits_authorities(inside) == [
        "http://a.example/0"
    ]  # all pages are on one host, so it is the only authority
    assert "http://a.example/0" not in hits_authorities({**inside, **LINKS})
    assert hits_authorities({"http://x.example/": []}) == pagerank_pages({}) == []


def test_pagerank_agrees_with_the_linear_system():
    names = list(LINKS)
    size = len(names)
    move = np.zeros((size, size))
    for i, name in enumerate(names):
        out = [names.index(t) for t in LINKS[name] if t != name]
        move[:, i] = 1 / size
        if out:
            move[:, i] = 0
            move[out, i] = 1 / len(out)
    rank = np.linalg.solve(np.eye(size) - 0.85 * move, np.full(size, 0.15 / size))
    assert pagerank_pages(LINKS, 3) == [
        names[i] for i in np.argsort(-rank.round(9), kind="stable")[:3]
    ]


def drawn_links(seed):
    """A graph of 12 pages on one host, each with up to four links."""
    draw = random.Random(seed)
    names = [f"http://a.example/{i}" for i in range(12)]
    return {name: draw.sample(names, draw.randrange(5)) for name in names}


def as_matrix(links):
    names = list(links)
    matrix = np.zeros((len(names), len(names)))
    for name, found in links.items():
        for target in found:
            if target != name:
                matrix[names.index(name), names.index(target)] = 1
    return names, matrix


@given(st.integers(0, 10_000))
def test_pagerank_of_any_graph_agrees_with_the_linear_system(seed):
    names, matrix = as_matrix(drawn_links(seed))
    size, out = len(names), matrix.sum(axis=1, keepdims=True)
    move = np.where(out > 0, matrix / np.maximum(out, 1), 1 / size).T
    rank = dict(
        zip(
            names,
            np.linalg.solve(np.eye(size) - 0.85 * move, np.full(size, 0.15 / size)),
            strict=True,
        )
    )
    found = [rank[name] for name in pagerank_pages(drawn_links(seed))]
    assert sorted(found, reverse=True) == pytest.approx(found, abs=1e-8)
    assert len(found) in (0, size) and bool(found) == bool(matrix.any())


@given(st.integers(0, 10_000))
def test_hits_of_any_graph_agrees_with_the_principal_eigenvector(seed):
    names, matrix = as_matrix(drawn_links(seed))
    values, vectors = np.linalg.eigh(matrix.T @ matrix)
    assume(values[-2] < 0.8 * values[-1])  # a single dominant direction, which 50 iterations reach
    best = dict(zip(names, np.abs(vectors[:, -1]), strict=True))
    found = [best[name] for name in hits_authorities(drawn_links(seed))]
    assert sorted(found, reverse=True) == pytest.approx(found, abs=1e-4)
    assert sum(value > 1e-3 for value in best.values()) <= len(found)


def test_bootstrap_of_pairs():
    rng = np.random.default_rng(1)
    mean, low, high = bootstrap_difference([3, 4, 5, 6], [1, 2, 3, 4], rng)
    assert (mean, low, high) == (2, 2, 2)
    mean, low, high = bootstrap_difference([1, 5, 1, 5], [0, 0, 3, 3], rng)
    assert low < mean == 1.5 < high
