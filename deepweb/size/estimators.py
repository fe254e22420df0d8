"""Size and coverage of a hidden database by capture-recapture, that is from how many records were
returned more than once, to queries or to random probes; and rules for ending a harvest."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deepweb.answers.retrieved import Outcome, Retrieved, Term

WINDOW = 10


@dataclass(frozen=True, slots=True)
class Estimate:
    """The size of the database as an interval from `low` to `high`, or the code `reason` why there
    is none. `low` is at least the number of seen records. `probes` is the number of answers
    used."""

    low: float | None
    high: float | None
    reason: str
    probes: int

    @property
    def known(self) -> bool:
        """Tells whether the size is known, that is, whether there is an interval."""
        return self.low is not None and self.high is not None


def stopped_by(
    outcomes: Sequence[Outcome], times: Sequence[int], min_gain: float, known: float
) -> str | None:
    """Returns the name of the rule that ends a harvest, None if none does: "gain" if the last ten
    queries brought fewer than `min_gain` new records for each record returned, or "good_turing" if
    the Good-Turing estimate 1 - f1 / n of the share of known records in further answers is at least
    `known`, where n is the number of all returns and f1 that of records returned once.

    `times` holds the number of returns of each record. Both rules need ten queries. "good_turing"
    applies only if at most a tenth of the answers were truncated: truncated answers repeat records,
    which would look complete.
    """
    last = outcomes[-WINDOW:]
    if len(last) < WINDOW:
        return None
    if sum(one.new for one in last) <= min_gain * sum(one.returned for one in last):
        return "gain"
    cut = sum(not outcome.is_whole for outcome in outcomes)
    is_known = cut * 10 <= len(outcomes) and sum(time == 1 for time in times) <= (1 - known) * sum(
        times
    )
    return "good_turing" if is_known else None


MAX_RATIO = 1.6


"""If the upper bound of a size interval is more than this multiple of the lower bound, the interval
is rejected as "too_wide".
"""


_SEEN_AT_LEAST = (4, 3, 2)


_WELL_BELOW = 0.7


_OUTSIDE = 0.05


_WORDS_A_PROBE = 5


_UNDERSTOOD = 0.9


_MAX_CUT = 0.5


_MAX_OUTSIDE = 0.5


_BEYOND_CUT = 1.6


_PRIOR_PROBES = 2.0


_MIN_DEGREE = 0.25


_FEW = 10


_TOKENS = re.compile(r"[^\W_]+")


_Z = 1.96


_MODEL_ERROR = 0.04


"""Error of the model as a share of the size: seen records may not represent unseen ones, least of
all those that no word of the pool finds."""


class ProbedRecord(NamedTuple):
    """A record that a probe returned: its key, the terms read from it, and all its text (lower
    case)."""

    key: Hashable
    terms: frozenset[Term]
    text: str


class ProbeAnswer(NamedTuple):
    """The records that the probe `term` returned, and whether the site left some matching records
    out (`overflowed`)."""

    term: Term
    records: Sequence[ProbedRecord]
    overflowed: bool


@dataclass(frozen=True, slots=True)
class ProbePlan:
    """Probe words: `drawn` from `pool` without repetition, with probability proportional to weight.
    `pool` maps each word to its weight, the number of seen records that contain it.

    `outside` is the share of the seen records that contain no word of the pool, so that no probe
    can find them.
    """

    drawn: tuple[Term, ...]
    pool: Mapping[Term, int]
    outside: float

    def inclusion(self) -> Mapping[Term, float]:
        """Returns for each word of the pool the probability that it is drawn: proportional to its
        weight, at most 1."""
        terms = list(self.pool)
        chances = _inclusion(
            np.array([self.pool[term] for term in terms], dtype=float), len(self.drawn)
        )
        return dict(zip(terms, chances.tolist(), strict=True))


def plan_probes(
    seen: Retrieved,
    scale: float | np.ndarray,
    limit: int | None,
    rng: np.random.Generator,
    count: int,
) -> ProbePlan | None:
    """Draws different random words from a pool, weighted by the number of seen records that contain
    them. Words of similar weight are drawn in proportion.

    The pool holds the words of at least four seen records, because counts of fewer are too noisy,
    and of at most 0.7 `limit` records in all, so that answers are hardly ever truncated. If these
    are fewer than five words per drawn word, or more than 5 % of the seen records contain none of
    them, words of three or two records are added.

    Parameters
    ----------
    seen : the answers so far.
    scale : float or (terms,), ratio of all records that match a word to the seen ones among them.
    limit : number of records at which the site truncates its answers; None if there is no limit.
    rng : source of the random draw.
    count : number of words to draw.

    Returns
    -------
    plan : the drawn words and their pool; None if the pool has fewer than `count`.
    """
    frequency = seen.frequency
    most = np.inf if limit is None else _WELL_BELOW * limit
    best: ProbePlan | None = None
    for least in _SEEN_AT_LEAST:
        inside = (frequency >= least) & (frequency * scale <= most)
        places = np.flatnonzero(inside)
        if len(places) < count:
            continue
        reached = sum(bool(inside[seen.terms_at(record)].any()) for record in range(seen.records))
        drawn = places[_systematic(frequency[places].astype(float), count, rng)]
        best = ProbePlan(
            drawn=tuple(seen.term(int(place)) for place in rng.permutation(drawn)),
            pool={seen.term(int(place)): int(frequency[place]) for place in places},
            outside=1 - reached / max(1, seen.records),
        )
        if len(places) >= _WORDS_A_PROBE * count and best.outside <= _OUTSIDE:
            break
    return best


def _inclusion(weights: np.ndarray, count: int) -> np.ndarray:
    """Returns the probabilities of being drawn, parallel to `weights`: proportional to them, none
    above 1, with the sum `count`."""
    chances = np.zeros(len(weights))
    certain = np.zeros(len(weights), dtype=bool)
    while True:
        rest = weights[~certain].sum()
        chances[~certain] = (count - certain.sum()) * weights[~certain] / rest if rest else 0.0
        chances[certain] = 1.0
        over = (chances >= 1.0) & ~certain
        if not over.any():
            return chances
        certain |= over


def _systematic(weights: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draws `count` different indices of `weights`, with the probabilities of `_inclusion`: at
    equal steps along their cumulative sum, from a random start.
    """
    order = np.lexsort((rng.random(len(weights)), weights))
    reached = np.cumsum(_inclusion(weights, count)[order])
    steps = np.minimum(np.arange(count) + rng.random(), reached[-1] * (1 - 1e-12))
    drawn: np.ndarray = order[
        np.unique(np.searchsorted(reached, steps, side="right").clip(0, len(order) - 1))
    ]
    return drawn


