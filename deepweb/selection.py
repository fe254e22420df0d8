"""Which query next: the frequency rule, and the overflow-aware rule that looks for what is fresh."""

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
_DOUBT = 0.6
_WORDS, _PAIRS = 0, 5  # kinds of query that a choice is marked with
_REFINED = 20


class Policy(Protocol):
    """Chooses the next query from what was seen; None when it has nothing left or its own stop rule holds."""

    def next(self, seen: Seen) -> Choice | None: ...


def unasked(seen: Seen, refused: Iterable[Term]) -> np.ndarray:
    """True for every seen term that may still be asked alone."""
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
    """Place of the free term of the largest positive score; among equals the one seen first."""
    score = np.where(free, score, 0.0)
    return int(score.argmax()) if len(score) and score.max() > 0 else None


@dataclass(frozen=True, slots=True)
class FrequencyPolicy:
    """The unasked word that most of the records seen have. With answers that are not cut it is hard to beat."""

    seeds: Sequence[Term]
    refused: frozenset[Term] = frozenset()

    def next(self, seen: Seen) -> Choice | None:
        """Seeds first, then the most frequent word."""
        seed = _next_seed(self.seeds, seen)
        if seed is not None:
            return seed
        place = _best(seen.frequency.astype(float), unasked(seen, self.refused))
        return None if place is None else Choice((seen.term(place),))


