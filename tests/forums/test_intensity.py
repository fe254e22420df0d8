"""The cost of an interval compared with numerical integration; quantiles of a rate profile."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from forums.schedule.rhythm import Intensity, quantiles

RATES = st.lists(st.floats(0, 20), min_size=24, max_size=24)


@settings(max_examples=40, deadline=None)
@given(RATES, st.floats(-30, 50), st.floats(0, 60))
def test_interval_cost_equals_numerical_integration(rates, start, length):
    intensity = Intensity.of(np.array([rates]))
    stop = start + length
    edges = np.arange(np.floor(start) + 1, np.ceil(stop))
    borders = [start, *edges, stop] if length else [start, stop]
    rate = lambda t: rates[int(np.floor(t)) % 24]  # noqa: E731
    numeric = sum(
        quad(lambda t, middle=(a + b) / 2: rate(middle) * (stop - t), a, b)[0]
        for a, b in zip(borders, borders[1:], strict=False)
        if b > a
    )
    exact = float(intensity.interval_cost(np.array(0), np.array(start), np.array(stop)))
    assert exact == pytest.approx(numeric, rel=1e-7, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(RATES, st.lists(st.floats(0, 24), min_size=4, max_size=4))
def test_cost_of_intervals_is_monge(rates, points):
    a, b, c, d = np.sort(np.array(points))

    def cost(x: float, y: float) -> float:
        return float(mass.interval_cost(np.array(0), np.array(x), np.array(y)))

    mass = Intensity.of(np.array([rates]))
    inside = float(mass.mass(np.array(0), np.array(b)) - mass.mass(np.array(0), np.array(a)))
    assert cost(a, d) + cost(b, c) - cost(a, c) - cost(b, d) == pytest.approx(
        (d - c) * inside, abs=1e-6
    )


def test_mass_and_moment_extend_over_days():
    intensity = Intensity.of(np.array([np.arange(24.0)]))
    board = np.array(0)
    assert float(intensity.mass(board, np.array(48.0))) == pytest.approx(2 * np.arange(24).sum())
    assert float(intensity.mass(board, np.array(-24.0))) == pytest.approx(-np.arange(24).sum())
    moment = sum(quad(lambda t, h=h: (h % 24) * t, h, h + 1)[0] for h in range(30))
    assert float(intensity.moment(board, np.array(30.0))) == pytest.approx(moment)


def test_bins_may_be_finer_or_coarser_than_an_hour():
    fine = Intensity.of(np.repeat([[1.0, 3.0]], 48, axis=1).reshape(1, 96))
    assert fine.width == 0.25
    assert fine.per_day[0] == pytest.approx(48.0)


def test_day_cost_of_even_visits_to_a_flat_board_is_the_textbook_value():
    intensity = Intensity.of(np.full((1, 24), 2.0))
    for visits in (1, 3, 8):
        assert intensity.day_cost(0, np.arange(visits) * 24 / visits) == pytest.approx(
            48 * 24 / (2 * visits)
        )
    assert intensity.day_cost(0, np.array([])) == float("inf")


def test_quantiles_interpolate_within_the_hour_and_skip_empty_hours():
    density = np.zeros((2, 24))
    density[0, [8, 20]] = 1.0
    hours = quantiles(density, np.array([0, 0, 0, 1]), np.array([0.25, 0.5, 0.75, 0.5]))
    assert hours.tolist() == pytest.approx([8.5, 20.0, 20.5, 12.0])
