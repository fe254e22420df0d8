"""Fields of the rows of thread lists: a class name tells the role of a time up to four levels below
its element."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from forums.reading.lists.thread_columns import ThreadFields


@pytest.mark.once
@pytest.mark.parametrize(("node", "found"), [(4, {"last"}), (5, {"last"}), (6, set()), (9, set())])
def test_a_class_names_the_role_of_a_time_at_most_four_levels_below_it(
    node: int, found: set[str]
) -> None:
    outline = SimpleNamespace(classes=["", "lastpost", *[""] * 8], parents=[-1, *range(9)])
    fields = cast(Any, SimpleNamespace(page=SimpleNamespace(outline=outline)))
    assert ThreadFields._roles_by_class(fields, cast(Any, SimpleNamespace(start=0)), node) == found
