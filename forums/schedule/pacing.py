"""Pacing of the adaptive policy over a day: the budget of visits, how much of it is used, the
planned use by time of day, and how far the policy may deviate from the plan."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field, replace

import numpy as np

from forums.schedule.equations import HOUR_SECONDS
from forums.schedule.events import DAY_SECONDS, Floats, Sites
from forums.schedule.rhythm import DAY_HOURS

PLAN_STEPS = 96
_BOUNDS = np.arange(PLAN_STEPS + 1.0)
PAUSE_TICKS = (
    10  # after a gap of more ranking intervals than this, the rest of the day is planned again
)


@dataclass(slots=True)
class Budget:
    """The state of the day's budget.

    price: the priority of a board (its index, in weighted event-hours) above which it is visited,
    nan while not known. used: number of visits charged today. last_tick: epoch seconds of the last
    ranking, None before the first. day: number of the local day, in days since 1970.

    After a late start, a pause or a change of the budget, the rest of the day is planned again.
    from_used: the visits counted as charged until then. from_plan: share of the day's visits
    planned until then, in [0, 1]. Otherwise both are 0.
    """

    visits_per_day: int
    price: float = math.nan
    used: int = 0
    from_used: int = 0
    from_plan: float = 0.0
    last_tick: float | None = None
    day: float = field(default=-np.inf)

    def packed(self) -> Floats:
        """Returns the fields as an array of seven numbers, from which `unpacked` restores the
        budget; nan stands for no last ranking."""
        tick = math.nan if self.last_tick is None else self.last_tick
        counts = [
            self.visits_per_day,
            self.price,
            self.used,
            self.from_used,
            self.from_plan,
            tick,
            self.day,
        ]
        return np.array(counts, dtype=float)

    @classmethod
    def unpacked(cls, values: Floats) -> Budget:
        """Restores a budget from the array that `packed` returned."""
        visits, price, used, from_used, from_plan, tick, day = (float(value) for value in values)
        return cls(
            int(visits),
            price,
            int(used),
            int(from_used),
            from_plan,
            None if math.isnan(tick) else tick,
            day,
        )


@dataclass(frozen=True, slots=True)
class Spending:
    """The visits that one ranking may make, and the rule by which it decides on each.

    At the end of this ranking, at least `least` and at most `most` of the day's visits must be
    used. In between, a visit needs a value of at least price * exp(steer * (visits used - target) /
    visits a day): more than the price beyond `target`, less below it. step: share by which the
    price moves towards the value of each visit made.
    """

    budget: Budget
    least: float
    most: float
    target: float
    steer: float
    step: float

    def visits_left(self) -> int:
        """Returns the number of visits that the budget still allows in this ranking of the
        boards."""
        return min(
            math.ceil(max(self.most - self.budget.used, 0.0)),
            max(self.budget.visits_per_day - self.budget.used, 0),
        )

    def accept(self, value: float, cost: int, *, forced: bool) -> bool:
        """Returns whether to make a visit of a board or a reading of an overview source. If so,
        charges `cost` visits to the budget and moves the price, on which the decision depends (see
        the class), towards `value`.

        value: weighted event-hours gained per visit charged. forced: accept any value. False if
        `cost` > `visits_left()`.
        """
        budget = self.budget
        if cost > self.visits_left():
            return False
        threshold = budget.price * np.exp(
            self.steer * (budget.used - self.target) / budget.visits_per_day
        )
        if value < threshold and budget.used >= self.least and not forced:
            return False
        if math.isfinite(value):
            budget.price += self.step * (value - budget.price)
        budget.used += cost
        return True


class Pace:
    """Spreads a budget of visits over each day; days begin at midnight of the first site's clock.

    The plan gives each quarter-hour of the day visits in proportion to the sum over the boards of
    sqrt(f_i), f_i the board's rate at that time: the square-root law. The policy may deviate from
    the plan by `band` of the day's visits, less over the last `closing_hours`.
    """

    def __init__(
        self,
        rates: Floats,
        sites: Sites,
        budget: Budget,
        *,
        tick_seconds: float,
        band: float,
        closing_hours: float,
    ) -> None:
        """Prepares the pacing; the day's plan is made by the first call of `start_ranking`.

        rates: (n, bins), weighted events per hour of each board by local time of its site. budget:
        changed by `start_ranking` and `change`. The other arguments are those of `LoopOptions`.
        """
        self._roots, self.units = np.sqrt(rates), len(rates)
        self._sites = sites
        self.budget = budget
        self.tick_seconds, self._band, self._closing_hours = tick_seconds, band, closing_hours
        self.plan = np.zeros(PLAN_STEPS + 1)

    def ahead(self, tick_seconds: float) -> Pace:
        """Returns a copy for simulating the rest of the day with a ranking every `tick_seconds`;
        its budget is a copy too, so visits counted there do not use this budget."""
        other = copy.copy(self)
        other.budget, other.tick_seconds = replace(self.budget), tick_seconds
        return other

    def first_price(self) -> float:
        """Returns the initial price, the index (in weighted event-hours) from which a board is
        visited: (S / visits a day)^2 / 2. S is the sum over the boards of sqrt(f_i), integrated
        over a day in hours; f_i is the rate of board i.
        """
        roots = self._roots.mean(axis=1).sum() * DAY_HOURS
        return float((roots / self.budget.visits_per_day) ** 2 / 2.0)

    def start_ranking(self, now: float) -> None:
        """Begins a new day of the budget if midnight has passed, and plans it; called at the start
        of every ranking.

        After a pause or a late start, only the rest of the day is planned.
        """
        budget = self.budget
        local = self._local(now)
        day = np.floor(local / DAY_HOURS)
        if day != budget.day or not self.plan[-1]:
            self.plan = self._planned(now - (local - day * DAY_HOURS) * HOUR_SECONDS)
        paused = (
            budget.last_tick is not None
            and now - budget.last_tick > PAUSE_TICKS * self.tick_seconds
        )
        if day != budget.day:
            budget.day, budget.used, budget.from_used, budget.from_plan = day, 0, 0, 0.0
            if (
                budget.last_tick is None or paused
            ):  # after a late start or long pause, visits planned before now count as made
                budget.from_plan = self._done(now)
                budget.used = budget.from_used = int(budget.visits_per_day * budget.from_plan)
        elif paused:  # spread the day's remaining visits over the rest of the day
            budget.from_used, budget.from_plan = budget.used, self._done(now)
        budget.last_tick = now

    def target(self, now: float) -> tuple[float, float]:
        """Returns the number of visits planned to be made by now since midnight, and the allowed
        deviation from it in visits."""
        budget = self.budget
        left = self._hours_left(now)
        if left * HOUR_SECONDS <= self.tick_seconds + 1e-3:
            return float(budget.visits_per_day), 0.0
        share = (self._done(now) - budget.from_plan) / max(1.0 - budget.from_plan, 1e-9)
        band = self._band * budget.visits_per_day * min(1.0, left / self._closing_hours)
        return budget.from_used + (budget.visits_per_day - budget.from_used) * share, band

    def rankings_left(self, now: float) -> int:
        """Returns how many rankings (decisions which boards to visit) follow the one at `now` on
        the same local day."""
        return max(
            int(np.ceil((self._hours_left(now) * HOUR_SECONDS - 1e-3) / self.tick_seconds)) - 1, 0
        )

    def change(self, visits_per_day: int, now: float) -> None:
        """Changes the number of visits per day from now on: the rest of today gets the planned
        share of the new number."""
        budget = self.budget
        budget.price *= (budget.visits_per_day / visits_per_day) ** 2
        budget.visits_per_day = visits_per_day
        if self.plan[-1]:
            budget.from_plan = self._done(now)
            budget.used = budget.from_used = int(visits_per_day * budget.from_plan)

    def _local(self, now: float) -> float:
        return self._sites.clocks[0].local_hour(now)

    def _hours_left(self, now: float) -> float:
        return self._closing() - self._local(now) % DAY_HOURS

    def _closing(self) -> float:
        """Returns the hour of the day by which the day's visits must have been made: 24 or, if
        sites have working hours, the time from which the plan makes no more visits."""
        if not any(one is not None for one in self._sites.openings) or not self.plan[-1]:
            return DAY_HOURS
        return float(np.searchsorted(self.plan, self.plan[-1] - 1e-9)) * DAY_HOURS / PLAN_STEPS

    def _planned(self, start: float) -> Floats:
        """Returns the cumulated share of the day's visits at midnight and at the end of each
        quarter-hour from `start` (epoch seconds) on, (97,).

        A quarter-hour's share is in proportion to the sum of sqrt(f_i) over the boards at the local
        time of each board's site.
        """
        moments: Floats = start + np.arange(PLAN_STEPS, dtype=float) * (DAY_SECONDS / PLAN_STEPS)
        density = np.zeros(PLAN_STEPS)
        bins = self._roots.shape[1]
        for number, clock in enumerate(self._sites.clocks):
            roots = self._roots[self._sites.site == number].sum(axis=0)
            hours = clock.local_hours(moments) % DAY_HOURS
            density += self._within(
                number,
                moments,
                roots[np.minimum((hours * bins / DAY_HOURS).astype(np.int64), bins - 1)],
            )
        if (
            not density.sum()
        ):  # the whole day is outside the working hours, so the plan does not matter
            density += 1.0
        shares: Floats = np.concatenate([[0.0], np.cumsum(density)]) / density.sum()
        return shares

    def _within(self, site: int, moments: Floats, density: Floats) -> Floats:
        """Returns `density` with 0 where `moments` (epoch seconds, parallel) lie outside the
        working hours of site number `site`."""
        opening = self._sites.openings[site] if self._sites.openings else None
        return density if opening is None else density * opening.at(moments)

    def _done(self, now: float) -> float:
        """Returns the share of the day's visits that the plan has made by `now`, in [0, 1]."""
        hour = self._local(now) % DAY_HOURS
        return float(np.interp(hour * PLAN_STEPS / DAY_HOURS, _BOUNDS, self.plan))
