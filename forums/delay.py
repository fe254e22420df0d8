"""Delays by eq. (1) to (4) of the forum paper: how long each new thread and reply waits for the
visit that finds it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forums.events import DAY_SECONDS, Bools, Floats, Ints
from forums.law import total_delay, waited_hours


@dataclass(frozen=True, slots=True)
class Delays:
    """Waiting time of each event in hours, and whether a visit found it; an event without a visit
    until the horizon (`found` false) waited until the horizon."""

    hours: Floats
    found: Bools


def event_delays(
    board: Ints, times: Floats, visit_board: Ints, visit_times: Floats, horizon: float
) -> Delays:
    """Returns how long each event waited, in hours: D = c - t, c: its board's first visit at or
    after t. Eq. (1), (2) of the forum paper.

    board, times: one entry per event; visit_board, visit_times: one entry per visit, in any order.
    Times are in seconds on one clock. An event that no visit finds waits until `horizon`.
    """
    hours = waited_hours(np.asarray(times, dtype=float), horizon)
    found = np.zeros(len(times), dtype=bool)
    if len(times) and len(visit_times):
        order = np.lexsort((visit_times, visit_board))
        owners, moments = visit_board[order], visit_times[order]
        origin = min(float(np.min(times)), float(moments.min()))
        span = max(float(np.max(times)), float(moments.max())) - origin + 1.0
        keys = owners * span + (moments - origin)
        place = np.searchsorted(keys, board * span + (times - origin), side="left")
        inside = np.minimum(place, len(keys) - 1)
        found = (place < len(keys)) & (owners[inside] == board)
        hours = np.where(found, waited_hours(times, moments[inside]), hours)
    return Delays(hours, found)


@dataclass(frozen=True, slots=True)
class DelaySummary:
    """Delays of many events together.

    `total_per_day`: eq. (4) divided by the days, weighted event-hours a day. `mean_hours`: the
    total delay divided by the sum of the weights. `median_hours`, `p90_hours` and
    `share_within_target` count every event once; the share, in [0, 1], is that of the events found
    within the target. `not_found`: events that no visit found, counted as waiting until the
    horizon. Without events the total is 0 and the other figures are None; the mean is also None if
    all weights are 0.
    """

    events: int
    total_per_day: float
    mean_hours: float | None
    median_hours: float | None
    p90_hours: float | None
    share_within_target: float | None
    not_found: int


def summarise(
    delays: Delays, weights: Floats, days: float, target_hours: float = 1.0
) -> DelaySummary:
    """Summarises delays by eq. (3) and (4) of the forum paper: total = sum of weight * delay.

    weights: one per event, W_i (its board's importance) for a new thread and theta * W_i for a
    reply. days: length of the period, by which the total is divided. target_hours: delay up to
    which found events count in `share_within_target`.
    """
    if not len(delays.hours):
        return DelaySummary(0, 0.0, None, None, None, None, 0)
    total = total_delay(weights, delays.hours)
    weight = float(weights.sum())
    return DelaySummary(
        events=len(delays.hours),
        total_per_day=total / days,
        mean_hours=total / weight if weight > 0 else None,
        median_hours=float(np.median(delays.hours)),
        p90_hours=float(np.quantile(delays.hours, 0.9)),
        share_within_target=float(np.mean(delays.found & (delays.hours <= target_hours))),
        not_found=int(len(delays.found) - delays.found.sum()),
    )


def board_delays(delays: Delays, board: Ints, weights: Floats, boards: int) -> Floats:
    """Returns D(P_i) of eq. (3) of the forum paper, shape (boards,): the sum of weight * delay over
    each board's events."""
    return np.bincount(board, weights * delays.hours, boards).astype(float)


def daily_totals(delays: Delays, times: Floats, weights: Floats, start: float, days: int) -> Floats:
    """Returns weighted event-hours by the day on which the event arrived, shape (days,); days are
    counted from `start` (epoch seconds). Events before the first day are added to the first, events
    after the last day to the last.
    """
    day = np.clip(((times - start) // DAY_SECONDS).astype(np.int64), 0, days - 1)
    return np.bincount(day, weights * delays.hours, days).astype(float)
