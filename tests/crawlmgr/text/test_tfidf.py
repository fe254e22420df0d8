"""TF-IDF weights computed by hand, and the effect of growing document frequencies."""

from math import log

import pytest

from crawlmgr.text.similarity import DocumentFrequencies, Idf, heaviest, mean_vector, smooth_idf


def test_idf_by_hand():
    idf = Idf(9, {"everywhere": 9, "rare": 1})
    assert idf("everywhere") == pytest.approx(1.0)
    assert idf("rare") == pytest.approx(log(10 / 2) + 1)
    assert idf("unseen") == pytest.approx(log(10) + 1)
    assert smooth_idf(0, 0) == 1.0


def test_weights_are_counts_times_idf():
    idf = Idf(3, {"a": 3, "b": 0})
    assert idf.weigh({"a": 2, "b": 3}) == pytest.approx({"a": 2.0, "b": 3 * (log(4) + 1)})


def test_a_word_counts_once_a_document_and_the_view_stays_frozen():
    grown = DocumentFrequencies(least=3)
    grown.add(["a", "a", "b"])
    first = grown.update_idf()
    assert (first.documents, dict(first.frequencies)) == (1, {"a": 1, "b": 1})
    assert grown.add(["a"]) is False
    assert grown.idf is first
    assert grown.documents == 2
    assert grown.add(["c"]) is False
    assert (
        grown.add(["a"]) is True
    )  # third document since `update_idf`: as `least` demands, `idf` is renewed
    assert grown.idf.documents == 4
    assert grown.idf.frequencies["a"] == 3
    assert dict(first.frequencies) == {"a": 1, "b": 1}


def test_heaviest_breaks_ties_by_word():
    assert list(heaviest({"b": 1.0, "a": 1.0, "c": 2.0}, 2)) == ["c", "a"]


def test_mean_vector():
    assert mean_vector([{"a": 1.0}, {"a": 3.0, "b": 2.0}]) == {"a": 2.0, "b": 1.0}
    assert mean_vector([]) == {}


def test_views_are_renewed_often_early_and_rarely_late():
    grown = DocumentFrequencies(least=2, most=10)
    renewed = [n for n in range(1, 501) if grown.add(["a"])]
    assert renewed[:4] == [2, 4, 6, 8]
    assert {
        later - earlier
        for earlier, later in zip(renewed, renewed[1:], strict=False)
        if earlier > 200
    } == {10}
