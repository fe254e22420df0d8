"""Truncated responses to one word are refined by a second word, if the site combines words with AND
and offers no choice."""

from __future__ import annotations

import pytest

from deepweb.models import Query
from tests.deepweb.test_harvest import found, harvest, the_form
from tests.site.search import SearchServer, SearchSite

pytestmark = pytest.mark.django_db(transaction=True)


def pairs() -> list[Query]:
    return [
        query
        for query in Query.objects.order_by("number")
        if [name for name, _value in query.terms] == ["q", "q"]
    ]


def test_a_cut_answer_is_refined_by_a_second_word() -> None:
    with SearchServer(
        SearchSite(books=900, layout="list", cut=12, asks="word", conjunction=True)
    ) as server:
        found(server)
        harvest(the_form(), queries=60)
    refined = pairs()
    assert len(refined) > 10 and sum(query.new for query in refined) > 2 * len(refined)
    alone = list(Query.objects.filter(terms=refined[0].terms[:1]))
    assert alone and all(query.overflowed and query.number < refined[0].number for query in alone)


def test_where_words_stand_for_a_phrase_one_pair_tells_and_no_other_is_asked() -> None:
    with SearchServer(SearchSite(books=900, layout="list", cut=12, asks="word")) as server:
        found(server)
        harvest(the_form(), queries=45)
    assert [query.returned for query in pairs()] == [0]
