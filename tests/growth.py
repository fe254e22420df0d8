"""Tests of bounded work without time limits: the cost of an input four times as large, relative to
the cost of the small one.

Both are measured in the same run on the same machine, so that a slow or busy machine affects both.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

# ratio of the sizes of the large and the small input: linear work costs about 4 times as much,
# quadratic work 16 times
FACTOR = 4
MAX_RATIO = 8.0
FLOOR_SECONDS = 0.02  # shorter times are replaced by this, because they are mostly noise
ROUNDS = 3
Input = TypeVar("Input")


def growth(
    work: Callable[[Input], object],
    small: Input,
    large: Input,
    *,
    enough: float = MAX_RATIO,
    clock: Callable[[], float] = time.thread_time,
) -> float:
    """CPU time of `work(large)` divided by that of `work(small)`, each the minimum of its
    measurements (at least two of the small one, since the first also loads resources). A ratio of
    at least `enough` is measured again, up to three rounds, to exclude chance. The clock counts CPU
    seconds of this thread."""
    least_small = least_large = float("inf")
    for _ in range(ROUNDS):
        for _ in range(2):
            least_small = min(least_small, _cost(work, small, clock))
        least_large = min(least_large, _cost(work, large, clock))
        if least_large / max(least_small, FLOOR_SECONDS) < enough:
            break
    return least_large / max(least_small, FLOOR_SECONDS)


def _cost(work: Callable[[Input], object], value: Input, clock: Callable[[], float]) -> float:
    begun = clock()
    work(value)
    return clock() - begun
