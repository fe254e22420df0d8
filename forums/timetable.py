"""Timetables: which board is visited at which hours, repeating every day or every few days; and the
minimum gaps between visits of a site."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from forums.allocation import BudgetError
from forums.events import DAY_SECONDS, Floats, Ints
from forums.intensity import DAY_HOURS
from forums.law import HOUR_SECONDS


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


def from_quantiles(boards: int, visits: Ints, hours: Sequence[Floats]) -> Timetable:
    """Returns a daily timetable from the hours of each board's visits: hours[i] has visits[i]
    entries, otherwise BudgetError is raised."""
    if [len(one) for one in hours] != visits.tolist():
        raise BudgetError("a board's hours and its number of visits differ")
    flat = np.concatenate(hours) if len(hours) else np.zeros(0)
    return Timetable.of(boards, np.repeat(np.arange(boards), visits), flat)


def cycle_days(boards: int, visits_per_day: int) -> int:
    """Returns the number of days after which every board has been visited: 1, or ceil(n / M) if
    there are fewer visits M than boards n."""
    if visits_per_day < 1:
        raise BudgetError("a plan needs at least one visit a day")
    return max(1, math.ceil(boards / visits_per_day))


def spread_over_days(visits: Ints, days: int) -> Ints:
    """Divides each board's visits in a cycle of `days` days among the days, (days, n); every day
    gets the same number of visits.

    The sum of `visits` must be a multiple of `days`, otherwise BudgetError is raised. Boards are
    distributed in turn, those with fewest visits last, so that a board's numbers of visits on any
    two days differ by at most one.
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
    """Moves visits later until any two visits of one site are at least `gap_hours` of that site
    apart, also across midnight; returns the new timetable.

    site: (n,), the site of each board; gap_hours: one value per site number. The number of visits
    per day stays the same: a visit moved past midnight is exchanged for the one moved in from the
    day before. Raises BudgetError if a site's visits do not fit into its days.
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
