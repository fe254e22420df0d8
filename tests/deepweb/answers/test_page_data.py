"""Records in JSON data that a page contains for its script: lists, totals and next pages in any
JSON structure."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from deepweb.answers.page import Answer, Context, address_of, page_data, read_answer, read_detail
from deepweb.answers.result_list import PageTemplate
from deepweb.search_forms import read_forms

FORM = "<form action=/s><input name=q></form>"
BOOKS = [
    {"id": 1, "title": "Red house", "author": {"name": "Ann"}, "tags": ["a", "b"], "url": "/b/1"},
    {"id": 2, "title": "Blue house", "author": {"name": "Bob"}, "tags": [], "url": "/b/2"},
]


def shell(data: object, script: str = "<script type='application/json'>{}</script>") -> str:
    return f"<html><body>{FORM}{script.format(json.dumps(data))}</body></html>"


def read(html: str, page_template: PageTemplate | None = None) -> Answer:
    form = read_forms(f"<html>{FORM}</html>", "http://x.org/")[0]
    return read_answer(
        html,
        "http://x.org/s?q=house",
        Context(form, {"q": "house"}, 1, 0, page_template or PageTemplate(), None, False, "utf-8"),
    )


def test_lists_of_objects_become_records_with_flat_fields() -> None:
    for script in (
        "<script type='application/json'>{}</script>",
        "<script>window.__DATA__ = {}; go()</script>",
    ):
        found = read(shell({"total": 31, "results": BOOKS, "next": "/s?q=house&page=2"}, script))
        assert [record.url for record in found.records] == ["http://x.org/b/1", "http://x.org/b/2"]
        assert found.records[0].fields == {
            "id": "1",
            "title": "Red house",
            "author.name": "Ann",
            "tags": "a, b",
            "url": "http://x.org/b/1",
        }
        assert [each.number for each in found.stated] == [
            31
        ] and found.next.submission.url == "http://x.org/s?q=house&page=2"


def test_an_answer_that_is_json_itself_is_read() -> None:
    found = read(json.dumps({"items": BOOKS, "count": 2}))
    assert len(found.records) == 2 and [each.number for each in found.stated] == [2]


def test_what_pages_without_records_have_too_is_no_record() -> None:
    menu = [
        {"label": "Home", "href": "/"},
        {"label": "A very long name of a room of the site", "href": "/about"},
    ]
    nothing = read(shell({"menu": menu, "results": []}))
    found = read(shell({"menu": menu, "results": BOOKS[:1]}), nothing.page_template)
    assert [record.fields["title"] for record in found.records] == ["Red house"]
    assert not read(shell({"menu": menu, "results": []}), nothing.page_template).records


def test_a_detail_page_of_data_gives_its_fields() -> None:
    assert read_detail(shell({"book": BOOKS[0]}), PageTemplate())["book.author.name"] == "Ann"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=6), x, max_size=4),
        max_leaves=20,
    )
)
def test_no_data_breaks_the_reading(data: object) -> None:
    found = page_data(shell(data), "http://x.org/")
    assert all(
        isinstance(value, str)
        for each in found.lists
        for item in each.items
        for value in item.values()
    )
    assert all(
        address_of(item) == "" or "://" in address_of(item)
        for each in found.lists
        for item in each.items
    )


def test_broken_and_deep_data_is_left_alone() -> None:
    assert (
        page_data("<script type='application/json'>{'a': [1,</script>", "http://x.org/").lists == ()
    )
    assert page_data("[" * 50_000, "http://x.org/").lists == ()


def test_what_no_database_takes_and_no_browser_opens_is_left_out() -> None:
    data = r"""{"count": -1, "total": 99999999999999999999, "next": "http://[x", "items": [
        {"url": "http://[x", "title": "cut \ud83d", "b\u0000": "c\u0000"},
        {"link": "http://", "title": "two \ud83d\ude00", "b": "x"},
        {"url": "/three", "title": "three", "b": "x"}]}"""
    found = page_data(data, "http://x.org/")
    assert (found.totals, found.next) == ((), "")
    first, second, third = found.lists[0].items
    assert (first["title"], first["b\ufffd"], second["title"]) == (
        "cut \ufffd",
        "c\ufffd",
        "two \U0001f600",
    )
    assert [address_of(one) for one in (first, second, third)] == [
        "",
        "http://x.org/",
        "http://x.org/three",
    ]
