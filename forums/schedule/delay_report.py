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
    """Returns how long each event waited until a visit found it.

    Parameters
    ----------
    board, times : (events,), board number and time of each event.
    visit_board, visit_times : (visits,), board number and time of each visit, in any order.
    horizon : time until which an event waits that no visit finds.
        All times are in seconds on one clock.

    Returns
    -------
    delays : D = c - t in hours, where c is the board's first visit at or after the event's time t.

    References
    ----------
    Eq. (1), (2) of the forum paper.
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
    """Summarises delays: total = sum of weight * delay.

    Parameters
    ----------
    delays : waiting times of the events in hours.
    weights : (events,), W_i (its board's importance) for a new thread, theta * W_i for a reply.
    days : length of the period in days, above 0, by which the total is divided.
    target_hours : delay up to which found events count in `share_within_target`.

    Returns
    -------
    summary : the figures; total in weighted event-hours a day.

    References
    ----------
    Eq. (3), (4) of the forum paper.
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
    """Returns the waiting of the events by the day on which they arrived.

    Parameters
    ----------
    delays : waiting times of the events in hours.
    times, weights : (events,), epoch seconds of arrival, and weight of each event.
    start : epoch seconds at which the first day begins.
    days : number of days. Events before the first are added to it, later ones to the last.

    Returns
    -------
    totals : (days,), weighted event-hours.
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
    """Returns how long each item would have waited if the boards had been visited in turn at equal
    intervals (policy `era` at any cost).

    Parameters
    ----------
    items : the posts of the period.
    boards : number of boards.
    visits_per_day : visits of all boards together, above 0.
    start, end : the period in epoch seconds; the visits go on for one turn after it.

    Returns
    -------
    hours : (items,), hours from each item's time to the next visit of its board.
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
    """Returns the weighted mean waiting time of each group.

    Parameters
    ----------
    group : (items,), group number of each item, in 0 … count - 1.
    hours, weights : (items,), waiting time in hours, and weight.
    count : number of groups.

    Returns
    -------
    means : hours for each group; None for one without items.
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
