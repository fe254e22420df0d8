"""What the closed loop expects of each board: rates by the hour, excited by what was posted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from forums.events import DAY_SECONDS, Bools, Floats, Ints, Sites
from forums.excitation import MOST_FITTED_BOARDS, POOLED, Kernel, Modes, expected, fit, state_after
from forums.intensity import DAY_HOURS, Intensity

Arrays = dict[str, "Floats | Bools | Ints"]


@dataclass(frozen=True, slots=True)
class ForecastOptions:
    """Constants of the forecast; tuned on public logs.

    floor_per_day: least weighted events a day that a board is expected to bring. clock_floor: least activity of an hour
    relative to the mean hour. own_share: weight of the site's own kernel against `kernel`. fit_after_days: history that
    only excites.
    """

    kernel: Kernel = POOLED
    floor_per_day: float = 0.3
    clock_floor: float = 0.05
    own_share: float = 0.5
    fit_after_days: float = 3.0


@dataclass(frozen=True, slots=True)
class Seen:
    """Events that visits have seen: board, epoch seconds, weight (importance included), in any order."""

    board: Ints
    times: Floats
    weights: Floats


class Forecast:
    """Expected weighted events of n boards from the moment up to which each board's events are known.

    `learn` moves that moment on. What a look at an overview tells is provisional: `settle` keeps a board's state as a visit
    left it, `rewind` goes back to it, so that a visit, which sees the true times, overwrites what looks were told.
    """

    def __init__(
        self, rates: Floats, sites: Sites, seen: Seen, known_until: Floats, since: float, options: ForecastOptions | None = None
    ) -> None:
        """rates: (n, bins), weighted events per hour by local time; known_until: (n,), epoch seconds; since: start of the
        history that `seen` covers."""
        self.options = options or ForecastOptions()
        self.sites = sites
        flat = np.where(rates.sum(axis=1, keepdims=True) > 0, rates, 1e-9)
        self._set_rates(flat * np.maximum(1.0, self.options.floor_per_day / (flat.mean(axis=1) * DAY_HOURS))[:, None])
        self._operational = self.time(known_until, self.all)
        modes = [Modes.of(kernel) for kernel in self._fitted(seen, since)]
        self._into = np.array([mode.into for mode in modes])
        self._decay = np.array([mode.decay for mode in modes])[sites.site]
        self._state = self._replayed(seen, known_until, since)
        self._amplitudes = np.empty_like(self._state)
        self._refresh(self.all)
        self._settled, self._settled_time = self._state.copy(), self._operational.copy()
        self._settled_amplitudes = self._amplitudes.copy()

    def _set_rates(self, rates: Floats) -> None:
        self.rates = rates
        self._level = rates.mean(axis=1)
        self._clock = Intensity.of(np.maximum(rates / self._level[:, None], self.options.clock_floor))
        self.all = np.arange(len(rates))

    def packed(self) -> tuple[Arrays, Arrays]:
        """What a day leaves as it is (rates, kernels) and what every visit moves: arrays from which `unpacked` goes on."""
        fixed: Arrays = {"rates": self.rates, "into": self._into, "decay": self._decay}
        moving: Arrays = {
            "operational": self._operational,
            "state": self._state,
            "settled": self._settled,
            "settled_time": self._settled_time,
        }
        return fixed, moving

    @classmethod
    def unpacked(
        cls,
        fixed: Mapping[str, Floats | Bools | Ints],
        moving: Mapping[str, Floats | Bools | Ints],
        sites: Sites,
        options: ForecastOptions | None = None,
    ) -> Forecast:
        """The forecast that `packed` gave, over the same boards and sites; one put away before there were looks is settled."""
        made = cls.__new__(cls)
        made.options, made.sites = options or ForecastOptions(), sites
        made._set_rates(np.asarray(fixed["rates"], dtype=float))
        made._into, made._decay = np.asarray(fixed["into"], dtype=float), np.asarray(fixed["decay"], dtype=float)
        made._operational, made._state = np.array(moving["operational"], dtype=float), np.array(moving["state"], dtype=float)
        made._settled = np.array(moving.get("settled", made._state), dtype=float)
        made._settled_time = np.array(moving.get("settled_time", made._operational), dtype=float)
        made._amplitudes = np.empty_like(made._state)
        made._refresh(made.all)
        made._settled_amplitudes = made._modes(made._settled, made.all)
        return made

    def time(self, times: Floats, board: Ints) -> Floats:
        """Operational time of each board at these moments, hours."""
        return self._clock.mass(board, self.sites.local_hours(times, board))

    def _fitted(self, seen: Seen, since: float) -> list[Kernel]:
        """One kernel a site: the given one, averaged with the site's own fit where its history allows one."""
        kernels, count = [], len(self.all)
        origin = self.time(np.full(count, since), self.all)
        first = self.time(np.full(count, since + self.options.fit_after_days * DAY_SECONDS), self.all) - origin
        stop = self._operational - origin
        clock = self.time(seen.times, seen.board) - origin[seen.board]
        by_site = np.argsort(self.sites.site[seen.board], kind="stable")
        by_site = by_site[clock[by_site] >= 0]
        bounds = np.searchsorted(self.sites.site[seen.board[by_site]], np.arange(len(self.sites.clocks) + 1))
        place = np.full(count, -1)
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

    def _replayed(self, seen: Seen, known_until: Floats, since: float) -> Floats:
        """X of each board at the moment up to which it is known."""
        origin = self.time(np.full(len(self.all), since), self.all)
        age = self._operational[seen.board] - self.time(seen.times, seen.board)
        known = (seen.times >= since) & (seen.times <= known_until[seen.board])
        span = np.maximum(self._operational - origin, 0.0)
        board, passed, weights = seen.board[known], np.maximum(age[known], 0.0), seen.weights[known]
        return state_after(self.options.kernel.taus_hours, self._level, board, passed, weights, span)

    def _refresh(self, boards: Ints) -> None:
        """Turns the states of these boards into the modes of their forecast."""
        self._amplitudes[boards] = self._modes(self._state[boards], boards)

    def _modes(self, state: Floats, boards: Ints) -> Floats:
        return np.einsum("mij,mj->mi", self._into[self.sites.site[boards]], state - self._level[boards, None])

    def learn(self, boards: Ints, board: Ints, times: Floats, weights: Floats, until: Floats) -> None:
        """The events of `boards` are known up to `until` (epoch seconds, one a board): these, one entry an event."""
        taus = np.array(self.options.kernel.taus_hours)
        current = self.time(until, boards)
        passed = np.maximum(current - self._operational[boards], 0.0)
        self._state[boards] *= np.exp(-passed[:, None] / taus)
        self._operational[boards] = np.maximum(current, self._operational[boards])
        if len(board):
            age = np.maximum(self._operational[board] - self.time(times, board), 0.0)
            np.add.at(self._state, board, weights[:, None] / taus * np.exp(-age[:, None] / taus))
        self._refresh(boards)

    def settle(self, boards: Ints) -> None:
        """What is known of these boards comes from a visit."""
        self._settled[boards], self._settled_time[boards] = self._state[boards], self._operational[boards]
        self._settled_amplitudes[boards] = self._amplitudes[boards]

    def rewind(self, boards: Ints) -> None:
        """Forgets what looks have told of these boards since they were settled."""
        self._state[boards], self._operational[boards] = self._settled[boards], self._settled_time[boards]
        self._amplitudes[boards] = self._settled_amplitudes[boards]

    def expected(self, now: float, boards: Ints) -> Floats:
        """Weighted events of these boards from the moment up to which they are known until now."""
        elapsed = np.maximum(self.time(np.full(len(boards), now), boards) - self._operational[boards], 0.0)
        return expected(self._level[boards], self._amplitudes[boards], self._decay[boards], elapsed)

    def expected_by_visits(self, now: float) -> Floats:
        """Weighted events of every board since it was settled, as if no look had told anything, (n,)."""
        elapsed = np.maximum(self.time(np.full(len(self.all), now), self.all) - self._settled_time, 0.0)
        return expected(self._level, self._settled_amplitudes, self._decay, elapsed)

    def usual_per_hour(self, now: float, board: int) -> float:
        """The board's usual weighted events an hour at this time of day."""
        hour = self.sites.local_hours(np.array([now]), np.array([board]))[0] % DAY_HOURS
        return float(self.rates[board, int(hour * self.rates.shape[1] / DAY_HOURS)])
