"""Lower and upper bounds of theta (weight of a reply) and of importance (weight of a site or board).

This file imports no numpy, because every command imports the models, and the models import this file.
"""

from __future__ import annotations

LEAST_THETA, MOST_THETA, USUAL_THETA = 0.01, 1.0, 0.5  # bounds and default of theta, a reply's weight relative to a new thread
LEAST_IMPORTANCE, MOST_IMPORTANCE = 0.01, 1000.0
FIRST_DOUBT = 0.3  # initial `doubt` of an overview source: a board keeps at least this share of its index without sources
THETA_BOUNDS = f"theta lies between {LEAST_THETA:g} and {MOST_THETA:g}"
IMPORTANCE_BOUNDS = f"an importance lies between {LEAST_IMPORTANCE:g} and {MOST_IMPORTANCE:g}"


def checked_theta(theta: float) -> float:
    """Returns theta; ValueError if it is out of bounds or not a number."""
    if not LEAST_THETA <= theta <= MOST_THETA:
        raise ValueError(THETA_BOUNDS)
    return theta


def checked_importance(value: float) -> float:
    """Returns the importance; ValueError if it is out of bounds or not a number."""
    if not LEAST_IMPORTANCE <= value <= MOST_IMPORTANCE:
        raise ValueError(IMPORTANCE_BOUNDS)
    return value
