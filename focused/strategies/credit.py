"""The credit of fetched pages: a page's own reward, plus a share of the mean credit of the pages
that were fetched through its links. Training examples of
the strategy `adaptive` are kept here too: the features that fetched links had, and their credit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class Credit:
    """Computes the credit of pages, G = y + share * mean(G of the pages fetched through the page's
    links), where y is the page's reward. Pages are numbered from 0 in the order of arrival, so that
    a page has a greater number than the one it was fetched from.
    """

    def __init__(self) -> None:
        self._own: list[float] = []
        self._whole = np.zeros(256)
        self._parents: list[int] = []
        self._sums: list[float] = []
        self._counts: list[int] = []

    def add(self, reward: float, parent: int, share: float) -> None:
        """Adds a page with this `reward` that was fetched from page `parent` (-1: none), and
        updates the credit of the pages on the path to it. `share`: weight of the mean credit of the
        pages that a page's links led to.
        """
        page = len(self._own)
        if page == len(self._whole):
            self._whole = np.concatenate([self._whole, np.zeros(page)])
        self._whole[page] = reward
        self._own.append(reward)
        self._sums.append(0.0)
        self._parents.append(parent)
        self._counts.append(0)
        gain = reward
        first = True
        while parent >= 0 and (first or gain):
            self._counts[parent] += first
            self._sums[parent] += gain
            before = float(self._whole[parent])
            self._whole[parent] = whole = (
                self._own[parent] + share * self._sums[parent] / self._counts[parent]
            )
            gain, first = whole - before, False
            parent = self._parents[parent]

    def revise(self, reward: Vector, share: float) -> None:
        """Replaces the rewards of all pages by `reward`, indexed by page number, and computes the
        credit of all pages again; `share` is the factor in the formula of the class."""
        self._own = reward.tolist()
        whole = list(self._own)
        self._sums = [0.0] * len(self._own)
        for page in range(len(self._own) - 1, -1, -1):
            if self._counts[page]:
                whole[page] += share * self._sums[page] / self._counts[page]
            if self._parents[page] >= 0:
                self._sums[self._parents[page]] += whole[page]
        self._whole[: len(whole)] = whole

    def of(self, pages: NDArray[np.intp]) -> Vector:
        """Returns the credit of the pages with the numbers `pages`, in the same order: their own
        reward plus a share of the mean credit of the pages fetched through their links."""
        return self._whole[pages]


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
