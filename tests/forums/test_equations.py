"""The paper's weights are implemented in one place: their values, their bounds, and a check that no
other file computes them."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from forums.admin.tuning import TuningForm
from forums.models import Board, Plan
from forums.schedule import bounds as limits
from forums.schedule import equations

FORUMS = Path(equations.__file__).parents[1]
ASIDE = {"equations.py"}


def test_weights_of_events_boards_and_visits():
    opener = np.array([True, False, False])
    assert equations.event_weights(opener, 0.5, np.array([1.0, 1.0, 3.0])).tolist() == [
        1.0,
        0.5,
        1.5,
    ]
    weights = equations.board_weights(
        np.array([2.0, 0.0]), np.array([4.0, 2.0]), 0.5, np.array([1.0, 4.0])
    )
    assert weights.tolist() == [4.0, 4.0]
    assert (
        equations.shares(weights).tolist() == [0.5, 0.5]
        and equations.shares(np.zeros(4)).tolist() == [0.25] * 4
    )
    assert equations.waited_hours(np.array([0.0, 7200.0]), 3600.0).tolist() == [1.0, 0.0]
    assert equations.delay_of_sums(3600.0, 7200.0, 0.5, 2.0) == 4.0
    assert equations.posts_per_weight(
        np.array([1.0, 0.0]), np.array([2.0, 0.0]), 0.5, np.ones(2)
    ).tolist() == [1.5, 1.0]


@pytest.mark.parametrize("theta", [0.0, -1.0, 1.01, float("nan"), float("inf")])
def test_theta_has_the_same_bounds_everywhere(theta):
    with pytest.raises(ValueError, match="theta"):
        equations.event_weights(np.array([True]), theta)
    form = TuningForm({"theta": str(theta)})
    assert "theta" in form.errors
    field = Plan._meta.get_field("theta")
    with pytest.raises(Exception, match="."):
        field.clean(theta if theta == theta else None, Plan())
    assert {field.validators[0].limit_value, field.validators[1].limit_value} == {
        limits.MIN_THETA,
        limits.MAX_THETA,
    }
    bounds = {one.limit_value for one in Board._meta.get_field("importance").validators}
    assert bounds == {limits.MIN_IMPORTANCE, limits.MAX_IMPORTANCE}


def test_no_other_file_multiplies_by_theta():
    """Code that weighs replies must call forums.schedule.equations; a product or condition with
    theta elsewhere would be a second implementation."""
    found = []
    for path in FORUMS.rglob("*.py"):
        if path.name in ASIDE or "migrations" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            sides = [node.left, node.right] if isinstance(node, ast.BinOp) else []
            sides += [node.body, node.orelse] if isinstance(node, ast.IfExp) else []
            named = {getattr(side, "attr", getattr(side, "id", "")) for side in sides}
            if "theta" in named:
                found.append(f"{path.relative_to(FORUMS)}:{node.lineno}")
    assert found == []
