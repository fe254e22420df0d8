"""Bounded work told without a limit in seconds: what an input four times as large costs, counted in the cost of the small one.

Both are measured in the same run on the same machine, so a slow or busy one changes both.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

FACTOR = 4  # how many times as large the large input is: linear work costs about 4 times as much, quadratic work 16 times
MOST = 8.0
FLOOR_SECONDS = 0.02  # less than this counts as this: below it the clock tells more of the machine than of the work
ROUNDS = 3
Input = TypeVar("Input")


def growth(
    work: Callable[[Input], object], small: Input, large: Input, *, enough: float = MOST, clock: Callable[[], float] = time.thread_time
) -> float:
    """CPU of `work(large)` / CPU of `work(small)`, each the least of its measurements; at least two of the small one, the first of
    which also loads what is loaded once. A ratio at or above `enough` is measured again, up to three rounds: chance goes away,
    a real one stays. The clock counts this thread's CPU seconds."""
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
