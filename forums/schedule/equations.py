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
    """Returns the importance of boards, by which their events are weighted.

    Parameters
    ----------
    site, board : float or (n,), importance of the site and of the board, above 0.

    Returns
    -------
    W : W_i = Ws Wp, of the same shape.
    """
    return site * board


def weighted(new: Number, replies: Number, theta: float) -> Number:
    """Returns a number of weighted events: a new thread has weight 1, a reply theta.

    Parameters
    ----------
    new, replies : float or (n,), numbers of events, events per day or event-hours.
    theta : weight of a reply, in [0.01, 1].

    Returns
    -------
    weighted : new + theta replies, in the same unit.

    References
    ----------
    Eq. (3) and (5) of the forum paper.

    Examples
    --------
    >>> weighted(2.0, 4.0, 0.5)
    4.0
    """
    return new + theta * replies


def event_weights(opener: Bools, theta: float, board_importance: Floats | float = 1.0) -> Floats:
    """Returns the weight of each event.

    Parameters
    ----------
    opener : (n,), true for a new thread, false for a reply.
    theta : weight of a reply, in [0.01, 1]; ValueError outside.
    board_importance : W, one number for all events or (n,).

    Returns
    -------
    weights : (n,), W for a new thread, theta W for a reply.

    References
    ----------
    Eq. (3) and (4) of the forum paper.
    """
    return np.where(opener, 1.0, checked_theta(theta)) * board_importance


def board_weights(
    new_per_day: Floats, replies_per_day: Floats, theta: float, board_importance: Floats
) -> Floats:
    """Returns the weighted events a day of each board.

    Parameters
    ----------
    new_per_day, replies_per_day : (n,), Ng and Nr, new threads and replies a day.
    theta : weight of a reply, in [0.01, 1].
    board_importance : (n,), W.

    Returns
    -------
    weights : (n,), WP_i = W_i (Ng + theta Nr).

    References
    ----------
    Eq. (5) of the forum paper.
    """
    return board_importance * weighted(new_per_day, replies_per_day, theta)


def shares(weights: Floats) -> Floats:
    """Returns each board's share in the visits of a day.

    Parameters
    ----------
    weights : (n,), WP, weighted events a day.

    Returns
    -------
    shares : (n,), WP_i / sum of WP; equal shares if all weights are 0.

    References
    ----------
    Eq. (6) of the forum paper.
    """
    total = float(weights.sum())
    return weights / total if total > 0 else np.full(len(weights), 1.0 / max(1, len(weights)))


def waited_hours(posted: Floats, fetched: Floats | float) -> Floats:
    """Returns how long events waited until they were fetched.

    Parameters
    ----------
    posted : (n,), epoch seconds t.
    fetched : (n,) or one number, epoch seconds c.

    Returns
    -------
    hours : (n,), D = c - t in hours; 0 where c is before t.

    References
    ----------
    Eq. (1) and (2) of the forum paper.
    """
    hours: Floats = np.maximum(np.asarray(fetched, dtype=float) - posted, 0.0) / HOUR_SECONDS
    return hours


def total_delay(weights: Floats, hours: Floats) -> float:
    """Returns the total delay of events.

    Parameters
    ----------
    weights : (n,), weight of each event.
    hours : (n,), hours that it waited.

    Returns
    -------
    delay : sum of weight times delay, in weighted event-hours.

    References
    ----------
    Eq. (3) and (4) of the forum paper.
    """
    return float(np.dot(weights, hours))


def delay_of_sums(
    new_seconds: float, replies_seconds: float, theta: float, board_importance: float
) -> float:
    """Returns the total delay of one board from sums of waits.

    Parameters
    ----------
    new_seconds, replies_seconds : sums of the waits of new threads and of replies, in seconds.
    theta : weight of a reply, in [0.01, 1].
    board_importance : W.

    Returns
    -------
    delay : W (new + theta replies), in weighted event-hours.

    References
    ----------
    Eq. (3) and (4) of the forum paper.
    """
    return board_importance * weighted(new_seconds, replies_seconds, theta) / HOUR_SECONDS


def posts_per_weight(
    new_per_day: Floats, replies_per_day: Floats, theta: float, board_importance: Floats
) -> Floats:
    """Returns the number of posts per weighted event, by which numbers of posts are shown where
    the computation works with weighted events.

    Parameters
    ----------
    new_per_day, replies_per_day : (n,), new threads and replies a day.
    theta : weight of a reply, in [0.01, 1].
    board_importance : (n,), W.

    Returns
    -------
    posts : (n,); 1 for a board without posts.
    """
    weights = board_weights(new_per_day, replies_per_day, theta, board_importance)
    return np.divide(
        new_per_day + replies_per_day, weights, out=np.ones(len(weights)), where=weights > 0
    )
