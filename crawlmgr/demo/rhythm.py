"""The times of posts: the expected number of posts of each board in each hour of the week, and
random times drawn from it hour by hour."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

ZONE = timezone(timedelta(hours=8))
"""The forum's time zone, eight hours ahead of UTC."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """A board's weekly rhythm of posts. `daily`: mean number of posts on a working day; `peaks`:
    (hour, width in hours, weight) in local time; `base`: the rate outside the peaks, on the scale
    of the weights. On Saturdays and Sundays the number is multiplied by `weekend`."""

    daily: float
    peaks: tuple[tuple[float, float, float], ...]
    weekend: float = 1.0
    base: float = 0.15

    def per_hour(self, at: datetime) -> float:
        """Returns the expected number of posts in the hour that begins at `at`: a base rate plus a
        bell curve around each peak, scaled so that the mean over 24 hours is daily/24 (times
        `weekend` on Saturdays and Sundays).
        """
        local = at.astimezone(ZONE)
        share = self._height(local.hour + 0.5) / sum(self._height(hour + 0.5) for hour in range(24))
        return self.daily * share * (self.weekend if local.weekday() >= 5 else 1.0)

    def _height(self, hour: float) -> float:
        found = self.base
        for middle, width, weight in self.peaks:
            apart = min(abs(hour - middle), 24 - abs(hour - middle))
            found += weight * math.exp(-0.5 * (apart / width) ** 2)
        return found


def floor_hour(at: datetime) -> datetime:
    """Returns a time rounded down to the full hour."""
    return at.replace(minute=0, second=0, microsecond=0)


def arrivals(rhythms: Sequence[Rhythm], hour: datetime, seed: int) -> list[tuple[datetime, int]]:
    """Returns (time, index of the rhythm) for every post of one hour, in order of time: for each
    rhythm a Poisson-distributed number of posts, at uniformly distributed times."""
    found = []
    for number, rhythm in enumerate(rhythms):
        # made-up posts
        draw = random.Random(f"{seed} {number} {hour.timestamp():.0f}")  # noqa: S311
        for _ in range(_poisson(rhythm.per_hour(hour), draw)):
            found.append((hour + timedelta(seconds=draw.randrange(3600)), number))
    return sorted(found)


def busy_minutes(
    rhythms: Sequence[Rhythm], began: datetime, seed: int, posts: int, mean_seconds: float
) -> list[tuple[datetime, int]]:
    """Returns (time, index of the rhythm) for `posts` posts soon after the start `began`, in order
    of time: each after an exponentially distributed time with mean `mean_seconds`, on a board drawn
    in proportion to the boards' rates at the start.
    """
    draw = random.Random(f"{seed} beginning")  # noqa: S311 - made-up posts
    rates = [rhythm.per_hour(floor_hour(began)) for rhythm in rhythms]
    boards = draw.choices(range(len(rhythms)), rates, k=posts)
    waits = sorted(draw.expovariate(1 / mean_seconds) for _ in range(posts))
    return [
        (began + timedelta(seconds=math.ceil(wait)), board)
        for wait, board in zip(waits, boards, strict=True)
    ]


def _poisson(mean: float, draw: random.Random) -> int:
    """Returns a Poisson-distributed number by Knuth's method, which suits the small means of an
    hour."""
    limit, product, count = math.exp(-mean), draw.random(), 0
    while product > limit:
        product *= draw.random()
        count += 1
    return count
