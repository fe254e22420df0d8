"""The interface of the ways to choose a harvest's next query, and which of their offers is sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

import numpy as np

from deepweb.answers.retrieved import Choice, Outcome, Retrieved

NEAR_BEST = 0.8


"""In a family, queries expected to find at least this fraction of its best one's new records count
as equally good."""


EXPLORED = 0.8


"""A query that tells the size of a choice is preferred if it is expected to bring at least this
fraction of the best query's yield."""


class By(IntEnum):
    """What chose a query. The number is stored with the query (`Choice.bucket`), so that its
    predictions can be compared with what the queries brought."""

    OTHER = -1
    WORDS = 0
    PAIRS = 5
    CHOICES = 6
    RANGES = 7


class Offer(NamedTuple):
    """A possible next query, and its expected new records (`gain`): the predicted number, corrected
    by the results of similar queries. `known` is the number of seen records that match it, 0 if not
    counted; the more, the more reliable is `gain`.

    `family` holds the gains of this and of all further queries of a set (such as the values of one
    select) of which no two find the same record; empty if there is none. `unseen`: estimated number
    of records not seen yet, 0 if not estimated. `tells`: the answer also tells how many records
    match an input's value.
    """

    choice: Choice
    gain: float = 0.0
    known: int = 0
    family: tuple[float, ...] = ()
    unseen: float = 0.0
    tells: bool = False


class Chooser(Protocol):
    """One way to choose queries: by words, combinations of choices, ranges, …"""

    def offers(self, seen: Retrieved) -> Sequence[Offer]:
        """Returns the best next query, given the queries and answers so far (`seen`), with the
        number of new records that it is expected to bring; one for each family if there are
        several, none if no query is left."""


def of_family(offers: Sequence[Offer]) -> Offer:
    """Returns the query with which a family begins: of those with nearly the largest gain the one
    with most known records, whose prediction is surest."""
    most = max(offer.gain for offer in offers)
    near = [offer for offer in offers if offer.gain >= NEAR_BEST * most]
    first = max(near, key=lambda offer: (offer.known, offer.gain))
    return first._replace(family=tuple(offer.gain for offer in offers))


def take_best(offers: Iterable[Offer], left: int) -> Offer | None:
    """Returns the query to submit next if `left` queries remain; None if there is none. It is the
    one with the largest gain among those without a family, unless more records are expected in
    total if the first of the `left` queries are from one family: then it is that family's. A query
    that `tells` the size of a choice is preferred if it brings nearly as much, because it makes
    predictions for all combinations with it better.

    The best j queries of a family find C records, the sum of their gains, because no two of them
    find the same record. The n = left - j other queries overlap at random and find (U - C) (1 -
    exp(-n g / U)) of the other records, where U is the number of unseen records and g the largest
    gain without a family. The j with the largest total is used.
    """
    offers = list(offers)
    best = max((one for one in offers if not one.family), key=lambda one: one.gain, default=None)
    unseen = max((max(one.unseen, sum(one.family)) for one in offers), default=0.0)
    for offer in offers:
        if offer.tells and offer.gain >= EXPLORED * (best.gain if best is not None else 0.0):
            return offer
    rate = best.gain / unseen if best is not None and unseen else 0.0
    most = unseen * (1 - np.exp(-left * rate))
    for offer in offers:
        gains = sorted(offer.family, reverse=True)[:left]
        brought = np.minimum(np.cumsum([0.0, *gains]), unseen)
        plans = brought + (unseen - brought) * (
            1 - np.exp(-(left - np.arange(len(brought))) * rate)
        )
        if plans.argmax() > 0 and (plans.max() > most or best is None):
            most, best = plans.max(), offer
    return best


def learned(outcomes: Iterable[Outcome], trust: float) -> float:
    """Returns the ratio of actual to predicted new records of earlier queries, without those that
    were not predicted, shrunk towards 1 as if another `trust` records had come as predicted."""
    predicted = [outcome for outcome in outcomes if outcome.predicted > 0]
    brought = sum(outcome.new for outcome in predicted)
    return (brought + trust) / (sum(outcome.predicted for outcome in predicted) + trust)
