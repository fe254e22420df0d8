"""Query policies on small hidden databases, computed by hand and compared with each other."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepweb.answers.retrieved import Choice, Outcome, Retrieved, Term, cut_at
from deepweb.choice.matching import how_words_combine
from deepweb.choice.paper_policy import ROUNDS_OVER, TOO_FEW, PaperPolicy
from deepweb.choice.terms import WordMode
from deepweb.choice.words import FrequencyPolicy, FreshPolicy, fitted, refinement
from tests.benches.forms.hidden_database import (
    BOX,
    HiddenDatabase,
    greedy_oracle,
    middling_terms,
    synthetic,
)
from tests.benches.forms.selection import harvest as harvested


def q(*words):
    return tuple(Term(BOX, word) for word in words)


def ask(seen, database, *words):
    answer, cut = database.ask(q(*words))
    return seen.add(Choice(q(*words)), answer, cut)


def harvest(database, policy, queries, seeds=()):
    return harvested(database, policy, queries, seeds)[0]


@pytest.fixture(scope="module")
def cut_database():
    return synthetic(
        np.random.default_rng(1),
        documents=4_000,
        vocabulary=4_000,
        topics=6,
        limit=40,
        mean_length=60,
    )


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_counts_equal_a_plain_recount(seed):
    rng = np.random.default_rng(seed)
    seen = Retrieved()
    texts = {key: {f"w{word}" for word in rng.integers(0, 12, size=4)} for key in range(25)}
    returned = Counter()
    for number in range(8):
        answer = sorted({int(key) for key in rng.integers(0, 25, size=6)})
        seen.add(Choice(q(f"w{number}")), [(key, q(*texts[key])) for key in answer])
        returned.update(answer)
    for place in range(len(seen.frequency)):
        word = seen.term(place).value
        having = [key for key in returned if word in texts[key]]
        assert seen.frequency[place] == len(having)
        assert seen.returns[place] == sum(returned[key] for key in having)
        assert seen.once[place] == sum(returned[key] == 1 for key in having)
    assert seen.records == len(returned) and sum(seen.times_returned) == sum(returned.values())


def test_a_replayed_log_gives_the_same_next_query(cut_database):
    policy = FreshPolicy(
        middling_terms(cut_database, np.random.default_rng(2), 5), 40, cut_database.refused
    )
    seen = harvest(cut_database, policy, 40)
    again = Retrieved()
    for outcome in seen.outcomes:
        answer, cut = cut_database.ask(outcome.query)
        again.add(Choice(outcome.query, outcome.predicted, outcome.bucket), answer, cut)
    assert again.outcomes == seen.outcomes
    assert policy.offers(again) == policy.offers(seen)


def test_paper_rounds_filters_and_stop_rules_by_hand():
    # Ten records: "all" is in every record and "lone" in one, so that both are excluded; a … f are
    # each in several records and are candidates.
    records = [
        q("all", "seed", *words.split())
        for words in (
            "a b c",
            "a b d",
            "a c e",
            "b d f",
            "c e f",
            "d e a",
            "f b lone",
            "a c d",
            "e f b",
            "c d e",
        )
    ]
    database = HiddenDatabase(records)
    policy = PaperPolicy()
    seen = harvest(database, policy, 1, q("seed"))
    found = policy.candidates(seen, np.arange(10))
    assert (
        Term(BOX, "all") not in found
        and Term(BOX, "lone") not in found
        and Term(BOX, "seed") not in found
    )
    assert {term.value for term in found} == set("abcdef")
    weight = {
        term.value: seen.frequency[seen.index_of(term)]
        * np.log(10 / seen.frequency[seen.index_of(term)])
        for term in found
    }
    assert [term.value for term in found] == sorted(weight, key=lambda word: -weight[word])
    assert policy.offers(seen)[0].choice.query == (found[0],)


def test_paper_weighs_occurrences_by_their_place():
    database = HiddenDatabase(
        [
            q("seed", *words.split())
            for words in ("a b", "a b", "b c", "b c", "d", "d", "e f", "e f")
        ]
    )
    seen = harvest(database, PaperPolicy(), 1, q("seed"))
    thrice = {
        0: {Term(BOX, "a"): 3.0, Term(BOX, "b"): 1.0},
        2: {Term(BOX, "c"): 1.0, Term(BOX, "unseen"): 9.0},
    }
    weighed = PaperPolicy(word_weights=lambda key: thrice.get(key, {})).candidates(
        seen, np.arange(8)
    )
    assert [term.value for term in weighed[:3]] == [
        "a",
        "c",
        "b",
    ]  # weights (occurrences * idf): 3 ln 4, 1 ln 4, 1 ln 2


def test_paper_stops_when_candidates_run_short_or_after_five_rounds_and_goes_on_without_its_rule(
    cut_database,
):
    seeds = middling_terms(cut_database, np.random.default_rng(3), 5)
    policy = PaperPolicy(refused=cut_database.refused)
    stopped = harvest(cut_database, policy, 200, seeds)
    assert (
        len(stopped.outcomes) == 25 and policy.ended == ROUNDS_OVER
    )  # five rounds of five queries
    few = HiddenDatabase([q("seed", "a"), q("seed", "a", "b"), q("seed", "b")])
    policy = PaperPolicy()
    assert len(harvest(few, policy, 50, q("seed")).outcomes) == 1 and policy.ended == TOO_FEW
    assert len(harvest(few, PaperPolicy(stop_rule=False), 50, q("seed")).outcomes) == 3
    endless = harvest(
        cut_database, PaperPolicy(stop_rule=False, refused=cut_database.refused), 120, seeds
    )
    assert (
        len(endless.outcomes) == 120 and len({outcome.query for outcome in endless.outcomes}) == 120
    )


def test_frequency_takes_the_most_frequent_unasked_word():
    database = HiddenDatabase(
        [q("s", "a", "b"), q("s", "a"), q("s", "b"), q("a", "b", "c"), q("a")]
    )
    seen = harvest(database, FrequencyPolicy(), 3, q("s"))
    assert [outcome.query[0].value for outcome in seen.outcomes] == ["s", "a", "b"]
    one = harvest(database, FrequencyPolicy(), 1, q("s"))
    assert FrequencyPolicy(frozenset(q("a", "b", "s"))).offers(one) == []


def test_fresh_covers_far_more_than_the_others_where_answers_are_cut(cut_database):
    seeds = middling_terms(cut_database, np.random.default_rng(4), 5)
    refused = cut_database.refused
    fresh = harvest(cut_database, FreshPolicy(40, refused), 100, seeds).records
    paper = harvest(cut_database, PaperPolicy(stop_rule=False, refused=refused), 100, seeds).records
    frequency = harvest(cut_database, FrequencyPolicy(refused), 100, seeds).records
    assert (
        fresh >= 1.5 * max(paper, frequency) and fresh >= 0.7 * greedy_oracle(cut_database, 100)[-1]
    )


def test_fresh_is_as_good_as_frequency_where_nothing_is_cut():
    database = synthetic(
        np.random.default_rng(2), documents=2_000, vocabulary=3_000, topics=6, mean_length=60
    )
    seeds = middling_terms(database, np.random.default_rng(1), 5)
    fresh = harvest(database, FreshPolicy(None, database.refused), 40, seeds).records
    assert fresh >= 0.97 * harvest(database, FrequencyPolicy(database.refused), 40, seeds).records


def test_the_scale_is_learned_and_no_policy_asks_twice_or_fails_on_nothing(cut_database):
    seeds = middling_terms(cut_database, np.random.default_rng(6), 5)
    policy = FreshPolicy(40, cut_database.refused)
    seen = harvest(cut_database, policy, 80, seeds)
    asked = [
        outcome for outcome in seen.outcomes[-30:] if outcome.before and not outcome.overflowed
    ]
    truth = np.mean([cut_database.frequency(o.query[0]) / o.before for o in asked])
    assert fitted(seen, 40).size / seen.records == pytest.approx(truth, rel=0.5)
    assert len({outcome.query for outcome in seen.outcomes}) == 80
    empty = HiddenDatabase([])
    for policy in (
        FreshPolicy(10),
        FrequencyPolicy(),
        PaperPolicy(stop_rule=False),
    ):
        assert len(harvest(empty, policy, 5, q("x")).outcomes) == 1


def test_refinement_splits_a_cut_answer_and_pairs_reach_what_single_words_cannot():
    rng = np.random.default_rng(5)
    database = HiddenDatabase(
        [q(*{f"w{word}" for word in rng.integers(0, 15, size=5)}) for _ in range(1_500)], limit=40
    )
    seen = Retrieved()
    ask(seen, database, "w0")
    query, share = refinement(seen, 0)
    assert query[0] == Term(BOX, "w0") and 0 < share < 1
    inside = np.mean(
        [seen.index_of(query[1]) in seen.terms_at(int(record)) for record in seen.answers[0]]
    )
    assert share == pytest.approx(inside)
    seen.add(Choice(query), database.ask(query)[0])
    assert refinement(seen, 0)[0] != query
    alone = harvest(database, FreshPolicy(40), 80, q("w0"))
    pairs = harvest(database, FreshPolicy(40, pairs=True), 80, q("w0"))
    assert len(alone.outcomes) == 15 and pairs.records > 2 * alone.records
    single = HiddenDatabase([q("only")])
    ask(seen := Retrieved(), single, "only")
    assert refinement(seen, 0) is None


@pytest.mark.parametrize(
    ("sizes", "stated", "cut"),
    [
        ([50, 12, 50, 3, 50, 50, 7], [], 50),
        ([50, 12, 9, 3, 50], [], None),  # two responses of 50 records are too few to prove a limit
        ([20, 20, 20, 31], [], None),  # a larger response shows that twenty is not a limit
        ([30, 30], [4000, 30], 30),
        ([5, 5], [5, 5], None),
        ([], [], None),
    ],
)
def test_the_cut_is_recognised(sizes, stated, cut):
    assert (
        cut_at([Outcome(q(f"w{n}"), size, 0, False) for n, size in enumerate(sizes)], stated) == cut
    )


def test_how_words_combine():
    both, one = {"t": "Red house by a river"}, {"t": "Red barn"}
    assert how_words_combine(["red", "house"], [both] * 9 + [one], WordMode.WORDS) == "and"
    assert how_words_combine(["red", "house"], [both] * 5 + [one] * 5, WordMode.WORDS) == "or"
    assert how_words_combine(["red", "house"], [], WordMode.WORDS) == "phrase"
    assert how_words_combine(["red", "riv"], [both], WordMode.WORDS) == "or"
    assert how_words_combine(["red", "riv"], [one], WordMode.WORDS, fewer=True) == "and"
    assert how_words_combine(["red", "house"], [both], WordMode.WORDS, fewer=False) == "or"
    assert how_words_combine(["red", "house"], [], WordMode.WORDS, fewer=True) == "phrase"
    assert how_words_combine(["red", "riv"], [both], WordMode.PARTS) == "and"


def test_the_oracle_is_greedy_and_a_database_answers_conjunctions():
    database = HiddenDatabase([q("a", "b"), q("a"), q("b", "c"), q("c"), q("d")], limit=2)
    assert greedy_oracle(database, 3) == [2, 4, 5]
    assert [key for key, _ in database.ask(q("b", "c"))[0]] == [2]
    assert database.ask(q("b")) == ([(0, q("a", "b")), (2, q("b", "c"))], False)
    assert HiddenDatabase([q("the")], refused=q("the")).ask(q("the")) == ([], False)