def estimate_size(
    plan: ProbePlan,
    answers: Sequence[ProbeAnswer],
    records_seen: int,
) -> Estimate:
    """Estimates the database size with a 95 % interval: N = sum over the probes q of (1 / pi_q) *
    sum over the records that q returned of 1 / degree. pi_q is the probability that q was drawn
    (`ProbePlan.inclusion`), degree the number of pool words that find the record.

    A word finds a record if it is among its terms, or also a word or phrase of its text, or also
    inside a word: of these rules the one that agrees best with the complete answers, if it explains
    at least 90 % of the returned records. Truncated answers contribute 0; therefore a word counts
    in a degree with the probability that its answer is complete.

    Parameters
    ----------
    plan : the drawn words with their pool.
    answers : the answers to the drawn words.
    records_seen : number of records that the harvest knows, a lower bound of the size.

    Returns
    -------
    estimate : the bounds of the interval in records. Instead of them there is a reason with fewer
        than ten complete answers, if no rule fits (other fields are searched), if more than half of
        the answers were truncated, if the pool reaches less than half of the records, or if the
        interval is too wide or below the records seen.
    """
    whole = [answer for answer in answers if not answer.overflowed]
    if len(whole) < (1 - _MAX_CUT) * len(answers):
        return Estimate(None, None, "too_many_cut", len(whole))
    if len(whole) < _FEW:
        return Estimate(None, None, "too_few_probes", len(whole))
    degree = _degree(
        plan,
        [answer for answer in answers if answer.records],
        _chances(plan, answers),
    )
    if degree is None:
        return Estimate(None, None, "answers_not_understood", len(whole))
    if plan.outside > _MAX_OUTSIDE:
        return Estimate(None, None, "too_few_words", len(whole))
    middle, spread = (part / (1 - plan.outside) for part in _total(plan, answers, degree))
    error = math.hypot(spread, middle * (_MODEL_ERROR + plan.outside / 2))
    # On a logarithmic scale the interval cannot go below zero, and it is asymmetric as heavy tails
    # require.
    factor = math.exp(_Z * math.sqrt(math.log1p((error / middle) ** 2))) if middle > 0 else math.inf
    if middle * factor < records_seen:
        return Estimate(None, None, "below_records_seen", len(answers))
    low, high = max(middle / factor, float(records_seen)), middle * factor
    if high > MAX_RATIO * max(low, 1.0):
        return Estimate(None, None, "too_wide", len(answers))
    return Estimate(low, high, "", len(answers))


def _total(
    plan: ProbePlan, answers: Sequence[ProbeAnswer], degree: Callable[[ProbedRecord], float]
) -> tuple[float, float]:
    """Returns the estimated number of records that contain at least one word of the probe pool (see
    `estimate_size`), and its standard error. `degree` returns the number of pool words that find a
    record. The error assumes that words are drawn with repetition, which makes it slightly too
    large. Words that are drawn with certainty contribute no error if all planned probes were
    answered."""
    chances = plan.inclusion()
    asked = len(answers) / len(plan.drawn)
    values = np.array(
        [_value(answer, degree) / (chances[answer.term] * asked) for answer in answers]
    )
    chance = np.array([chances[answer.term] < 1 or asked < 1 for answer in answers])
    drawn = values[chance]
    spread = drawn.std(ddof=1) * math.sqrt(len(drawn)) if len(drawn) > 1 else 0.0
    return float(values.sum()), float(spread)


