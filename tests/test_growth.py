"""The growth measure distinguishes linear from quadratic work, and real growth from chance."""

from __future__ import annotations

import pytest

from tests.growth import MAX_RATIO, growth


class Clock:
    """A fake CPU clock: calling it returns `now`, which the measured work functions increase."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("power", "unit", "bounded"),
    [(1, 1e-3, True), (1.3, 1e-3, True), (2, 1e-3, False), (2, 2e-6, True)],
)
def test_growth_by_power(power: float, unit: float, bounded: bool) -> None:
    """Tests work that takes unit * size^power. In the last case, of 2 and 32 ms, it is too short
    for its growth to be measured."""
    clock = Clock()

    def work(size: int) -> None:
        clock.now += unit * size**power

    assert (growth(work, 32, 128, clock=clock) < MAX_RATIO) is bounded


def test_a_chance_delay_is_measured_again() -> None:
    clock, costs = Clock(), iter([9.0, 1.0, 30.0, 1.0, 1.0, 4.5])

    def work(_size: int) -> None:
        clock.now += next(costs)

    assert growth(work, 1, 4, clock=clock) == 4.5 and next(costs, None) is None


def test_quadratic_work_costs_sixteen_times_as_much() -> None:
    clock = Clock()

    def work(size: int) -> None:
        clock.now += size * size

    assert growth(work, 1, 4, clock=clock) == 16
