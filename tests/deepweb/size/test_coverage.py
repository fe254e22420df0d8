"""Size estimates: formulas by hand, intervals that contain the true size, refusals to estimate; and
the rules that end a harvest."""

import numpy as np
import pytest

from deepweb.answers.retrieved import Outcome, Retrieved, Term
from deepweb.choice.words import FreshPolicy
from deepweb.size.estimators import (
    ProbeAnswer,
    ProbedRecord,
    ProbePlan,
    _degree,
    estimate_size,
    plan_probes,
    stopped_by,
)
from tests.benches.forms.hidden_database import BOX, HiddenDatabase, middling_terms, synthetic
from tests.benches.forms.selection import Captures, captures, chao1, chapman, harvest, lu_li


def test_formulas_by_hand():
    seen = captures([1, 1, 1, 2, 2, 5])
    assert seen == Captures(6, 12, 3, 2)
    assert seen.overlap_rate == 2
    assert chao1(seen) == 6 + 3 * 2 / (2 * 3)
    assert lu_li(seen) == pytest.approx(6 / (1 - 2**-1.1))
    assert chapman(100, 80, 20) == pytest.approx(101 * 81 / 21 - 1)
    assert (
        lu_li(captures([1, 1])) is None
        and chao1(captures([])) == 0
        and captures([]).overlap_rate == 1
    )


@pytest.fixture(scope="module")
def database():
    return synthetic(
        np.random.default_rng(3),
        documents=4_000,
        vocabulary=4_000,
        topics=6,
        limit=60,
        mean_length=60,
    )


def sized(
    database,
    random_seed,
    queries=60,
    probes=50,
    text=lambda terms: "",
    terms=lambda terms: frozenset(terms),
    seeds=(),
):
    rng = np.random.default_rng(random_seed)
    policy = FreshPolicy(database.limit, database.refused)
    seeds = seeds or middling_terms(database, rng, 5)
    seen, _ = harvest(database, policy, queries, seeds)
    scales = policy.scales(seen)[seen.kind_numbers]
    plan = plan_probes(seen, scales, database.limit, rng, probes)
    answers = []
    for term in plan.drawn:
        shown, cut = database.ask((term,))
        answers.append(
            ProbeAnswer(
                term, [ProbedRecord(key, terms(found), text(found)) for key, found in shown], cut
            )
        )
    return estimate_size(plan, answers, seen.records), seen


def test_probes_find_the_true_size_in_a_narrow_interval_although_answers_are_cut(database):
    estimates = [sized(database, seed)[0] for seed in range(10)]
    assert all(size.known and size.high <= 1.6 * size.low for size in estimates)
    assert sum(size.low <= len(database) <= size.high for size in estimates) >= 8


def test_a_site_that_matches_parts_of_words_is_recognised():
    # Query "w1" also finds "w12". A record's terms are its first three words: they do not explain
    # all answers.
    rng = np.random.default_rng(4)
    texts = [" ".join(f"w{word}" for word in rng.integers(0, 400, size=6)) for _ in range(1_500)]
    words = [Term(BOX, f"w{word}") for word in range(400)]
    found = [tuple(word for word in words if word.value in text) for text in texts]
    text_of = dict(zip(found, texts, strict=True))
    size, _ = sized(
        HiddenDatabase(found, limit=200),
        random_seed=1,
        queries=12,
        probes=60,
        text=text_of.__getitem__,
        terms=lambda terms: frozenset(Term(BOX, word) for word in text_of[terms].split()[:3]),
        seeds=words[200:205],
    )
    assert size.known and size.low <= len(texts) <= size.high


@pytest.mark.parametrize("text", ["a party", "apart, smart", "starting"])
def test_a_rule_that_explains_nearly_all_is_not_taken_if_another_agrees_better(text):
    art = Term(BOX, "art")
    shown = [ProbedRecord(n, frozenset({art}), "art") for n in range(9)]
    inside = ProbedRecord(9, frozenset({Term(BOX, text)}), text)
    plan = ProbePlan((art,), {art: 9}, 0.0)
    degree = _degree(plan, [ProbeAnswer(art, [*shown, inside], False)], {art: 1.0})
    assert degree(inside) == 1 and degree(ProbedRecord(10, frozenset(), "a poem")) == 0


def test_answers_that_nothing_explains_are_not_estimated(database):
    size, _ = sized(database, 1, terms=lambda found: frozenset())
    assert not size.known and size.reason == "answers_not_understood"
    assert plan_probes(Retrieved(), 1.0, 60, np.random.default_rng(1), 10) is None
    assert sized(database, 1, probes=5)[0].reason == "too_few_probes"


def outcomes(*pairs, cut=False):
    return [
        Outcome((Term(BOX, f"w{n}"),), returned, new, cut)
        for n, (returned, new) in enumerate(pairs)
    ]


def test_stop_rules():
    rules = (0.01, 0.95)
    going = outcomes(*[(50, 20)] * 12)
    assert stopped_by(going, [1] * 240, *rules) is None
    dry = outcomes(*[(50, 30)] * 5, *[(100, 1)] * 10)
    assert stopped_by(dry, [1] * 240, *rules) == "gain"
    assert stopped_by(dry[:14], [1] * 240, *rules) is None
    assert stopped_by(outcomes(*[(0, 0)] * 10), [], *rules) == "gain"
    assert stopped_by(going, [9] * 240, *rules) == "good_turing"
    assert stopped_by(outcomes(*[(50, 20)] * 12, cut=True), [9] * 240, *rules) is None
