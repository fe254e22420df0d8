"""Timetables: which board is visited at which hours, repeating every day or every few days; and the
rules that divide a day's visits among boards."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from forums.schedule.equations import HOUR_SECONDS
from forums.schedule.events import DAY_SECONDS, Floats, Ints
from forums.schedule.rhythm import DAY_HOURS


class BudgetError(ValueError):
    """No timetable can satisfy the budget."""


def rounded(shares: Floats, total: int, floor: int = 1) -> Ints:
    """Rounds `shares` * total to whole numbers that sum to `total` exactly, by largest remainders.

    Parameters
    ----------
    shares : (n,), not negative, in any unit. If all are zero, all boards get equal shares.
    total : visits to divide.
    floor : least number of each board; boards with less than the floor get the floor, the rest is
        divided among the others in proportion. BudgetError is raised if floor * n > total.

    Returns
    -------
    visits : (n,), whole numbers; ties go to the lower index.

    References
    ----------
    m_i of eq. (6) of the forum paper, made whole.
    """
    shares = np.maximum(np.asarray(shares, dtype=float), 0.0)
    count = len(shares)
    if floor * count > total:
        raise BudgetError(f"{total} visits cannot give {count} boards {floor} each")
    if count == 0:
        return np.zeros(0, dtype=np.int64)
    if shares.sum() <= 0:
        shares = np.ones(count)
    held = np.zeros(count, dtype=bool)
    ideal = shares / shares.sum() * total
    while True:
        low = ~held & (ideal < floor)
        if not low.any():
            break
        held |= low
        ideal[held] = floor
        rest = shares[~held].sum()
        ideal[~held] = shares[~held] / rest * (total - floor * held.sum()) if rest > 0 else 0.0
    visits: Ints = np.floor(ideal + 1e-9).astype(np.int64)
    missing = total - int(visits.sum())
    remainder = np.where(held, -1.0, ideal - visits)
    visits[np.argsort(-remainder, kind="stable")[:missing]] += 1
    return visits


def square_root(rates: Floats, total: int) -> Ints:
    """Returns numbers of visits by the square-root law: m_i proportional to sum_h sqrt(f_i(h));
    at least 1, sum `total`.

    Parameters
    ----------
    rates : (n, bins), f_i(h), weighted events per hour, importance included.
    total : visits a day of all boards.

    Returns
    -------
    visits : (n,)

    References
    ----------
    Sia, Cho and Cho: the Cauchy-Schwarz inequality for the delay D = sum over i of the integral of
    f_i / (2 u_i), with u_i visits per hour.
    """
    return rounded(np.sqrt(rates).sum(axis=1), total)


def greedy(costs: Floats, total: int) -> Ints:
    """Returns the numbers of visits m_i that minimise sum_i D_i(m_i) with sum m_i = total and every
    m_i >= 1.

    Parameters
    ----------
    costs : (n, mmax), the delays D_i(1) … D_i(mmax) with that many visits; beyond mmax D_i(m) =
        D_i(mmax) mmax / m, its asymptotic form.
    total : visits of all boards; BudgetError if below n.

    Returns
    -------
    visits : (n,). Exact where each D_i is convex; rows that are not are replaced by their greatest
        convex minorant.

    References
    ----------
    Fox, Discrete optimization via marginal analysis, Management Science 13 (1966).
    """
    count = len(costs)
    if total < count:
        raise BudgetError(f"{total} visits are fewer than {count} boards")
    return 1 + _largest_gains(_gains(_convex(costs), total - count), total - count)


def _convex(costs: Floats) -> Floats:
    """Returns the greatest convex minorant of each board's costs (row of `costs`); most rows are
    unchanged."""
    result = np.array(costs, dtype=float)
    for row in np.flatnonzero((np.diff(result, n=2, axis=1) < -1e-9 * result[:, :1]).any(axis=1)):
        values, hull = result[row], [0]
        for point in range(1, len(values)):
            while len(hull) > 1:
                a, b = hull[-2], hull[-1]
                if (values[b] - values[a]) * (point - a) < (values[point] - values[a]) * (b - a):
                    break
                hull.pop()
            hull.append(point)
        result[row] = np.interp(np.arange(len(values)), hull, values[hull])
    return result


def _gains(costs: Floats, extra: int) -> Floats:
    """Returns the gains D(m) - D(m + 1) of one more visit of each board (row) with m = 1, 2, …
    visits (column). Where a gain is larger than an earlier one in its row, it is reduced to that.
    There are enough columns for any division of `extra` visits.
    """
    known = costs.shape[1]
    want = min(extra, known - 1)
    gains = costs[:, :want] - costs[:, 1 : want + 1]
    if (
        extra > want
    ):  # more visits than `costs` has columns: their gains assume a cost proportional to 1 / visits
        more = np.arange(known, min(extra + 1, _max_visits(costs, extra)))
        tail = costs[:, -1:] * known * (1.0 / more - 1.0 / (more + 1.0))
        gains = np.concatenate([gains, tail], axis=1)
    return np.maximum(np.minimum.accumulate(gains, axis=1), 0.0) if gains.shape[1] else gains


def _max_visits(costs: Floats, extra: int) -> int:
    """Returns an upper bound of the number of visits that `greedy` gives one board from `costs` and
    `extra` visits beyond one per board: the number of columns of `costs`, plus 2, plus twice the
    largest share of all visits divided in proportion to the square roots of the last column."""
    roots = np.sqrt(np.maximum(costs[:, -1], 0.0))
    share = roots.max() / roots.sum() if roots.sum() > 0 else 1.0
    return int(costs.shape[1]) + 2 + math.ceil(2 * share * (extra + len(costs)))


def _largest_gains(gains: Floats, extra: int) -> Ints:
    """Returns for each row how many of its gains are among the `extra` largest of all rows, (n,);
    gains in a row do not increase, so these are its first ones."""
    count = len(gains)
    if extra == 0 or count == 0:
        return np.zeros(count, dtype=np.int64)
    flat = gains.ravel()
    border = np.partition(flat, len(flat) - extra)[len(flat) - extra]
    taken = (gains > border).sum(axis=1)
    ties = (gains == border).sum(axis=1)
    missing = extra - int(taken.sum())
    before = np.concatenate([[0], np.cumsum(ties)[:-1]])
    numbers: Ints = (taken + np.clip(missing - before, 0, ties)).astype(np.int64)
    return numbers


@dataclass(frozen=True, slots=True)
class Timetable:
    """Visits of `boards` boards over a cycle of `days` days, sorted by day, hour and board.

    board, day and hour are parallel, one entry per visit; hour lies in [0, 24) on the site's local
    clock. A board visited less than once a day has visits on some days of the cycle only.
    """

    boards: int
    days: int
    board: Ints
    day: Ints
    hour: Floats

    @classmethod
    def of(
        cls, boards: int, board: Ints, hour: Floats, day: Ints | None = None, days: int = 1
    ) -> Timetable:
        """Returns a timetable from visits in any order; hours outside [0, 24) are moved to the
        neighbouring day of the cycle.

        board, hour and day (None: day 0): one entry per visit.
        """
        owner = np.asarray(board, dtype=np.int64)
        shift = np.floor(np.asarray(hour, dtype=float) / DAY_HOURS)
        clock = np.clip(hour - shift * DAY_HOURS, 0.0, np.nextafter(DAY_HOURS, 0.0))
        on = (
            np.zeros(len(owner), dtype=np.int64) if day is None else np.asarray(day)
        ) + shift.astype(np.int64)
        on %= days
        order = np.lexsort((owner, clock, on))
        return cls(boards, days, owner[order], on[order], clock[order])

    def visits_per_day(self) -> Ints:
        """Returns the number of visits on each day of the cycle, (days,)."""
        return np.bincount(self.day, minlength=self.days)

    def visits_of(self, board: int, day: int = 0) -> Floats:
        """Returns the hours at which a board is visited on a day of the cycle, ascending."""
        hours: Floats = self.hour[(self.board == board) & (self.day == day % self.days)]
        return hours

    def moments(self, first: date, count: int, zone: ZoneInfo) -> tuple[Ints, Floats]:
        """Returns board and epoch seconds of every visit on `count` days from `first`, which is day
        0 of the cycle; parallel arrays."""
        boards, moments = [], []
        for step in range(count):
            today = first + timedelta(days=step)
            rows = self.day == step % self.days
            boards.append(self.board[rows])
            moments.append(_wall_clock(self.hour[rows], today, zone))
        return np.concatenate(boards), np.concatenate(moments)


def _wall_clock(hours: Floats, day: date, zone: ZoneInfo) -> Floats:
    """Returns the epoch seconds of local times of one day (hours since midnight), also on days of
    clock changes."""
    start = datetime.combine(day, time(), zone).timestamp()
    end = datetime.combine(day + timedelta(days=1), time(), zone).timestamp()
    if end - start == DAY_SECONDS:
        return start + hours * HOUR_SECONDS
    naive = datetime.combine(day, time())
    return np.array(
        [
            (naive + timedelta(hours=hour)).replace(tzinfo=zone).timestamp()
            for hour in hours.tolist()
        ]
    )


def cycle_days(boards: int, visits_per_day: int) -> int:
    """Returns the number of days after which every board has been visited: 1, or ceil(n / M) if
    there are fewer visits M than boards n."""
    if visits_per_day < 1:
        raise BudgetError("a plan needs at least one visit a day")
    return max(1, math.ceil(boards / visits_per_day))


def spread_over_days(visits: Ints, days: int) -> Ints:
    """Divides each board's visits in a cycle among its days; every day gets the same number of
    visits.

    Boards are distributed in turn, those with fewest visits last, so that a board's numbers of
    visits on any two days differ by at most one.

    Parameters
    ----------
    visits : (n,), visits of each board in the cycle; BudgetError is raised if their sum is not a
        multiple of `days`.
    days : length of the cycle.

    Returns
    -------
    counts : (days, n), visits of each board on each day.
    """
    total = int(visits.sum())
    if total % days:
        raise BudgetError(f"{total} visits cannot be the same number on each of {days} days")
    counts = np.tile(visits // days, (days, 1))
    left = visits % days
    owner = np.repeat(np.argsort(-left, kind="stable"), np.sort(left)[::-1])
    stride = _stride(days)
    np.add.at(counts, ((np.arange(len(owner)) * stride) % days, owner), 1)
    return counts


def _stride(days: int) -> int:
    """Returns a step near the golden section of the cycle and coprime to it, so that a board's days
    are spread out."""
    best = max(1, round(days * 0.618))
    while math.gcd(best, days) > 1:
        best -= 1
    return best


def keep_gap(table: Timetable, site: Ints, gap_hours: Floats) -> Timetable:
    """Moves visits later until any two visits of one site are far enough apart, also across
    midnight.

    The number of visits per day stays the same: a visit moved past midnight is exchanged for the
    one moved in from the day before.

    Parameters
    ----------
    table : the timetable of n boards.
    site : (n,), site number of each board.
    gap_hours : (sites,), least hours between two visits of a site. BudgetError is raised if a
        site's visits do not fit into its days.

    Returns
    -------
    table : the new timetable.
    """
    clock = table.day * DAY_HOURS + table.hour
    cycle = table.days * DAY_HOURS
    moved = clock.copy()
    for number in np.unique(site):
        rows = np.flatnonzero(site[table.board] == number)
        gap = float(gap_hours[number])
        if len(rows) < 2 or gap <= 0:
            continue
        if len(rows) * gap > cycle + 1e-9:
            raise BudgetError(
                f"{len(rows)} visits {gap * HOUR_SECONDS:g} s apart do not fit into {table.days}"
                " day(s)"
            )
        rows = rows[np.argsort(clock[rows], kind="stable")]
        moved[rows] = _pushed(clock[rows], gap, cycle)
    return (
        Timetable.of(table.boards, table.board, moved % cycle, days=1)
        if table.days == 1
        else _rewrapped(table, moved)
    )


def _pushed(clock: Floats, gap: float, cycle: float) -> Floats:
    """Returns the ascending times `clock` moved later so that each is at least `gap` after the one
    before, also from the last to the first of the next cycle. All gaps together must fit into the
    cycle."""
    steps = gap * np.arange(len(clock))
    moved = steps + np.maximum.accumulate(clock - steps)
    first = (
        moved[-1] + gap - cycle
    )  # earliest time for the first visit: `gap` after the last one of the previous cycle
    pushed: Floats = np.maximum(moved, first + steps)
    return pushed


def _rewrapped(table: Timetable, clock: Floats) -> Timetable:
    """Returns a timetable of several days from `clock`, the hours of the visits since the start of
    the cycle."""
    inside = clock % (table.days * DAY_HOURS)
    day = (inside // DAY_HOURS).astype(np.int64)
    return Timetable.of(table.boards, table.board, inside - day * DAY_HOURS, day, table.days)
