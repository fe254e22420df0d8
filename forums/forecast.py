"""The forecast of the adaptive policy: expected events of each board from rates by hour of the day
and from recent posts, each of which makes further posts more likely (self-excitation)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from forums.events import DAY_SECONDS, Bools, Floats, Ints, Sites
from forums.excitation import MAX_FITTED_BOARDS, POOLED, Kernel, Modes, expected, fit, state_after
from forums.intensity import DAY_HOURS, Intensity

Arrays = dict[str, "Floats | Bools | Ints"]

# number of (board, moment) pairs whose values `Foreseen` computes at once: few enough for the
# processor's cache
ROWS_AT_ONCE = 8192


@dataclass(frozen=True, slots=True)
class ForecastOptions:
    """Constants of the forecast, tuned on public logs.

    kernel: parameters of self-excitation. own_share: weight, in [0, 1], of those fitted to the
    site's own events; `kernel` has the rest. floor_per_day: least weighted events per day expected
    on a board. clock_floor: least activity of an hour relative to the mean hour. fit_after_days:
    the fit omits events in this many first days of the history, which only excite later ones, and
    boards with a shorter history.
    """

    kernel: Kernel = POOLED
    floor_per_day: float = 0.3
    clock_floor: float = 0.05
    own_share: float = 0.5
    fit_after_days: float = 3.0


@dataclass(frozen=True, slots=True)
class Seen:
    """Events seen in visits, parallel arrays in any order: board number, epoch seconds, weight
    (importance included)."""

    board: Ints
    times: Floats
    weights: Floats


class Forecast:
    """Expected weighted events of n boards since the time up to which each board's events are
    known.

    `learn` adds events and advances that time. What overview sources report is provisional:
    `settle` stores a board's state after a visit, and `rewind` restores it, so that the true times
    found by a visit replace what sources showed.
    """

    def __init__(
        self,
        rates: Floats,
        sites: Sites,
        seen: Seen,
        known_until: Floats,
        since: float,
        options: ForecastOptions | None = None,
    ) -> None:
        """Creates the forecast from rates and past events.

        rates: (n, bins), weighted events per hour by local time; known_until: (n,), epoch seconds
        up to which each board's events are known; since: start of the history in `seen`, epoch
        seconds.
        """
        self.options = options or ForecastOptions()
        self.sites = sites
        flat = np.where(rates.sum(axis=1, keepdims=True) > 0, rates, 1e-9)
        self._set_rates(
            flat
            * np.maximum(1.0, self.options.floor_per_day / (flat.mean(axis=1) * DAY_HOURS))[:, None]
        )
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
        self._clock = Intensity.of(
            np.maximum(rates / self._level[:, None], self.options.clock_floor)
        )
        self.all = np.arange(len(rates))

    def packed(self) -> tuple[Arrays, Arrays]:
        """Returns the forecast's state as two dicts of arrays for `unpacked`: those that stay
        constant during a day (rates, kernels), and those that every visit changes."""
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
        """Restores a forecast over the same boards and sites from the two dicts of `packed`. If the
        state after the last visits (see `settle`) is missing in them, as stored by an older
        version, the state when they were stored is used instead.
        """
        made = cls.__new__(cls)
        made.options, made.sites = options or ForecastOptions(), sites
        made._set_rates(np.asarray(fixed["rates"], dtype=float))
        made._into, made._decay = (
            np.asarray(fixed["into"], dtype=float),
            np.asarray(fixed["decay"], dtype=float),
        )
        made._operational, made._state = (
            np.array(moving["operational"], dtype=float),
            np.array(moving["state"], dtype=float),
        )
        made._settled = np.array(moving.get("settled", made._state), dtype=float)
        made._settled_time = np.array(moving.get("settled_time", made._operational), dtype=float)
        made._amplitudes = np.empty_like(made._state)
        made._refresh(made.all)
        made._settled_amplitudes = made._modes(made._settled, made.all)
        return made

    def time(self, times: Floats, board: Ints) -> Floats:
        """Returns the operational time of each board at these times (epoch seconds), in hours:
        clock hours weighted by the board's activity by hour of the day."""
        return self._clock.mass(board, self.sites.local_hours(times, board))

    def _fitted(self, seen: Seen, since: float) -> list[Kernel]:
        """Returns one kernel per site: the mean of `options.kernel` and its fit to the site's own
        events, weighted by `own_share`; `options.kernel` alone if no board of the site has events
        and a history longer than `fit_after_days`.
        """
        kernels, count = [], len(self.all)
        origin = self.time(np.full(count, since), self.all)
        first = (
            self.time(np.full(count, since + self.options.fit_after_days * DAY_SECONDS), self.all)
            - origin
        )
        stop = self._operational - origin
        clock = self.time(seen.times, seen.board) - origin[seen.board]
        by_site = np.argsort(self.sites.site[seen.board], kind="stable")
        by_site = by_site[clock[by_site] >= 0]
        bounds = np.searchsorted(
            self.sites.site[seen.board[by_site]], np.arange(len(self.sites.clocks) + 1)
        )
        place = np.full(count, -1)
        for number in range(len(self.sites.clocks)):
            members = np.flatnonzero((self.sites.site == number) & (stop > first))
            members = members[np.argsort(-self._level[members], kind="stable")[:MAX_FITTED_BOARDS]]
            place[members] = np.arange(len(members))
            rows = by_site[bounds[number] : bounds[number + 1]]
            rows = rows[place[seen.board[rows]] >= 0]
            own = self.options.kernel
            if len(rows) and self.options.own_share > 0:
                owner = place[seen.board[rows]]
                own = fit(
                    own,
                    self._level[members],
                    owner,
                    clock[rows],
                    seen.weights[rows],
                    first[members],
                    stop[members],
                )
            kernels.append(self.options.kernel.mixed(own, self.options.own_share))
        return kernels

    def _replayed(self, seen: Seen, known_until: Floats, since: float) -> Floats:
        """Returns the excitation state X of each board at the time up to which its events are
        known, with a column for each time constant of the kernel (see `Kernel`), computed from all
        events in `seen`."""
        origin = self.time(np.full(len(self.all), since), self.all)
        age = self._operational[seen.board] - self.time(seen.times, seen.board)
        known = (seen.times >= since) & (seen.times <= known_until[seen.board])
        span = np.maximum(self._operational - origin, 0.0)
        board, passed, weights = seen.board[known], np.maximum(age[known], 0.0), seen.weights[known]
        return state_after(
            self.options.kernel.taus_hours, self._level, board, passed, weights, span
        )

    def _refresh(self, boards: Ints) -> None:
        """Recomputes, from these boards' states, the amplitudes of the decaying modes from which
        their forecasts are computed."""
        self._amplitudes[boards] = self._modes(self._state[boards], boards)

    def _modes(self, state: Floats, boards: Ints) -> Floats:
        modes: Floats = np.einsum(
            "mij,mj->mi", self._into[self.sites.site[boards]], state - self._level[boards, None]
        )
        return modes

    def learn(
        self, boards: Ints, board: Ints, times: Floats, weights: Floats, until: Floats
    ) -> None:
        """Records events of `boards`, whose events are now known up to `until` (epoch seconds, one
        per board).

        board (board number), times (epoch seconds) and weights: one entry per event.
        """
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
        """Stores the present state of these boards as their state at the last visit, which `rewind`
        restores."""
        self._settled[boards], self._settled_time[boards] = (
            self._state[boards],
            self._operational[boards],
        )
        self._settled_amplitudes[boards] = self._amplitudes[boards]

    def rewind(self, boards: Ints) -> None:
        """Restores the state of these boards after their last visit: drops what overview sources
        reported since."""
        self._state[boards], self._operational[boards] = (
            self._settled[boards],
            self._settled_time[boards],
        )
        self._amplitudes[boards] = self._settled_amplitudes[boards]

    def expected(self, now: float, boards: Ints) -> Floats:
        """Returns the expected weighted events of these boards between the time up to which they
        are known and `now`, one per board."""
        return self._since_known(np.full(len(boards), now), boards)

    def expected_at(self, moments: Floats, boards: Ints) -> Floats:
        """Returns the expected weighted events at several moments (see `expected`; epoch seconds),
        (moments, boards)."""
        found = self._since_known(np.repeat(moments, len(boards)), np.tile(boards, len(moments)))
        return found.reshape(len(moments), len(boards))

    def _since_known(self, times: Floats, boards: Ints) -> Floats:
        elapsed = np.maximum(self.time(times, boards) - self._operational[boards], 0.0)
        return expected(self._level[boards], self._amplitudes[boards], self._decay[boards], elapsed)

    def expected_by_visits(self, now: float) -> Floats:
        """Returns the expected weighted events of every board since its last visit, ignoring
        overview sources, (n,)."""
        return self._since_settled(np.full(len(self.all), now), self.all)

    def expected_by_visits_at(self, moments: Floats, boards: Ints) -> Floats:
        """Returns `expected_by_visits` of these boards at several moments (epoch seconds),
        (moments, boards)."""
        found = self._since_settled(np.repeat(moments, len(boards)), np.tile(boards, len(moments)))
        return found.reshape(len(moments), len(boards))

    def _since_settled(self, times: Floats, boards: Ints) -> Floats:
        elapsed = np.maximum(self.time(times, boards) - self._settled_time[boards], 0.0)
        return expected(
            self._level[boards], self._settled_amplitudes[boards], self._decay[boards], elapsed
        )

    def foreseen(self, moments: Floats) -> Foreseen:
        """Returns a read-only copy for simulating visits; it computes values only at `moments`
        (epoch seconds), in this order."""
        return Foreseen(self, moments)

    def usual_per_hour(self, now: float, board: int) -> float:
        """Returns the board's mean weighted events per hour at this time of day."""
        hour = self.sites.local_hours(np.array([now]), np.array([board]))[0] % DAY_HOURS
        return float(self.rates[board, int(hour * self.rates.shape[1] / DAY_HOURS)])


