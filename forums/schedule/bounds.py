"""Lower and upper bounds of theta (weight of a reply) and of importance (weight of a site or
board).

This file imports no numpy, because every command imports the models, and the models import this
file.
"""

from __future__ import annotations

MIN_THETA, MAX_THETA, USUAL_THETA = (
    0.01,
    1.0,
    0.5,
)  # bounds and default of theta, a reply's weight relative to a new thread
MIN_IMPORTANCE, MAX_IMPORTANCE = 0.01, 1000.0
# initial `doubt` of an overview source: a board's priority is at least this share of that without
# sources
FIRST_DOUBT = 0.3
THETA_BOUNDS = f"theta lies between {MIN_THETA:g} and {MAX_THETA:g}"
IMPORTANCE_BOUNDS = f"an importance lies between {MIN_IMPORTANCE:g} and {MAX_IMPORTANCE:g}"


def checked_theta(theta: float) -> float:
    """Returns theta, the weight of a reply relative to a new thread; ValueError if it is out of
    bounds or not a number."""
    if not MIN_THETA <= theta <= MAX_THETA:
        raise ValueError(THETA_BOUNDS)
    return theta


def checked_importance(value: float) -> float:
    """Returns the importance; ValueError if it is out of bounds or not a number."""
    if not MIN_IMPORTANCE <= value <= MAX_IMPORTANCE:
        raise ValueError(IMPORTANCE_BOUNDS)
    return value
