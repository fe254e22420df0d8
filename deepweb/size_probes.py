"""The size of a hidden database from random probes drawn out of a known pool of words, each record weighed by its degree.

After the pool-based estimators of Broder et al. (2006) and Bar-Yossef and Gurevich (2008).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deepweb.coverage import Estimate, Probe, estimate
from deepweb.seen import Seen, Term

MAX_RATIO = 1.6
"""An interval whose upper end is farther than this from its lower says too little: "too_wide"."""

_SEEN_AT_LEAST = (4, 3, 2)
_WELL_BELOW = 0.7
_OUTSIDE = 0.05
_WORDS_A_PROBE = 5
_UNDERSTOOD = 0.9
_MAX_CUT = 0.2
_FEW = 10
_Z = 1.96


class ProbedRecord(NamedTuple):
    """A record that a probe returned: its key, the terms read from it, and all its text (lower case)."""

    key: Hashable
    terms: frozenset[Term]
    text: str


class ProbeAnswer(NamedTuple):
    """The records that one probe returned, and whether the site held some back.

    `whole` set: so many were returned, and `records` is a random sample of them whose texts are known.
    """

    term: Term
    records: Sequence[ProbedRecord]
    overflowed: bool
    whole: int = 0


@dataclass(frozen=True, slots=True)
class ProbePlan:
    """Words to ask: `drawn` (with repetition) from `pool`, each with a chance in proportion to its weight.

    `outside` is the share of the records seen that have no word of the pool and so cannot be reached by it.
    """

    drawn: tuple[Term, ...]
    pool: Mapping[Term, int]
    outside: float

    @property
    def weight(self) -> int:
        """Sum of the weights of the pool."""
        return sum(self.pool.values())


def plan_probes(seen: Seen, scale: float, limit: int | None, rng: np.random.Generator, count: int) -> ProbePlan | None:
    """`count` random words, weighed by how many of the records seen have them; None while the pool is too small.

    The pool: words of at least four records whose `scale` times that number stays below 0.7 of `limit`, so that their
    answers are hardly ever cut; the more records a word was seen in, the steadier is the ratio of its answer to its
    weight. Where that pool has no five words a probe, or leaves out more than 5 % of the records, words of three or two
    records are taken in. Drawing by weight makes every probe bring about the same share of the sum.
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
        drawn = rng.choice(places, size=count, p=frequency[places] / frequency[places].sum())
        best = ProbePlan(
            drawn=tuple(seen.term(int(place)) for place in drawn),
            pool={seen.term(int(place)): int(frequency[place]) for place in places},
            outside=1 - reached / max(1, seen.records),
        )
        if len(places) >= _WORDS_A_PROBE * count and best.outside <= _OUTSIDE:
            break
    return best


def estimate_size(plan: ProbePlan, answers: Sequence[ProbeAnswer], records_seen: int) -> Estimate:
    """N^ = mean over probes of (W / w_q) * sum over the records of 1 / degree, with a 95 % interval.

    degree = how many words of the pool find the record: counted among its terms where the site matches whole words, in its
    text where it matches parts of words; which of the two, the probes' own answers tell. Where neither explains 90 % of
    the answers (other fields are searched) or a fifth was cut, section 5.5's interval is given if it is narrow enough.
    """
    whole = [answer for answer in answers if not answer.overflowed]
    rough = estimate([Probe(frozenset(r.key for r in a.records), a.overflowed) for a in answers], records_seen)
    if len(whole) < _FEW:
        return _narrow(rough, "too_few_probes")
    degree = _degree(plan, [answer for answer in answers if answer.records])
    if degree is None:
        return _narrow(rough, "answers_not_understood")
    if len(whole) < (1 - _MAX_CUT) * len(answers):
        return _narrow(rough, "too_many_cut")
    values = np.array([_value(plan, answer, degree) for answer in answers])
    reached = 1 - plan.outside
    middle, error = values.mean() / reached, values.std(ddof=1) / math.sqrt(len(values)) / reached
    # On the scale of logarithms the interval cannot fall below nothing, and it leans to the side that heavy tails need.
    factor = math.exp(_Z * math.sqrt(math.log1p((error / middle) ** 2))) if middle > 0 else math.inf
    low, high = max(middle / factor, float(records_seen)), max(middle * factor, float(records_seen))
    sized = Estimate(low, high, "", len(answers), rough.chapman, rough.chao1, rough.lu_li)
    return _narrow(sized, "too_wide")


def _value(plan: ProbePlan, answer: ProbeAnswer, degree: Callable[[ProbedRecord], int]) -> float:
    shares = sum(1 / max(1, degree(record)) for record in answer.records)
    if answer.whole and answer.records:
        shares *= answer.whole / len(answer.records)
    if answer.overflowed:  # the records held back are like those shown; how many there are only the weights tell
        shares *= 1.5
    return plan.weight / plan.pool[answer.term] * shares


def _degree(plan: ProbePlan, answers: Sequence[ProbeAnswer]) -> Callable[[ProbedRecord], int] | None:
    records = [(answer.term, record) for answer in answers for record in answer.records]
    if not records:
        return None
    if sum(term in record.terms for term, record in records) >= _UNDERSTOOD * len(records):
        return lambda record: sum(term in plan.pool for term in record.terms)
    if sum(term.value in record.text for term, record in records) >= _UNDERSTOOD * len(records):
        values = [term.value for term in plan.pool]
        known: dict[Hashable, int] = {}

        def in_text(record: ProbedRecord) -> int:
            if record.key not in known:
                known[record.key] = sum(value in record.text for value in values)
            return known[record.key]

        return in_text
    return None


def _narrow(sized: Estimate, reason: str) -> Estimate:
    if sized.low is not None and sized.high is not None and sized.high <= MAX_RATIO * max(sized.low, 1.0):
        return sized
    return Estimate(None, None, sized.reason or reason, sized.probes, sized.chapman, sized.chao1, sized.lu_li)
