"""The self-exciting forecast against its own equations stepped by hand, and the fit on events that follow it."""

import numpy as np
import pytest

from forums.excitation import POOLED, Kernel, Modes, expected, fit, state_after


def stepped(kernel, level, state, hours, step=0.002):
    """Expected events by Euler steps of x_k' = (r - x_k) / tau_k, r = b B + a x."""
    taus, gains, state = np.array(kernel.taus_hours), np.array(kernel.gains), state.copy()
    total = 0.0
    for _ in range(int(hours / step)):
        rate = kernel.base * level + gains @ state
        state += (rate - state) / taus * step
        total += rate * step
    return total


@pytest.mark.parametrize("hours", [0.5, 6.0, 40.0])
def test_closed_form_equals_small_steps(hours):
    level, state = 0.8, np.array([5.0, 2.0, 0.3, 1.0, 0.9])
    modes = Modes.of(POOLED)
    amplitudes = (modes.into @ (state - level))[None, :]
    found = expected(np.array([level]), amplitudes, modes.decay[None, :], np.array([hours]))[0]
    assert found == pytest.approx(stepped(POOLED, level, state, hours), rel=2e-3)


def test_a_board_at_its_level_brings_its_level():
    modes = Modes.of(POOLED)
    found = expected(np.array([0.7]), np.zeros((1, 5)), modes.decay[None, :], np.array([10.0]))
    assert found[0] == pytest.approx(7.0)
    assert (modes.decay > 0).all()


def test_state_is_the_faded_sum_of_events_over_the_faded_start():
    taus, level = (2.0, 50.0), np.array([0.5, 0.1])
    state = state_after(taus, level, np.array([1, 1]), np.array([0.0, 3.0]), np.array([1.0, 0.5]), np.array([100.0, 100.0]))
    assert state[0].tolist() == pytest.approx([0.5 * np.exp(-50), 0.5 * np.exp(-2)])
    assert state[1, 0] == pytest.approx(0.1 * np.exp(-50) + (1 + 0.5 * np.exp(-1.5)) / 2)
    assert state[1, 1] == pytest.approx(0.1 * np.exp(-2) + (1 + 0.5 * np.exp(-0.06)) / 50)


def hawkes(rng, level, kernel, hours):
    """Events of one board by thinning on steps of one minute."""
    taus, gains = np.array(kernel.taus_hours), np.array(kernel.gains)
    state, found = np.full(len(taus), level), []
    for minute in range(int(hours * 60)):
        rate = kernel.base * level + gains @ state
        state *= np.exp(-1 / 60 / taus)
        if rng.random() < rate / 60:
            found.append(minute / 60)
            state += 1.0 / taus
    return np.array(found)


def fitted(seed, truth):
    rng = np.random.default_rng(seed)
    level = np.array([0.4, 0.8, 1.2])
    parts = [hawkes(rng, rate, truth, 500) for rate in level]
    board = np.repeat(np.arange(3), [len(part) for part in parts])
    clock = np.concatenate(parts)
    means = np.array([max(len(part), 1) / 500 for part in parts])
    return fit(POOLED, means, board, clock, np.ones(len(clock)), np.full(3, 72.0), np.full(3, 500.0))


def test_fit_tells_bursts_from_steady_arrivals():
    steady = fitted(1, Kernel(base=0.98, gains=(0.0, 0.0, 0.0, 0.0, 0.02)))
    bursts = fitted(2, Kernel(base=0.3, gains=(0.6, 0.0, 0.0, 0.1, 0.0)))
    assert steady.base + sum(steady.gains) == pytest.approx(1.0)
    assert bursts.gains[0] > 0.25
    assert steady.gains[0] < 0.1


def test_fit_without_events_to_explain_keeps_the_kernel():
    one = np.array([1.0])
    assert fit(POOLED, one, np.array([0]), np.array([10.0]), one, np.array([72.0]), np.array([500.0])) is POOLED


def test_mixing_keeps_the_sum():
    half = POOLED.mixed(Kernel(base=0.5, gains=(0.5, 0, 0, 0, 0)), 0.5)
    assert half.base + sum(half.gains) == pytest.approx(1.0, abs=1e-3)
    assert half.gains[0] == pytest.approx((0.3510 + 0.5) / 2)
