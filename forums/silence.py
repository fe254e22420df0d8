"""Silence where there should be news: a forum that gives nothing new for longer than its own rhythm explains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forums.events import Ints

LEAST_HOURS = 72
LEAST_ITEMS = 30
LEAST_EXPECTED = 5.0  # of a Poisson process with this mean nothing comes once in 150 times
BEYOND_LONGEST = 2.0


@dataclass(frozen=True, slots=True)
class Silence:
    """How long nothing came (hours), how many items such hours bring as a rule, and the same for the longest gap before."""

    hours: int
    expected: float
    longest: float


def find_silence(counts: Ints, hours: Ints) -> Silence | None:
    """The silence at the end of a record of hours, None where it is no longer than usual or too little is known.

    counts: (n,) new items of each hour, oldest first, up to the last hour that visits have covered. hours: (n,) local hour
    of the day, 0 to 23. What an hour brings is the mean of its hour of the day up to the last item, so that nights count
    for little. Replies come in bursts: the silence must be worth at least 5 items and twice the longest gap between items
    before it.

    >>> day = np.array([0] * 12 + [2] * 12)
    >>> find_silence(np.concatenate([np.tile(day, 5), np.zeros(30, int)]), np.arange(150) % 24)
    Silence(hours=30, expected=24.0, longest=0.0)
    """
    some = np.flatnonzero(counts)
    if len(counts) < LEAST_HOURS or counts.sum() < LEAST_ITEMS or some[-1] == len(counts) - 1:
        return None
    last = some[-1]
    seen = np.bincount(hours[: last + 1], minlength=24)
    brought = np.bincount(hours[: last + 1], weights=counts[: last + 1], minlength=24)
    usual = np.divide(brought, seen, out=np.zeros(24), where=seen > 0)
    until = np.concatenate([[0.0], np.cumsum(usual[hours])])  # until[i]: expected before hour i
    longest = float((until[some[1:]] - until[some[:-1] + 1]).max(initial=0.0))
    expected = float(until[-1] - until[last + 1])
    if expected < max(LEAST_EXPECTED, BEYOND_LONGEST * longest):
        return None
    return Silence(len(counts) - 1 - int(last), round(expected, 1), round(longest, 1))
