"""Computes the optimal daily timetable: exactly, by a dynamic programme over the 24 hours as a
circle; approximately, by a closed form with square roots; and by an improvement ("polish") that
moves one visit at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from forums.schedule.equations import HOUR_SECONDS
from forums.schedule.events import Bools, Floats, Ints
from forums.schedule.paper import Demand, grid, timetable
from forums.schedule.rhythm import DAY_HOURS, Intensity, quantiles
from forums.schedule.timetable import Timetable, greedy, square_root

GRID = 96  # steps of a day: 15 minutes each


MAX_BY_PROGRAMME = 24


PHASES = 4


TRIAL_SWEEPS = 3


SWEEPS = 20


BLOCK_BOARDS = 1000


# iterative improvement of a board's visit times ends when no visit moves by more than this many
# hours
STILL = 1e-3


@dataclass(frozen=True, slots=True)
class DayProgramme:
    """The exact best hours of one board for every number of visits m = 1 … mmax, on a grid of G
    equal steps around the clock.

    C(a, b), eq. (8) of the forum paper, is the delay of what is posted between visits at a and b.
    D_k[o, j] is the least delay of the j steps from grid point o with k visits, the last at o + j:
    D_1[o, j] = C(o, o + j); D_k[o, j] = min_i D_(k-1)[o, i] + C(o + i, o + j). The whole day costs
    D(m) = min_o D_m[o, G]. `costs[m - 1]` is D(m) in weighted event-hours a day, `origins[m - 1]`
    the best o; `single[o, j]` is C(o, o + j), (G, G + 1).
    """

    costs: Floats
    origins: Ints
    single: Floats

    @classmethod
    def of(
        cls, intensity: Intensity, board: int, most: int = MAX_BY_PROGRAMME, size: int = GRID
    ) -> DayProgramme:
        """Computes the best hours of one board for 1 to `most` visits a day by dynamic programming
        on a grid of `size` steps (G), `most` <= `size`, in O(most * size^3) operations."""
        step = DAY_HOURS / size
        start, length = np.meshgrid(np.arange(size), np.arange(size + 1), indexing="ij")
        begin, end = (start * step).astype(float), ((start + length) * step).astype(float)
        single = intensity.interval_cost(np.full(start.shape, board), begin, end)
        origin, i, j = np.ogrid[:size, : size + 1, : size + 1]
        steps = np.where(j > i, single[(origin + i) % size, np.maximum(j - i, 0)], np.inf)
        value = np.where(length > 0, single, np.inf)
        whole = [value[:, size]]
        for _ in range(1, most):
            value = np.min(value[:, :, None] + steps, axis=1)
            whole.append(value[:, size])
        by_origin = np.array(whole)
        return cls(by_origin.min(axis=1), by_origin.argmin(axis=1), single)

    def hours(self, visits: int) -> Floats:
        """Returns the hours of the best timetable with that many visits (1 … mmax), ascending, by
        solving the programme again from the best first grid point."""
        size = len(self.single)
        origin = int(self.origins[visits - 1])
        i, j = np.ogrid[: size + 1, : size + 1]
        steps = np.where(j > i, self.single[(origin + i) % size, np.maximum(j - i, 0)], np.inf)
        value, came_from = steps[0], []
        for _ in range(1, visits):
            total = value[:, None] + steps
            came_from.append(total.argmin(axis=0))
            value = total.min(axis=0)
        place, chosen = size, [origin]
        for previous in reversed(came_from):
            place = int(previous[place])
            chosen.append(origin + place)
        return np.sort(np.array(chosen) % size) * (DAY_HOURS / size)


def closed_form_hours(rates: Floats, visits: Ints, phase: float = 0.0) -> tuple[Ints, Floats]:
    """Returns visit hours by the closed form of the square-root law.

    Parameters
    ----------
    rates : (n, bins), weighted events per hour of the day, not negative.
    visits : (n,), visits a day of each board.
    phase : in [-1/2, 1/2], shift of all visits in parts of the distance between two.

    Returns
    -------
    board, hours : (visits,) each, board number and hour c_k = Q^-1((k - 1/2 + phase) / m) of
        visit k of m visits of a board. Q(t) is the part of the integral of the square root of the
        board's rate that lies before hour t, as a share of the whole day's.
    """
    board, step = grid(visits)
    return board, quantiles(np.sqrt(rates), board, (step - 0.5 + phase) / visits[board])


def polish(intensity: Intensity, board: Ints, hours: Floats, sweeps: int = SWEEPS) -> Floats:
    """Improves visit hours by coordinate descent: each visit is moved to the exact optimum between
    the visits before and after it. The expected delay never rises.

    For a bin that begins at b and has the rate f, the best hour between neighbouring visits p and n
    is (f n + F(p) - F(b) + f b) / (2 f), clipped to the bin; F is the integral of the rate. All
    bins between p and n are tried.

    Parameters
    ----------
    intensity : the boards' rates and their integrals.
    board, hours : (visits,), board number, and hour in [0, 24); the visits of a board together and
        ascending.
    sweeps : most passes over all visits; it ends earlier when none moves.

    Returns
    -------
    hours : (visits,), the new hours, in the same order.

    References
    ----------
    The condition is that of eq. (9) of the forum paper, solved for one visit between its
    neighbours, also across midnight.
    """
    hours = np.asarray(hours, dtype=float).copy()
    visits = np.bincount(board, minlength=len(intensity.rates))
    start = np.cumsum(visits) - visits
    index = np.arange(len(board)) - start[board]
    count = visits[board]
    before = start[board] + (index - 1) % count
    after = start[board] + (index + 1) % count
    colour = np.where((count % 2 == 1) & (index == count - 1) & (count > 1), 2, index % 2)
    active = np.ones(len(board), dtype=bool)
    for _ in range(sweeps):
        moved = np.zeros(len(intensity.rates))
        for shade in range(3):
            rows = np.flatnonzero(active & (colour == shade))
            if not len(rows):
                continue
            only = count[rows] == 1
            alone, rows = rows[only], rows[~only]
            low = hours[before[rows]] - np.where(index[rows] == 0, DAY_HOURS, 0.0)
            high = hours[after[rows]] + np.where(index[rows] == count[rows] - 1, DAY_HOURS, 0.0)
            single = _best_single(intensity, board[alone], hours[alone])
            best = np.concatenate(
                [single, _best_between(intensity, board[rows], low, hours[rows], high)]
            )
            rows = np.concatenate([alone, rows])
            np.maximum.at(moved, board[rows], np.abs(best - hours[rows]))
            hours[rows] = best
        active = (moved > STILL)[board]
        if not active.any():
            break
    return hours


def _best_single(intensity: Intensity, board: Ints, hours: Floats) -> Floats:
    """Returns the best visit hour of each of these boards, which have one visit a day at `hours`.
    Rates are constant within each bin of the day, so the cost is linear in the hour, and only the
    present hour and the bin boundaries are compared.
    """
    borders = np.arange(intensity.bins) * intensity.width
    best, least = hours.copy(), intensity.interval_cost(board, hours, hours + DAY_HOURS)
    if not len(board):
        return best
    for border in borders:
        cost = intensity.interval_cost(
            board, np.full(len(board), border), np.full(len(board), border + DAY_HOURS)
        )
        better = cost < least - 1e-12
        best, least = np.where(better, border, best), np.where(better, cost, least)
    return best


def _best_between(
    intensity: Intensity, board: Ints, low: Floats, now: Floats, high: Floats
) -> Floats:
    """Returns for each visit the hour c with the least cost C(low, c) + C(c, high), where C is
    `Intensity.interval_cost`; its present hour `now` if no other is better. low, high: hours of the
    board's visits before and after it.
    """
    if not len(board):
        return now.copy()
    least = intensity.interval_cost(board, low, now) + intensity.interval_cost(board, now, high)
    first = np.floor(low / intensity.width)
    spans = (np.floor(high / intensity.width) - first).astype(np.int64) + 1
    start = np.cumsum(spans) - spans
    # one entry for each visit and each bin of the rates that overlaps [low, high]
    row = np.repeat(np.arange(len(board)), spans)
    slot = first[row] + (np.arange(len(row)) - start[row])
    owner, left, right, edge = board[row], low[row], high[row], slot * intensity.width
    rate = intensity.rates[owner, np.mod(slot, intensity.bins).astype(np.int64)]
    collected = intensity.mass(board, low)[row] - intensity.mass(owner, edge)
    free = np.divide(rate * (right + edge) + collected, 2.0 * rate, out=edge.copy(), where=rate > 0)
    inside = np.clip(np.clip(free, edge, edge + intensity.width), left, right)
    cost = intensity.interval_cost(owner, left, inside) + intensity.interval_cost(
        owner, inside, right
    )
    lowest = np.minimum.reduceat(cost, start)
    hit = np.flatnonzero(cost == lowest[row])[
        ::-1
    ]  # backwards, so that the first of several bins with equal cost is kept
    best = now.copy()
    best[row[hit]] = inside[hit]
    return np.where(lowest < least * (1.0 - 1e-9) - 1e-12, best, now)


def polished_closed_form(
    intensity: Intensity, visits: Ints, phases: int = PHASES
) -> tuple[Ints, Floats]:
    """Returns visit hours for any numbers of visits: for each board, the closed form is computed
    for several phases and improved by a few sweeps each; the best result is then optimised fully.

    Parameters
    ----------
    intensity : the boards' rates and their integrals.
    visits : (n,), visits a day of each board.
    phases : number of phases to try, at least 1.

    Returns
    -------
    board, hours : (sum of visits,) each, board number and hour of each visit.
    """
    parts = []
    for first in range(0, max(len(visits), 1), BLOCK_BOARDS):
        rows = slice(first, first + BLOCK_BOARDS)
        board, hours = _polished(Intensity.of(intensity.rates[rows]), visits[rows], phases)
        parts.append((board + first, hours))
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _polished(intensity: Intensity, visits: Ints, phases: int) -> tuple[Ints, Floats]:
    board, _ = grid(visits)
    best, least = np.zeros(len(board)), np.full(len(visits), np.inf)
    for number in range(phases):
        phase = (number + 0.5) / phases - 0.5 if phases > 1 else 0.0
        hours = polish(
            intensity, board, closed_form_hours(intensity.rates, visits, phase)[1], TRIAL_SWEEPS
        )
        cost = _day_costs(intensity, board, hours, len(visits))
        better: Bools = cost < least
        least = np.where(better, cost, least)
        best = np.where(better[board], hours, best)
    return board, polish(intensity, board, best) % DAY_HOURS


def _day_costs(intensity: Intensity, board: Ints, hours: Floats, boards: int) -> Floats:
    """Returns the expected weighted event-hours a day of each board. board, hours: one entry per
    visit, the visits of a board together and ascending."""
    if not len(board):
        return np.zeros(boards)
    last = np.append(board[1:] != board[:-1], True)
    first = np.append(True, last[:-1])
    following = np.append(hours[1:], 0.0)
    following[last] = hours[first] + DAY_HOURS
    return np.bincount(board, intensity.interval_cost(board, hours, following), boards).astype(
        float
    )


def expected_cost(intensity: Intensity, table: Timetable) -> Floats:
    """Returns the expected delay of each board under a timetable.

    Parameters
    ----------
    intensity : the boards' weighted rates, (n, bins) events per hour, and their integrals.
    table : the timetable; it repeats after its days.

    Returns
    -------
    cost : (n,), weighted event-hours a day; infinite for a board with events and without visits.

    References
    ----------
    Eq. (8) of the forum paper, taken around the clock instead of from 0:00 to 24:00.
    """
    cycle = table.days * DAY_HOURS
    clock = table.day * DAY_HOURS + table.hour
    order = np.lexsort((clock, table.board))
    board, clock = table.board[order], clock[order]
    visits = np.bincount(board, minlength=table.boards)
    last = np.append(board[1:] != board[:-1], True)
    first = np.append(True, last[:-1])
    following = np.append(clock[1:], 0.0)
    following[last] = clock[first] + cycle
    cost = (
        np.bincount(board, intensity.interval_cost(board, clock, following), table.boards)
        / table.days
    )
    return np.where(visits > 0, cost, np.where(intensity.per_day > 0, np.inf, 0.0))


class OptimalPlanner:
    """Timetables of least expected delay for one set of rates and any budget; what does not depend
    on the budget is computed once.

    exact=True: visits are allocated greedily. Hours are found by the dynamic programme on 15-minute
    steps (above 24 visits per board by the closed form), then by local search. exact=False: closed
    form and local search for all; stores only the rates. This serves thousands of boards, and
    operators who change the budget.
    """

    def __init__(
        self, demand: Demand, exact: bool = True, pulse: Callable[[], None] = lambda: None
    ) -> None:
        """Solves the dynamic programme of each board if `exact`. `pulse` is called before each
        board; an exception that it raises ends the computation."""
        self.demand = demand
        self.intensity = Intensity.of(demand.rates)
        self.exact = exact
        self._programmes = []
        for board in range(demand.boards) if exact else ():
            pulse()
            self._programmes.append(DayProgramme.of(self.intensity, board))
        self._costs = np.array([programme.costs for programme in self._programmes])

    def allocate(self, total: int) -> Ints:
        """Returns the number of visits of each board, at least 1, which sum to `total` (at least
        the number of boards)."""
        if self.exact:
            return greedy(self._costs, total)
        return square_root(self.demand.rates, total)

    def best_hours(self, visits: Ints) -> tuple[Ints, Floats]:
        """Returns the best hours for visits[i] visits of board i, as arrays (board number, hour)
        with one entry per visit."""
        if not self.exact:
            return polished_closed_form(self.intensity, visits)
        board, hours = polished_closed_form(
            self.intensity, np.where(visits > MAX_BY_PROGRAMME, visits, 0)
        )
        small = [number for number in range(len(visits)) if 0 < visits[number] <= MAX_BY_PROGRAMME]
        exact = [self._programmes[number].hours(int(visits[number])) for number in small]
        owner = np.repeat(np.array(small, dtype=np.int64), visits[small])
        better = polish(self.intensity, owner, np.concatenate(exact) if exact else np.zeros(0))
        return np.concatenate([board, owner]), np.concatenate([hours, better])

    def plan(self, visits_per_day: int) -> Timetable:
        """Returns the timetable with exactly `visits_per_day` visits on every day."""
        return timetable(self.allocate, self.best_hours, self.demand.boards, visits_per_day)


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
    """Minimises delay + price * visits for one board whose events are known.

    Let f[b] be the least cost of the events 1..b with a visit at t_b, the time of event b:
    f[b] = price + min_a (f[a] + sum over events a+1..b of weight (t_b - t)). As a function of t_b,
    each a gives a line with slope -W_a, the sum of the weights of 1..a; t_b ascends, so one pass
    over a convex hull is enough, O(n).

    Parameters
    ----------
    times, weights : (events,), hours, ascending, and weights; visits are placed at events only.
    price : weighted event-hours that a visit costs, at least 0.

    Returns
    -------
    delay, visits : weighted event-hours and number of visits of the minimum.
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


