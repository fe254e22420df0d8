"""Predicts how many new records a query with choices (values of selection inputs) brings, with or
without a word in the text box, from the number of matching records and the number of those that are
already known."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from deepweb.answers.retrieved import Choice, Outcome, Query, Retrieved, Term
from deepweb.choice.words import Candidate, FreshPolicy, Yield, fitted, new_of, pairs_in_order

_SPREAD_OF_SHARES = 0.7


_SPREAD_OF_COUNTS = 0.03


_SPREAD_OF_SUMS = 0.05


_SIZE_TOLD = 2.0


_WORD_TOLD, _WORD_GUESSED = 400.0, 4.0


_ROUNDS = 15


_SHOWN = 0.5


_SEVERAL = 0.05


_MIN_SHARE = 0.1


_PSEUDO_RECORDS, _MAX_PSEUDO = 2.0, 3


class ChoiceSizes(NamedTuple):
    """Estimated numbers of records. `total`: number of records in the database. `sizes`: for each
    input, how many records match each of its values, (values,). `members`: for each input, the
    probability that a seen record matches a value, (seen records, values); it is 1 if the record
    contains the value or was found by querying it."""

    total: float
    sizes: dict[str, np.ndarray]
    members: dict[str, np.ndarray]


class _KnownCount(NamedTuple):
    """A query that sets a choice and whose number of matching records is known: the logarithm of
    that number, and the weight of this evidence (1 / variance of the logarithm)."""

    query: Query
    log_matching: float
    weight: float


def matches_told(outcome: Outcome) -> int | None:
    """Returns how many records match a query, if its answer shows it: the number that the site
    states, or the number of returned records if the answer was complete; None if unknown."""
    return outcome.matching or (outcome.returned if outcome.is_whole else None) or None


def choice_sizes(
    seen: Retrieved, choices: Mapping[str, Sequence[str]], size: float, words: Mapping[Term, float]
) -> ChoiceSizes:
    """Estimates, by coordinate descent, the number of records that match each of the values in
    `choices`. The model treats terms as independent: for a queried combination of k terms, log
    matches = sum of the log matches of its terms - (k - 1) log total.

    - Prior of log total: normal about log `size`, variance 1/2. If all values of an input were
      queried, their matches should add up to the total.
    - Prior of a value's share: log-normal about its share of the seen records, standard deviation
      0.7 / sqrt(1 + count), where count is the number of seen records with it; equal shares if
      records do not show the input's values.
    - `words`: estimated numbers of matches of the words that choices were combined with.
    """
    fit = _Fit(seen, choices, size, words)
    fit.run()
    total = max(1.01 * seen.records, float(np.exp(fit.log_total))) if fit.known else size
    sizes = {name: np.exp(values) for name, values in fit.logs.items()}
    members = {
        name: _members(fit.marks[name], np.minimum(1.0, sizes[name] / total)) for name in choices
    }
    return ChoiceSizes(total, sizes, members)


def _members(marks: np.ndarray, shares: np.ndarray) -> np.ndarray:
    found = marks.any(axis=1)
    # If many records match several values, each may match further ones not seen with it, with the
    # probabilities `shares`.
    if found.any() and (marks.sum(axis=1) > 1).mean() > _SEVERAL:
        either: np.ndarray = np.maximum(marks, shares)
        return either
    members = marks.copy()
    members[~found] = shares / max(1.0, shares.sum())
    return members


def _weight(query: Query, matching: int) -> float:
    """Returns the weight (1 / variance) of the logarithm of a known number of matching records:
    larger for a query of one term than for one of several terms, which may not be independent."""
    return _WORD_TOLD if len(query) == 1 else 1 / (_SPREAD_OF_COUNTS + 1 / matching)


class _Fit:
    """State of the estimation by coordinate descent. `logs`: for each input, the logarithms of the
    numbers of records that match each of its values; `log_total`: the logarithm of the number of
    all records."""

    def __init__(
        self,
        seen: Retrieved,
        choices: Mapping[str, Sequence[str]],
        size: float,
        words: Mapping[Term, float],
    ) -> None:
        self._places = {
            name: {value: place for place, value in enumerate(values)}
            for name, values in choices.items()
        }
        self.marks: dict[str, np.ndarray] = {}
        self._prior: dict[str, np.ndarray] = {}
        self._trust: dict[str, np.ndarray] = {}
        for name, values in choices.items():
            self._look_at(seen, name, values)
        self.log_total = self._guess = float(np.log(size))
        self.logs = {name: prior + self._guess for name, prior in self._prior.items()}
        self.known = [
            _KnownCount(outcome.query, float(np.log(matching)), _weight(outcome.query, matching))
            for outcome in seen.outcomes
            if (matching := matches_told(outcome))
            and any(self._is_choice(term) for term in outcome.query)
        ]
        alone = {o.query[0] for o in seen.outcomes if len(o.query) == 1 and matches_told(o)}
        words_queried = {
            term for known in self.known for term in known.query if not self._is_choice(term)
        }
        self._words = {
            term: float(np.log(max(1.0, words.get(term, 1.0)))) for term in words_queried
        }
        self._guessed = {
            term: (log, _WORD_TOLD if term in alone else _WORD_GUESSED)
            for term, log in self._words.items()
        }
        self._asked = {name: np.zeros(len(values), dtype=bool) for name, values in choices.items()}
        for known in self.known:
            for term in known.query:
                if self._is_choice(term):
                    self._asked[term.input][self._places[term.input][term.value]] = True

    def _is_choice(self, term: Term) -> bool:
        return term.value in self._places.get(term.input, ())

    def _look_at(self, seen: Retrieved, name: str, values: Sequence[str]) -> None:
        """Determines which of the seen records match each value of the input `name` (they contain
        the value, or were found by querying it), and sets the priors of the values' shares."""
        marks = seen.having([Term(name, value) for value in values])
        other = np.zeros(
            seen.records, dtype=bool
        )  # records that were found by queries which do not set this input
        for outcome, answer in zip(seen.outcomes, seen.answers, strict=True):
            if all(term.input != name for term in outcome.query):
                other[answer] = True
        is_shown = other.any() and marks[other].any(axis=1).mean() > _SHOWN
        counts = marks[other].sum(axis=0) if is_shown else np.zeros(len(values))
        pseudo = _PSEUDO_RECORDS * min(len(values), _MAX_PSEUDO)
        self._prior[name] = np.log((counts + pseudo / len(values)) / (counts.sum() + pseudo))
        self._trust[name] = (1 + counts) / _SPREAD_OF_SHARES**2
        for outcome, answer in zip(seen.outcomes, seen.answers, strict=True):
            for term in outcome.query:
                if term.input == name and term.value in self._places[name]:
                    marks[answer, self._places[name][term.value]] = 1.0
        self.marks[name] = marks

    def _log(self, term: Term) -> float:
        return (
            float(self.logs[term.input][self._places[term.input][term.value]])
            if self._is_choice(term)
            else self._words[term]
        )

    def run(self) -> None:
        for _ in range(_ROUNDS if self.known else 0):
            for term in dict.fromkeys(term for known in self.known for term in known.query):
                self._move(term)
            self._move_total()
            for name in self.logs:
                self._share_out(name)

    def _move(self, term: Term) -> None:
        """Sets the logarithm of a term's number of matches to the mean of its prior and of the
        values that follow from each answer to a query with the term, weighted by 1 / variance."""
        if self._is_choice(term):
            place = self._places[term.input][term.value]
            mean, weight = (
                float(self._prior[term.input][place]) + self.log_total,
                float(self._trust[term.input][place]),
            )
        else:
            mean, weight = self._guessed[term]
        total, weights = mean * weight, weight
        for known in self.known:
            if term in known.query:
                others = sum(self._log(other) for other in known.query if other != term)
                total += known.weight * (
                    known.log_matching - others + (len(known.query) - 1) * self.log_total
                )
                weights += known.weight
        if self._is_choice(term):
            self.logs[term.input][place] = total / weights
        else:
            self._words[term] = total / weights

    def _move_total(self) -> None:
        total, weights = _SIZE_TOLD * self._guess, _SIZE_TOLD
        for known in self.known:
            if len(known.query) > 1:
                total += (
                    known.weight
                    * (sum(map(self._log, known.query)) - known.log_matching)
                    / (len(known.query) - 1)
                )
                weights += known.weight
        for name, logs in self.logs.items():
            asked, shares = self._asked[name], np.exp(self._prior[name])
            if asked.any():
                trust = self._trust[name][asked]
                total += float((trust * (logs[asked] - self._prior[name][asked])).sum())
                weights += float(trust.sum())
                rest = float(shares[~asked].sum() / shares.sum())
                trusted = 1 / (_SPREAD_OF_SUMS**2 + rest**2)
                total += trusted * float(np.log(np.exp(logs[asked]).sum() / max(1 - rest, 1e-3)))
                weights += trusted
        self.log_total = total / weights

    def _share_out(self, name: str) -> None:
        """Sets the numbers of matches of those values of the input `name` that were not queried:
        the total, minus the matches of the queried values, is divided among them in proportion to
        their priors."""
        asked, shares = self._asked[name], np.exp(self._prior[name])
        if not asked.all():
            whole = float(np.exp(self.log_total))
            left = max(
                whole - float(np.exp(self.logs[name][asked]).sum()),
                _MIN_SHARE * whole * float(shares[~asked].sum()),
            )
            self.logs[name][~asked] = np.log(left * shares[~asked] / shares[~asked].sum())


