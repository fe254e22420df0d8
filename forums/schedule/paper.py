"""The forum paper's visit schedules, under its names: era, wra, lra, bra (corrected, and as
printed) and method 1 of eq. (9)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from forums.schedule.equations import shares
from forums.schedule.events import Floats, Ints
from forums.schedule.rhythm import DAY_HOURS, Intensity, quantiles
from forums.schedule.timetable import Timetable, cycle_days, rounded, spread_over_days

HOURS = 24
START_STEP_HOURS = 0.25


@dataclass(frozen=True, slots=True)
class Demand:
    """What a timetable is planned from: `rates`, (n, bins), weighted events per hour of n boards by
    part of the day, importance included."""

    rates: Floats

    @property
    def boards(self) -> int:
        return len(self.rates)

    @property
    def weights(self) -> Floats:
        """The weight WP of each board by eq. (5) of the forum paper, in weighted events per day,
        (n,)."""
        weights: Floats = self.rates.sum(axis=1) * (DAY_HOURS / self.rates.shape[1])
        return weights


def grid(visits: Ints) -> tuple[Ints, Floats]:
    """Enumerates the visits of a timetable.

    Parameters
    ----------
    visits : (n,), visits of each board.

    Returns
    -------
    board, step : (sum of visits,) each, the board's number i, and the visit's number j on that
        board, from 1 to visits[i].
    """
    board = np.repeat(np.arange(len(visits)), visits)
    first = np.repeat(np.cumsum(visits) - visits, visits)
    return board, (np.arange(len(board)) - first + 1).astype(float)


def even_hours(visits: Ints) -> tuple[Ints, Floats]:
    """Returns the visit hours of policy era.

    Parameters
    ----------
    visits : (n,), m_i, visits a day of each board.

    Returns
    -------
    board, hours : (sum of visits,) each, board number, and hour c_j = 24 j / m_i of visit j.
    """
    board, step = grid(visits)
    return board, DAY_HOURS * step / visits[board]


def equal_area_hours(rates: Floats, visits: Ints, blocks_more: int) -> tuple[Ints, Floats]:
    """Returns visit hours that divide a board's events into equal shares.

    Parameters
    ----------
    rates : (n, bins), events per hour of the day, not negative.
    visits : (n,), m, visits a day of each board.
    blocks_more : 1 for the inner borders of the paper's m + 1 blocks, c_k = Q^-1(k / (m + 1)); 0
        for m blocks around the clock, c_k = Q^-1((k - 1/2) / m): the paper's rule without one more
        visit at 24:00.

    Returns
    -------
    board, hours : (sum of visits,) each, board number, and hour c_k, k = 1 … m. Q(t) is the share
        of a day's events before hour t.

    References
    ----------
    Step 2 of algorithm BRA of the forum paper, corrected.
    """
    board, step = grid(visits)
    share = step / (visits[board] + 1.0) if blocks_more else (step - 0.5) / visits[board]
    return board, quantiles(rates, board, share)


def with_midnight(table: Timetable) -> Timetable:
    """Returns the timetable with one more visit to every board at the end of each day, c_(m+1) =
    24, as one reading of eq. (8) of the forum paper has it."""
    board = np.concatenate([table.board, np.tile(np.arange(table.boards), table.days)])
    day = np.concatenate([table.day, np.repeat(np.arange(table.days), table.boards)])
    hour = np.concatenate([table.hour, np.full(table.boards * table.days, DAY_HOURS)])
    return Timetable.of(table.boards, board, hour, day, table.days)


Placement = Callable[[Ints], tuple[Ints, Floats]]


def timetable(
    allocate: Callable[[int], Ints], place: Placement, boards: int, visits_per_day: int
) -> Timetable:
    """Returns a timetable with exactly the same number of visits on every day.

    With fewer visits a day (M) than boards (n), the visits of ceil(n / M) days are allocated
    together, so that every board is visited in that cycle.

    Parameters
    ----------
    allocate : function from a total to each board's number of visits, (n,).
    place : function from these numbers to the visits' boards and hours, (visits,) each.
    boards : number of boards.
    visits_per_day : visits of all boards together.

    Returns
    -------
    table : the timetable of one cycle.

    References
    ----------
    First numbers, then times, as in algorithm BRA of the forum paper.
    """
    days = cycle_days(boards, visits_per_day)
    counts = spread_over_days(allocate(visits_per_day * days), days)
    parts = [place(row) for row in counts]
    board = np.concatenate([part[0] for part in parts])
    hour = (
        np.concatenate([part[1] for part in parts]) % DAY_HOURS
    )  # 24:00 counts as 0:00 of the same day, not of the next day
    table = Timetable.of(boards, board, hour, np.repeat(np.arange(days), counts.sum(axis=1)), days)
    assert_budget(table, visits_per_day)
    return table


def assert_budget(table: Timetable, visits_per_day: int) -> None:
    """Raises AssertionError unless every day of the timetable has exactly `visits_per_day` visits;
    a violation is a bug of this program."""
    if (table.visits_per_day() != visits_per_day).any():
        raise AssertionError(
            f"{table.visits_per_day().tolist()} visits a day instead of {visits_per_day}"
        )


def era(demand: Demand, visits_per_day: int) -> Timetable:
    """Returns the timetable with the same number m of visits for every board, equally spaced: c_j =
    24 j / m.

    Parameters
    ----------
    demand : rates of n boards.
    visits_per_day : visits of all boards together, at least 1.

    Returns
    -------
    timetable : exactly `visits_per_day` visits on every day.

    References
    ----------
    Policy ERA of the forum paper.
    """
    return timetable(
        lambda total: rounded(np.ones(demand.boards), total),
        even_hours,
        demand.boards,
        visits_per_day,
    )


def wra(demand: Demand, visits_per_day: int) -> Timetable:
    """Returns the timetable with visits of each board in proportion to its weight, equally spaced.

    Parameters
    ----------
    demand : rates of n boards.
    visits_per_day : visits of all boards together, at least 1.

    Returns
    -------
    timetable : exactly `visits_per_day` visits on every day.

    References
    ----------
    Policy WRA of the forum paper, eq. (6).
    """
    return timetable(
        lambda total: rounded(demand.weights, total), even_hours, demand.boards, visits_per_day
    )


def lra(demand: Demand, visits_per_day: int, blocks_more: int = 0) -> Timetable:
    """Returns the timetable with the same number of visits for every board, at hours between which
    equal shares of its events are posted.

    Parameters
    ----------
    demand : rates of n boards.
    visits_per_day : visits of all boards together, at least 1.
    blocks_more : 0 or 1, as in `equal_area_hours`.

    Returns
    -------
    timetable : exactly `visits_per_day` visits on every day.

    References
    ----------
    Policy LRA of the forum paper.
    """
    return timetable(
        lambda total: rounded(np.ones(demand.boards), total),
        lambda visits: equal_area_hours(demand.rates, visits, blocks_more),
        demand.boards,
        visits_per_day,
    )


def bra(demand: Demand, visits_per_day: int, blocks_more: int = 0) -> Timetable:
    """Returns the timetable with visits in proportion to weights, at least 1 per board, at hours
    between which equal shares of a board's events are posted.

    Parameters
    ----------
    demand : rates of n boards.
    visits_per_day : visits of all boards together, at least 1.
    blocks_more : 0 or 1, as in `equal_area_hours`.

    Returns
    -------
    timetable : exactly `visits_per_day` visits on every day.

    References
    ----------
    Algorithm BRA of the forum paper, corrected; visits by eq. (6).
    """
    return timetable(
        lambda total: rounded(demand.weights, total),
        lambda visits: equal_area_hours(demand.rates, visits, blocks_more),
        demand.boards,
        visits_per_day,
    )


def bra_literal(demand: Demand, visits_per_day: int) -> Timetable:
    """Returns the timetable of algorithm BRA as printed in the forum paper: each board's visits by
    eq. (6), simply rounded; at most one visit an hour. The budget is not used up; boards may get
    none.

    The paper's loop over the hours j = 1 … 24 adds the hour's share sc[j] of the events only when
    it emits no visit, so that the share of an hour with a visit is lost. The paper has no formula
    for the time of a visit within the hour; here it is interpolated in the last hour whose share
    was added.
    """
    weights = demand.weights
    share = shares(weights)
    shape = _by_hour(demand.rates)
    boards: list[int] = []
    hours: list[float] = []
    for board, visits in enumerate(np.rint(share * visits_per_day).astype(int)):
        area, threshold, summed, last = 1.0 / (visits + 1), 1.0 / (visits + 1), 0.0, 0
        for hour in range(HOURS):
            if summed >= threshold - 1e-12:
                part = (
                    (threshold - (summed - shape[board, last])) / shape[board, last]
                    if shape[board, last] > 0
                    else 1.0
                )
                boards.append(board)
                hours.append(last + min(max(part, 0.0), 1.0))
                threshold += area
            else:
                summed += shape[board, hour]
                last = hour
    return Timetable.of(demand.boards, np.array(boards, dtype=np.int64), np.array(hours))


def _by_hour(rates: Floats) -> Floats:
    """Returns SC of eq. (7): each board's share of events by hour of the day, (n, 24), rows summing
    to 1, from rates with any number of bins."""
    board = np.repeat(np.arange(len(rates)), HOURS + 1)
    edges = np.tile(np.arange(HOURS + 1.0), len(rates))
    mass = np.diff(Intensity.of(rates).mass(board, edges).reshape(len(rates), HOURS + 1), axis=1)
    total = mass.sum(axis=1, keepdims=True)
    shares: Floats = np.divide(mass, total, out=np.full(mass.shape, 1.0 / HOURS), where=total > 0)
    return shares


def bra_method1(demand: Demand, visits_per_day: int) -> Timetable:
    """Returns the timetable of the forum paper's method 1, for comparison: visits by eq. (6), hours
    by the recursion of eq. (9).

    c_(i+1) = c_i + (F(c_i) - F(c_(i-1))) / f(c_i) with c_0 = 0, where c_i is the hour of visit i, f
    the board's rate and F its integral from midnight. The paper leaves c_1 open; here it is the
    hour of a 15-minute grid with the lowest cost of the day. A board for which no c_1 puts all
    visits before 24:00 gets the hours of `equal_area_hours`.
    """
    intensity = Intensity.of(demand.rates)

    def best_hours(visits: Ints) -> tuple[Ints, Floats]:
        board, hours = equal_area_hours(demand.rates, visits, blocks_more=0)
        parts = np.split(hours, np.cumsum(visits)[:-1])
        shot = [_shoot(intensity, number, len(part)) for number, part in enumerate(parts)]
        return board, np.concatenate(
            [part if one is None else one for one, part in zip(shot, parts, strict=True)]
        )

    return timetable(
        lambda total: rounded(demand.weights, total), best_hours, demand.boards, visits_per_day
    )


def _shoot(intensity: Intensity, board: int, visits: int) -> Floats | None:
    """Returns the hours of `visits` visits of a board in one day, spaced by eq. (9) of the forum
    paper. Of all first hours it takes the one with the least expected delay; None if every first
    hour puts a visit after midnight.
    """
    first = np.arange(START_STEP_HOURS, DAY_HOURS, START_STEP_HOURS)
    owner = np.full(len(first), board)
    hours = np.zeros((len(first), visits + 1))
    if visits == 0:
        return None
    hours[:, 1] = first
    usable = np.ones(len(first), dtype=bool)
    for step in range(2, visits + 1):
        rate = intensity.at(owner, hours[:, step - 1])
        collected = intensity.mass(owner, hours[:, step - 1]) - intensity.mass(
            owner, hours[:, step - 2]
        )
        usable &= (rate > 0) & (collected > 0)
        hours[:, step] = hours[:, step - 1] + np.divide(
            collected, rate, out=np.full(len(first), DAY_HOURS), where=rate > 0
        )
        usable &= hours[:, step] < DAY_HOURS
        hours[~usable, step] = 0.0
    if not usable.any():
        return None
    candidates = hours[usable, 1:]
    costs = [intensity.day_cost(board, row) for row in candidates]
    return np.asarray(candidates[int(np.argmin(costs))])
