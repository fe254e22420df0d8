"""Inputs and outputs of the closed loop: its constants, the overview sources it may read, and its decisions with their
reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from forums.events import Floats, Ints
from forums.forecast import ForecastOptions
from forums.overview_values import Source


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """Constants of the closed loop, tuned on public logs.

    band: share of the day's visits by which the loop may be ahead of or behind its plan; it shrinks to 0 over the last
    `closing_hours` of the day. steer: how strongly the price rises when more visits were made than planned; index_steer: the
    steer of a loop that reads index pages. price_step: share by which each visit moves the price towards its value. tick_seconds:
    time between two rankings; the last one before midnight uses the rest of the day's visits. eta: value of reading an index
    page, as a share of the forecast weighted event-hours that it reveals. longest_wait_hours: a board is visited after so long
    even if overview sources showed nothing new.
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
class Looks:
    """The overview sources that a loop may read, and the weights of a new thread and of a reply on each of its n boards, (n,)
    each."""

    sources: Sequence[Source]
    new_weight: Floats
    reply_weight: Floats


class Choice(NamedTuple):
    """The result of a ranking: the numbers of the boards to visit, most urgent first, and of the source to read after them (-1:
    none)."""

    boards: Ints
    source: int


class Reason(NamedTuple):
    """The figures behind a board's rank. waiting: weighted events expected to wait; known: those of them that overview sources
    have reported; usual_per_hour: weighted events per hour usual at this time of day; rank: the board's index, and price: the
    index above which a visit is made, both in weighted event-hours."""

    waiting: float
    hours_since_visit: float
    usual_per_hour: float
    rank: float
    price: float
    known: float = 0.0


class Outlook(NamedTuple):
    """The visits to come as forecast, in the order of time. Parallel, one entry per visit: board number, epoch seconds, and the
    weighted events and weighted event-hours that the visit is expected to find."""

    board: Ints
    moments: Floats
    events: Floats
    delay: Floats
