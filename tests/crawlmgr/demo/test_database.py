"""The demonstration's searchable database: truncated results, result pages, and records behind
them."""

from __future__ import annotations

import re

import pytest

from crawlmgr.demo.database import A_PAGE, AT_MOST, Database


def rows(database: Database, path: str) -> list[int]:
    answer = database(path)
    assert answer is not None and answer.status == 200
    return [int(number) for number in re.findall(r'href="/instrument/(\d+)"', answer.body)]


def test_answers_hold_what_was_asked_for_and_are_cut() -> None:
    database = Database()
    wanted = [one.number for one in database.records if one.kind == "string"]
    assert len(wanted) > AT_MOST > A_PAGE
    found = [
        number
        for page in range(1, 9)
        for number in rows(database, f"/search?kind=string&page={page}")
    ]
    assert found == wanted[:AT_MOST]
    word = [
        one.number for one in database.records if "walnut" in one.words() and one.kind == "wind"
    ]
    assert rows(database, "/search?q=Walnut&kind=wind") == word[:A_PAGE] and word
    last = database("/search?kind=string&page=2")
    assert last is not None and "rel=" not in last.body and f"only the first {AT_MOST}" in last.body


@pytest.mark.parametrize(
    "path",
    [
        "/search?q=zzzz",
        "/search?q=%3F%3F",
        "/search?kind=string&page=99",
        "/search?kind=string&page=x9",
    ],
)
def test_what_is_not_there_is_not_found(path: str) -> None:
    found = rows(Database(), path)
    assert found == (rows(Database(), "/search?kind=string") if path.endswith("x9") else [])


def test_every_record_has_a_page_and_markup_in_words_is_shown_as_words() -> None:
    database = Database()
    for one in database.records:
        answer = database(f"/instrument/{one.number}")
        assert answer is not None and one.maker in answer.body and one.note in answer.body
    assert (
        database("/instrument/0") is None
        and database(f"/instrument/{len(database.records) + 1}") is None
    )
    asked = database("/search?q=%3Cscript%3E")
    assert asked is not None and "<script>" not in asked.body
    login = database("/login")
    assert login is not None and 'type="password"' in login.body
