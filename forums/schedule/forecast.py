"""The forecast of the adaptive policy: expected events of each board from rates by hour, and a
self-exciting part, by which each post makes further posts more likely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from forums.schedule.events import DAY_SECONDS, Bools, Floats, Ints, Sites
from forums.schedule.rhythm import DAY_HOURS, Intensity

EM_STEPS = 30


FIT_BIN_HOURS = 5.0 / 60.0


MAX_FITTED_BOARDS = 200


@dataclass(frozen=True, slots=True)
class Kernel:
    """Parameters of a board's rate: rate_i = b B_i + sum_k a_k X_ik per hour of operational time, b
    + sum a = 1.

    B_i is the board's mean rate. An event of weight w adds w / tau_k to X_ik, which decays with
    exp(-s / tau_k) in operational time s, the integral of the board's activity by hour of the day
    (1 on average). base: b; gains: the a_k; taus_hours: the tau_k. The default values are fitted on
    pooled public forum logs.
    """

    taus_hours: tuple[float, ...] = (0.3, 1.5, 8.0, 40.0, 200.0)
    base: float = 0.0654
    gains: tuple[float, ...] = (0.3510, 0.0555, 0.1503, 0.1615, 0.2163)

    def mixed(self, other: Kernel, share: float) -> Kernel:
        """Returns the weighted mean of two kernels with the same `taus_hours`: (1 - share) of this
        one, `share` of `other`."""
        gains = tuple(
            (1.0 - share) * a + share * b for a, b in zip(self.gains, other.gains, strict=True)
        )
        return Kernel(self.taus_hours, (1.0 - share) * self.base + share * other.base, gains)


POOLED = Kernel()


@dataclass(frozen=True, slots=True)
class Modes:
    """A kernel (see `Kernel`) prepared for forecasts in closed form: the differential equation of
    the K values X_ik of a board, x' = A x + c, has real, decaying modes because A is similar to a
    symmetric matrix.

    decay: (K,), the decay rate of each mode per hour. into: (K, K), maps the deviation X_ik - B_i
    from the board's mean rate to the amplitude with which each mode adds to its rate.
    """

    decay: Floats
    into: Floats

    @classmethod
    def of(cls, kernel: Kernel) -> Modes:
        """Computes the modes (eigenvectors with their decay rates) of a kernel. The kernel's `base`
        (b) must be above 0, since otherwise one mode would not decay."""
        taus, gains = np.array(kernel.taus_hours), np.maximum(np.array(kernel.gains), 1e-9)
        matrix = np.sqrt(np.outer(gains / taus, gains / taus)) - np.diag(1.0 / taus)
        values, vectors = np.linalg.eigh(matrix)
        scale = np.sqrt(gains * taus)
        share = (gains / scale) @ vectors  # the gains a_k in the basis of the eigenvectors
        return cls(-values, share[:, None] * vectors.T * scale[None, :])


def expected(level: Floats, amplitudes: Floats, decay: Floats, elapsed: Floats) -> Floats:
    """Returns the expected weighted events within some time from now.

    Parameters
    ----------
    level : (m,), the boards' mean rates B, weighted events per operational hour.
    amplitudes, decay : (m, K), g and d, from `Modes`; d in 1 / operational hour, above 0.
    elapsed : (m,), u, operational hours from now.

    Returns
    -------
    mass : (m,), N(u) = B u + sum_j g_j (1 - exp(-d_j u)) / d_j, at least 0.
    """
    grown = -np.expm1(-decay * elapsed[:, None]) / decay
    mass: Floats = np.maximum(level * elapsed + (amplitudes * grown).sum(axis=1), 0.0)
    return mass


def state_after(
    taus_hours: Sequence[float],
    level: Floats,
    board: Ints,
    age: Floats,
    weights: Floats,
    span: Floats,
) -> Floats:
    """Returns the state X of each board: at the start of the history it equals the board's mean
    rate; then it decays exponentially and is raised by each event.

    Parameters
    ----------
    taus_hours : K time constants of the decay, operational hours.
    level : (n,), the boards' mean rates B, weighted events per operational hour.
    board, age, weights : (events,), board number, operational hours ago, and weight.
    span : (n,), operational hours since the board's history began.

    Returns
    -------
    state : (n, K), X_k = B exp(-span / tau_k) + sum of weight / tau_k * exp(-age / tau_k).
    """
    taus = np.array(taus_hours)
    state: Floats = level[:, None] * np.exp(-span[:, None] / taus)
    for number, tau in enumerate(taus):
        state[:, number] += np.bincount(board, weights / tau * np.exp(-age / tau), len(level))
    return state


def fit(
    kernel: Kernel,
    level: Floats,
    board: Ints,
    clock: Floats,
    weights: Floats,
    start: Floats,
    stop: Floats,
) -> Kernel:
    """Fits the parameters b and a_k of `Kernel` to the events of a site by expectation
    maximisation. Each board is weighted with B^-1/2. Events in the same five-minute bin do not
    affect each other.

    Parameters
    ----------
    kernel : the kernel to begin with.
    level : (n,), the boards' mean rates B, weighted events per operational hour.
    board, clock, weights : (events,), board number, operational hours since the board's history
        began, and weight.
    start, stop : (n,), on the same clock; the events in [start, stop) are fitted, earlier ones
        only raise the rate.

    Returns
    -------
    kernel : the fitted kernel, with b + sum a = 1; `kernel` itself if no event lies in the fitted
        interval.
    """
    order = np.lexsort((clock, board))
    board, clock, weights = board[order], clock[order], weights[order]
    states = _states_before(kernel, level, board, clock, weights)
    explained = (clock >= start[board]) & (clock < stop[board])
    if not explained.any():
        return kernel
    taus = np.array(kernel.taus_hours)
    importance = 1.0 / np.sqrt(np.maximum(level, 1e-6))
    exposure = _exposure(taus, level, board, clock, weights, start, stop)
    total = np.concatenate([[importance @ (level * (stop - start))], importance @ exposure])
    parts = np.column_stack([level[board], states])[explained]
    pull = (importance[board] * weights)[explained]
    shares = np.array([kernel.base, *kernel.gains])
    for _ in range(EM_STEPS):
        rate = parts @ shares
        gathered = (pull / np.maximum(rate, 1e-12)) @ parts
        shares = np.divide(shares * gathered, total, out=shares, where=total > 0)
        shares /= shares.sum()
    return Kernel(kernel.taus_hours, float(shares[0]), tuple(shares[1:].tolist()))


def _states_before(
    kernel: Kernel, level: Floats, board: Ints, clock: Floats, weights: Floats
) -> Floats:
    """Returns the state X (see `Kernel`) of each event's board just before the five-minute bin of
    the event, shape (events, K). Events must be sorted by board and time. clock: operational hours.

    All boards are advanced together, event by event: the number of steps is the largest number of
    distinct bins of a board.
    """
    taus = np.array(kernel.taus_hours)
    slot = np.floor(clock / FIT_BIN_HOURS).astype(np.int64)
    new = np.append(True, (slot[1:] != slot[:-1]) | (board[1:] != board[:-1]))
    group = np.cumsum(new) - 1
    owner, moment, mass = board[new], slot[new] * FIT_BIN_HOURS, np.bincount(group, weights)
    first = np.append(True, owner[1:] != owner[:-1])
    turn = np.arange(len(owner)) - np.maximum.accumulate(np.where(first, np.arange(len(owner)), 0))
    before = np.empty((len(owner), len(taus)))
    rows = np.flatnonzero(first)
    before[rows] = level[owner[rows], None] * np.exp(-moment[rows, None] / taus)
    by_turn = np.argsort(turn, kind="stable")
    bounds = np.searchsorted(turn[by_turn], np.arange(1, int(turn.max()) + 2))
    for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        rows = by_turn[low:high]
        gap = (moment[rows] - moment[rows - 1])[:, None]
        before[rows] = (before[rows - 1] + mass[rows - 1, None] / taus) * np.exp(-gap / taus)
    return np.asarray(before[group])


def _exposure(
    taus: Floats,
    level: Floats,
    board: Ints,
    clock: Floats,
    weights: Floats,
    start: Floats,
    stop: Floats,
) -> Floats:
    """Returns for each board the integral of its state X (see `Kernel`) over its interval [start,
    stop), shape (n, K)."""
    result = (
        level[:, None] * taus * (np.exp(-start[:, None] / taus) - np.exp(-stop[:, None] / taus))
    )
    since = np.maximum(start[board] - clock, 0.0)
    until = np.maximum(stop[board] - clock, 0.0)
    for number, tau in enumerate(taus):
        result[:, number] += np.bincount(
            board, weights * (np.exp(-since / tau) - np.exp(-until / tau)), len(level)
        )
    return np.asarray(result)


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