WORDS = 250


"""This many of the most frequent words in the seen records are combined with choices."""


MAX_TOGETHER = 2


"""Largest number of choices set together, with a word or alone."""


WORTH_A_WORD = 0.8


"""Choices are combined with a word only if more records match them than this multiple of the number
that an answer can contain."""


EXPLORED = 0.8


"""A choice not yet queried is preferred if it is expected to bring at least this fraction of the
best query's yield, because its answer also reveals its size."""


_PSEUDO = 4.0


_BINS = 10


_TRUST = 10.0


_LATEST = 100


_MIN_UNSEEN = 0.02


_SHAPE_OF_CHOICES = 16.0


_OFFERS = 20


_PAIRS = 10


_ROOM, _SHARE_OF_BUDGET = 2, 3


class _Base(NamedTuple):
    """One or two values of form inputs (`terms`) that are submitted together and to which a word
    may be added. `members`, (seen records,): the probability that each record matches all of them;
    `matching`: the estimated number of matching records, seen and unseen."""

    terms: Query
    members: np.ndarray
    matching: float


class JointYield:
    """Predicts the number of new records of a query of one or two choices, with or without a word.
    `choices` are the values of inputs, by input name; `policy` predicts the yield of words alone.
    Words from the fields `policy.doubtful`, which the site seems not to search, are not combined
    with choices."""

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

    @property
    def unseen(self) -> float:
        """The estimated number of records not seen yet."""
        return max(1.0, self._sizes.total - self._seen.records)

    def offers(self) -> tuple[list[Candidate], list[list[Candidate]]]:
        """Returns two lists: queries that combine a word with choices (values of selection inputs),
        only those expected to bring most new records; and, for each set of selection inputs, a list
        of queries that set these inputs only.
        """
        with_words: list[Candidate] = []
        families: dict[frozenset[str], list[Candidate]] = {}
        for base in self._bases():
            if self._is_done(base.terms):
                continue
            if not self._seen.was_asked(base.terms):
                offer = self._offered(base.terms, self._new_alone(base))
                families.setdefault(frozenset(term.input for term in base.terms), []).append(offer)
            if base.matching > WORTH_A_WORD * self._cut:
                with_words += self._beside(base)
        return with_words, list(families.values())

    def explored(
        self, best: float, families: Sequence[Sequence[Candidate]], left: int
    ) -> Candidate | None:
        """Returns a query that sets a single selection input and is worth submitting next, because
        its number of matches improves the predictions for all combinations with it; None if there
        is none.

        `families`: the second list that `offers` returns. The query must be expected to bring at
        least 0.8 times as many new records as the best (`best`). The input's unqueried values must
        be at most half of the `left` queries, all its values a third of the budget.
        """
        for offers in families:
            if len(offers[0].choice.query) != 1 or left < _ROOM * len(offers):
                continue
            most = max(offers, key=lambda offer: offer.gain)
            values = self._choices[most.choice.query[0].input]
            if most.gain >= EXPLORED * best and _SHARE_OF_BUDGET * len(values) <= left + len(
                self._seen.outcomes
            ):
                return most
        return None

    def _is_done(self, query: Query) -> bool:
        """Tells whether an earlier query of some or all terms of this query was answered
        completely, so that all records that match this query are known."""
        return any(whole <= set(query) for whole in self._whole)

    def _commonest(self) -> list[int]:
        seen = self._seen
        columns = seen.columns_of_kinds()
        order = (int(place) for place in np.argsort(-seen.frequency, kind="stable"))
        trusted = (
            place for place in order if columns[seen.kinds[place]] not in self._policy.doubtful
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

    def _beside(self, base: _Base) -> list[Candidate]:
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

    def _offered(self, query: Query, new: float) -> Candidate:
        return Candidate(Choice(query, new), new * self._learned(query))

    def _learned(self, query: Query) -> float:
        """Returns the ratio of actual to predicted new records over the latest earlier queries that
        set the same inputs as `query`, shrunk towards 1."""
        kind = _kind(query)
        if kind not in self._learned_of:
            similar = [
                o
                for o in self._seen.outcomes[-_LATEST:]
                if o.predicted > 0 and _kind(o.query) == kind
            ]
            brought, predicted = sum(o.new for o in similar), sum(o.predicted for o in similar)
            self._learned_of[kind] = (brought + _TRUST) / (predicted + _TRUST)
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
