"""Inputs and outputs of the adaptive policy (`forums/schedule/adaptive.py:AdaptiveLoop`), and the
assignment of boards to the rows of overview sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from forums.schedule.bounds import FIRST_DOUBT
from forums.schedule.events import Bools, Floats, Ints
from forums.schedule.forecast import ForecastOptions

# a source's figures of a board are ignored from this number of contradictions to visits; agreement
# halves it
DOUBTED_AT = 2


# a source is ignored after this number of successive contradictions by visits of any of its boards
SOURCE_DOUBTED_AT = 3


MAX_WRONG = 8


# posts missing in a source are no contradiction if they are explained by a lag of at most this
LONGEST_LAG_HOURS = 1.0


PROBE_DAYS, LONGEST_PROBE_DAYS = 2.0, 8.0


MIN_DOUBT = 0.02  # smallest `doubt` of a source (see `Overview.doubts`)


# an event's mean weight, relative to a new thread's, assumed if a page only shows that something is
# new
FLAG_WEIGHT = 0.65


FINENESS_SECONDS = 60.0  # precision of the times that pages show


# Maximum number of events that one reading of a board adds to the forecast. Each reported post is
# one event; of more posts, the total weight is divided among this number of events.
MAX_EVENTS = 500


def _nothing() -> Ints:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Source:
    """An overview source as the adaptive policy uses it: a page with one row for each of the boards
    `boards` (board numbers).

    newest: the page names the changed threads, so that reading it replaces visits of its boards.
    cost: what a reading is charged, in visits. doubt (share in [0, 1], see `Overview.doubts`) and
    lag_hours (how late its figures are): initial values, learned earlier.

    hidden: numbers of boards without a row, whose posts may be counted in the row of a board above
    them; row: for each of these, the index in `boards` of the board above.
    """

    boards: Ints
    newest: bool = False
    cost: int = 1
    doubt: float = FIRST_DOUBT
    lag_hours: float = 0.0
    hidden: Ints = field(default_factory=_nothing)
    row: Ints = field(default_factory=_nothing)


class Figures(NamedTuple):
    """The figures that one reading of a source showed. Parallel arrays, one entry for each of its
    rows: total threads, total posts, time of the last post (epoch seconds); nan if not shown. Posts
    may or may not include first posts, but always the same way."""

    threads: Floats
    posts: Floats
    last_post: Floats


class ReportedEvents(NamedTuple):
    """Events derived from the figures of an overview page. board, times (epoch seconds) and weights
    have one entry per event. boards: the boards that the page showed; until: for each of them, the
    time (epoch seconds) up to which no post is missing.
    """

    boards: Ints
    until: Floats
    board: Ints
    times: Floats
    weights: Floats


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """Constants of the adaptive policy, tuned on public logs.

    - band: share of the day's visits by which the loop may deviate from its plan; shrinks to 0 over
      the last `closing_hours`.
    - steer: how strongly visits beyond the plan raise the price of a visit; index_steer: the same
      if index pages are read.
    - price_step: a visit moves the price towards its value (the board's index) by price_step / n of
      the difference. n: number of boards (those of one newest list count as one).
    - tick_seconds: time between two rankings (decisions); the last one before midnight uses the
      rest of the day's visits.
    - eta: value of reading an index page, as a share of the forecast weighted event-hours of the
      boards it shows.
    - longest_wait_hours: a board is visited after so many hours even if overview sources showed
      nothing new.
    """

    forecast: ForecastOptions = ForecastOptions()
    band: float = 0.4
    closing_hours: float = 4.0
    steer: float = 4.0
    index_steer: float = 8.0
    price_step: float = 0.02
    tick_seconds: float = 180.0
    eta: float = 0.6
    longest_wait_hours: float = 72.0


@dataclass(frozen=True, slots=True)
class LoopSources:
    """The overview sources that the adaptive policy may read, and the weights of a new thread and
    of a reply on each of its n boards, (n,) each."""

    sources: Sequence[Source]
    new_weight: Floats
    reply_weight: Floats


class Choice(NamedTuple):
    """The decision of one ranking: the numbers of the boards to visit, most urgent first, and the
    number of the overview source to read (-1: none)."""

    boards: Ints
    source: int


class Reason(NamedTuple):
    """The figures that determine a board's rank.

    waiting: weighted events expected to wait to be fetched. known: those of them that overview
    sources have reported. usual_per_hour: weighted events per hour usual at this time of day. rank:
    the board's index; price: the index above which a visit is made, both in weighted event-hours.
    """

    waiting: float
    hours_since_visit: float
    usual_per_hour: float
    rank: float
    price: float
    known: float = 0.0


class Outlook(NamedTuple):
    """Forecast visits in order of time. Parallel arrays, one entry per visit: `board` (board
    number), `moments` (epoch seconds), and the weighted events (`events`) and weighted event-hours
    (`delay`) that the visit is expected to find.
    """

    board: Ints
    moments: Floats
    events: Floats
    delay: Floats


@dataclass(slots=True)
class SourceChoice:
    """A source to read in this ranking (source -1: none). gain: weighted event-hours gained per
    visit charged. cost: visits charged. probe: whether it is a test reading of a source that is not
    trusted. gain_by_board: for each board number that the source covers, the part of `gain` that
    comes from this board."""

    source: int = -1
    gain: float = 0.0
    cost: int = 1
    probe: bool = False
    gain_by_board: Mapping[int, float] | None = None

    def comes_before(self, board: int, rank: float) -> bool:
        """Tells whether the source shows `board` and reading the source gains at least `rank`, the
        priority of a visit to it."""
        return (
            self.source >= 0
            and self.gain >= rank
            and self.gain_by_board is not None
            and board in self.gain_by_board
        )

    def without(self, board: int) -> None:
        """Subtracts from the gain of reading the source what it gains for this board, because the
        board itself is visited."""
        if self.gain_by_board is not None:
            self.gain -= self.gain_by_board.get(board, 0.0)


def largest(values: Floats, count: int) -> Ints:
    """Returns the positions of the `count` largest values, largest first; of equal values the lower
    position first."""
    count = min(count, len(values))
    if count <= 0:
        return np.zeros(0, dtype=np.int64)
    if count < len(values) // 4:
        part = np.sort(np.argpartition(-values, count - 1)[:count])
        return np.asarray(part[np.argsort(-values[part], kind="stable")])
    return np.argsort(-values, kind="stable")[:count]


# A hidden board has no row. If this number of consecutive visits of it found posts that are missing
# in a row's figures, the row is taken not to count it.
APART_AT = 2


class RowCoverage:
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
