"""Inputs and outputs of the closed loop: options, sources, choices, reasons, outlooks."""

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

    band: share of the day's visits by which the loop may be ahead of or behind its plan; it shrinks over the last
    `closing_hours`. steer: how strongly the price follows the spending; index_steer: the same for a loop that reads index pages.
    price_step: how fast the price changes. tick_seconds: time between two rankings; the last one before midnight uses the rest of
    the day's visits. eta: value of reading an index page, as a share of the forecast event-hours that it reveals.
    longest_wait_hours: a board is visited after so long even if overview sources showed nothing new.
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
    """The overview sources of a loop's boards, and the weights of a new thread and a reply on each board, (n,)."""

    sources: Sequence[Source]
    new_weight: Floats
    reply_weight: Floats


class Choice(NamedTuple):
    """The result of a ranking: boards to visit, most urgent first, and the source to read after them (-1: none)."""

    boards: Ints
    source: int


class Reason(NamedTuple):
    """The reason for a board's rank in numbers: expected and known waiting events (weighted), hours since its last visit, its
    mean events per hour at this time of day, its index (`rank`) and the price of a visit (both in weighted event-hours),
    and the events known from overview sources (`known`, a part of `waiting`)."""

    waiting: float
    hours_since_visit: float
    usual_per_hour: float
    rank: float
    price: float
    known: float = 0.0


class Outlook(NamedTuple):
    """The coming visits in the order of time, as forecast: board, epoch seconds, expected weighted events and weighted
    event-hours of each."""

    board: Ints
    moments: Floats
    events: Floats
    delay: Floats
