"""Values used by readings of overview sources (looks): the sources, the figures that they showed, and the events derived from the
figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from forums.bounds import FIRST_DOUBT
from forums.events import Floats, Ints

LEAST_DOUBT = 0.02  # least `doubt` of a source: the share of the index without sources that a covered board keeps at least
FLAG_WEIGHT = 0.65  # mean weight of an event where a page only shows that there is something new
FINENESS_SECONDS = 60.0  # precision of the times that pages show
MOST_TOLD = 500  # most events of one board into which the posts reported by one look are divided


def _nothing() -> Ints:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Source:
    """An overview source of the loop: a page that shows the boards `boards` (numbers), one row each. newest: it names the changed
    threads, so that reading it replaces visits of its boards. cost: what a reading is charged, in visits. doubt (share in [0, 1])
    and lag_hours (by which its figures are late): as learned before.

    hidden: boards without a row, parallel to `row`: the position in `boards` of the board above, whose row may count their posts.
    """

    boards: Ints
    newest: bool = False
    cost: int = 1
    doubt: float = FIRST_DOUBT
    lag_hours: float = 0.0
    hidden: Ints = field(default_factory=_nothing)
    row: Ints = field(default_factory=_nothing)


class Sight(NamedTuple):
    """The figures that one reading of a source showed, parallel, one entry for each of its rows: total threads, total posts, time
    of the last post (epoch seconds); nan if not shown. posts: with or without first posts, but always the same way."""

    threads: Floats
    posts: Floats
    last_post: Floats


class Told(NamedTuple):
    """Events derived from a look: board, times (epoch seconds) and weights have one entry per event; `boards` are now known up to
    `until`, one entry per board."""

    boards: Ints
    until: Floats
    board: Ints
    times: Floats
    weights: Floats
