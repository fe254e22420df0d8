"""Display names of a topic's settings in the history of changes."""

from __future__ import annotations

from typing import Any

import pytest

from focused.admin import titles


@pytest.mark.parametrize(
    ("way", "stored", "shown"),
    [
        (("strategy",), "ant_colony", "Ant colony"),
        (("options", "known"), "count", "count towards the budget"),
        (("parameters", "beyond"), "reserve", "keep in reserve and follow last"),
        (("options", "pages"), 300, 300),
        (("options", "scope", "hosts"), "count", "count"),
        (("strategy",), "", ""),
    ],
)
def test_the_history_shows_names_of_choices_instead_of_their_codes(
    way: tuple[str, ...], stored: Any, shown: Any
) -> None:
    assert titles.value(way, stored) == shown
