"""What the closed loop is given and what it answers: options, sources, choices, reasons, outlooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from forums.events import Floats, Ints
from forums.forecast import ForecastOptions
from forums.overview_values import Source


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """Constants of the closed loop; tuned on public logs.

    band: share of the day's visits by which the loop may run ahead of or behind its plan; shrinks over the last
    `closing_hours`. steer: how hard the price follows the use. price_step: how fast the price moves. tick_seconds: time
    between two rankings; at the last one before midnight the rest of the day's visits is used. eta: worth of a look at an
    index page in shares of the forecast event-hours that it tells of. longest_wait_hours: a board that looks have spared for
    so long is visited.
    """

    forecast: ForecastOptions = ForecastOptions()
    band: float = 0.4
    closing_hours: float = 4.0
    steer: float = 4.0
    price_step: float = 0.02
    tick_seconds: float = 180.0
    eta: float = 0.6
    longest_wait_hours: float = 72.0


@dataclass(frozen=True, slots=True)
class Looks:
    """The overview sources of a loop's boards, and what a new thread and a reply weigh on each board, (n,)."""

    sources: Sequence[Source]
    new_weight: Floats
    reply_weight: Floats


class Choice(NamedTuple):
    """What a ranking chose: boards to visit, most urgent first, and the source to read after them (-1: none)."""

    boards: Ints
    source: int


class Reason(NamedTuple):
    """A board's rank in numbers: expected and known waiting events (weighted), hours since its last visit, its usual events
    an hour at this time of day, its index (`rank`) and the price of a visit (both weighted event-hours), events that looks
    have told (`known`, a part of `waiting`).
    """

    waiting: float
    hours_since_visit: float
    usual_per_hour: float
    rank: float
    price: float
    known: float = 0.0


class Outlook(NamedTuple):
    """Visits to come in their order: board, epoch seconds, expected weighted events and weighted event-hours of each."""

    board: Ints
    moments: Floats
    events: Floats
    delay: Floats
