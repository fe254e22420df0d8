"""Choice among several kinds of queries, by the estimated total yield of all remaining queries if that kind is used first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from deepweb.seen import Choice


class Offer(NamedTuple):
    """A possible query, and `worth`, its expected new records: the prediction, corrected by the results of similar queries."""

    choice: Choice
    worth: float


def first_of_plan(others: Sequence[Offer], families: Sequence[Sequence[Offer]], unseen: float, left: int) -> Offer | None:
    """The query to submit first if `left` queries remain: the best of `others`, or the best of a family if a plan that begins
    with the family finds more records.

    No two queries of a family find the same record, so the best j of them bring the sum of their yields, C. The other queries
    overlap at random: of the U - C records then still unseen (U is `unseen`), n of them bring (U - C) (1 - exp(-n g / U)),
    where g is the yield of the best one now. For each family the j with the largest total is used.
    """
    best = max(others, key=lambda offer: offer.worth, default=None)
    rate = best.worth / unseen if best is not None else 0.0
    most = unseen * (1 - np.exp(-left * rate))
    for offers in families:
        worths = sorted((offer.worth for offer in offers), reverse=True)[:left]
        brought = np.minimum(np.cumsum([0.0, *worths]), unseen)
        plans = brought + (unseen - brought) * (1 - np.exp(-(left - np.arange(len(brought))) * rate))
        if plans.argmax() > 0 and (plans.max() > most or best is None):
            most, best = plans.max(), max(offers, key=lambda offer: offer.worth)
    return best
