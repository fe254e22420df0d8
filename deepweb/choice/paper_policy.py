"""Query selection by Algorithm 2 of the deep-web paper, in rounds: the next queries are the words
with the largest eq. (1) weights in the records of the last round."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

import numpy as np

from deepweb.answers.retrieved import Choice, Retrieved, Term
from deepweb.choice.chooser import Offer
from deepweb.choice.words import unasked

PER_ROUND = 5
MAX_ROUNDS = 5
MIN_CANDIDATES = 5
TOO_COMMON, TOO_RARE = 0.90, 0.05
"""A word in more than the share TOO_COMMON of a round's records belongs to the page template; one
in less than the share TOO_RARE is too rare."""

ROUNDS_OVER, TOO_FEW = "rounds", "too_few_candidates"
"""The paper's two end conditions: a) all rounds are done, b) there are fewer candidate words than
needed."""

Said = Callable[[Hashable], Mapping[Term, float]]
"""Function from a record's key to the sum of the weights K of the occurrences of each of its words
(K * tf if all K are equal)."""


@dataclass(slots=True)
class PaperPolicy:
    """The deep-web paper's query policy. Queries are made in rounds; the records found in round i
    take the place of the paper's pages P_i.

    The weight of a word after round i, eq. (1), is ln(N / n) times the sum of K over its
    occurrences in the records of P_i. N is the number of all records found so far, n the number of
    them with the word. `word_weights` returns these sums of K for one record; without it, each word
    of a record counts once. Left out are words in more than the share `too_common` of P_i, or in
    fewer than max(2 records, the share `too_rare`).

    Querying ends after `max_rounds` rounds (the first is that of the seed words, which are not
    chosen here), or when fewer than `min_candidates` words are left; `ended` says which. With
    `stop_rule` False it goes on, with words of all records seen if P_i has too few. `round`,
    `queue` (words of the round not queried yet) and `started` (number of answers before the round)
    are the whole state.
    """

    per_round: int = PER_ROUND
    max_rounds: int = MAX_ROUNDS
    min_candidates: int = MIN_CANDIDATES
    too_common: float = TOO_COMMON
    too_rare: float = TOO_RARE
    stop_rule: bool = True
    refused: frozenset[Term] = frozenset()
    word_weights: Said | None = None
    queue: list[Term] = field(default_factory=list)
    round: int = 1
    started: int = 0
    ended: str = ""

    def offers(self, seen: Retrieved) -> list[Offer]:
        """Returns a query for the next word of the current round (a list of words to query),
        without a prediction. When all were queried, a new round begins with the words of largest
        weight in the new records; empty if a stop rule applies or no word is left.
        """
        self.queue = [term for term in self.queue if not seen.was_asked((term,))]
        if not self.queue and not self._new_round(seen):
            return []
        return [Offer(Choice((self.queue.pop(0),)))]

    def _new_round(self, seen: Retrieved) -> bool:
        if self.stop_rule and self.round >= self.max_rounds:
            self.ended = ROUNDS_OVER
            return False
        answers = seen.answers[self.started :]
        records = np.unique(np.concatenate(answers)) if answers else np.zeros(0, dtype=np.int64)
        candidates = self.candidates(seen, records)
        if len(candidates) < self.min_candidates:
            if self.stop_rule:
                self.ended = TOO_FEW
                return False
            more = self.candidates(seen, np.arange(seen.records), too_rare=0.0)
            candidates += [term for term in more if term not in candidates]
        self.queue = candidates[: self.per_round]
        self.round += 1
        self.started = len(seen.answers)
        return bool(self.queue)

    def candidates(
        self, seen: Retrieved, records: np.ndarray, too_rare: float | None = None
    ) -> list[Term]:
        """Returns the words of `records` (indices) that are neither too common nor too rare (by
        `too_rare`, default: the policy's) and were not queried yet, largest weight first."""
        if not len(records):
            return []
        found = np.bincount(
            np.concatenate([seen.terms_at(int(record)) for record in records]),
            minlength=len(seen.frequency),
        )
        weight = self._summed(seen, records, found) * np.log(
            np.maximum(seen.records, 2) / np.maximum(seen.frequency, 1)
        )
        rare = self.too_rare if too_rare is None else too_rare
        least = max(2.0, rare * len(records)) if len(records) > 1 else 1.0
        kept = (
            (found >= least)
            & (found <= max(1.0, self.too_common * len(records)))
            & unasked(seen, self.refused)
        )
        order = np.argsort(-weight, kind="stable")
        return [seen.term(int(place)) for place in order[kept[order]]]

    def _summed(self, seen: Retrieved, records: np.ndarray, found: np.ndarray) -> np.ndarray:
        """Returns for each term the sum of the weights K (see `Said`) of its occurrences in
        `records`, indexed by term. Without `word_weights` this is `found`, the number of these
        records that contain the term."""
        if self.word_weights is None:
            return found.astype(float)
        summed = np.zeros(len(found))
        for record in records:
            for term, weight in self.word_weights(seen.key(int(record))).items():
                place = seen.index_of(term)
                if place is not None:
                    summed[place] += weight
        return summed
