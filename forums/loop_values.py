"""Inputs and outputs of the adaptive policy (`forums/adaptive.py:AdaptiveLoop`): its constants, the
overview sources it may read, and its decisions with the figures behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from forums.events import Floats, Ints
from forums.forecast import ForecastOptions
from forums.overview_values import Source


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
    trusted. parts: for each board number that the source covers, the part of `gain` that comes from
    this board."""

    source: int = -1
    gain: float = 0.0
    cost: int = 1
    probe: bool = False
    parts: Mapping[int, float] | None = None

    def comes_before(self, board: int, rank: float) -> bool:
        """Tells whether the source shows `board` and reading the source gains at least `rank`, the
        priority of a visit to it."""
        return (
            self.source >= 0
            and self.gain >= rank
            and self.parts is not None
            and board in self.parts
        )

    def without(self, board: int) -> None:
        """Subtracts from the gain of reading the source what it gains for this board, because the
        board itself is visited."""
        if self.parts is not None:
            self.gain -= self.parts.get(board, 0.0)


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
