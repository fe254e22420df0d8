"""Random tests with two budgets: fixed draws in every run of the tests, and with `make fuzz` many
new ones."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, settings

FIXED, FUZZ = "fixed", "fuzz"
TIMES = 30  # number of draws of `make fuzz` per draw of the ordinary tests
_CHOSEN = (  # attribute in which hypothesis keeps a test's own `@settings`
    "_hypothesis_internal_use_settings"
)


def register() -> None:
    """Registers the profiles. Neither has a deadline or a check for slow draws, because a slow draw
    may be due to a loaded machine."""
    patient = [HealthCheck.too_slow]
    settings.register_profile(
        FIXED, derandomize=True, deadline=None, database=None, suppress_health_check=patient
    )
    settings.register_profile(
        FUZZ, derandomize=False, deadline=None, print_blob=True, suppress_health_check=patient
    )
    settings.load_profile(FIXED)


def is_random(item: pytest.Item) -> bool:
    """Tells whether a test draws random input."""
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


def keep_random(items: list[pytest.Item]) -> list[pytest.Item]:
    """With the profile `fuzz`, removes all tests without random input from `items` and lets the
    others draw more examples, which differ in every run. Returns the removed tests ([] with other
    profiles)."""
    if settings.get_current_profile_name() != FUZZ:
        return []
    others = [item for item in items if not is_random(item)]
    items[:] = [item for item in items if is_random(item)]
    for test in _functions(items):
        chosen: settings = getattr(test, _CHOSEN, settings.default)
        setattr(
            test,
            _CHOSEN,
            settings(
                chosen, max_examples=TIMES * chosen.max_examples, derandomize=False, deadline=None
            ),
        )
    return others


def _functions(items: Iterable[pytest.Item]) -> list[object]:
    """The function of each test, once for all of its parameters."""
    return list({id(item.obj): item.obj for item in items}.values())  # type: ignore[attr-defined]
