"""Similarities computed by hand, and their bounds for arbitrary weights."""

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlmgr.text.similarity import bigrams, cosine, semantic

vectors = st.dictionaries(st.sampled_from("abcdef"), st.floats(0.01, 100), max_size=6)


def test_cosine_by_hand():
    assert cosine({"a": 1, "b": 2}, {"b": 3, "c": 4}) == pytest.approx(6 / (sqrt(5) * 5))
    assert cosine({"a": 1}, {"b": 1}) == 0
    assert cosine({}, {"b": 1}) == 0


@given(vectors, vectors, st.floats(0.1, 10))
def test_cosine_is_symmetric_bounded_and_free_of_scale(a, b, factor):
    assert cosine(a, b) == pytest.approx(cosine(b, a))
    assert 0 <= cosine(a, b) <= 1
    assert cosine({word: weight * factor for word, weight in a.items()}, b) == pytest.approx(
        cosine(a, b)
    )
    if a:
        assert cosine(a, a) == pytest.approx(1)


def test_bigrams():
    assert bigrams("crawl") == {"cr", "ra", "aw", "wl"}
    assert bigrams("宏") == {"宏"}
    assert bigrams("") == set()


def test_semantic_forms_by_hand():
    topic = {"crawler": 2.0, "web": 1.0}
    page = {"crawler": 0.5, "soup": 1.0}
    # the word “web” is not on the page: it adds 0 to the sum and 1 (times the page's largest
    # weight, 1) to the divisor
    assert semantic(topic, page) == pytest.approx((2 * 0.5) / (2 * 0.5 + 1 * 1.0))
    assert semantic(topic, page, greedy=False) == pytest.approx((2 * 0.5) / (3 * 1.5))
    assert semantic(topic, {}) == semantic({}, page) == 0


def test_semantic_takes_another_measure_of_words():
    def alike(a: str, b: str) -> float:
        return 1.0 if a == b else 0.5 if {a, b} == {"car", "lorry"} else 0.0

    topic, page = {"car": 1.0}, {"lorry": 1.0, "tree": 3.0}
    assert semantic(topic, page) == 0
    assert semantic(topic, page, alike) == pytest.approx(0.5)
    assert semantic(topic, page, alike, greedy=False) == pytest.approx(0.5 / 4)
    assert semantic(topic, {"tree": 3.0}, alike) == 0


@given(vectors, vectors)
def test_semantic_is_a_share_and_one_for_a_text_against_itself(a, b):
    for greedy in (True, False):
        assert 0 <= semantic(a, b, greedy=greedy) <= 1 + 1e-9
    if a:
        assert semantic(a, a) == pytest.approx(1)
