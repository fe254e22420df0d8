"""Tests of parts of the strategy `adaptive`: splitting addresses by folder, sums over examples that
are updated row by row, the choice of the largest scores, and the matrix of link targets."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlmgr.web.url import canonical, host_key
from focused.judge.relevance import url_tokens
from focused.strategies.adaptive import Examples, greatest
from focused.strategies.link_features import Addresses, Found, LinkFeatures
from focused.strategies.link_table import template

URLS = (
    "http://a.example/",
    "http://a.example/index.html",
    "http://a.example/docs/v12/appendMode.html",
    "http://a.example/docs/v13/appendMode.html?lang=en&page=2",
    "http://a.example/docs/v13/?q=a/b.c",
    "http://a.example:8080/~smith/%E7%BD%91%E9%A1%B5/x",
    "http://b.example/~smith/%E7%BD%91%E9%A1%B5/y.php",
)


def test_an_address_read_by_its_folder_is_what_it_is_read_whole():
    read = Addresses()
    for url in [canonical(url) for url in (*URLS, *reversed(URLS))]:
        found = read(url)
        assert (found.host, found.template, list(found.words)) == (
            host_key(url),
            template(url),
            url_tokens(url),
        ), url


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.integers(0, 10_000))
def test_scale_and_ridge_from_sums_are_those_of_the_rows(number, seed):
    draw = np.random.default_rng(seed)
    rows, goals = draw.normal(2, 3, (number, 3)), draw.random(number)
    mean, spread, centre = draw.normal(size=3), draw.random(3) + 0.5, draw.normal(size=3)
    examples = Examples(3, window=7)
    for page, row in enumerate(rows):
        examples.add(row, page)
    newest = rows[-7:]
    assert np.array_equal(examples.rows, newest) and len(examples) == len(newest)
    own, wide = examples.scale(mean, spread, 4.0)
    whole = len(newest) + 4
    assert own == pytest.approx((newest.sum(axis=0) + 4 * mean) / whole)
    squares = ((newest - own) ** 2).sum(axis=0) + 4 * (spread**2 + (mean - own) ** 2)
    assert wide == pytest.approx(np.sqrt(squares / whole))
    scaled, centred = (newest - own) / wide, goals[-7:] - goals[-7:].mean()
    direct = np.linalg.solve(scaled.T @ scaled + 2 * np.eye(3), scaled.T @ centred + 2 * centre)
    assert examples.ridge(own, wide, lambda pages: goals[pages], centre, 2.0) == pytest.approx(
        direct
    )


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=80), st.integers(1, 10))
def test_the_greatest_are_those_of_a_stable_sort(values, number):
    scores = np.array(values, dtype=float)
    assert greatest(scores, number).tolist() == np.argsort(-scores, kind="stable")[:number].tolist()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_features_are_the_same_whenever_closed_targets_are_removed_and_changes_made(seed):
    """The features are bit for bit the same, whether the columns of targets that are no longer
    candidates are removed at once or later, and whether changes are applied after every page or
    only at the end."""

    def table(fewest, read_always):
        draw, links = random.Random(seed), LinkFeatures()
        links.table._fewest_closed = fewest
        for number in range(40):
            found = [
                Found(
                    f"http://h{draw.randrange(3)}.example/{draw.randrange(90)}",
                    draw.random(),
                    draw.random(),
                    (f"w{draw.randrange(9)}",),
                )
                for _ in range(draw.randrange(6))
            ]
            url = draw.choice(
                [links.urls[target] for target in range(len(links.urls)) if links.is_open(target)]
                or ["http://s.example/"]
            )
            links.add(url, 1, draw.random(), found, draw.randrange(-1, number), draw.random() < 0.5)
            links.close(url, number)
            if read_always:
                links.features()
        return links.open_targets().tolist(), links.features(), links.table.size

    late, kept = table(10**9, False), table(10**9, True)
    for fewest, read_always in ((0, False), (0, True)):
        one = table(fewest, read_always)
        assert (
            one[0] == late[0]
            and np.array_equal(one[1], late[1])
            and np.array_equal(one[1], kept[1])
        )
        assert one[2] < late[2] or one[2] == len(one[0])
