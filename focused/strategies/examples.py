"""Training examples of the strategy `adaptive` (the features that fetched links had when they were
chosen), with the sums that scaling and regression need.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Rows = NDArray[np.intp]


class Examples:
    """Stores training examples: for each fetched link a row of `width` features, and the number of
    the page that it led to. Only the newest `window` examples are used.

    The sums needed for scaling and fitting are updated only by the rows added and removed since
    they were last used, so that the cost does not grow with the length of the crawl.
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
        self._summed = range(0)
        """Range of the rows that the stored sums cover."""

    def __len__(self) -> int:
        return min(self._end, self._window)

    @property
    def rows(self) -> Vector:
        """The features of the newest `window` examples, as a matrix with a row for each, oldest
        first."""
        return self._rows[self._end - len(self) : self._end]

    @property
    def pages(self) -> Rows:
        """For each row of `rows`, the number of the page that the link led to."""
        return self._pages[self._end - len(self) : self._end]

    def add(self, row: Vector, page: int) -> None:
        """Adds an example: the features of a link (`row`), and the number of the page it led to.
        From then on only the newest `window` examples count.
        """
        if self._end == len(self._rows):
            self._rows[: self._window], self._pages[: self._window] = (
                self.rows.copy(),
                self.pages.copy(),
            )
            self._end = self._window
            self._clear()
        self._rows[self._end], self._pages[self._end] = row, page
        self._end += 1

    def _sum_up(self) -> None:
        """Updates the sums over the examples by those added and dropped since the last call."""
        now, before = range(self._end - len(self), self._end), self._summed
        if now.start >= before.stop:
            self._clear()
            before = range(now.start, now.start)
        new, old = self._rows[before.stop : now.stop], self._rows[before.start : now.start]
        self._sum += new.sum(axis=0)
        self._products += new.T @ new
        if len(old):
            self._sum -= old.sum(axis=0)
            self._products -= old.T @ old
        self._summed = now

    def scale(self, mean: Vector, spread: Vector, weight: float) -> tuple[Vector, Vector]:
        """Returns the mean and the standard deviation of each feature (two arrays) over the
        examples and `weight` imaginary further examples with the given mean and standard deviation
        (`spread`).
        """
        if not len(self):
            return mean, spread
        self._sum_up()
        whole = len(self) + weight
        own = (self._sum + weight * mean) / whole
        squares = np.diagonal(self._products) - 2 * own * self._sum + len(self) * own**2
        squares = np.maximum(squares, 0.0) + weight * (spread**2 + (mean - own) ** 2)
        return own, np.sqrt(squares / whole) + 1e-9

    def ridge(
        self,
        mean: Vector,
        spread: Vector,
        goals: Callable[[Rows], Vector],
        centre: Vector,
        trust: float,
    ) -> Vector:
        """Returns the weights w of a ridge regression, w = (X'X + trust I)^-1 (X'G + trust centre),
        an array indexed by feature. The rows of X are the examples, minus `mean` and divided by
        `spread`. G are the values to predict: what `goals` returns for the page numbers of the
        examples, minus their mean. The greater `trust`, the nearer w stays to the weights `centre`.
        """
        self._sum_up()
        wanted = goals(self.pages)
        wanted = wanted - wanted.mean()
        crossed = np.outer(self._sum, mean)
        square = (
            self._products - crossed - crossed.T + len(self) * np.outer(mean, mean)
        ) / np.outer(spread, spread)
        square[np.diag_indices(len(mean))] += trust
        found: Vector = np.linalg.solve(square, self.rows.T @ wanted / spread + trust * centre)
        return found
