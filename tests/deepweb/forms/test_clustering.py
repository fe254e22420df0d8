"""Tests of clustering: eq. (3) as a dot product, both algorithms on made-up topics, number of
clusters, new pages, names."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import normalized_mutual_info_score

from deepweb.forms.clustering import (
    C1,
    C2,
    TwoSpaces,
    assign,
    choose_k,
    flat_map,
    joined,
    kmeans,
    literal,
    silhouette,
    space_of,
    spaces_of,
    top_terms,
)
from tests.deepweb.topics_by_hand import planted


def cosine(a, b):
    """Returns the cosine of two vectors, eq. (2) of the deep-web paper; 0 if one of them is
    zero."""
    length = math.sqrt(float(a @ a)) * math.sqrt(float(b @ b))
    return float(a @ b) / length if length else 0.0


def similarity(
    page_a,
    form_a,
    page_b,
    form_b,
    c1=C1,
    c2=C2,
):
    """Computes eq. (3) of the deep-web paper as printed: (C1 cos(Pc) + C2 cos(Fc)) / (C1 + C2),
    where cos(Pc) compares the page vectors and cos(Fc) the form vectors of pages a and b. Dense
    arrays; the result is in [0, 1] if all weights are at least 0."""
    return (c1 * cosine(page_a, page_b) + c2 * cosine(form_a, form_b)) / (c1 + c2)


def weighed(pages):
    page, form = spaces_of(pages)
    return (
        TwoSpaces(page.weigh([p.page for p in pages]), form.weigh([p.form for p in pages])),
        page,
        form,
    )


@given(st.integers(0, 10_000), st.floats(0.1, 5), st.floats(0.1, 5))
@settings(max_examples=60, deadline=None)
def test_equation_3_is_a_dot_product(seed, c1, c2):
    rng = np.random.default_rng(seed)
    page, form = (rng.gamma(0.3, 2.0, size=(6, n)) * (rng.random((6, n)) < 0.5) for n in (30, 8))
    form[0] = 0  # page 0 has an empty form
    rows = joined(TwoSpaces(sparse.csr_matrix(page), sparse.csr_matrix(form)), c1, c2).toarray()
    for a in range(6):
        for b in range(6):
            assert (
                abs(rows[a] @ rows[b] - similarity(page[a], form[a], page[b], form[b], c1, c2))
                < 1e-12
            )


def test_weights_by_hand_words_on_every_page_vanish_and_one_page_keeps_all():
    space = space_of([{"a": 3.0, "b": 1.0}, {"a": 1.0}, {"a": 2.0, "c": 4.8}])
    assert space.words == ("a", "b", "c")
    assert space.weigh([{"a": 3.0, "b": 1.0}, {"c": 2.0, "zzz": 9.0}]).toarray() == pytest.approx(
        np.array([[0, math.log(3), 0], [0, 0, 2 * math.log(3)]])
    )
    assert space_of([{"a": 3.0}]).weigh([{"a": 3.0}]).toarray().tolist() == [[3.0]]
    with pytest.raises(ValueError, match="no pages"):
        space_of([])


def test_similarity_by_hand():
    one, two = np.array([1.0, 1.0]), np.array([1.0, 0.0])
    assert similarity(one, two, two, two) == pytest.approx((C1 * math.sqrt(0.5) + C2) / (C1 + C2))
    assert similarity(one, two, np.array([0.0, 0.0]), two) == pytest.approx(C2 / (C1 + C2))


HAND = TwoSpaces(
    sparse.csr_matrix([[1.0, 0, 0], [5, 1, 0], [0, 1.0, 0], [0, 3, 0.2], [1, 0, 0.1]]),
    sparse.csr_matrix([[1.0, 0], [1, 0], [0, 1.0], [0, 2], [1, 0]]),
)


def test_both_algorithms_part_the_hand_made_pages():
    for labels in (
        kmeans(joined(HAND), 2, 1).labels,
        *(literal(HAND, 2, np.random.default_rng(seed)).labels for seed in (1, 4, 6)),
    ):
        assert labels[0] == labels[1] == labels[4] != labels[2] == labels[3]


def test_the_literal_algorithm_renews_a_centre_after_each_page():
    # The seeds are A=(1,0) and B=(0,1). P=(10,9) joins A and moves A's centre towards (11,9), so
    # that Q=(1,1.01) joins A too. If the centres were updated only after each round, Q would join
    # B.
    pages = np.array([[1.0, 0], [0, 1.0], [10, 9], [1, 1.01]])
    spaces = TwoSpaces(sparse.csr_matrix(pages), sparse.csr_matrix(np.ones((4, 1))))
    seed = next(
        s
        for s in range(50)
        if set(np.random.default_rng(s).choice(4, size=2, replace=False)) == {0, 1}
    )
    labels = literal(spaces, 2, np.random.default_rng(seed)).labels
    assert labels[3] == labels[2] == labels[0] != labels[1]


def test_silhouette_finds_the_planted_number_and_k_means_the_topics():
    for topics, n, seed in ((3, 40, 1), (5, 90, 2), (9, 200, 3)):
        pages, truth = planted(topics, n, seed)
        rows = joined(weighed(pages)[0])
        chosen = choose_k(rows, 1, starts=4)
        assert chosen.clustering.k == topics
        assert normalized_mutual_info_score(truth, chosen.clustering.labels) > 0.97
        assert chosen.silhouette == max(chosen.tried.values())


def test_the_literal_algorithm_comes_near_on_planted_topics():
    pages, truth = planted(5, 90, 2)
    spaces = weighed(pages)[0]
    best = max(
        (literal(spaces, 5, np.random.default_rng(seed)) for seed in range(8)),
        key=lambda found: found.cohesion,
    )
    assert normalized_mutual_info_score(truth, best.labels) > 0.9
    assert best.rounds >= 2


def test_no_structure_is_one_cluster_and_few_pages_do_not_fail():
    rng = np.random.default_rng(1)
    noise = [{f"w{word}": 1.0 for word in rng.integers(0, 300, size=30)} for _ in range(40)]
    rows = joined(TwoSpaces(*(space_of(noise).weigh(noise),) * 2))
    assert choose_k(rows, 1).clustering.k == 1
    for n in (1, 2, 3):
        assert choose_k(rows[:n], 1).clustering.k == 1
    same = sparse.csr_matrix(np.ones((6, 3)))
    assert kmeans(same, 4, 1).k == 1 and silhouette(same, np.zeros(6, int), 1) is None
    with pytest.raises(ValueError, match="0 clusters"):
        kmeans(same, 0, 1)


def test_new_pages_join_the_nearest_cluster_without_moving_it():
    pages, truth = planted(4, 120, 5)
    page, form = spaces_of(pages[:100])
    old = joined(
        TwoSpaces(
            page.weigh([p.page for p in pages[:100]]), form.weigh([p.form for p in pages[:100]])
        )
    )
    new = joined(
        TwoSpaces(
            page.weigh([p.page for p in pages[100:]]), form.weigh([p.form for p in pages[100:]])
        )
    )
    found = kmeans(old, 4, 1)
    labels, alike = assign(new, found.centres)
    topic_of = {
        label: int(np.bincount(truth[:100][found.labels == label]).argmax()) for label in range(4)
    }
    assert [topic_of[label] for label in labels] == truth[100:].tolist()
    assert ((alike > 0) & (alike <= 1)).all()


def test_names_are_the_topics_words_and_the_map_keeps_topics_apart():
    pages, truth = planted(3, 60, 7)
    spaces, page, _ = weighed(pages)
    for topic in range(3):
        terms = top_terms(spaces.page, page.words, truth, topic, 5)
        assert len(terms) == 5 and all(term.startswith(f"t{topic}") for term in terms)
    places = flat_map(joined(spaces))
    centres = np.array([places[truth == topic].mean(axis=0) for topic in range(3)])
    nearest = np.linalg.norm(places[:, None] - centres[None], axis=2).argmin(axis=1)
    assert (nearest == truth).mean() > 0.9
    assert flat_map(joined(spaces)[:2]).tolist() == [[0, 0], [0, 0]]
