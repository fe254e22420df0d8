"""Values used by looks (readings of overview sources): the sources, the figures that they showed, and the events derived from
these."""

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
    """A page that covers `boards`. newest: it names the changed threads, so that reading it is a visit of its boards. cost:
    visits of the budget that a reading is charged. doubt, lag_hours: learned before.

    hidden: boards that it does not show, each below the board of a row (`row`, an index into `boards`) that may count its posts.
    """

    boards: Ints
    newest: bool = False
    cost: int = 1
    doubt: float = FIRST_DOUBT
    lag_hours: float = 0.0
    hidden: Ints = field(default_factory=_nothing)
    row: Ints = field(default_factory=_nothing)


class Sight(NamedTuple):
    """The figures that a source showed, one entry per row, in its order: total threads and posts, time of the last post (epoch
    seconds); nan if not shown. posts: with or without first posts, consistently."""

    threads: Floats
    posts: Floats
    last_post: Floats


class Told(NamedTuple):
    """Events derived from a look, one entry per event: board, epoch seconds, weight; `boards` are known up to `until`."""

    boards: Ints
    until: Floats
    board: Ints
    times: Floats
    weights: Floats
