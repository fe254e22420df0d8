"""Which boards the rows of overview sources tell about: each row's own board, and boards below it that have no row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forums.events import Bools, Floats, Ints
from forums.overview_values import Source

APART_AT = 2  # visits that found what a row had not counted after which it is taken not to count that board


class Covers:
    """Pairs of row and board, those of a row together, its own board first.

    An index often shows a board's figures with those of the boards below it, which then have no row. What such a row tells has
    come on one of them. `as_of` (epoch seconds): the moment up to which each board's posts are in the row's figures, nan where
    it shows none. `open`: not visited since the row told something. `apart`: visits running that found posts of a hidden board
    which the row had not counted; a row whose own board brings less than it told counts them again.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        boards, rows, first = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], 0
        for source in sources:
            own = np.arange(len(source.boards))
            row = np.concatenate([own, source.row])
            order = np.argsort(row, kind="stable")
            boards.append(np.concatenate([source.boards, source.hidden])[order])
            rows.append(row[order] + first)
            first += len(own)
        self.board, self.row = np.concatenate(boards).astype(np.int64), np.concatenate(rows).astype(np.int64)
        self.bounds = np.searchsorted(self.row, np.arange(first + 1))
        self.own = self.bounds[:-1]
        self.hidden: Bools = np.ones(len(self.board), dtype=bool)
        self.hidden[self.own] = False
        self.as_of = np.full(len(self.board), np.nan)
        self.open: Bools = np.zeros(len(self.board), dtype=bool)
        self.apart = np.zeros(len(self.board), dtype=np.int64)

    MOVING = ("as_of", "open", "apart")

    def of(self, rows: slice) -> slice:
        """The pairs of these rows."""
        return slice(int(self.bounds[rows.start]), int(self.bounds[rows.stop]))

    def counted(self) -> Bools:
        """Pairs of which the row's figures tell, (pairs,)."""
        return self.apart < APART_AT

    def total(self, rows: slice, values: Floats) -> Floats:
        """The sum of the values of boards, (n,), over each of these rows."""
        part = self.of(rows)
        return np.bincount(self.row[part] - rows.start, values[self.board[part]] * self.counted()[part], rows.stop - rows.start)

    def earliest(self, rows: slice, moments: Floats) -> Floats:
        """The earliest of the boards' moments, (n,), of each of these rows."""
        part = self.of(rows)
        found = np.full(rows.stop - rows.start, np.inf)
        np.minimum.at(found, self.row[part] - rows.start, np.where(self.counted(), moments[self.board], np.inf)[part])
        return found

    def shares(self, pairs: Ints, values: Floats) -> Floats:
        """The part of each of these pairs in what its row tells: as their boards' values, (n,); all of it where it is alone."""
        found = values[self.board[pairs]]
        sums = np.bincount(self.row[pairs], found, len(self.own))[self.row[pairs]]
        alike = np.bincount(self.row[pairs], minlength=len(self.own))[self.row[pairs]]
        return np.divide(found, sums, out=1.0 / alike, where=sums > 0)

    def waits_elsewhere(self, pair: int) -> Ints:
        """The other pairs of its row on which what the row told may wait, not visited since."""
        row = self.row[pair]
        mates = np.arange(self.bounds[row], self.bounds[row + 1])
        return mates[self.open[mates] & self.counted()[mates] & (mates != pair)]

    def take_in(self, row: int) -> bool:
        """A row that told more than its boards brought counts hidden boards too that were set apart; whether there were any."""
        mates = slice(int(self.bounds[row]), int(self.bounds[row + 1]))
        found = bool((self.apart[mates] >= APART_AT).any())
        self.apart[mates] = np.minimum(self.apart[mates], APART_AT - 1)
        return found
