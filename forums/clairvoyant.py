"""A lower bound of the total delay under any schedule: visits placed with knowledge of every event,
with the budget pooled over the whole time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forums.events import Floats, Ints
from forums.law import HOUR_SECONDS

BISECTIONS = 100


@dataclass(frozen=True, slots=True)
class Bound:
    """A lower bound of the total delay of any policy with `budget` visits, found by pricing visits
    (Lagrangian relaxation).

    bound: weighted event-hours over the whole time. price: the price of a visit that gave the
    bound, in weighted event-hours. delay, visits: those of the best placement of visits at this
    price; `delay` equals the bound if `visits` equals the budget.
    """

    bound: float
    delay: float
    visits: int
    price: float


def priced(times: Floats, weights: Floats, price: float) -> tuple[float, int]:
    """Minimises delay + price * visits for one board whose events are known; returns (delay,
    visits) of the minimum.

    times: ascending, hours; visits are placed at events only. Let f[b] be the least cost of the
    events 1..b with a visit at t_b, the time of event b: f[b] = price + min_a (f[a] + sum over
    events a+1..b of weight (t_b - t)). As a function of t_b, each a gives a line with slope -W_a,
    the sum of the weights of 1..a; t_b ascends, so one pass over a convex hull is enough, O(n).
    """
    weight = np.concatenate([[0.0], np.cumsum(weights)]).tolist()
    moment = np.concatenate([[0.0], np.cumsum(weights * times)]).tolist()
    value, visits = [0.0], [0]
    # Events a after which the previous visit may have been made: their line y(t) = f[a] + S_a - t
    # W_a is part of the lower hull of all lines. f and W_a as above; S_a: the sum of weight * time
    # over the events 1..a.
    hull = [0]
    head = 0
    for number, moment_now in enumerate(times.tolist(), start=1):
        while head + 1 < len(hull) and _line(
            value, moment, weight, hull[head + 1], moment_now
        ) <= _line(value, moment, weight, hull[head], moment_now):
            head += 1
        source = hull[head]
        value.append(
            price
            + moment_now * weight[number]
            - moment[number]
            + _line(value, moment, weight, source, moment_now)
        )
        visits.append(visits[source] + 1)
        while len(hull) - head > 1 and _covered(value, moment, weight, hull[-2], hull[-1], number):
            hull.pop()
        hull.append(number)
    return value[-1] - price * visits[-1], visits[-1]


def _line(
    value: list[float], moment: list[float], weight: list[float], index: int, time: float
) -> float:
    return value[index] + moment[index] - time * weight[index]


def _covered(
    value: list[float], moment: list[float], weight: list[float], a: int, b: int, c: int
) -> bool:
    """Tells whether line b is nowhere below both line a and line c, so that the lower hull does not
    need it. Line i is y(t) = value[i] + moment[i] - t weight[i]; the slopes decrease from a to c.
    """
    ya, yb, yc = (value[i] + moment[i] for i in (a, b, c))
    return (yb - ya) * (weight[c] - weight[a]) >= (yc - ya) * (weight[b] - weight[a])


def bound(board: Ints, times: Floats, weights: Floats, budget: int) -> Bound:
    """Returns a lower bound of the delay of any policy with `budget` visits in total, at any times.

    With a price per visit, each board's delay + price * visits is minimised (`priced`); the sum of
    the minima - price * budget is a bound (Lagrange relaxation). Bisection finds the best price. If
    it uses the budget exactly, the bound is the optimum. board, times (seconds, ascending) and
    weights: one entry per event. Raises ValueError for a budget below 1.
    """
    if budget < 1:
        raise ValueError("the bound needs at least one visit")
    hours = (times - (times[0] if len(times) else 0.0)) / HOUR_SECONDS
    parts = [(hours[board == owner], weights[board == owner]) for owner in np.unique(board)]
    low, high = 0.0, float(weights.sum() * (hours[-1] + 1.0)) if len(times) else 0.0
    best = Bound(0.0, 0.0, 0, 0.0)
    for _ in range(BISECTIONS):
        price = (low + high) / 2.0
        found = [priced(moments, weight, price) for moments, weight in parts]
        delay, visits = sum(one[0] for one in found), sum(one[1] for one in found)
        value = delay + price * (visits - budget)
        if value > best.bound or not best.visits:
            best = Bound(max(value, 0.0), delay, visits, price)
        if visits == budget or high - low <= 1e-12 * max(high, 1e-300):
            break
        low, high = (price, high) if visits > budget else (low, price)
    return best