QUICK_SWEEPS = 2


def quick_optimal(rates: Floats, visits_per_day: int) -> Timetable:
    """Returns an approximation of the optimal timetable: the closed form of the square-root law,
    improved by two sweeps of `polish`. Its delay is within 1 % of that after all sweeps and 2 % of
    the exact optimum; it takes some 25 ms for 100 boards.

    Parameters
    ----------
    rates : (n, bins), weighted events per hour of the day, not negative.
    visits_per_day : visits of all boards together, at least 1.

    Returns
    -------
    table : the timetable, with exactly `visits_per_day` visits on each of its days.
    """
    intensity = Intensity.of(rates)

    def best_hours(visits: Ints) -> tuple[Ints, Floats]:
        board, hours = closed_form_hours(rates, visits)
        return board, polish(intensity, board, hours, QUICK_SWEEPS)

    return timetable(
        lambda total: square_root(rates, total), best_hours, len(rates), visits_per_day
    )


def bound(board: Ints, times: Floats, weights: Floats, budget: int) -> Bound:
    """Returns a lower bound of the delay of any policy with `budget` visits in total, at any times.

    With a price per visit, each board's delay + price * visits is minimised (`priced`); the sum of
    the minima - price * budget is a bound (Lagrange relaxation). Bisection finds the best price. If
    it uses the budget exactly, the bound is the optimum.

    Parameters
    ----------
    board, times, weights : (events,), board number, seconds, ascending, and weight.
    budget : visits in total, at least 1; ValueError is raised for fewer.

    Returns
    -------
    bound : the bound, and the delay and visits at the best price; in weighted event-hours.
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
