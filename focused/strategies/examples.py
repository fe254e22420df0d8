"""What a run has learned from: the fetched links' features as they stood at the choice, with the sums that a regression needs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Rows = NDArray[np.intp]


class Examples:
    """Rows of features, each with the number of the page that it led to; of the newest `window` the sums are kept.

    Sums grow row by row, so that scaling and fitting cost the same after a hundred pages as after a hundred thousand.
    """

    def __init__(self, width: int, window: int) -> None:
        self._window = window
        self._rows = np.zeros((2 * window, width))
        self._pages = np.zeros(2 * window, dtype=np.intp)
        self._end = 0
        self._clear()

    def _clear(self) -> None:
        width = self._rows.shape[1]
        self._sum = np.zeros(width)
        self._products = np.zeros((width, width))

    def __len__(self) -> int:
        return min(self._end, self._window)

    @property
    def rows(self) -> Vector:
        """The newest rows."""
        return self._rows[self._end - len(self) : self._end]

    @property
    def pages(self) -> Rows:
        """The pages that they led to."""
        return self._pages[self._end - len(self) : self._end]

    def add(self, row: Vector, page: int) -> None:
        """One more; the oldest leaves where the window is full."""
        if self._end == len(self._rows):
            self._rows[: self._window], self._pages[: self._window] = self.rows.copy(), self.pages.copy()
            self._end = self._window
            self._clear()
            self._sum += self.rows.sum(axis=0)
            self._products += self.rows.T @ self.rows
        if self._end >= self._window:
            old = self._rows[self._end - self._window]
            self._sum -= old
            self._products -= np.outer(old, old)
        self._rows[self._end], self._pages[self._end] = row, page
        self._end += 1
        self._sum += row
        self._products += np.outer(row, row)

    def scale(self, mean: Vector, spread: Vector, weight: float) -> tuple[Vector, Vector]:
        """Mean and spread of the rows, with `weight` further rows that have those given."""
        if not len(self):
            return mean, spread
        whole = len(self) + weight
        own = (self._sum + weight * mean) / whole
        squares = np.diagonal(self._products) - 2 * own * self._sum + len(self) * own**2
        squares = np.maximum(squares, 0.0) + weight * (spread**2 + (mean - own) ** 2)
        return own, np.sqrt(squares / whole) + 1e-9

    def ridge(self, mean: Vector, spread: Vector, goals: Callable[[Rows], Vector], centre: Vector, trust: float) -> Vector:
        """w = (X'X + trust I)^-1 (X'G + trust centre), X the rows scaled, G their pages' goals less the mean of those."""
        wanted = goals(self.pages)
        wanted = wanted - wanted.mean()
        crossed = np.outer(self._sum, mean)
        square = (self._products - crossed - crossed.T + len(self) * np.outer(mean, mean)) / np.outer(spread, spread)
        square[np.diag_indices(len(mean))] += trust
        found: Vector = np.linalg.solve(square, self.rows.T @ wanted / spread + trust * centre)
        return found
