"""Chooses the next query so that all remaining queries together find most records. Some queries are
in families, lists of queries of which no two find the same record; the choice is whether to begin
with a family or with another query.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from deepweb.seen import Choice

NEAR_BEST = 0.8
"""In a family, queries expected to find at least this fraction of its best one's new records count
as equally good."""


class Candidate(NamedTuple):
    """A possible query, and its expected new records (`gain`): the predicted number, corrected by
    the results of similar queries. `known` is the number of seen records that match it, 0 if not
    counted; the more, the more reliable is `gain`.
    """

    choice: Choice
    gain: float
    known: int = 0


def first_of_plan(
    others: Sequence[Candidate], families: Sequence[Sequence[Candidate]], unseen: float, left: int
) -> Candidate | None:
    """Returns the query to submit next if `left` queries remain; None if there is none. It is the
    best of `others`, unless more records are expected in total if the first of the `left` queries
    are from one of `families`. Then it is a query of that family with at least `NEAR_BEST` times
    its largest yield; of these the one with the most known records (surest prediction).

    The best j queries of a family find C records, the sum of their yields, because no two of them
    find the same record. The n = left - j queries of `others` overlap at random and find (U - C) (1
    - exp(-n g / U)) of the other records, where U is `unseen` and g the largest yield in `others`.
    The j with the largest total is used.
    """
    best = max(others, key=lambda offer: offer.gain, default=None)
    rate = best.gain / unseen if best is not None else 0.0
    most = unseen * (1 - np.exp(-left * rate))
    for offers in families:
        gains = sorted((offer.gain for offer in offers), reverse=True)[:left]
        brought = np.minimum(np.cumsum([0.0, *gains]), unseen)
        plans = brought + (unseen - brought) * (
            1 - np.exp(-(left - np.arange(len(brought))) * rate)
        )
        if plans.argmax() > 0 and (plans.max() > most or best is None):
            near = [offer for offer in offers if offer.gain >= NEAR_BEST * gains[0]]
            most, best = plans.max(), max(near, key=lambda offer: (offer.known, offer.gain))
    return best
