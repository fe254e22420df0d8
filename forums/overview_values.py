"""Values exchanged with `forums/overview.py`: overview sources, the figures that a reading of one
showed, and the events derived from the figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from forums.bounds import FIRST_DOUBT
from forums.events import Floats, Ints

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