def _value(answer: ProbeAnswer, degree: Callable[[ProbedRecord], float]) -> float:
    if answer.overflowed:
        return 0.0
    return sum(1 / max(_MIN_DEGREE, degree(record)) for record in answer.records)


def _chances(plan: ProbePlan, answers: Sequence[ProbeAnswer]) -> dict[Term, float]:
    """Returns, for each word of the probe pool, the probability that its answer is complete.

    Words with similar counts form a class. Its probability is the share of complete answers,
    weighted by matches (words with more matches find more records), and shrunk towards the share of
    all answers. A truncated answer's matches are estimated as the word's count times the mean ratio
    of both in complete answers.
    """
    whole = [(len(a.records), plan.pool[a.term]) for a in answers if not a.overflowed]
    ratio = sum(size for size, _ in whole) / max(1, sum(count for _, count in whole))
    sums: dict[int, list[float]] = {}
    for answer in answers:
        size = float(len(answer.records))
        if answer.overflowed:
            size = max(_BEYOND_CUT * size, ratio * plan.pool[answer.term])
        pair = sums.setdefault(_count_class(plan.pool[answer.term]), [0.0, 0.0])
        pair[0] += 0.0 if answer.overflowed else size
        pair[1] += size
    kept, everything = (sum(pair[place] for pair in sums.values()) for place in (0, 1))
    overall = kept / everything if everything else 1.0
    prior = _PRIOR_PROBES * everything / max(1, len(answers))
    shares = {
        name: (pair[0] + prior * overall) / (pair[1] + prior) if prior else 1.0
        for name, pair in sums.items()
    }
    return {term: shares.get(_count_class(plan.pool[term]), overall) for term in plan.pool}


def _count_class(count: int) -> int:
    return count if count <= 4 else 4 + int(math.log2(count / 4) * 2)


def _degree(
    plan: ProbePlan, answers: Sequence[ProbeAnswer], chances: Mapping[Term, float]
) -> Callable[[ProbedRecord], float] | None:
    returned = [(answer.term, record) for answer in answers for record in answer.records]
    if not returned:
        return None
    finders = _Finders(plan.pool)
    whole = {answer.term: len(answer.records) for answer in answers if not answer.overflowed}
    known = {record.key: record for _, record in returned}.values()
    best: tuple[float, Callable[[ProbedRecord], frozenset[Term]]] | None = None
    for found in (finders.by_terms, finders.alone, finders.within):
        if sum(term in found(one) for term, one in returned) < _UNDERSTOOD * len(returned):
            continue
        told = sum(len(found(record) & whole.keys()) for record in known)
        both = sum(term in found(record) for term, record in returned if term in whole)
        agreement = both / max(1, sum(whole.values()) + told - both)
        if best is None or agreement > best[0]:
            best = agreement, found
    if best is None:
        return None
    finds = best[1]
    return lambda record: sum(chances.get(term, 0.0) for term in finds(record))


class _Finders:
    """Determines which words of the probe pool match a record, by three definitions: among its
    terms (`by_terms`), also as words in its text (`alone`), or also as substrings of its text
    (`within`)."""

    def __init__(self, pool: Iterable[Term]) -> None:
        self._pool = frozenset(pool)
        self._low = [(term.value.casefold(), term) for term in self._pool]
        self._by_first: dict[str, list[tuple[str, Term]]] = {}
        for value, term in self._low:
            if words := _TOKENS.findall(value):
                self._by_first.setdefault(words[0], []).append((f" {' '.join(words)} ", term))
        self._known: dict[tuple[str, Hashable], frozenset[Term]] = {}

    def by_terms(self, record: ProbedRecord) -> frozenset[Term]:
        """Returns the words of the probe pool that are among the record's terms."""
        return self._pool & record.terms

    def alone(self, record: ProbedRecord) -> frozenset[Term]:
        """Returns the words of the probe pool that are among the record's terms, or that occur in
        its text as separate words or phrases."""
        key = ("alone", record.key)
        if key not in self._known:
            words = _TOKENS.findall(record.text)
            said = f" {' '.join(words)} "
            near = (pair for word in set(words) for pair in self._by_first.get(word, ()))
            self._known[key] = self.by_terms(record) | {
                term for value, term in near if value in said
            }
        return self._known[key]

    def within(self, record: ProbedRecord) -> frozenset[Term]:
        """Returns the words of the probe pool that are among the record's terms, or that are
        substrings of its text."""
        key = ("within", record.key)
        if key not in self._known:
            self._known[key] = self.by_terms(record) | {
                term for value, term in self._low if value in record.text
            }
        return self._known[key]
