"""The forum paper's basic equations, (1) to (6): weights of events and boards, delays, budgets."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from forums.schedule.bounds import checked_theta

Floats = NDArray[np.float64]


Bools = NDArray[np.bool_]


Number = TypeVar("Number", float, Floats)


HOUR_SECONDS = 3600.0


def importance(site: Number, board: Number) -> Number:
    """Returns W_i = Ws Wp, site importance times board importance: the factor by which a board's
    events are weighted; scalar or array."""
    return site * board


def weighted(new: Number, replies: Number, theta: float) -> Number:
    """Returns new + theta replies: a number of weighted events, of events per day or of
    event-hours; scalar or array.

    Used in eq. (3) and (5) of the forum paper: a new thread has weight 1, a reply theta.

    >>> weighted(2.0, 4.0, 0.5)
    4.0
    """
    return new + theta * replies


def event_weights(opener: Bools, theta: float, board_importance: Floats | float = 1.0) -> Floats:
    """Returns the weight of each event, (n,): W for a new thread, theta W for a reply; eq. (3) and
    (4) of the forum paper.

    opener: (n,), true for a new thread; board_importance: W, one number for all events or one per
    event.
    """
    return np.where(opener, 1.0, checked_theta(theta)) * board_importance


def board_weights(
    new_per_day: Floats, replies_per_day: Floats, theta: float, board_importance: Floats
) -> Floats:
    """Returns the weighted events a day of each board, (n,): WP_i = W_i (Ng + theta Nr), eq. (5) of
    the forum paper, where W_i is the board's importance, Ng its new threads a day, Nr its replies a
    day and theta the weight of a reply.
    """
    return board_importance * weighted(new_per_day, replies_per_day, theta)


def shares(weights: Floats) -> Floats:
    """Returns each board's share in the day's visits, WP_i / sum of WP, (n,); equal shares if all
    weights are 0. Eq. (6) of the forum paper."""
    total = float(weights.sum())
    return weights / total if total > 0 else np.full(len(weights), 1.0 / max(1, len(weights)))


def waited_hours(posted: Floats, fetched: Floats | float) -> Floats:
    """Returns D = c - t in hours for events posted at t and fetched at c (epoch seconds); 0 where c
    is before t. Eq. (1) and (2)."""
    hours: Floats = np.maximum(np.asarray(fetched, dtype=float) - posted, 0.0) / HOUR_SECONDS
    return hours


def total_delay(weights: Floats, hours: Floats) -> float:
    """Returns the sum over events of weight times delay, in weighted event-hours. Eq. (3) and (4)
    of the forum paper."""
    return float(np.dot(weights, hours))


def delay_of_sums(
    new_seconds: float, replies_seconds: float, theta: float, board_importance: float
) -> float:
    """Returns the total delay computed from sums of waits: W (sum over new threads + theta sum over
    replies), in weighted event-hours.

    Eq. (3) and (4) of the forum paper; new_seconds and replies_seconds are sums of waiting times in
    seconds.
    """
    return board_importance * weighted(new_seconds, replies_seconds, theta) / HOUR_SECONDS


def posts_per_weight(
    new_per_day: Floats, replies_per_day: Floats, theta: float, board_importance: Floats
) -> Floats:
    """Returns the number of posts per weighted event of each board, (n,); 1 for a board without
    posts.

    Used to display numbers of posts where the computation works with weighted events.
    """
    weights = board_weights(new_per_day, replies_per_day, theta, board_importance)
    return np.divide(
        new_per_day + replies_per_day, weights, out=np.ones(len(weights)), where=weights > 0
    )
