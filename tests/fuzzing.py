"""Random tests on two budgets: fixed draws in every run of the suite, and, with `make fuzz`, many new ones."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, settings

FIXED, FUZZ = "fixed", "fuzz"
TIMES = 30  # draws of `make fuzz` for each one of the suite
_CHOSEN = "_hypothesis_internal_use_settings"  # where hypothesis keeps what `@settings` chose for a test


def register() -> None:
    """The profiles. Neither has a deadline or minds slow draws: a loaded machine is slow, and that is no fault of the code."""
    patient = [HealthCheck.too_slow]
    settings.register_profile(FIXED, derandomize=True, deadline=None, database=None, suppress_health_check=patient)
    settings.register_profile(FUZZ, derandomize=False, deadline=None, print_blob=True, suppress_health_check=patient)
    settings.load_profile(FIXED)


def is_random(item: pytest.Item) -> bool:
    """Whether a test draws its input."""
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


def keep_random(items: list[pytest.Item]) -> list[pytest.Item]:
    """With the profile `fuzz` only random tests stay, each with more and ever new draws; returns the others."""
    if settings.get_current_profile_name() != FUZZ:
        return []
    others = [item for item in items if not is_random(item)]
    items[:] = [item for item in items if is_random(item)]
    for test in _functions(items):
        chosen: settings = getattr(test, _CHOSEN, settings.default)
        setattr(test, _CHOSEN, settings(chosen, max_examples=TIMES * chosen.max_examples, derandomize=False, deadline=None))
    return others


def _functions(items: Iterable[pytest.Item]) -> list[object]:
    """The test function of each item, once: parameters share it."""
    return list({id(item.obj): item.obj for item in items}.values())  # type: ignore[attr-defined]
