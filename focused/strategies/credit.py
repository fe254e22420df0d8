"""What pages earn by themselves and by what was fetched from them: the reward that flows back along the way of a crawl."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class Credit:
    """G = y + share * mean(G of the pages fetched from it), for pages by number, each after the one it was fetched from."""

    def __init__(self) -> None:
        self._own: list[float] = []
        self._whole: list[float] = []
        self._parents: list[int] = []
        self._sums: list[float] = []
        self._counts: list[int] = []

    def add(self, worth: float, parent: int, share: float) -> None:
        """A page was fetched from another (-1: none); those that it was reached over gain or lose by it."""
        for column, value in ((self._own, worth), (self._whole, worth), (self._sums, 0.0)):
            column.append(value)
        self._parents.append(parent)
        self._counts.append(0)
        gain = worth
        first = True
        while parent >= 0 and (first or gain):
            self._counts[parent] += first
            self._sums[parent] += gain
            before = self._whole[parent]
            self._whole[parent] = self._own[parent] + share * self._sums[parent] / self._counts[parent]
            gain, first = self._whole[parent] - before, False
            parent = self._parents[parent]

    def revise(self, worth: Vector, share: float) -> None:
        """Another worth for every page."""
        self._own = worth.tolist()
        self._whole = list(self._own)
        self._sums = [0.0] * len(self._own)
        for page in range(len(self._own) - 1, -1, -1):
            if self._counts[page]:
                self._whole[page] += share * self._sums[page] / self._counts[page]
            if self._parents[page] >= 0:
                self._sums[self._parents[page]] += self._whole[page]

    def of(self, pages: Sequence[int]) -> Vector:
        """G of pages."""
        return np.array([self._whole[page] for page in pages])
