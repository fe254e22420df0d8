"""Estimates how many records match each value of a form's choices, and all records of the database,
from the answers to queries that set them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from deepweb.answers.retrieved import Outcome, Query, Retrieved, Term

# standard deviation of the logarithm of a value's share that rests on one seen record
_SPREAD_OF_SHARES = 0.7
# variance of the logarithm of the matches of several terms, which need not be independent
_SPREAD_OF_COUNTS = 0.03
# standard deviation of the logarithm of the matches of all values of an input, about the total
_SPREAD_OF_SUMS = 0.05
_SIZE_TOLD = 2.0  # weight (1 / variance) of the logarithm of the given size
# the same for the matches of a word, told by an answer and guessed
_WORD_TOLD, _WORD_GUESSED = 400.0, 4.0
_ROUNDS = 15  # of coordinate descent
# records show an input's values if more than this share of those found otherwise contains one
_SHOWN = 0.5
# a record may match several values if more than this share of the seen ones does
_SEVERAL = 0.05
# share of its expected matches that is left at least to values that were not queried
_MIN_SHARE = 0.1
# records as which equal shares of the values count: for each value, for at most so many values
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
