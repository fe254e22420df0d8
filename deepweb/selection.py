"""Policies that choose the next query word: by frequency, and by expected new records given that
answers are truncated (`fresh`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from deepweb.seen import Choice, Query, Seen, Term
from deepweb.word_yield import Yield, fitted, new_of

_MEMORY = 100
_UNKNOWN_SCALE = 10.0
_PRIOR_RETURNS = 2.0
_PRIOR_NEW = 200.0
_FRESH = 0.2
DOUBT = 0.6
"""Factor for the new records expected from words of a record field by whose words no record has
been found yet."""

_WORDS, _PAIRS = 0, 5  # values of `Choice.bucket` for single words and pairs of words
_REFINED = 20


class Policy(Protocol):
    """Chooses the next query from the answers seen; `next` returns None if no query is left or the
    policy's own stop rule applies.
    """

    def next(self, seen: Seen) -> Choice | None: ...


def unasked(seen: Seen, refused: Iterable[Term]) -> np.ndarray:
    """Returns for each seen term, in the order of the arrays of `seen`, whether it may be queried
    alone: it was not queried yet and is not in `refused`."""
    free = np.ones(len(seen.frequency), dtype=bool)
    free[seen.asked_terms()] = False
    for term in refused:
        place = seen.place(term)
        if place is not None:
            free[place] = False
    return free


def _next_seed(seeds: Sequence[Term], seen: Seen) -> Choice | None:
    return next((Choice((term,)) for term in seeds if not seen.was_asked((term,))), None)


def _best(score: np.ndarray, free: np.ndarray) -> int | None:
    """Returns the index of the largest positive value of `score` where `free` is True (both are
    indexed by term), the first of equal ones; None if there is none."""
    score = np.where(free, score, 0.0)
    return int(score.argmax()) if len(score) and score.max() > 0 else None


@dataclass(frozen=True, slots=True)
class FrequencyPolicy:
    """Chooses the unqueried word contained in most seen records; a strong baseline if answers are
    not truncated."""

    seeds: Sequence[Term]
    refused: frozenset[Term] = frozenset()

    def next(self, seen: Seen) -> Choice | None:
        """Returns the next of the `seeds` that was not queried yet; after these, the most frequent
        word that may still be queried; None if there is none."""
        seed = _next_seed(self.seeds, seen)
        if seed is not None:
            return seed
        place = _best(seen.frequency.astype(float), unasked(seen, self.refused))
        return None if place is None else Choice((seen.term(place),))


@dataclass(frozen=True, slots=True)
class FreshPolicy:
    """Chooses the query with most expected new records, given that answers are truncated at `limit`
    (None: no truncation).

    Words not queried yet are ranked by score = E[new] * learned. E[new] comes from `word_yield`,
    fitted to the answers so far: the number of unseen records that match a word is
    gamma-distributed with mean df_seen * (s - 1) * (fresh / g)^0.2. A complete answer brings all of
    them, a truncated one as many as this site's truncated answers usually do.

    - df_seen: the number of seen records that contain the word.
    - s: the ratio of all records that match a word to the seen ones among them.
    - fresh = (f1 + 2 g) / (n + 2): the Good-Turing share of a word's records still unseen; n is how
      often its records were returned, f1 how many of them were returned once, g the ratio f1 / n of
      the whole harvest.
    - learned: the ratio of actual to predicted new records for words of one kind (input, record
      field and length), because author names and common syllables with the same df_seen differ in
      yield; times 0.6 for record fields in `doubtful`.
    """

    seeds: Sequence[Term]
    limit: int | None = None
    refused: frozenset[Term] = frozenset()
    pairs: bool = False
    doubtful: frozenset[str] = frozenset()

    def next(self, seen: Seen) -> Choice | None:
        """Returns the first seed that was not queried yet; after the seeds, the word with the best
        score. With `pairs`, returns instead an earlier query with a truncated answer, refined by a
        second word (`refinement`), if that is expected to bring more new records. None if no word
        is left.
        """
        return self.best(seen)[0]

    def best(self, seen: Seen) -> tuple[Choice | None, float]:
        """Returns the query that `next` returns (None if no word is left), and its score. For a
        single word this is the predicted number of new records, times the ratio of actual to
        predicted new records for earlier words of its kind. The score of a pair of words is its
        uncorrected prediction, that of a seed is 0."""
        seed = _next_seed(self.seeds, seen)
        if seed is not None or not len(seen.frequency):
            return seed, 0.0
        expected = self._expect(seen)
        score = expected * self._learned_of_kinds(seen)[seen.kinds]
        free = unasked(seen, self.refused)
        place = _best(score, free)
        if (
            place is None
            # No new records are expected from any word: try the remaining words, most frequent
            # first.
        ):
            place = _best(seen.frequency.astype(float), free)
        least = 0.0 if place is None else float(score[place])
        pair = self._pair(seen, least, self._learned_of_pairs(seen)) if self.pairs else None
        if pair is not None or place is None:
            return pair, pair.predicted if pair is not None else 0.0
        return Choice((seen.term(place),), float(expected[place]), _WORDS), float(score[place])

    def _pair(self, seen: Seen, least: float, learned: float) -> Choice | None:
        """Returns the best refined query: an earlier query whose answer was truncated, with a
        second word added (see `refinement`). It is returned with its predicted number of new
        records. None if no prediction, multiplied by `learned` (the ratio of actual to predicted so
        far), exceeds `least`."""
        scale, cut = self.scale(seen), self._cut(seen)
        overall = seen.once.sum() / max(1, seen.returns.sum())
        best: Choice | None = None
        cut_answers = [
            place
            for place, outcome in enumerate(seen.outcomes)
            if outcome.overflowed and len(outcome.query) == 1
        ]
        for asked in cut_answers[-_REFINED:]:
            outcome = seen.outcomes[asked]
            matching = max(float(outcome.matching or outcome.before * scale), cut)
            found = (
                refinement(seen, asked, self.refused)
                if (matching - cut) * overall > least
                else None
            )
            if found is None:
                continue
            # New records of the refined query: its share of all matches, minus those that the
            # truncated answer contained already.
            gain = min(found[1] * matching, cut) - found[1] * cut
            gain *= overall
            if gain * learned > least:
                best, least = Choice(found[0], gain, _PAIRS), gain * learned
        return best

    def _cut(self, seen: Seen) -> float:
        return float(self.limit) if self.limit else float(max(1, seen.records)) * _UNKNOWN_SCALE

    def _expect(self, seen: Seen) -> np.ndarray:
        """Returns the expected new records of each term, E[new], in the order of the arrays of
        `seen`."""
        yields = fitted(seen, self._cut(seen))
        return new_of(seen.frequency, self._unseen(seen, yields), self._cut(seen), yields.mixed)

    def _unseen(self, seen: Seen, yields: Yield) -> np.ndarray:
        overall = max(seen.once.sum() / max(1, seen.returns.sum()), 1e-6)
        fresh = (seen.once + _PRIOR_RETURNS * overall) / (seen.returns + _PRIOR_RETURNS) / overall
        unseen: np.ndarray = seen.frequency * (yields.scales(seen)[seen.kinds] - 1) * fresh**_FRESH
        return unseen

    def foreseen(self, seen: Seen) -> tuple[np.ndarray, np.ndarray]:
        """Returns two arrays with one entry per term: the estimated number of records in the whole
        database that match the term, and the factor `learned` of the term's kind (see the class).
        """
        unseen = self._unseen(seen, fitted(seen, self._cut(seen)))
        return seen.frequency + unseen, self._learned_of_kinds(seen)[seen.kinds]

    def scale(self, seen: Seen) -> float:
        """Returns the factor s: the ratio of all records that match a word to the ones seen so far,
        over all kinds of words; at least 1."""
        return max(1.0, fitted(seen, self._cut(seen)).size / max(1, seen.records))

    def scales(self, seen: Seen) -> np.ndarray:
        """Returns the factor s (see the class) for each kind of term, indexed by the kind's number
        (`Seen.kind_of`). The fewer answers there are to words of a kind, the more its factor is
        shrunk towards the s of all words.
        """
        return fitted(seen, self._cut(seen)).scales(seen)

    def _learned_of_pairs(self, seen: Seen) -> float:
        brought = predicted = min(self._cut(seen), _PRIOR_NEW)
        for outcome in seen.outcomes[-_MEMORY:]:
            if outcome.bucket == _PAIRS:
                brought += outcome.new
                predicted += outcome.predicted
        return brought / predicted

    def _learned_of_kinds(self, seen: Seen) -> np.ndarray:
        prior = min(self._cut(seen), _PRIOR_NEW)
        size = int(seen.kinds.max()) + 1 + len(seen.outcomes)
        brought, predicted = np.full(size, prior), np.full(size, prior)
        for outcome in seen.outcomes[-_MEMORY:]:
            if 0 <= outcome.bucket < _PAIRS:
                kind = seen.kind_of(outcome.query[0])
                brought[kind] += outcome.new
                predicted[kind] += outcome.predicted
        for kind, column in enumerate(seen.columns_of_kinds()[:size]):
            if column in self.doubtful:
                brought[kind] *= DOUBT
        learned: np.ndarray = brought / predicted
        return learned


def refinement(seen: Seen, asked: int, refused: Iterable[Term] = ()) -> tuple[Query, float] | None:
    """Finds a second word to add to query number `asked`, whose answer was truncated: the word that
    divides the records of that answer most evenly.

    It is a word for the same input that some but not all of the answer's records contain, as nearly
    as possible half of them, that was not yet combined with the query and is not in `refused`.
    Returns the query of both words, and the share of the answer's records that contain the second
    word; None if there is no such word."""
    query, records = seen.outcomes[asked].query, seen.answers[asked]
    if len(records) < 2:
        return None
    counts = np.bincount(
        np.concatenate([seen.terms_at(int(record)) for record in records]),
        minlength=len(seen.frequency),
    )
    barred = frozenset(refused).union(query)
    splitting = np.flatnonzero((counts > 0) & (counts < len(records)))
    for place in splitting[
        np.argsort(np.abs(counts[splitting] / len(records) - 0.5), kind="stable")
    ]:
        term = seen.term(int(place))
        if (
            term.input == query[0].input
            and term not in barred
            and not seen.was_asked((*query, term))
        ):
            return (*query, term), float(counts[place] / len(records))
    return None
