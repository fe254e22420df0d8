"""Chooses the next query so that all remaining queries together find most records. Some queries are in families, lists of
queries of which no two find the same record; the choice is whether to begin with a family or with another query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from deepweb.seen import Choice

NEAR_BEST = 0.8
"""In a family, queries expected to find at least this fraction of its best one's new records count as equally good."""


class Candidate(NamedTuple):
    """A possible query, and its expected new records (`gain`): the predicted number, corrected by the results of similar
    queries. `known` is the number of seen records that match it, 0 if not counted; the more, the more reliable is `gain`."""

    choice: Choice
    gain: float
    known: int = 0


def first_of_plan(
    others: Sequence[Candidate], families: Sequence[Sequence[Candidate]], unseen: float, left: int
) -> Candidate | None:
    """Returns the query to submit next if `left` queries remain; None if there is none. It is the best of `others`, unless the
    `left` queries are expected to find more records in total when the first of them are from one of `families`. Then a query of
    that family is returned: of its queries that yield at least `NEAR_BEST` times its largest yield, the one with the most known
    records, because its prediction is the most reliable.

    No two queries of a family find the same record, so the best j of them find C new records, the sum of their yields. The
    results of `others` overlap at random: after these j, n = left - j queries find (U - C) (1 - exp(-n g / U)) of the remaining
    U - C records, where U is `unseen` and g is the largest yield in `others`. The j with the largest total is used.
    """
    best = max(others, key=lambda offer: offer.gain, default=None)
    rate = best.gain / unseen if best is not None else 0.0
    most = unseen * (1 - np.exp(-left * rate))
    for offers in families:
        gains = sorted((offer.gain for offer in offers), reverse=True)[:left]
        brought = np.minimum(np.cumsum([0.0, *gains]), unseen)
        plans = brought + (unseen - brought) * (1 - np.exp(-(left - np.arange(len(brought))) * rate))
        if plans.argmax() > 0 and (plans.max() > most or best is None):
            near = [offer for offer in offers if offer.gain >= NEAR_BEST * gains[0]]
            most, best = plans.max(), max(near, key=lambda offer: (offer.known, offer.gain))
    return best
