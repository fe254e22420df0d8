"""What a process keeps in memory between two steps of topics' runs is bounded in bytes."""

from __future__ import annotations

from collections import OrderedDict

import pytest

from crawlmgr.database import caches
from focused.graph import MemoryGraph
from focused.models import TopicRun
from focused.run import sessions


@pytest.mark.parametrize(
    ("weights", "kept"),
    [
        ([10, 10, 10], [0, 1, 2]),
        ([10, 10, 10, 10, 10], [1, 2, 3, 4]),
        ([60, 30, 30], [1, 2]),
        ([10, 10, 500], [2]),
        ([500], [0]),
        ([500, 10], [1]),
    ],
)
def test_the_oldest_are_removed_until_number_and_bytes_fit(
    weights: list[int], kept: list[int]
) -> None:
    cache = OrderedDict(enumerate(weights))
    caches.bounded(cache, 4, 100, int)
    assert list(cache) == kept


def test_a_session_weighs_more_with_each_address_that_it_knows() -> None:
    session = object.__new__(sessions.Session)
    session.graph, session.progress = MemoryGraph(), sessions.Progress(TopicRun())
    empty = session.weight()
    for number in range(100):
        session.graph.add(f"http://site.example/{number}", 0, None)
    session.progress.places["http://site.example/1"] = (1, 0)
    assert session.weight() - empty == 101 * sessions.NODE_BYTES
