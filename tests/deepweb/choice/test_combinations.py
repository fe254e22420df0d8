"""Queries that combine words with values of choice inputs: the number of records with each value,
estimated from all responses, and the query that a query plan submits first."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from deepweb.answers.retrieved import Choice, Query, Retrieved, Term
from deepweb.choice.choice_sizes import choice_sizes
from deepweb.choice.chooser import Offer, of_family, take_best
from deepweb.choice.combinations import Combinations
from deepweb.choice.words import FreshPolicy

BOX = "q"
CHOICES = {"genre": ("a", "b", "c", "d", "e", "f", "g"), "place": ("n", "s", "w", "o", "m")}
SHARES = {"genre": (0.3, 0.2, 0.15, 0.12, 0.1, 0.08, 0.05), "place": (0.35, 0.25, 0.2, 0.12, 0.08)}
RECORDS, CUT = 1_500, 40


class Site:
    """A simulated database whose records contain words and a value of each of two selection inputs
    (shown in result lists if `shown`). A response lists the first 40 matching records, always in
    the same order, and states how many match.
    """

    def __init__(self, shown: bool) -> None:
        rng = np.random.default_rng(4)
        self.terms: list[set[Term]] = []
        for _ in range(RECORDS):
            words = {Term(BOX, f"w{int(word)}") for word in rng.zipf(1.4, size=12) if word < 400}
            self.terms.append(
                words
                | {Term(n, str(rng.choice(values, p=SHARES[n]))) for n, values in CHOICES.items()}
            )
        self.shown = shown

    def matching(self, query: Query) -> list[int]:
        return [place for place, terms in enumerate(self.terms) if set(query) <= terms]

    def ask(self, seen: Retrieved, choice: Choice) -> None:
        found = self.matching(choice.query)
        listed = [
            (p, [t for t in sorted(self.terms[p]) if self.shown or t.input == BOX])
            for p in found[:CUT]
        ]
        seen.add(choice, listed, len(found) > CUT)
        seen.outcomes[-1] = seen.outcomes[-1]._replace(matching=len(found) or None)


@pytest.mark.parametrize("shown", [True, False])
def test_the_sizes_of_choices_and_of_all_are_fitted_to_the_answers(shown: bool) -> None:
    site, seen = Site(shown), Retrieved()
    for value in CHOICES["genre"]:
        site.ask(seen, Choice((Term("genre", value),)))
    site.ask(seen, Choice((Term("genre", "a"), Term("place", "n"))))
    site.ask(seen, Choice((Term("genre", "b"), Term("place", "s"))))
    told = choice_sizes(seen, CHOICES, 400.0, {})
    assert told.total == pytest.approx(RECORDS, rel=0.08)
    for place, value in enumerate(CHOICES["genre"]):
        assert told.sizes["genre"][place] == pytest.approx(
            len(site.matching((Term("genre", value),))), rel=0.05
        )
    assert told.sizes["place"][0] == pytest.approx(0.35 * RECORDS, rel=0.25)
    members = told.members["genre"]
    assert members.shape == (seen.records, 7) and np.allclose(
        members.sum(axis=1), 1.0
    )  # each record has exactly one genre


def test_nothing_asked_of_a_choice_leaves_the_guess_and_even_shares() -> None:
    site, seen = Site(False), Retrieved()
    site.ask(seen, Choice((Term(BOX, "w1"),)))
    told = choice_sizes(seen, CHOICES, 900.0, {})
    assert told.total == 900.0 and np.allclose(told.sizes["genre"], 900.0 / 7)


def harvest(site: Site, queries: int, joint: bool) -> int:
    seen, policy = Retrieved(), FreshPolicy(CUT)
    site.ask(seen, Choice((Term(BOX, "w1"),)))
    for left in range(queries - 1, 0, -1):
        combined = Combinations(BOX, CHOICES, policy, left).offers(seen) if joint else []
        first = take_best([*policy.offers(seen), *combined], left)
        assert first is not None and not seen.was_asked(first.choice.query)
        assert not any(
            o.is_whole and set(o.query) <= set(first.choice.query) for o in seen.outcomes
        )
        site.ask(seen, first.choice)
    return seen.records


def test_queries_beside_choices_are_never_asked_twice_nor_where_all_is_known() -> None:
    site = Site(False)
    assert harvest(site, 25, joint=True) > 0.9 * harvest(site, 25, joint=False)


def offers(gains: list[float], unseen: float = 600.0) -> list[Offer]:
    return [Offer(Choice((Term("x", str(gain)),), gain), gain, unseen=unseen) for gain in gains]


def test_a_plan_begins_with_disjoint_queries_where_all_of_them_together_bring_more() -> None:
    [word], cells = offers([30.0]), of_family(offers([25.0] * 20))
    assert take_best([word, cells], 1) == word  # with a budget of one query, the best single query
    assert take_best([word, cells], 20) == cells
    # 20 words, which overlap: 600 (1 - 1 / e) = 379; cells: 500
    assert take_best([word, of_family(offers([5.0] * 20))], 20) == word
    assert take_best([cells], 3) == cells
    assert take_best([], 3) is None
    near = [
        offer._replace(known=known)
        for offer, known in zip(offers([38.0, 36.0, 29.0]), (2, 9, 20), strict=True)
    ]
    # near[2]: most known records, but under 0.8 of the largest yield
    assert of_family(near).choice == near[1].choice


def test_a_query_that_tells_the_size_of_a_choice_is_preferred_if_it_brings_nearly_as_much() -> None:
    [word], [near, far] = offers([30.0]), offers([25.0, 23.0])
    assert take_best([word, near._replace(tells=True)], 1).gain == 25.0
    assert take_best([word, far._replace(tells=True)], 1) == word


def test_no_two_queries_of_a_family_can_find_the_same_record() -> None:
    site, seen = Site(True), Retrieved()
    site.ask(seen, Choice((Term(BOX, "w1"),)))
    offers = Combinations(BOX, CHOICES, FreshPolicy(CUT), 20).offers(seen)
    assert sorted(len(offer.family) for offer in offers if offer.family) == [5, 7, 35]
    assert all(
        not set(site.matching((Term(name, one),))) & set(site.matching((Term(name, other),)))
        for name, values in CHOICES.items()
        for one, other in itertools.combinations(values, 2)
    )
