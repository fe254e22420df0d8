"""Parameter sweeps: the values tried, the grid of three weights with the sum 1, and the heat map of
given results."""

from __future__ import annotations

import pytest
from django.conf import settings as django_settings

from focused.lab.stored_comparisons import SWEEPS, TAU, Sweep, heat
from focused.parameters import read_settings
from focused.strategies.base import strategy_class


@pytest.mark.parametrize("name", list(SWEEPS))
def test_every_entry_is_a_run_that_its_strategy_takes(name: str) -> None:
    entries = SWEEPS[name].entries()
    assert len(entries) == len({tuple(values.items()) for values in entries.values()}) > 9
    for label, values in entries.items():
        own = {key: value for key, value in values.items() if key != TAU}
        read_settings(
            strategy_class(label.partition(" ")[0], django_settings.TOPIC_STRATEGIES).Settings, own
        )


def test_the_weights_are_those_of_a_triangle() -> None:
    entries = SWEEPS["weights"].entries()
    assert len(entries) == 15
    assert all(sum(map(float, values.values())) == pytest.approx(1) for values in entries.values())
    assert entries["dolphin alpha=0.25 beta=0.5"] == {"alpha": 0.25, "beta": 0.5, "gamma": 0.25}


def test_a_heat_map_by_hand() -> None:
    sweep = Sweep("any", "a", (1, 2), "b", (10, 20))
    rows = [
        {"strategy": "any a=1 b=10", "area": 0.2},
        {"strategy": "any a=2 b=10", "area": 0.6, "area_interval": (0.5, 0.7)},
        {"strategy": "any a=1 b=20", "area": 0.4},
        {"strategy": "other", "area": 0.9},
    ]
    found = heat(sweep, rows)
    assert found is not None and [y for y, _ in found.rows] == [20, 10]
    (top, missing), (low, best) = (squares for _, squares in found.rows)
    assert (top.area, top.share, missing.area) == (0.4, pytest.approx(0.5), None)
    assert (low.share, best.share, best.best, best.interval, low.best) == (
        0.0,
        1.0,
        True,
        (0.5, 0.7),
        False,
    )
    assert heat(sweep, rows[3:]) is None