class Foreseen(Forecast):
    """A copy of a forecast that learns nothing more. It serves simulations, which know all moments
    in advance and ask in order.

    It computes the values of many successive moments at once, and keeps them until a later moment
    is asked for. They are exactly those of the copied forecast.
    """

    def __init__(self, forecast: Forecast, moments: Floats) -> None:
        vars(self).update(vars(forecast))
        self._moments, self._at_once = moments, max(ROWS_AT_ONCE // max(len(self.all), 1), 1)
        self._place: dict[float, int] = {
            moment: place for place, moment in enumerate(moments.tolist())
        }
        self._start = {"expected": -self._at_once, "by_visits": -self._at_once}
        self._table: dict[str, Floats] = {}

    def expected(self, now: float, boards: Ints) -> Floats:
        return self._row("expected", now)[boards]

    def expected_by_visits(self, now: float) -> Floats:
        return self._row("by_visits", now)

    def _row(self, name: str, now: float) -> Floats:
        """Returns the values of all boards at `now`, one of the known moments, (n,). name:
        "expected" (values of `expected`) or "by_visits" (of `expected_by_visits`)."""
        row = self._place[now] - self._start[name]
        if not 0 <= row < self._at_once:
            start = self._start[name] = self._place[now]
            compute = self.expected_at if name == "expected" else self.expected_by_visits_at
            self._table[name], row = (
                compute(self._moments[start : start + self._at_once], self.all),
                0,
            )
        values: Floats = self._table[name][row]
        return values
