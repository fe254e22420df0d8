"""Working hours as arrays of open intervals: tests whether many moments lie in them, and which
sites are open at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from crawlmgr.schedule import opening_hours

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Openings:
    """The working hours of a site within some days, for testing many moments at once: parallel
    arrays with the start and the end (exclusive) of each continuous part of them, epoch seconds,
    ascending."""

    starts: Floats
    ends: Floats

    @classmethod
    def of(cls, window: opening_hours.Window, since: float, until: float) -> Openings:
        """Returns the working hours that `window` defines between two moments (epoch seconds)."""
        first, last = (datetime.fromtimestamp(at, UTC) for at in (since, until))
        parts = opening_hours.between(window, first, last)
        return cls(
            np.array([one.timestamp() for one, _end in parts]),
            np.array([end.timestamp() for _start, end in parts]),
        )

    def at(self, times: Floats) -> Bools:
        """Tells for each of these moments (epoch seconds) whether it lies within working hours."""
        place = np.searchsorted(self.starts, times, side="right") - 1
        if not len(self.ends):
            return np.zeros(np.shape(times), dtype=bool)
        return np.asarray((place >= 0) & (times < self.ends[np.maximum(place, 0)]))

    def around(self, at: float) -> tuple[float, float]:
        """Returns start and end (epoch seconds) of the working hours that contain the moment `at`
        (epoch seconds); (-inf, inf) if none do, so that a time span is then not limited to them."""
        place = int(np.searchsorted(self.starts, at, side="right")) - 1
        inside = place >= 0 and at < self.ends[place]
        return (float(self.starts[place]), float(self.ends[place])) if inside else (-np.inf, np.inf)

    def next(self, at: float) -> float:
        """Returns the moment `at` itself (epoch seconds) if it lies within working hours, otherwise
        the start of the next ones; inf if there are none later in the days covered."""
        place = int(np.searchsorted(self.ends, at, side="right"))
        return max(float(self.starts[place]), at) if place < len(self.starts) else np.inf


def mask(openings: Sequence[Openings | None], site: Ints, now: float) -> Bools | None:
    """Returns a mask of the boards whose site may be visited at that moment, (n,); None if no site
    has working hours.

    site: (n,), site number of each board; openings: one entry per site number, None for a site that
    is always open.
    """
    if not any(one is not None for one in openings):
        return None
    known: dict[int, bool] = {}
    for one in openings:
        if one is not None and id(one) not in known:
            known[id(one)] = bool(one.at(np.array([now]))[0])
    return np.array([one is None or known[id(one)] for one in openings], dtype=bool)[site]