@dataclass(frozen=True, slots=True)
class FreshPolicy:
    """Asks what should bring most records not yet seen, knowing that answers are cut at `limit` (None: not cut).

    score = E[new] * learned, over the unasked words; E[new] is of `word_yield`, fitted to all answers so far: U, the records of
    a word that were not seen yet, is gamma-distributed with mean df_seen * (s - 1) * (fresh / g)^0.2. A whole answer brings all
    of it; of a cut one as much as cut answers of this site do.
    - s is how many records a word has for each that was seen;
    - fresh = (f1 + 2 g) / (n + 2): the Good-Turing share of a word's records still unseen, from how often they were
      returned (n) and how many of them once (f1), drawn towards the share g of the whole harvest;
    - learned = new records brought to new records foretold for words of one kind (input, column and length), because an
      author's name and a common syllable of the same df_seen bring different things; times 0.6 for columns in `doubtful`.
    """

    seeds: Sequence[Term]
    limit: int | None = None
    refused: frozenset[Term] = frozenset()
    pairs: bool = False
    doubtful: frozenset[str] = frozenset()

    def next(self, seen: Seen) -> Choice | None:
        """Seeds first, then the word of the best score, or the refinement of a cut answer where that is foretold more."""
        return self.best(seen)[0]

    def best(self, seen: Seen) -> tuple[Choice | None, float]:
        """`next`, with its score: the new records foretold, by what such words have brought."""
        seed = _next_seed(self.seeds, seen)
        if seed is not None or not len(seen.frequency):
            return seed, 0.0
        expected = self._expect(seen)
        score = expected * self._learned_of_kinds(seen)[seen.kinds]
        free = unasked(seen, self.refused)
        place = _best(score, free)
        if place is None:  # nothing new is foretold any more: what is left to try, the most frequent first
            place = _best(seen.frequency.astype(float), free)
        worth = 0.0 if place is None else float(score[place])
        pair = self._pair(seen, worth, self._learned_of_pairs(seen)) if self.pairs else None
        if pair is not None or place is None:
            return pair, pair.foretold if pair is not None else 0.0
        return Choice((seen.term(place),), float(expected[place]), _WORDS), float(score[place])

    def _pair(self, seen: Seen, worth: float, learned: float) -> Choice | None:
        """The refinement of a cut answer that should bring more than `worth` new records, and what is foretold of it."""
        scale, cut = self.scale(seen), self._cut(seen)
        overall = seen.once.sum() / max(1, seen.returns.sum())
        best: Choice | None = None
        cut_answers = [place for place, outcome in enumerate(seen.outcomes) if outcome.overflowed and len(outcome.query) == 1]
        for asked in cut_answers[-_REFINED:]:
            outcome = seen.outcomes[asked]
            matching = max(float(outcome.matching or outcome.before * scale), cut)
            found = refinement(seen, asked, self.refused) if (matching - cut) * overall > worth else None
            if found is None:
                continue
            # what the shorter answer still hides: its share of all matches, without those the long one showed
            gain = min(found[1] * matching, cut) - found[1] * cut
            gain *= overall
            if gain * learned > worth:
                best, worth = Choice(found[0], gain, _PAIRS), gain * learned
        return best

    def _cut(self, seen: Seen) -> float:
        return float(self.limit) if self.limit else float(max(1, seen.records)) * _UNKNOWN_SCALE

    def _expect(self, seen: Seen) -> np.ndarray:
        """New records expected of each term."""
        told = fitted(seen, self._cut(seen))
        return new_of(seen.frequency, self._unseen(seen, told), self._cut(seen), told.mixed)

    def _unseen(self, seen: Seen, told: Yield) -> np.ndarray:
        overall = max(seen.once.sum() / max(1, seen.returns.sum()), 1e-6)
        fresh = (seen.once + _PRIOR_RETURNS * overall) / (seen.returns + _PRIOR_RETURNS) / overall
        return seen.frequency * (told.scales(seen)[seen.kinds] - 1) * fresh**_FRESH

    def foreseen(self, seen: Seen) -> tuple[np.ndarray, np.ndarray]:
        """By term, how many records match, seen ones and those that are not, and `learned`."""
        unseen = self._unseen(seen, fitted(seen, self._cut(seen)))
        return seen.frequency + unseen, self._learned_of_kinds(seen)[seen.kinds]

    def scale(self, seen: Seen) -> float:
        """s: how many records a word has for each that was seen; above 1."""
        return max(1.0, fitted(seen, self._cut(seen)).size / max(1, seen.records))

    def scales(self, seen: Seen) -> np.ndarray:
        """s of each kind of term, by number: drawn towards the s of all, the more the less is known of the kind."""
        return fitted(seen, self._cut(seen)).scales(seen)

    def _learned_of_pairs(self, seen: Seen) -> float:
        brought = foretold = min(self._cut(seen), _PRIOR_NEW)
        for outcome in seen.outcomes[-_MEMORY:]:
            if outcome.bucket == _PAIRS:
                brought += outcome.new
                foretold += outcome.foretold
        return brought / foretold

    def _learned_of_kinds(self, seen: Seen) -> np.ndarray:
        prior = min(self._cut(seen), _PRIOR_NEW)
        size = int(seen.kinds.max()) + 1 + len(seen.outcomes)
        brought, foretold = np.full(size, prior), np.full(size, prior)
        for outcome in seen.outcomes[-_MEMORY:]:
            if 0 <= outcome.bucket < _PAIRS:
                kind = seen.kind_of(outcome.query[0])
                brought[kind] += outcome.new
                foretold[kind] += outcome.foretold
        for kind, column in enumerate(seen.columns_of_kinds()[:size]):
            if column in self.doubtful:
                brought[kind] *= _DOUBT
        return brought / foretold


def refinement(seen: Seen, asked: int, refused: Iterable[Term] = ()) -> tuple[Query, float] | None:
    """A second word for the `asked`-th query, whose answer was cut: the one that splits its records most evenly.

    Of the records that answer showed, the word of the same input that stands in a share nearest to 1/2 (in neither all
    nor none), not asked with it yet, and that share. None where no word splits them.
    """
    query, records = seen.outcomes[asked].query, seen.answers[asked]
    if len(records) < 2:
        return None
    counts = np.bincount(np.concatenate([seen.terms_at(int(record)) for record in records]), minlength=len(seen.frequency))
    barred = frozenset(refused).union(query)
    splitting = np.flatnonzero((counts > 0) & (counts < len(records)))
    for place in splitting[np.argsort(np.abs(counts[splitting] / len(records) - 0.5), kind="stable")]:
        term = seen.term(int(place))
        if term.input == query[0].input and term not in barred and not seen.was_asked((*query, term)):
            return (*query, term), float(counts[place] / len(records))
    return None
