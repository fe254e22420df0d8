"""Delays by eq. (1) to (4) of the forum paper, and summaries of measured ones by board, day, hour
and weekday, compared with expected ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from forums.schedule.equations import total_delay, waited_hours
from forums.schedule.events import DAY_SECONDS, Bools, Floats, Ints


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


def daily_totals(delays: Delays, times: Floats, weights: Floats, start: float, days: int) -> Floats:
    """Returns weighted event-hours by the day on which the event arrived, shape (days,); days are
    counted from `start` (epoch seconds). Events before the first day are added to the first, events
    after the last day to the last.
    """
    day = np.clip(((times - start) // DAY_SECONDS).astype(np.int64), 0, days - 1)
    return np.bincount(day, weights * delays.hours, days).astype(float)


WEEK_DAYS, DAY_HOURS = 7, 24


EPOCH_WEEKDAY = 3  # weekday (0 is Monday) of the day 0: 1970-01-01 was a Thursday


@dataclass(frozen=True, slots=True)
class Items:
    """New threads and replies found by visits; parallel arrays, one entry each.

    board: board number. times: epoch seconds of the post. local_hours: the same on the site's local
    clock, hours since 1970-01-01. opener: true for a new thread. hours: waiting time until the
    visit that found it. weights: the board's importance for a new thread, theta times it for a
    reply.
    """

    board: Ints
    times: Floats
    local_hours: Floats
    opener: Bools
    hours: Floats
    weights: Floats

    def __len__(self) -> int:
        return len(self.times)


def with_equal_visits(
    items: Items, boards: int, visits_per_day: float, start: float, end: float
) -> Floats:
    """Returns the hours that each item would have waited if the boards had been visited in turn at
    equal intervals (policy `era` at any cost), (n,).

    visits_per_day: of all boards, > 0. start, end: the period in epoch seconds; the visits go on
    for one turn after it.
    """
    gap = DAY_SECONDS / visits_per_day
    count = math.ceil((end - start) / gap) + boards + 1
    moments = np.asarray(start + gap * np.arange(count), dtype=np.float64)
    owner = np.arange(len(moments)) % boards
    return event_delays(items.board, items.times, owner, moments, float(moments[-1])).hours


def summary(items: Items, hours: Floats, days: float, target_hours: float) -> DelaySummary:
    """Summarises the waiting times `hours`, one for each of `items`: mean, median, 90th percentile
    and share within `target_hours`. All items count as found by a visit. `days` is the length of
    the period."""
    return summarise(
        Delays(hours, np.ones(len(items), dtype=bool)), items.weights, days, target_hours
    )


def means(group: Ints, hours: Floats, weights: Floats, count: int) -> list[float | None]:
    """Returns the weighted mean waiting time of each group 0 … count - 1, in hours; None for a
    group without items.

    group: the group number of each item.
    """
    total = np.bincount(group, weights, count)
    waited = np.bincount(group, weights * hours, count)
    return [
        float(wait / weight) if weight > 0 else None
        for wait, weight in zip(waited, total, strict=True)
    ]


def weekday_hours(items: Items, hours: Floats) -> list[list[float | None]]:
    """Returns the weighted mean waiting time by weekday (0 is Monday) and hour of posting: 7 lists
    of 24 values, None where there are no items."""
    hour = np.floor(items.local_hours).astype(np.int64)
    slot = (hour + EPOCH_WEEKDAY * DAY_HOURS) % (WEEK_DAYS * DAY_HOURS)
    flat = means(slot, hours, items.weights, WEEK_DAYS * DAY_HOURS)
    return [flat[day * DAY_HOURS : (day + 1) * DAY_HOURS] for day in range(WEEK_DAYS)]


def local_days(items: Items, first: date, count: int) -> Ints:
    """Returns the local day of each item, counted from `first`, clipped to 0 … count - 1."""
    day = np.floor(items.local_hours / DAY_HOURS).astype(np.int64) - (first - date(1970, 1, 1)).days
    return np.clip(day, 0, count - 1)


def day_hours(items: Items) -> Ints:
    """Returns the local hour of the day of each item, 0 … 23."""
    return np.floor(items.local_hours % DAY_HOURS).astype(np.int64) % DAY_HOURS


@dataclass(frozen=True, slots=True)
class BoardDelay:
    """Delays of the items found on one board; `era_hours` is their mean wait if all boards had been
    visited equally often (None if all weights are 0, or if that is not compared)."""

    board: int
    delay: DelaySummary
    era_hours: float | None


def by_board(
    items: Items, era_hours: Floats | None, boards: int, days: float, target_hours: Sequence[float]
) -> list[BoardDelay]:
    """Returns the delays of each board on which items (posts) were found, in the order of board
    numbers.

    era_hours: (n,), hours that each item would have waited if all boards were visited equally
    often, None if that is not compared; days: length of the period; target_hours: for each board
    the hours within which posts should be found.
    """
    order = np.argsort(items.board, kind="stable")
    bounds = np.searchsorted(items.board[order], np.arange(boards + 1))
    found = []
    for board in range(boards):
        rows = order[bounds[board] : bounds[board + 1]]
        if len(rows):
            weights = items.weights[rows]
            part = Delays(items.hours[rows], np.ones(len(rows), dtype=bool))
            total = float(weights.sum())
            era_mean = (
                total_delay(weights, era_hours[rows]) / total
                if era_hours is not None and total > 0
                else None
            )
            found.append(
                BoardDelay(board, summarise(part, weights, days, target_hours[board]), era_mean)
            )
    return found
