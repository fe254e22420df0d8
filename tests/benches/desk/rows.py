"""The rows of `bench desk`, of all parts of the program, and what its pages are asked with."""

from __future__ import annotations

from types import ModuleType

from tests.benches.desk import forum_rows, search_rows, shared_rows, topic_rows
from tests.benches.desk.bulk import Sizes

PARTS: tuple[ModuleType, ...] = (shared_rows, forum_rows, topic_rows, search_rows)
"""Each has `fill(sizes)`, which inserts its rows, `arguments(sizes)`, the arguments of addresses by
view, and `QUERIES`, the query strings by view."""


def fill(sizes: Sizes) -> None:
    """Inserts all rows."""
    for part in PARTS:
        part.fill(sizes)


def arguments(sizes: Sizes) -> dict[str, dict[str, object]]:
    """Returns the arguments of addresses that lead to some of the rows, by view."""
    return {view: found for part in PARTS for view, found in part.arguments(sizes).items()}


def queries() -> dict[str, tuple[str, ...]]:
    """Returns the query strings with which pages are asked too, by view."""
    return {view: found for part in PARTS for view, found in part.QUERIES.items()}
