"""Plans one day's timetable for boards of several sites, within a budget of visits, each site's
limit of requests and its working hours, and computes what each visit is expected to find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from forums.schedule.events import Floats, Ints
from forums.schedule.opening_hours_arrays import WHOLE_DAY, Spans, to_day_hours, to_planning_clock
from forums.schedule.optimal import OptimalPlanner, expected_cost
from forums.schedule.paper import Demand
from forums.schedule.policies import rule_of
from forums.schedule.rhythm import DAY_HOURS, Intensity
from forums.schedule.timetable import BudgetError, Timetable, keep_gap

# up to this number of boards, timetables are computed by dynamic programming on 15-minute steps
# (about 30 ms per board); for more boards by the closed formula of the optimum, refined numerically
EXACT_BOARDS = 150


BUSY_SHARE = 0.7


BUSY_HOURS = 6.0


LONGEST_HOURS = 72.0


@dataclass(frozen=True, slots=True)
class DayInput:
    """The input for planning a day of n boards.

    rates: (n, bins), weighted events per hour by the site's local time, importance included; the
    daily rhythms of small boards are shrunk towards their site's. plain: the same without
    shrinkage, for the forum paper's rules. site: (n,), site numbers. requests: (n,), mean number of
    requests of a visit. allowed_requests: (sites,), requests a day, inf for no limit. gap_hours:
    (sites,), least time between two visits of a site.
    """

    rates: Floats
    plain: Floats
    site: Ints
    requests: Floats
    allowed_requests: Floats
    gap_hours: Floats

    def only(self, boards: Ints) -> DayInput:
        """Returns the input for these boards only, renumbered from 0; site numbers stay
        unchanged."""
        return DayInput(
            self.rates[boards],
            self.plain[boards],
            self.site[boards],
            self.requests[boards],
            self.allowed_requests,
            self.gap_hours,
        )


@dataclass(frozen=True, slots=True)
class Part:
    """A timetable of some of the boards: board i of `table` is board number boards[i] of the
    schedule."""

    boards: Ints
    table: Timetable

    def on(self, day: int) -> tuple[Ints, Floats]:
        """Returns the visits of a day as two parallel arrays, board numbers and hours. `day`
        numbers the days one by one; the timetable repeats, so any day may be 0."""
        rows = self.table.day == day % self.table.days
        return self.boards[self.table.board[rows]], self.table.hour[rows]


@dataclass(frozen=True, slots=True)
class Schedule:
    """A daily plan: one part for each site that its own request limit restricts (site numbers in
    `limited`), and one part for the boards of all other sites, which share the rest of the budget.
    """

    parts: tuple[Part, ...]
    limited: tuple[int, ...]

    def on(self, day: int) -> tuple[Ints, Floats]:
        """Returns all visits of a day as two parallel arrays, board numbers and hours, ordered by
        hour. `day` numbers the days one by one; any day may be 0."""
        found = [part.on(day) for part in self.parts] or [
            (np.zeros(0, dtype=np.int64), np.zeros(0))
        ]
        board = np.concatenate([one[0] for one in found])
        hour = np.concatenate([one[1] for one in found])
        order = np.lexsort((board, hour))
        return board[order], hour[order]

    def expected_delay(self, rates: Floats) -> Floats:
        """Returns the expected weighted event-hours a day of each board under these rates, (n,);
        nan for boards that no part of the schedule contains."""
        cost = np.full(len(rates), np.nan)
        for part in self.parts:
            cost[part.boards] = expected_cost(Intensity.of(rates[part.boards]), part.table)
        return cost

    def visits_per_day(self, boards: int) -> Floats:
        """Returns the mean visits a day of each board, (boards,)."""
        visits = np.zeros(boards)
        for part in self.parts:
            visits[part.boards] += (
                np.bincount(part.table.board, minlength=part.table.boards) / part.table.days
            )
        return visits


def timetable(policy: str, given: DayInput, visits_per_day: int) -> Timetable:
    """Returns the timetable of a policy (era, wra, lra, bra, optimal) with exactly `visits_per_day`
    visits on every day.

    Visits are moved until those of one site are `gap_hours` apart; if they do not all fit into the
    day, none is moved.
    """
    if policy == "optimal":
        table = OptimalPlanner(Demand(given.rates), exact=len(given.rates) <= EXACT_BOARDS).plan(
            visits_per_day
        )
    else:
        table = rule_of(policy)(Demand(given.plain), visits_per_day)
    try:
        return keep_gap(table, given.site, given.gap_hours)
    except BudgetError:
        return table


def schedule(policy: str, given: DayInput, visits_per_day: int) -> Schedule:
    """Plans all boards within `visits_per_day`. A site that would exceed its request limit is
    planned by itself with as many visits as its limit allows; the remaining visits go to the other
    sites.

    Each such site, and the other sites together, get at least one visit per day, even if the limit
    or the budget is smaller.
    """
    boards = np.arange(len(given.rates))
    parts: list[Part] = []
    limited: list[int] = []
    left = visits_per_day
    while len(boards):
        part = Part(boards, timetable(policy, given.only(boards), max(1, left)))
        over = _over(part, given)
        if over is None:
            return Schedule((*parts, part), tuple(limited))
        members = boards[given.site[boards] == over]
        visits = (
            np.bincount(part.table.board, minlength=len(boards))[given.site[boards] == over]
            / part.table.days
        )
        mean = float((visits * given.requests[members]).sum() / visits.sum())
        allowed = max(1, int(given.allowed_requests[over] / mean))
        parts.append(Part(members, timetable(policy, given.only(members), allowed)))
        limited.append(over)
        left -= allowed
        boards = boards[given.site[boards] != over]
    return Schedule(tuple(parts), tuple(limited))


def _over(part: Part, given: DayInput) -> int | None:
    """Returns the number of the site that exceeds its request limit by the largest factor; None if
    no site does."""
    owner = part.boards[part.table.board]
    asked = (
        np.bincount(given.site[owner], given.requests[owner], len(given.allowed_requests))
        / part.table.days
    )
    excess = np.where(
        np.isfinite(given.allowed_requests), asked / np.maximum(given.allowed_requests, 1e-9), 0.0
    )
    worst = int(excess.argmax())
    return worst if excess[worst] > 1.0 + 1e-9 else None


@dataclass(frozen=True, slots=True)
class Expectation:
    """What visits are expected to find; parallel arrays, one entry per visit.

    events: weighted events. delay: the weighted event-hours that these events have waited.
    from_hour, to_hour: the busiest hours before the visit, as hours of the day; per_hour: mean
    weighted events per hour in them.
    """

    events: Floats
    delay: Floats
    from_hour: Floats
    to_hour: Floats
    per_hour: Floats


def expectations(rates: Floats, board: Ints, previous: Floats, now: Floats) -> Expectation:
    """Returns what visits are expected to find.

    Parameters
    ----------
    rates : (n, bins), weighted events per hour by hour of the day.
    board, previous, now : (visits,), board number, and hours of the last visit and of this one, on
        one clock, which may exceed 24.

    Returns
    -------
    expectation : (visits,) in each field. The busy hours of a visit are the bin with the highest
        rate since the last visit, within six hours, and the bins adjoining it with at least 0.7 of
        that rate.
    """
    intensity = Intensity.of(rates)
    start = np.maximum(previous, now - LONGEST_HOURS)
    events = intensity.mass(board, now) - intensity.mass(board, start)
    width = intensity.width
    steps = max(1, int(BUSY_HOURS / width))
    last = (
        np.ceil(now / width) - 1.0
    )  # the index of the bin that contains the time of the visit, or ends at it
    bins = last[:, None] - np.arange(steps)[None, :]
    rate = intensity.rates[board[:, None], np.mod(bins, intensity.bins).astype(np.int64)]
    inside = (bins + 1.0) * width > start[:, None]
    inside[:, 0] = True
    top = np.where(inside, rate, -1.0).argmax(axis=1)
    busy = inside & (rate >= BUSY_SHARE * rate[np.arange(len(top)), top][:, None])
    column = np.arange(steps)[None, :]
    broken_late = (~busy & (column < top[:, None])) * (column + 1)
    first = broken_late.max(
        axis=1
    )  # first column of the run of busy bins that contains the maximum
    broken_early = np.where(~busy & (column > top[:, None]), column, steps)
    end = broken_early.min(
        axis=1
    )  # where the busy bins end (exclusive): the column of the first gap after the maximum
    taken = (column >= first[:, None]) & (column < end[:, None])
    return Expectation(
        events=np.maximum(events, 0.0),
        delay=intensity.interval_cost(board, start, now),
        from_hour=np.mod((last - end + 1.0) * width, DAY_HOURS),
        to_hour=np.mod((last - first + 1.0) * width - 1e-9, DAY_HOURS) + 1e-9,
        per_hour=(rate * taken).sum(axis=1) / taken.sum(axis=1),
    )


def schedule_in_hours(
    policy: str, given: DayInput, visits_per_day: int, open_: Sequence[Spans]
) -> Schedule:
    """Plans a day as `planning.schedule` does, but with every visit inside the open hours of its
    site; `open_` has one entry per site number. Boards of sites that are closed all day get no
    visits."""
    boards = np.flatnonzero(
        np.array([bool(open_[number]) for number in given.site.tolist()], dtype=bool)
    )
    if not len(boards):
        return Schedule((), ())
    rates, plain, gap = given.rates.copy(), given.plain.copy(), given.gap_hours.astype(float)
    for number, hours in enumerate(open_):
        if hours and hours != WHOLE_DAY:
            rows = given.site == number
            rates[rows], plain[rows] = (
                to_planning_clock(rates[rows], hours),
                to_planning_clock(plain[rows], hours),
            )
            gap[number] *= DAY_HOURS / sum(last - first for first, last in hours)
    made = schedule(
        policy, replace(given, rates=rates, plain=plain, gap_hours=gap).only(boards), visits_per_day
    )
    parts = []
    for part in made.parts:
        own = boards[part.boards]
        parts.append(Part(own, _mapped(part.table, given.site[own][part.table.board], open_)))
    return Schedule(tuple(parts), made.limited)


def _mapped(table: Timetable, site: Ints, open_: Sequence[Spans]) -> Timetable:
    hour = table.hour.copy()
    for number in np.unique(site).tolist():
        rows = site == number
        hour[rows] = to_day_hours(hour[rows], open_[number])
    return Timetable.of(table.boards, table.board, hour, table.day, table.days)


def matching_days_before(day: date, alike: Sequence[bool]) -> int:
    """Returns how many days from the year 1 until `day` (exclusive) have the same open hours as
    `day`. alike: seven flags from Monday to Sunday, true for the weekdays whose open hours equal
    those of `day`.

    A visiting cycle of several days counts only such days, so that every board is visited even if
    some days are closed.
    """
    weeks, weekday = divmod(day.toordinal() - 1, 7)
    return weeks * sum(alike) + sum(alike[:weekday])
