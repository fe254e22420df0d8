"""Size and coverage of a hidden database by capture-recapture, that is from how many records were
returned more than once; and rules for ending a harvest."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from deepweb.seen import Outcome

MIN_PROBES = 20
MIN_RECAPTURED = 8
LU_LI_EXPONENT = 1.1
WINDOW = 10


class Captures(NamedTuple):
    """How often records were returned: the number D of distinct records, the number n of returns in
    all, and the numbers of records returned exactly once (f1) and exactly twice (f2)."""

    distinct: int
    returned: int
    once: int
    twice: int

    @property
    def overlap_rate(self) -> float:
        """The overlap rate n / D, how often a distinct record was returned on average; at least 1
        (1 if nothing was returned)."""
        return self.returned / self.distinct if self.distinct else 1.0

    @property
    def good_turing(self) -> float:
        """The Good-Turing estimate 1 - f1 / n, in [0, 1], of the share of known records among those
        that further answers will return; 0 if nothing was returned."""
        return 1 - self.once / self.returned if self.returned else 0.0


def captures(times: Sequence[int]) -> Captures:
    """Computes the counts in `Captures` from `times`, which holds for each distinct record how
    often it was returned."""
    spread = Counter(times)
    return Captures(len(times), sum(times), spread[1], spread[2])


def chapman(first: int, second: int, both: int) -> float:
    """Returns Chapman's estimate of the database size from two independent samples of n1 (`first`)
    and n2 (`second`) records that have m (`both`) in common: (n1 + 1)(n2 + 1) / (m + 1) - 1."""
    return (first + 1) * (second + 1) / (both + 1) - 1


def chao1(seen: Captures) -> float:
    """Returns Chao1, a lower bound of the database size: D + f1 (f1 - 1) / (2 (f2 + 1)), with the
    symbols of `Captures`."""
    return seen.distinct + seen.once * (seen.once - 1) / (2 * (seen.twice + 1))


def chao1_interval(seen: Captures, z: float = 1.96) -> tuple[float, float]:
    """Returns the log-normal interval (low, high) of Chao1 (Chao 1987), by default the 95 %
    interval: from D + T/C to D + T C, with T = Chao1 - D, C = exp(z sqrt(ln(1 + var/T²))), and var
    the variance of Chao1."""
    unseen = chao1(seen) - seen.distinct
    if unseen <= 0:
        return float(seen.distinct), float(seen.distinct)
    f1, f2 = seen.once, seen.twice
    if f2:
        ratio = f1 / f2
        variance = f2 * (ratio**2 / 2 + ratio**3 + ratio**4 / 4)
    else:
        variance = f1 * (f1 - 1) / 2 + f1 * (2 * f1 - 1) ** 2 / 4 - f1**4 / (4 * chao1(seen))
    factor = math.exp(z * math.sqrt(math.log1p(max(0.0, variance) / unseen**2)))
    return seen.distinct + unseen / factor, seen.distinct + unseen * factor


def lu_li(seen: Captures) -> float | None:
    """Returns Lu and Li's estimate of the database size, D / (1 - OR^-1.1) with OR as in
    `Captures.overlap_rate`, whose exponent was fitted on real collections with uneven records; None
    if no record was returned twice.
    """
    rate = seen.overlap_rate
    return seen.distinct / (1 - rate**-LU_LI_EXPONENT) if rate > 1 else None


@dataclass(frozen=True, slots=True)
class Probe:
    """The answer to one random word that was chosen without regard to its expected yield: the keys
    of the records returned, and whether the site left some matching records out (`overflowed`)."""

    records: frozenset[Hashable]
    overflowed: bool


@dataclass(frozen=True, slots=True)
class Estimate:
    """The size of the database as an interval from `low` to `high`, or the code `reason` why there
    is none. `low` is at least the number of seen records. `probes` is the number of answers used;
    `chapman`, `chao1` and `lu_li` are the results of single estimators, kept for display."""

    low: float | None
    high: float | None
    reason: str
    probes: int
    chapman: float | None = None
    chao1: float | None = None
    lu_li: float | None = None

    @property
    def known(self) -> bool:
        """Tells whether the size is known, that is, whether there is an interval."""
        return self.low is not None and self.high is not None

    def coverage(self, records: int) -> tuple[float, float] | None:
        """Returns the share of the database that `records` records make up, as an interval in [0,
        1]; None if the size is unknown."""
        if self.low is None or self.high is None:
            return None
        return min(1.0, records / max(self.high, 1.0)), min(1.0, records / max(self.low, 1.0))


def estimate(probes: Sequence[Probe], records_seen: int) -> Estimate:
    """Estimates the database size from random probes. The interval spans Chao1 with its 95 %
    interval and the estimate of Lu and Li.

    Only complete answers are used: truncated ones show which records rank first, not how many there
    are. With fewer than 20 of them, or fewer than 8 records that several returned, there is no
    interval, but the reason "too_few_probes" or "too_few_recaptured". Otherwise the result also has
    Chapman's estimate, from the answers at even and at odd positions.
    """
    whole = [probe.records for probe in probes if not probe.overflowed and probe.records]
    times: Counter[Hashable] = Counter(record for records in whole for record in records)
    seen = captures(list(times.values()))
    odd, even = frozenset().union(*whole[::2]), frozenset().union(*whole[1::2])
    upper = lu_li(seen)
    if len(whole) < MIN_PROBES:
        return Estimate(None, None, "too_few_probes", len(whole))
    if seen.distinct - seen.once < MIN_RECAPTURED or upper is None:
        return Estimate(None, None, "too_few_recaptured", len(whole))
    lower = chao1(seen)
    bounds = sorted((lower, upper, *chao1_interval(seen)))
    low, high = max(bounds[0], float(records_seen)), max(bounds[-1], float(records_seen))
    return Estimate(
        low, high, "", len(whole), chapman(len(odd), len(even), len(odd & even)), lower, upper
    )


class StopRules(NamedTuple):
    """Optional limits that end a harvest (None: not used): numbers of queries and of records;
    `min_gain`, the least number of new records for each record returned over the last ten queries;
    `coverage`, the share of the database harvested; `good_turing`, the estimated share of known
    records in further answers (`Captures.good_turing`).
    """

    queries: int | None = None
    records: int | None = None
    min_gain: float | None = 0.01
    coverage: float | None = 0.95
    good_turing: float | None = 0.95


def stopped_by(
    outcomes: Sequence[Outcome],
    times: Sequence[int],
    rules: StopRules,
    size: Estimate | None = None,
) -> str | None:
    """Returns the name of the first rule that ends a harvest: "queries", "records", "coverage"
    (tested with the lower bound of the share harvested, by `size`), "gain" or "good_turing"; None
    if no rule does.

    `times` holds the number of returns of each record. "gain" and "good_turing" need ten queries.
    "good_turing" applies only if at most a tenth of the answers were truncated: truncated answers
    repeat records, which would look complete.
    """
    seen = captures(times)
    if rules.queries is not None and len(outcomes) >= rules.queries:
        return "queries"
    if rules.records is not None and seen.distinct >= rules.records:
        return "records"
    if (
        rules.coverage is not None
        and size is not None
        and (share := size.coverage(seen.distinct)) is not None
        and share[0] >= rules.coverage
    ):
        return "coverage"
    last = outcomes[-WINDOW:]
    if len(last) == WINDOW:
        returned, new = (
            sum(outcome.returned for outcome in last),
            sum(outcome.new for outcome in last),
        )
        if rules.min_gain is not None and new <= rules.min_gain * returned:
            return "gain"
        cut = sum(not outcome.is_whole for outcome in outcomes)
        if (
            rules.good_turing is not None
            and cut * 10 <= len(outcomes)
            and seen.good_turing >= rules.good_turing
        ):
            return "good_turing"
    return None
