"""The forum paper's basic equations: weights and delays of eq. (1) to (6), importance W."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from forums.bounds import checked_theta

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Number = TypeVar("Number", float, Floats)

HOUR_SECONDS = 3600.0


def importance(site: Number, board: Number) -> Number:
    """W_i = Ws Wp: the factor by which a board's events weigh more than others'; scalar or array."""
    return site * board


def weighted(new: Number, replies: Number, theta: float) -> Number:
    """new + theta replies: weighted events, events per day or event-hours; scalar or array.

    Used in eq. (3) and (5) of the forum paper: a new thread has weight 1, a reply theta.

    >>> weighted(2.0, 4.0, 0.5)
    4.0
    """
    return new + theta * replies


def event_weights(opener: Bools, theta: float, board_importance: Floats | float = 1.0) -> Floats:
    """Weight of each event, (n,): W for a new thread, theta W for a reply; eq. (3) and (4). W: one, or one an event."""
    return np.where(opener, 1.0, checked_theta(theta)) * board_importance


def board_weights(new_per_day: Floats, replies_per_day: Floats, theta: float, board_importance: Floats) -> Floats:
    """Eq. (5): WP_i = W_i (Ng + theta Nr), weighted events a day, (n,)."""
    return board_importance * weighted(new_per_day, replies_per_day, theta)


def shares(weights: Floats) -> Floats:
    """Eq. (6) of the forum paper: WP_i / sum of WP, the share of each board in the day's visits, (n,); equal if all weights are
    0."""
    total = float(weights.sum())
    return weights / total if total > 0 else np.full(len(weights), 1.0 / max(1, len(weights)))


def waited_hours(posted: Floats, fetched: Floats | float) -> Floats:
    """Eq. (1) and (2): D = c - t of events posted at t and fetched at c (epoch seconds), in hours; 0 where c is before t."""
    hours: Floats = np.maximum(np.asarray(fetched, dtype=float) - posted, 0.0) / HOUR_SECONDS
    return hours


def total_delay(weights: Floats, hours: Floats) -> float:
    """Eq. (3) and (4): sum over events of weight times delay, weighted event-hours."""
    return float(np.dot(weights, hours))


def delay_of_sums(new_seconds: float, replies_seconds: float, theta: float, board_importance: float) -> float:
    """Eq. (3) and (4) from sums of waits: W (sum over new threads + theta sum over replies), weighted event-hours."""
    return board_importance * weighted(new_seconds, replies_seconds, theta) / HOUR_SECONDS


def posts_per_weight(new_per_day: Floats, replies_per_day: Floats, theta: float, board_importance: Floats) -> Floats:
    """Posts per weighted event, (n,), for displaying posts instead of weighted events; 1 for a board without posts."""
    weights = board_weights(new_per_day, replies_per_day, theta, board_importance)
    return np.divide(new_per_day + replies_per_day, weights, out=np.ones(len(weights)), where=weights > 0)
