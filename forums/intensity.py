"""Daily rhythm of boards: event rates that are constant within bins of the day, with their
integrals in closed form and the inverse of the integral."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DAY_HOURS = 24.0


@dataclass(frozen=True, slots=True)
class Intensity:
    """f_i(t) of n boards: weighted events per hour, constant within each of `bins` equal parts of a
    day, repeating daily.

    `rates` has shape (n, bins). F_i(t) = integral of f_i from 0 to t, S_i(t) = integral of u
    f_i(u); both are exact for any t, also negative or beyond one day. Methods take an array of
    board numbers and one of times in hours, which broadcast against each other, and return an array
    of the common shape.
    """

    rates: Floats
    width: float
    _mass: Floats
    _moment: Floats

    @classmethod
    def of(cls, rates: Floats) -> Intensity:
        """Creates the intensity from rates of shape (n, bins), weighted events per hour."""
        rates = np.atleast_2d(np.asarray(rates, dtype=float))
        count, bins = rates.shape
        width = DAY_HOURS / bins
        middle = (np.arange(bins) + 0.5) * width
        mass, moment = np.zeros((count, bins + 1)), np.zeros((count, bins + 1))
        np.cumsum(rates * width, axis=1, out=mass[:, 1:])
        np.cumsum(rates * width * middle, axis=1, out=moment[:, 1:])
        return cls(rates, width, mass, moment)

    @property
    def bins(self) -> int:
        return int(self.rates.shape[1])

    @property
    def per_day(self) -> Floats:
        """Weighted events a day of each board, shape (n,)."""
        return self._mass[:, -1]

    def _split(self, times: Floats) -> tuple[Floats, Ints, Floats]:
        """Returns for times in hours the number of whole days, the number of the bin in the day,
        and the hours since that day began."""
        days = np.floor(np.asarray(times, dtype=float) / DAY_HOURS)
        hours = times - days * DAY_HOURS
        return days, np.minimum((hours / self.width).astype(np.int64), self.bins - 1), hours

    def at(self, board: Ints, times: Floats) -> Floats:
        """Returns f_i(t), weighted events per hour; at a boundary between bins the rate of the bin
        that begins."""
        return self.rates[board, self._split(times)[1]]

    def mass(self, board: Ints, times: Floats) -> Floats:
        """Returns F_i(t): weighted events between hour 0 and t; negative for t before 0."""
        days, slot, hours = self._split(times)
        inside = self._mass[board, slot] + self.rates[board, slot] * (hours - slot * self.width)
        mass: Floats = days * self._mass[board, -1] + inside
        return mass

    def moment(self, board: Ints, times: Floats) -> Floats:
        """Returns S_i(t) = integral of u f_i(u) from 0 to t, weighted event-hours."""
        days, slot, hours = self._split(times)
        total, first = self._mass[board, -1], self._moment[board, -1]
        start = slot * self.width
        within = self._mass[board, slot] + self.rates[board, slot] * (hours - start)
        inside = self._moment[board, slot] + self.rates[board, slot] * (hours**2 - start**2) / 2.0
        moment: Floats = (
            days * first
            + DAY_HOURS * total * days * (days - 1.0) / 2.0
            + inside
            + DAY_HOURS * days * within
        )
        return moment

    def interval_cost(self, board: Ints, start: Floats, stop: Floats) -> Floats:
        """Returns C_i(a, b) = integral from a to b of f_i(t) (b - t) dt = b (F(b) - F(a)) - (S(b) -
        S(a)); eq. (8) of the forum paper.

        These are the weighted event-hours of the events that arrive between two visits, at a and b,
        and wait for the second.
        """
        # shift the interval to the first day, because differences of large integrals lose precision
        shift = np.floor(np.asarray(start, dtype=float) / DAY_HOURS) * DAY_HOURS
        a, b = start - shift, stop - shift
        cost = b * (self.mass(board, b) - self.mass(board, a)) - (
            self.moment(board, b) - self.moment(board, a)
        )
        return np.maximum(cost, 0.0)

    def day_cost(self, board: int, hours: Floats) -> float:
        """Returns how long a board's events wait if it is visited every day at these hours:
        expected weight times hours waited, summed over a day. Without visits: infinite, or 0 for a
        board without events."""
        if not len(hours):
            return float("inf") if self.per_day[board] > 0 else 0.0
        visits = np.sort(np.asarray(hours, dtype=float) % DAY_HOURS)
        following = np.append(visits[1:], visits[0] + DAY_HOURS)
        return float(self.interval_cost(np.full(len(visits), board), visits, following).sum())


def quantiles(density: Floats, board: Ints, share: Floats) -> Floats:
    """Returns the hour of the day by which the share `share` of a board's daily density has passed,
    interpolated within the bin, (m,).

    density: (n, bins), not negative, need not sum to one. board and share, (m,): the row of
    `density` to use and a value in [0, 1), parallel. Bins with density 0 are skipped; a row that is
    0 everywhere counts as constant. This is the corrected step 2 of algorithm BRA of the forum
    paper: c = (h + (share - Q[h]) / sc[h]) K, where h is the bin that contains the quantile, sc[h]
    its share of the density, Q[h] the share before it, and K the hours per bin.
    """
    density = np.where(density.sum(axis=1, keepdims=True) > 0, density, 1.0)
    bins = density.shape[1]
    edges = np.concatenate([np.zeros((len(density), 1)), np.cumsum(density, axis=1)], axis=1)
    target = share * edges[board, -1]
    rows = edges[board]
    slot = np.clip((rows <= target[:, None]).sum(axis=1) - 1, 0, bins - 1)
    index = np.arange(len(board))
    height = density[board, slot]
    empty = height <= 0  # true only if rounding has made the target equal to the row's sum
    inside = np.where(empty, 0.0, (target - rows[index, slot]) / np.where(empty, 1.0, height))
    hours: Floats = (slot + np.clip(inside, 0.0, 1.0)) * (DAY_HOURS / bins)
    return hours
