"""Tests the model of the number of new records that a word brings, whose parameters are fitted to
simulated answers."""

from __future__ import annotations

import numpy as np
import pytest

from deepweb.answers.retrieved import Choice, Retrieved, Term
from deepweb.choice.words import FreshPolicy, fitted, new_of
from tests.benches.forms.hidden_database import greedy_oracle, middling_terms, synthetic


def _asked(
    ranked: bool, queries: int, told: bool = False, limit: int = 60
) -> tuple[Retrieved, float, float]:
    """Simulates a harvest. Returns the seen records, their share of the greedy oracle's, and the
    ratio of all matches to seen ones of words with about `limit` matches. told: answers state the
    number of matches."""
    database = synthetic(np.random.default_rng(5), 3_000, 3_000, limit=limit, mean_length=50.0)
    database.ranked = ranked
    policy, seen = FreshPolicy(limit, database.refused), Retrieved()
    seeds = middling_terms(database, np.random.default_rng(1), 2)
    for number in range(queries):
        choice = Choice((seeds[number],)) if number < len(seeds) else policy.offers(seen)[0].choice
        answer, cut = database.ask(choice.query)
        seen.add(choice, answer, cut)
        if told:
            seen.outcomes[-1] = seen.outcomes[-1]._replace(
                matching=len(database.matches(choice.query))
            )
    near = [
        place
        for place in range(len(seen.frequency))
        if limit / 3 < database.frequency(seen.term(place)) < 2 * limit
    ]
    true = sum(database.frequency(seen.term(place)) for place in near) / max(
        1, sum(seen.frequency[place] for place in near)
    )
    return seen, seen.records / greedy_oracle(database, queries)[-1], true


@pytest.mark.parametrize("ranked", [True, False])
@pytest.mark.parametrize("told", [True, False])
def test_the_scale_of_words_is_near_the_truth_and_the_harvest_near_the_oracle(
    ranked: bool, told: bool
) -> None:
    seen, share, true = _asked(ranked, 40, told)
    scale = fitted(seen, 60.0).size / seen.records
    assert 0.7 * true <= scale <= 1.45 * true
    assert share >= 0.82


def test_cut_answers_that_always_show_the_same_records_first_are_told_from_others() -> None:
    ranked, unranked = (fitted(_asked(ranked, 30)[0], 60.0).mixed for ranked in (True, False))
    assert ranked < 0.6 < unranked


def test_a_cut_answer_brings_less_where_the_same_records_come_first() -> None:
    known, unseen = np.array([30.0, 30.0]), np.array([20.0, 400.0])
    same, any_ = new_of(known, unseen, 60.0, 0.0), new_of(known, unseen, 60.0, 1.0)
    assert same[0] == pytest.approx(any_[0], rel=0.1), "nearly always whole"
    assert same[1] < 0.7 * any_[1]


def test_nothing_seen_gives_a_scale_all_the_same() -> None:
    assert fitted(Retrieved(), 10.0).size > 1
    seen = Retrieved()
    seen.add(Choice((Term("q", "word"),)), [], False)
    assert fitted(seen, 10.0).size > 1
