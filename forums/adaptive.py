"""The closed loop `adaptive`: after every visit a new forecast, every few minutes the boards whose waiting posts weigh most."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from forums.events import DAY_SECONDS, HOUR_SECONDS, Bools, Floats, Ints, Sites
from forums.excitation import MOST_FITTED_BOARDS, POOLED, Kernel, Modes, expected, fit, state_after
from forums.intensity import DAY_HOURS, Intensity
from forums.pacing import Budget, Pace


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """Constants of the closed loop; tuned on public logs.

    floor_per_day: least weighted events a day that a board is expected to bring. clock_floor: least activity of an hour
    relative to the mean hour. band: share of the day's visits by which the loop may run ahead of or behind its plan;
    shrinks over the last `closing_hours`. steer: how hard the price follows the use. price_step: how fast the price
    moves. own_share: weight of the site's own kernel against `kernel`. fit_after_days: history that only excites.
    tick_seconds: time between two rankings; at the last one before midnight the rest of the day's visits is used.
    """

    kernel: Kernel = POOLED
    floor_per_day: float = 0.3
    clock_floor: float = 0.05
    band: float = 0.4
    closing_hours: float = 4.0
    steer: float = 4.0
    price_step: float = 0.02
    own_share: float = 0.5
    fit_after_days: float = 3.0
    tick_seconds: float = 180.0


@dataclass(frozen=True, slots=True)
class Seen:
    """Events that visits have seen: board, epoch seconds, weight (importance included), in any order."""

    board: Ints
    times: Floats
    weights: Floats


class Reason(NamedTuple):
    """A board's rank in numbers: expected waiting events (weighted), hours since its last visit, its usual events an
    hour at this time of day, its index (`rank`) and the price of a visit (both weighted event-hours).
    """

    waiting: float
    hours_since_visit: float
    usual_per_hour: float
    rank: float
    price: float


class Outlook(NamedTuple):
    """Visits to come in their order: board, epoch seconds, expected weighted events and weighted event-hours of each."""

    board: Ints
    moments: Floats
    events: Floats
    delay: Floats


class AdaptiveLoop:
    """Decides which boards to visit now, with exactly `visits_per_day` visits between two midnights.

    Life: built from rates and the events seen so far; then, every minute or every few, `due(now)` names the boards to
    visit, which count as visited and rest until `observe` tells what the visit saw (or `missed`, that it failed).
    Built anew when rates change (once a day), with the same `Budget`. One code for the desk, the simulator and tests.

    index_i = N_i(x) x / 2: expected weighted events since the board's last visit x hours ago, times half their
    waiting; equal indices are the optimum's condition (square-root law). A visit is made while the plan (cumulated
    sum of sqrt f over the day) allows it and the index is worth the price.
    """

    def __init__(
        self,
        rates: Floats,
        sites: Sites,
        seen: Seen,
        last_visit: Floats,
        since: float,
        budget: Budget,
        options: LoopOptions | None = None,
    ) -> None:
        """rates: (n, bins), weighted events per hour by local time; last_visit: (n,), epoch seconds, up to when a board's
        events are known; since: start of the history that `seen` covers.
        """
        self.options = options or LoopOptions()
        self.sites = sites
        self.budget = budget
        self.count = len(rates)
        flat = np.where(rates.sum(axis=1, keepdims=True) > 0, rates, 1e-9)
        self._set_rates(flat * np.maximum(1.0, self.options.floor_per_day / (flat.mean(axis=1) * DAY_HOURS))[:, None])
        self.last_visit = np.asarray(last_visit, dtype=float).copy()
        self.visiting: Bools = np.zeros(self.count, dtype=bool)
        self._operational = self._time(self.last_visit, self._all)
        self._kernels = self._fitted(seen, since)
        modes = [Modes.of(kernel) for kernel in self._kernels]
        self._into = np.array([mode.into for mode in modes])
        self._decay = np.array([mode.decay for mode in modes])[sites.site]
        self._state = self._replayed(seen, since)
        self._forecast_anew()
        self._pace = self._paced()
        if math.isnan(budget.price):
            budget.price = self._pace.first_price()

    def _paced(self) -> Pace:
        given = self.options
        return Pace(
            self._rates, self.sites, self.budget,
            tick_seconds=given.tick_seconds, band=given.band, closing_hours=given.closing_hours,
        )  # fmt: skip

    def _set_rates(self, rates: Floats) -> None:
        self._rates = rates
        self._level = rates.mean(axis=1)
        self._clock = Intensity.of(np.maximum(rates / self._level[:, None], self.options.clock_floor))
        self._all = np.arange(self.count)
        self._taken = np.zeros(self.count)  # what visits of an outlook have fetched of the forecast

    def _forecast_anew(self) -> None:
        self._amplitudes = np.empty_like(self._state)
        self._forecast(self._all)

    def packed(self) -> tuple[dict[str, Floats | Bools], dict[str, Floats | Bools]]:
        """What a day leaves as it is (rates, kernels) and what every visit moves: arrays from which `unpacked` goes on."""
        fixed: dict[str, Floats | Bools] = {"rates": self._rates, "into": self._into, "decay": self._decay}
        moving: dict[str, Floats | Bools] = {
            "last_visit": self.last_visit,
            "visiting": self.visiting,
            "operational": self._operational,
            "state": self._state,
            "plan": self._pace.plan,
            "budget": self.budget.packed(),
        }
        return fixed, moving

    @classmethod
    def unpacked(
        cls,
        fixed: Mapping[str, Floats | Bools],
        moving: Mapping[str, Floats | Bools],
        sites: Sites,
        options: LoopOptions | None = None,
    ) -> AdaptiveLoop:
        """The loop that `packed` gave, over the same boards and sites."""
        loop = cls.__new__(cls)
        loop.options, loop.sites, loop.count = options or LoopOptions(), sites, len(fixed["rates"])
        loop._set_rates(np.asarray(fixed["rates"], dtype=float))
        loop._into, loop._decay = np.asarray(fixed["into"], dtype=float), np.asarray(fixed["decay"], dtype=float)
        loop.budget = Budget.unpacked(np.asarray(moving["budget"], dtype=float))
        loop.last_visit, loop.visiting = np.array(moving["last_visit"], dtype=float), np.array(moving["visiting"], dtype=bool)
        loop._operational, loop._state = np.array(moving["operational"], dtype=float), np.array(moving["state"], dtype=float)
        loop._pace = loop._paced()
        loop._pace.plan = np.array(moving["plan"], dtype=float)
        loop._forecast_anew()
        return loop

    # --- what is known -------------------------------------------------------------------------------------------------

    def _time(self, times: Floats, board: Ints) -> Floats:
        """Operational time of each board at these moments, hours."""
        return self._clock.mass(board, self.sites.local_hours(times, board))

    def _fitted(self, seen: Seen, since: float) -> list[Kernel]:
        """One kernel a site: the given one, averaged with the site's own fit where its history allows one."""
        kernels = []
        origin = self._time(np.full(self.count, since), self._all)
        first = self._time(np.full(self.count, since + self.options.fit_after_days * DAY_SECONDS), self._all) - origin
        stop = self._operational - origin
        clock = self._time(seen.times, seen.board) - origin[seen.board]
        by_site = np.argsort(self.sites.site[seen.board], kind="stable")
        by_site = by_site[clock[by_site] >= 0]
        bounds = np.searchsorted(self.sites.site[seen.board[by_site]], np.arange(len(self.sites.clocks) + 1))
        place = np.full(self.count, -1)
        for number in range(len(self.sites.clocks)):
            members = np.flatnonzero((self.sites.site == number) & (stop > first))
            members = members[np.argsort(-self._level[members], kind="stable")[:MOST_FITTED_BOARDS]]
            place[members] = np.arange(len(members))
            rows = by_site[bounds[number] : bounds[number + 1]]
            rows = rows[place[seen.board[rows]] >= 0]
            own = self.options.kernel
            if len(rows) and self.options.own_share > 0:
                owner = place[seen.board[rows]]
                own = fit(own, self._level[members], owner, clock[rows], seen.weights[rows], first[members], stop[members])
            kernels.append(self.options.kernel.mixed(own, self.options.own_share))
        return kernels

    def _replayed(self, seen: Seen, since: float) -> Floats:
        """X of each board at its last visit."""
        origin = self._time(np.full(self.count, since), self._all)
        age = self._operational[seen.board] - self._time(seen.times, seen.board)
        known = (seen.times >= since) & (seen.times <= self.last_visit[seen.board])
        span = np.maximum(self._operational - origin, 0.0)
        board, passed, weights = seen.board[known], np.maximum(age[known], 0.0), seen.weights[known]
        return state_after(self.options.kernel.taus_hours, self._level, board, passed, weights, span)

    def _forecast(self, boards: Ints) -> None:
        """Turns the states of these boards into the modes of their forecast."""
        deviation = self._state[boards] - self._level[boards, None]
        self._amplitudes[boards] = np.einsum("mij,mj->mi", self._into[self.sites.site[boards]], deviation)

    def observe(self, boards: Ints, board: Ints, times: Floats, weights: Floats, now: float) -> None:
        """`boards` were visited at `now` and brought these events, one entry an event: board, epoch seconds, weight."""
        boards = np.asarray(boards, dtype=np.int64)
        taus = np.array(self.options.kernel.taus_hours)
        current = self._time(np.full(len(boards), now), boards)
        passed = np.maximum(current - self._operational[boards], 0.0)
        self._state[boards] *= np.exp(-passed[:, None] / taus)
        self._operational[boards] = np.maximum(current, self._operational[boards])
        if len(board):
            age = np.maximum(self._operational[board] - self._time(times, board), 0.0)
            np.add.at(self._state, board, weights[:, None] / taus * np.exp(-age[:, None] / taus))
        self.last_visit[boards] = now
        self.visiting[boards] = False
        self._taken[boards] = 0.0
        self._forecast(boards)

    def missed(self, boards: Ints) -> None:
        """The visits of these boards failed: they rank again with the waiting they have."""
        self.visiting[boards] = False

    def expected_events(self, now: float, boards: Ints | None = None) -> Floats:
        """N_i: weighted events that wait on each board now, as forecast at its last visit."""
        rows = self._all if boards is None else boards
        elapsed = np.maximum(self._time(np.full(len(rows), now), rows) - self._operational[rows], 0.0)
        grown = expected(self._level[rows], self._amplitudes[rows], self._decay[rows], elapsed)
        return np.maximum(grown - self._taken[rows], 0.0)

    def index(self, now: float) -> Floats:
        """N_i(x) x / 2, weighted event-hours, (n,)."""
        hours = np.maximum(now - self.last_visit, 0.0) / HOUR_SECONDS
        return self.expected_events(now) * hours / 2.0

    # --- what is done --------------------------------------------------------------------------------------------------

    def due(self, now: float, allowed: Bools | None = None) -> Ints:
        """Boards to visit now, most urgent first; they count as used. `allowed` leaves out boards that may not be visited."""
        self._pace.turn(now)
        target, band = self._pace.target(now)
        index = self.index(now)
        open_now = ~self.visiting if allowed is None else allowed & ~self.visiting
        budget = self.budget
        late = budget.visits_per_day - self.count * self._pace.ticks_left(now)  # what the day's other rankings cannot make up for
        least, most = max(target - band, late), max(target + band, late)
        room = int(np.ceil(max(most - budget.used, 0.0)))
        ranked = _largest(np.where(open_now, index, -1.0), room)
        chosen: list[int] = []
        for board, value in zip(ranked.tolist(), index[ranked].tolist(), strict=True):
            if budget.used >= min(most, budget.visits_per_day) or not open_now[board]:
                break
            worth = budget.price * np.exp(self.options.steer * (budget.used - target) / budget.visits_per_day)
            if value < worth and budget.used >= least:
                break
            budget.price += self.options.price_step / self.count * (value - budget.price)
            budget.used += 1
            chosen.append(board)
        self.visiting[chosen] = True
        return np.array(chosen, dtype=np.int64)

    def change_budget(self, visits_per_day: int, now: float) -> None:
        """Another number of visits a day from now on: the rest of today gets its share of the new number."""
        self._pace.change(visits_per_day, now)

    def outlook(self, now: float, until: float, step_seconds: float = 900.0) -> Outlook:
        """The visits to come, should every board bring what is forecast."""
        ahead = copy.copy(self)
        ahead._pace = self._pace.ahead(step_seconds)
        ahead.budget = ahead._pace.budget
        ahead.last_visit, ahead._taken = self.last_visit.copy(), self._taken.copy()
        ahead.visiting = np.zeros(self.count, dtype=bool)
        parts = [Outlook(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), np.zeros(0))]
        for step in range(1, int((until - now) / step_seconds) + 1):
            moment = now + step * step_seconds
            due = ahead.due(moment)
            waiting = ahead.expected_events(moment, due)
            hours = (moment - ahead.last_visit[due]) / HOUR_SECONDS
            parts.append(Outlook(due, np.full(len(due), moment), waiting, waiting * hours / 2.0))
            ahead._taken[due] += waiting
            ahead.last_visit[due] = moment
            ahead.visiting[due] = False
        return Outlook(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def explain(self, board: int, now: float) -> Reason:
        """Why a board ranks where it does."""
        rows = np.array([board])
        moment = np.array([now])
        hour = self.sites.local_hours(moment, rows)
        usual = self._rates[board, int((hour[0] % DAY_HOURS) * self._rates.shape[1] / DAY_HOURS)]
        return Reason(
            waiting=float(self.expected_events(now, rows)[0]),
            hours_since_visit=(now - float(self.last_visit[board])) / HOUR_SECONDS,
            usual_per_hour=float(usual),
            rank=float(self.index(now)[board]),
            price=float(self.budget.price),
        )


def _largest(values: Floats, count: int) -> Ints:
    """The numbers of the `count` largest values, largest first; ties by number."""
    count = min(count, len(values))
    if count <= 0:
        return np.zeros(0, dtype=np.int64)
    if count < len(values) // 4:
        part = np.sort(np.argpartition(-values, count - 1)[:count])
        return np.asarray(part[np.argsort(-values[part], kind="stable")])
    return np.argsort(-values, kind="stable")[:count]
