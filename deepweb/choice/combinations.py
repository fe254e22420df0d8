"""Chooses combinations of a form's choices (values of selection inputs), with or without a word in
the text box: predicts their new records from the number of matching records and of the known ones
among them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from deepweb.answers.retrieved import Choice, Query, Retrieved, Term
from deepweb.choice.choice_sizes import ChoiceSizes, choice_sizes, matches_told
from deepweb.choice.chooser import By, Offer, learned, of_family
from deepweb.choice.words import FreshPolicy, Yield, fitted, new_of, pairs_in_order

WORDS = 250  # most frequent words in the seen records, which are combined with choices
MAX_TOGETHER = 2  # choices set together, with a word or alone
# choices are combined with a word only if more records match them than this multiple of the number
# that an answer can contain
WORTH_A_WORD = 0.8
_PSEUDO = 4.0  # records as which independence of choices and words counts beside the seen ones
_BINS = 10  # parts of the site's order of results, in which seen records are counted
_TRUST, _LATEST = 10.0, 100  # see `learned`: its `trust`, and the number of answers it is given
_MIN_UNSEEN = 0.02  # unseen matches of a query are at least this share of the seen ones
_SHAPE_OF_CHOICES = 16.0  # least certainty of the matches of choices alone (`counts` of `new_of`)
_OFFERS = 20  # words offered beside each choice
_PAIRS = 10  # pairs of records in the same order that weigh as much as the fit of `mixed`
# see `_is_small`
_ROOM, _SHARE_OF_BUDGET = 2, 3


class _Base(NamedTuple):
    """One or two values of form inputs (`terms`) that are submitted together and to which a word
    may be added. `members`, (seen records,): the probability that each record matches all of them;
    `matching`: the estimated number of matching records, seen and unseen."""

    terms: Query
    members: np.ndarray
    matching: float


class Combinations(NamedTuple):
    """Chooses queries of one or two choices, with or without a word in the input `box`. `choices`
    are the values of inputs, by input name; `policy` predicts the yield of words alone. Words from
    the fields `policy.doubtful`, which the site seems not to search, are not combined with choices.
    `left`: number of remaining queries.
    """

    box: str
    choices: Mapping[str, Sequence[str]]
    policy: FreshPolicy
    left: int

    def offers(self, seen: Retrieved) -> list[Offer]:
        """Returns the best queries that combine a word with choices; and, for each set of selection
        inputs, the best query that sets these inputs only."""
        joint = _JointYield(seen, self.box, self.choices, self.policy)
        return joint.offers(self.left)


class _JointYield:
    """Predicts the number of new records of queries (see `Combinations`)."""

    def __init__(
        self, seen: Retrieved, box: str, choices: Mapping[str, Sequence[str]], policy: FreshPolicy
    ) -> None:
        self._seen, self._box, self._choices, self._policy = seen, box, choices, policy
        self._cut = float(policy.limit or 10 * max(1, seen.records))
        fit = fitted(seen, self._cut)
        self._mixed = _mixed(seen, fit)
        self._whole = [
            frozenset(o.query)
            for o in seen.outcomes
            if o.is_whole and all(term.value for term in o.query)
        ]
        places = self._commonest()
        self._words = [seen.term(place) for place in places]
        self._said = seen.having(self._words)
        matching, learned = policy.foreseen(seen)
        self._matching = self._with_told(matching[places])
        self._learned_of_words = learned[places]
        asked = {term for outcome in seen.outcomes for term in outcome.query}
        self._asked = np.array([word in asked for word in self._words], dtype=bool)
        guessed = dict(zip(self._words, self._matching.tolist(), strict=True))
        size = max(fit.size, 1.02 * seen.records)
        self._sizes: ChoiceSizes = choice_sizes(seen, choices, size, guessed)
        self._bins = np.minimum((_places_in_order(seen) * _BINS).astype(int), _BINS - 1)
        self._learned_of: dict[tuple[tuple[str, int], ...], float] = {}

    def offers(self, left: int) -> list[Offer]:
        """See `Combinations.offers`."""
        with_words: list[Offer] = []
        families: dict[frozenset[str], list[Offer]] = {}
        for base in self._bases():
            if self._is_done(base.terms):
                continue
            if not self._seen.was_asked(base.terms):
                offer = self._offered(base.terms, self._new_alone(base))
                families.setdefault(frozenset(term.input for term in base.terms), []).append(offer)
            if base.matching > WORTH_A_WORD * self._cut:
                with_words += self._beside(base)
        return with_words + [
            of_family(offers)._replace(
                tells=len(names) == 1 and self._is_small(names, offers, left)
            )
            for names, offers in families.items()
        ]

    def _is_small(self, names: Iterable[str], offers: Sequence[Offer], left: int) -> bool:
        """Tells whether the budget allows to ask for all values of an input: those not queried yet
        are at most half of the `left` queries, all its values a third of the budget."""
        values = sum(len(self._choices[name]) for name in names)
        return _ROOM * len(offers) <= left and _SHARE_OF_BUDGET * values <= left + len(
            self._seen.outcomes
        )

    def _is_done(self, query: Query) -> bool:
        """Tells whether an earlier query of some or all terms of this query was answered
        completely, so that all records that match this query are known."""
        return any(whole <= set(query) for whole in self._whole)

    def _commonest(self) -> list[int]:
        seen = self._seen
        columns = seen.columns_of_kinds()
        order = (int(place) for place in np.argsort(-seen.frequency, kind="stable"))
        trusted = (
            place
            for place in order
            if columns[seen.kind_numbers[place]] not in self._policy.doubtful
        )
        return list(
            itertools.islice(
                (place for place in trusted if seen.term(place).input == self._box), WORDS
            )
        )

    def _with_told(self, matching: np.ndarray) -> np.ndarray:
        """Returns the number of records that match each word of `_words`: the predictions in
        `matching`, replaced by the number that the answer showed for words that were queried alone.
        """
        found, column = matching.copy(), {term: place for place, term in enumerate(self._words)}
        for outcome in self._seen.outcomes:
            place = column.get(outcome.query[0]) if len(outcome.query) == 1 else None
            if place is not None:
                found[place] = matches_told(outcome) or max(found[place], outcome.returned)
        return found

    def _bases(self) -> Iterator[_Base]:
        for size in range(1, MAX_TOGETHER + 1):
            for names in itertools.combinations(self._choices, size):
                for values in itertools.product(
                    *(range(len(self._choices[name])) for name in names)
                ):
                    yield self._base(tuple(zip(names, values, strict=True)))

    def _base(self, bound: Sequence[tuple[str, int]]) -> _Base:
        terms = tuple(Term(name, self._choices[name][place]) for name, place in bound)
        members = np.prod([self._sizes.members[name][:, place] for name, place in bound], axis=0)
        stated = next(
            (
                m
                for o in self._seen.outcomes
                if set(o.query) == set(terms) and (m := matches_told(o))
            ),
            None,
        )
        if stated is not None:
            return _Base(terms, members, float(stated))
        total = self._sizes.total
        matching = total * float(
            np.prod([self._sizes.sizes[name][place] / total for name, place in bound])
        )
        # Correct for dependent choices: multiply by (seen records that match all choices) / (the
        # number expected if independent).
        if len(bound) > 1:
            matching *= (members.sum() + _PSEUDO) / (matching / total * len(members) + _PSEUDO)
        return _Base(terms, members, matching)

    def _new_alone(self, base: _Base) -> float:
        known = np.array([base.members.sum()])
        unseen = np.maximum(base.matching - known, _MIN_UNSEEN * known)
        first = self._among_first(base.members[:, None], np.array([base.matching]))
        shape = np.maximum(known, _SHAPE_OF_CHOICES)
        return float(new_of(known, unseen, self._cut, self._mixed, first, shape)[0])

    def _beside(self, base: _Base) -> list[Offer]:
        """Returns possible queries that combine the choices of `base` with a word: those of the 20
        words expected to bring most new records."""
        if not self._words:
            return []
        both = self._said * base.members[:, None]
        known = both.sum(axis=0)
        usual = np.minimum(1.0, self._matching / self._sizes.total)
        share = (known + _PSEUDO * usual) / (float(base.members.sum()) + _PSEUDO)
        # If a word was queried before, its share of the seen records is biased, because the records
        # it found are over-represented.
        share = np.where(self._asked, usual, share)
        matching = np.maximum(base.matching * share, known)
        unseen = np.maximum(matching - known, _MIN_UNSEEN * known)
        new = new_of(
            known,
            unseen,
            self._cut,
            self._mixed,
            self._among_first(both, matching),
            np.maximum(known, 1.0),
        )
        new *= self._learned_of_words
        found = []
        for place in np.argsort(-new, kind="stable")[:_OFFERS]:
            query = (self._words[int(place)], *base.terms)
            if not self._seen.was_asked(query) and not self._is_done(query):
                found.append(self._offered(query, float(new[place])))
        return found

    def _among_first(self, members: np.ndarray, matching: np.ndarray) -> np.ndarray:
        """Returns the expected number of already seen records in the truncated answer to each
        query, (queries,), if the site sorts the results of all queries in the same order.
        `members`, (seen records, queries): the probability that the record matches the query;
        `matching`, (queries,): the number of matching records."""
        by_bin = np.zeros((_BINS + 1, members.shape[1]))
        np.add.at(by_bin, self._bins + 1, members)
        sums = by_bin.cumsum(axis=0)
        reach = np.minimum(1.0, self._cut / np.maximum(matching, 1e-9)) * _BINS
        low = np.minimum(reach.astype(int), _BINS - 1)
        columns = np.arange(members.shape[1])
        among: np.ndarray = sums[low, columns] + (sums[low + 1, columns] - sums[low, columns]) * (
            reach - low
        )
        return among

    def _offered(self, query: Query, new: float) -> Offer:
        unseen = max(1.0, self._sizes.total - self._seen.records)
        choice = Choice(query, new, By.CHOICES)
        return Offer(choice, new * self._learned(query), unseen=unseen)

    def _learned(self, query: Query) -> float:
        """Returns the ratio of actual to predicted new records over the latest earlier queries that
        set the same inputs as `query`, shrunk towards 1."""
        kind = _kind(query)
        if kind not in self._learned_of:
            similar = (o for o in self._seen.outcomes[-_LATEST:] if _kind(o.query) == kind)
            self._learned_of[kind] = learned(similar, _TRUST)
        return self._learned_of[kind]


def _mixed(seen: Retrieved, fit: Yield) -> float:
    """Estimates `Yield.mixed`: 1 if a truncated answer is a random sample of all matches, 0 if it
    always contains the same first records. Averages two estimates: `fit.mixed`, fitted to the
    yields of answers, and one from how often pairs of records have the same order in two answers.
    The second has the greater weight, the more such pairs there are.
    """
    same, pairs = pairs_in_order(seen)
    known = pairs / (pairs + _PAIRS)
    return (1 - known) * fit.mixed + known * min(1.0, 2 * (1 - (same + 1) / (pairs + 2)))


def _kind(query: Query) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(Counter(term.input for term in query).items()))


def _places_in_order(seen: Retrieved) -> np.ndarray:
    """Returns the relative rank of each seen record in the site's order of results, from 0 (first)
    to 1 (last), assuming one order for all answers. It is the mean of the record's positions in
    answers with a known number of matches, weighted by that number; 1/2 if there is none."""
    total, weight = np.zeros(seen.records), np.zeros(seen.records)
    for outcome, answer in zip(seen.outcomes, seen.answers, strict=True):
        matching = matches_told(outcome)
        if matching and len(answer):
            total[answer] += matching * (np.arange(len(answer)) + 0.5) / max(matching, len(answer))
            weight[answer] += matching
    return np.where(weight > 0, total / np.maximum(weight, 1e-9), 0.5)
