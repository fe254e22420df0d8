"""Text snippets for a page of search results: one query for all of them."""

from __future__ import annotations

from typing import Any

import pytest

from focused.models import TopicPage
from focused.run import search


@pytest.mark.django_db
def test_all_hits_are_looked_up_by_one_query(django_assert_num_queries: Any) -> None:
    hits = [TopicPage(run_id=1 + n % 3, url_hash=n) for n in range(25)]
    with django_assert_num_queries(1):
        found = search.around(hits, frozenset({"crawler"}))
    assert found == [search.Snippet("", "", "")] * 25
