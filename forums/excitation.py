"""Self-exciting forecast of a board: each post makes further posts more likely, with short and long
memories (Hawkes process)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forums.events import Floats, Ints

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
    """Returns the expected weighted events within `elapsed` operational hours, (m,): N(u) = B u +
    sum_j g_j (1 - exp(-d_j u)) / d_j, at least 0.

    level: (m,), the boards' mean rates B; amplitudes g and decay d: (m, K), from `Modes`; elapsed:
    (m,), u.
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
    """Returns the state X of each board, (n, K): at the start of the history, `span` (n,)
    operational hours ago, it equals the board's mean rate B (`level`, (n,)); then it decays
    exponentially and is raised by each event.

    taus_hours: K time constants of the decay. board, age (operational hours ago) and weights: one
    entry per event.
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
    maximisation, beginning with `kernel`. Returns the fitted kernel, with b + sum a = 1; `kernel`
    itself if no event lies in the fitted interval.

    level: (n,), the boards' mean rates B. board, clock (operational hours since the board's history
    began) and weights: one entry per event. start, stop: (n,), on the same clock; the events in
    [start, stop) are fitted, earlier ones only raise the rate. Each board is weighted with B^-1/2.
    Events in the same five-minute bin do not affect each other.
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
