"""What looks are made of: sources, what they showed, what that tells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from forums.events import Floats, Ints

FIRST_DOUBT, LEAST_DOUBT = 0.3, 0.02  # share of its own forecast that counts in a board's index


def _nothing() -> Ints:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Source:
    """A page that tells about `boards`. newest: it names the changed threads, so that reading it is a visit of its boards.
    cost: visits of the budget that reading it is charged as. doubt, lag_hours: what was learned of it before.

    hidden: boards that it does not show, each below the board of the row (`row`, a place in `boards`) that may count its posts.
    """

    boards: Ints
    newest: bool = False
    cost: int = 1
    doubt: float = FIRST_DOUBT
    lag_hours: float = 0.0
    hidden: Ints = field(default_factory=_nothing)
    row: Ints = field(default_factory=_nothing)


class Sight(NamedTuple):
    """What a source showed, one entry a row of it, in its order: threads and posts in all, time of the last post (epoch
    seconds); nan where it shows none. posts: openers counted too, or left out, always in the same way."""

    threads: Floats
    posts: Floats
    last_post: Floats


class Told(NamedTuple):
    """Events that a look has told, one entry an event: board, epoch seconds, weight; `boards` are known up to `until`."""

    boards: Ints
    until: Floats
    board: Ints
    times: Floats
    weights: Floats
