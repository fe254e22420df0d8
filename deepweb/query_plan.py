"""Chooses the next query: from a list of queries of which no two find the same record (a family), or any other query, whichever
lets all remaining queries together find most records."""

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
    """Returns the query to submit first if `left` queries remain; None if there is none. It is the best of `others`, unless all
    remaining queries together are expected to find more records if they begin with a list in `families`. Then it is a query of
    that list: of those with at least `NEAR_BEST` times the list's largest yield, the one with the most known records, because its
    prediction is the most reliable and its result affects the predictions for the whole list.

    A family is a list of queries of which no two find the same record, so that its best j queries bring the sum C of their
    yields. The other queries overlap at random: of the U - C records then still unseen (U is `unseen`), n such queries bring (U -
    C) (1 - exp(-n g / U)), where g is the largest yield in `others`. For each family the j with the largest total is used.
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
