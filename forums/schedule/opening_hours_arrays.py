"""Opening hours (`crawlmgr.schedule.opening_hours`) as arrays: as periods in epoch seconds, for
testing many moments at once, and as parts of one day, for planning it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from crawlmgr.schedule import opening_hours

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
DAY_HOURS = 24.0


@dataclass(frozen=True, slots=True)
class Openings:
    """The working hours of a site within some days, for testing many moments at once: parallel
    arrays with the start and the end (exclusive) of each continuous part of them, epoch seconds,
    ascending."""

    starts: Floats
    ends: Floats

    @classmethod
    def of(cls, hours: opening_hours.OpeningHours, since: float, until: float) -> Openings:
        """Returns the working hours that `hours` defines between two moments (epoch seconds)."""
        first, last = (datetime.fromtimestamp(at, UTC) for at in (since, until))
        parts = opening_hours.between(hours, first, last)
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
    """Tells which boards may be visited at a moment.

    Parameters
    ----------
    openings : one entry per site number, None for a site that is always open.
    site : (n,), site number of each board.
    now : epoch seconds.

    Returns
    -------
    open : (n,); None if no site has working hours.
    """
    if not any(one is not None for one in openings):
        return None
    known: dict[int, bool] = {}
    for one in openings:
        if one is not None and id(one) not in known:
            known[id(one)] = bool(one.at(np.array([now]))[0])
    return np.array([one is None or known[id(one)] for one in openings], dtype=bool)[site]


Spans = tuple[tuple[float, float], ...]


"""The open hours of a local day: pairs (begin, end) in ascending order, in hours since midnight."""


WHOLE_DAY: Spans = ((0.0, DAY_HOURS),)


MINUTES = 1440


def spans(hours: opening_hours.OpeningHours | None, day: date, zone: ZoneInfo) -> Spans:
    """Returns the open hours of a day on the clock of `zone`, as pairs (begin, end) in hours; () if
    the site is closed all day. A site without working hours (hours None) is open all day.

    >>> utc = ZoneInfo("UTC")
    >>> spans(opening_hours.parse("22:00-06:00", utc), date(2026, 5, 1), utc)
    ((0.0, 6.0), (22.0, 24.0))
    """
    if hours is None:
        return WHOLE_DAY
    start, end = (
        datetime.combine(day + timedelta(days=step), time(), zone).astimezone(UTC)
        for step in (0, 1)
    )
    scale = DAY_HOURS / (end - start).total_seconds()
    parts = opening_hours.between(hours, start, end)
    return tuple(
        ((first - start).total_seconds() * scale, (last - start).total_seconds() * scale)
        for first, last in parts
    )


def to_planning_clock(rates: Floats, open_: Spans) -> Floats:
    """Converts rates of the real day to rates of the planning clock, which stops outside the open
    hours.

    Parameters
    ----------
    rates : (n, bins), events per hour of the real day.
    open_ : the open hours of the day; not empty.

    Returns
    -------
    rates : (n, bins), per hour of the planning clock; each board's sum over the day is unchanged.
    """
    bins = rates.shape[1]
    starts, ends, before = _bounds(open_)
    minute = (np.arange(MINUTES) + 0.5) * DAY_HOURS / MINUTES
    place = np.searchsorted(
        ends, minute, side="right"
    )  # number of the open span that contains this minute, or of the next one
    last = place == len(starts)
    place = np.where(last, 0, place)
    at = before[place] + np.where(last, 0.0, np.maximum(minute - starts[place], 0.0))
    total = float((ends - starts).sum())
    target = np.minimum((at / total * bins).astype(np.int64), bins - 1)
    source = np.minimum((minute / DAY_HOURS * bins).astype(np.int64), bins - 1)
    made = np.zeros_like(rates)
    np.add.at(made.T, target, rates.T[source] * bins / MINUTES)
    return made


def to_day_hours(hours: Floats, open_: Spans) -> Floats:
    """Converts hours of the planning clock to hours of the real day.

    Parameters
    ----------
    hours : (m,), in [0, 24), on a clock that stands still outside `open_`.
    open_ : the open hours of the day; not empty.

    Returns
    -------
    hours : (m,), within the open hours.
    """
    starts, ends, before = _bounds(open_)
    along = np.asarray(hours, dtype=float) / DAY_HOURS * float((ends - starts).sum())
    place = np.searchsorted(before, along, side="right") - 1
    return np.minimum(starts[place] + along - before[place], np.nextafter(ends[place], 0.0))


def _bounds(open_: Spans) -> tuple[Floats, Floats, Floats]:
    starts, ends = np.array([one[0] for one in open_]), np.array([one[1] for one in open_])
    return starts, ends, np.concatenate([[0.0], np.cumsum(ends - starts)[:-1]])
