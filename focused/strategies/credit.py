"""The credit of fetched pages: a page's own reward, plus a share of the mean credit of the pages
that were fetched through its links.
"""

from __future__ import annotations

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
