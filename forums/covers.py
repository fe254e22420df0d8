"""Assigns boards to the rows of overview sources: the board that a row shows, and the boards below
it that have no row but may be counted in its figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forums.events import Bools, Floats, Ints
from forums.overview_values import Source

# A hidden board has no row. If this number of consecutive visits of it found posts that are missing
# in a row's figures, the row is taken not to count it.
APART_AT = 2


class Covers:
    """Tells which boards' posts each row of an overview source (such as a forum's index page) may
    count.

    A row shows the numbers of one board, often including those of sub-boards without a row (hidden
    boards). The arrays have an entry for each pair of a row and a board: in the order of the rows,
    each with its own board, then with its hidden boards. `own` holds the index of each row's first
    pair, `bounds` the same with the number of pairs appended.

    - `as_of`: time (epoch seconds) up to which the row's numbers include the board's posts; nan if
      the row was not shown.
    - `open`: whether the row has shown a change since the board's last visit.
    - `apart`: how many consecutive visits of a hidden board found posts missing; from APART_AT on,
      the row does not count it.
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
        self.board, self.row = (
            np.concatenate(boards).astype(np.int64),
            np.concatenate(rows).astype(np.int64),
        )
        self.bounds = np.searchsorted(self.row, np.arange(first + 1))
        self.own = self.bounds[:-1]
        self.hidden: Bools = np.ones(len(self.board), dtype=bool)
        self.hidden[self.own] = False
        self.as_of = np.full(len(self.board), np.nan)
        self.open: Bools = np.zeros(len(self.board), dtype=bool)
        self.apart = np.zeros(len(self.board), dtype=np.int64)

    MOVING = ("as_of", "open", "apart")

    def of(self, rows: slice) -> slice:
        """Returns the slice of the arrays by pair (row, board) that contains the pairs of the rows
        in the slice `rows`."""
        return slice(int(self.bounds[rows.start]), int(self.bounds[rows.stop]))

    def counted(self) -> Bools:
        """Returns a mask of the pairs (row, board) whose row counts the board's posts in its
        figures, (pairs,)."""
        return self.apart < APART_AT

    def total(self, rows: slice, values: Floats) -> Floats:
        """Returns, for each overview row in the slice `rows`, the sum of `values` ((n,), one per
        board) over the boards whose posts are counted in the row's figures."""
        part = self.of(rows)
        entries = values[self.board[part]] * self.counted()[part]
        return np.asarray(
            np.bincount(self.row[part] - rows.start, entries, rows.stop - rows.start),
            dtype=np.float64,
        )

    def earliest(self, rows: slice, moments: Floats) -> Floats:
        """Returns for each of the rows `rows` the earliest time of the boards that it counts; inf
        for a row that counts none. moments: (n,), a time for each board."""
        part = self.of(rows)
        found = np.full(rows.stop - rows.start, np.inf)
        np.minimum.at(
            found,
            self.row[part] - rows.start,
            np.where(self.counted(), moments[self.board], np.inf)[part],
        )
        return found

    def shares(self, pairs: Ints, values: Floats) -> Floats:
        """Returns, for each of these pairs (row of a source, board), the board's estimated share in
        [0, 1] of the row's posts.

        values: (n,), one per board. The shares of a row's given pairs sum to 1, in proportion to
        the values, or equal if these are all 0.
        """
        found = values[self.board[pairs]]
        sums = np.bincount(self.row[pairs], found, len(self.own))[self.row[pairs]]
        alike = np.bincount(self.row[pairs], minlength=len(self.own))[self.row[pairs]]
        return np.divide(found, sums, out=1.0 / alike, where=sums > 0)

    def other_candidates(self, pair: int) -> Ints:
        """Returns the other (row, board) pairs in the row of `pair` whose boards were not visited
        since the row showed new posts, and may therefore have these posts."""
        row = self.row[pair]
        mates = np.arange(self.bounds[row], self.bounds[row + 1])
        elsewhere: Ints = mates[self.open[mates] & self.counted()[mates] & (mates != pair)]
        return elsewhere

    def recount_hidden(self, row: int) -> bool:
        """Assumes again that a row's figures include the posts of all its hidden boards (see the
        class). Called if visits of the boards included so far found fewer posts than the row
        showed.

        Returns True if some hidden board was assumed not to be included; its posts may then explain
        the difference.
        """
        mates = slice(int(self.bounds[row]), int(self.bounds[row + 1]))
        found = bool((self.apart[mates] >= APART_AT).any())
        self.apart[mates] = np.minimum(self.apart[mates], APART_AT - 1)
        return found
