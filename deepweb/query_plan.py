"""Choice among kinds of queries: estimates the total yield of all remaining queries for each kind to begin with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from deepweb.seen import Choice


class Offer(NamedTuple):
    """A possible query, and its expected new records, corrected by results of similar queries."""

    choice: Choice
    worth: float


def first_of_plan(others: Sequence[Offer], families: Sequence[Sequence[Offer]], unseen: float, left: int) -> Offer | None:
    """The best of the `others`, or the best of a family if starting with that brings more in `left` queries.

    Queries of a family find no record twice: the best j of them bring the sum of their yields, C. Others overlap at random: of U
    - C records `unseen` after these, n queries that bring g each at first bring (U - C) (1 - exp(-n g / U)). The plan of a family
    is the best j.
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
