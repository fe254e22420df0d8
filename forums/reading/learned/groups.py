"""Sums, means and spreads over groups of items, computed for all groups at once. An array of group
numbers, one per item, defines the groups."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np


def numbered(keys: Sequence[Hashable]) -> np.ndarray:
    """Returns a number for each key, equal for equal keys, counted from 0 in the order of first
    occurrence."""
    numbers: dict[Hashable, int] = {}
    return np.asarray([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


class Groups:
    """Items ("members") that are divided into groups of one or more. `numbers` holds each member's
    group, from 0 and without gaps.

    `sizes`, `firsts` and `lasts` hold each group's size and its first and last member. `order` are
    the members sorted by group; `starts` are the positions in `order` at which the groups begin.
    `before` and `after` are parallel arrays of all pairs of members that follow each other within a
    group; `of_pairs` holds the group of each pair.
    """

    def __init__(self, numbers: np.ndarray) -> None:
        self.numbers = numbers
        self.order = np.argsort(numbers, kind="stable")
        self.sorted = numbers[self.order]
        self.starts = np.flatnonzero(np.concatenate([[True], self.sorted[1:] != self.sorted[:-1]]))
        self.sizes = np.diff(np.concatenate([self.starts, [len(numbers)]]))
        self.firsts = self.order[self.starts]
        self.lasts = self.order[self.starts + self.sizes - 1]
        pairs = self.sorted[1:] == self.sorted[:-1]
        self.before, self.after, self.of_pairs = (
            self.order[:-1][pairs],
            self.order[1:][pairs],
            self.sorted[1:][pairs],
        )

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Returns the sum of the members' values in each group. values: (members,) or (members,
        columns); result: (groups,) or (groups, columns)."""
        made: np.ndarray = np.add.reduceat(
            values[self.order].astype(np.float64), self.starts, axis=0
        )
        return made

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Returns the mean of the members' values in each group, with shapes as for `sum`."""
        found = self.sum(values)
        made: np.ndarray = found / (self.sizes[:, None] if found.ndim > 1 else self.sizes)
        return made

    def max(self, values: np.ndarray) -> np.ndarray:
        """Returns the highest of the members' values in each group."""
        made: np.ndarray = np.maximum.reduceat(values[self.order], self.starts)
        return made

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Returns for each group the standard deviation of its members' values divided by their
        mean, or by 1 if the mean is less than 1."""
        mean = self.mean(values)
        made: np.ndarray = np.sqrt(self.mean((values - mean[self.numbers]) ** 2)) / np.maximum(
            1.0, mean
        )
        return made

    def distinct(self, values: np.ndarray) -> np.ndarray:
        """Returns the number of different values in each group. values: an integer of at least 0
        for each member."""
        width = int(values.max()) + 1 if len(values) else 1
        return np.bincount(
            np.unique(self.numbers * width + values) // width, minlength=len(self.sizes)
        )

    def of_neighbours(self, values: np.ndarray) -> np.ndarray:
        """Returns the mean of `values` in each group; 0 for groups of one member. values: one entry
        for each pair of consecutive members of a group, in the order of the arrays `before` and
        `after`."""
        found = np.bincount(self.of_pairs, weights=values, minlength=len(self.sizes))
        made: np.ndarray = found / np.maximum(1, self.sizes - 1)
        return made

    def steadiness(self, places: np.ndarray) -> np.ndarray:
        """Returns for each group the standard deviation of the distances between neighbours,
        divided by their mean (0: evenly spaced); 1 for groups of fewer than three. places: each
        member's position on the page, such as its node number.
        """
        steps = (places[self.after] - places[self.before]).astype(np.float64)
        mean = self.of_neighbours(steps)
        spread = np.sqrt(self.of_neighbours((steps - mean[self.of_pairs]) ** 2)) / np.maximum(
            1.0, mean
        )
        made: np.ndarray = np.where(self.sizes > 2, spread, 1.0)
        return made
