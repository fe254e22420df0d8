"""Which words a harvest asks for: minimum lengths, several words at once, other languages, and
fields that say nothing about a record."""

from __future__ import annotations

import pytest

from deepweb.answers.retrieved import Outcome, Term
from deepweb.choice.matching import SearchedColumns, least_letters
from deepweb.choice.terms import Asking, WordMode, words_elsewhere


@pytest.mark.parametrize(
    ("vain", "found", "least"),
    [
        (("人", "山水", "春江"), ("图书馆",), 3),
        (("map", "old", "sea"), ("river", "stone"), 4),
        (("map", "old", "sea"), ("ox",), 1),
        (("map", "old"), ("river",), 1),
    ],
)
def test_the_least_length_of_a_word_is_found_out(
    vain: tuple[str, ...], found: tuple[str, ...], least: int
) -> None:
    outcomes = [Outcome((Term("q", word),), 0, 0, False, before=2) for word in vain]
    outcomes += [Outcome((Term("q", word),), 4, 4, False) for word in found]
    assert least_letters(outcomes, "q") == least


def test_words_are_as_long_and_as_many_as_the_site_wants() -> None:
    three = Asking("q", WordMode.PARTS, least=3)
    assert {"计算机", "算机学"} <= set(three.words("计算机学")) and "计算" not in three.words(
        "计算机"
    )
    assert Asking("q", least=4).words("old river maps") == ["river", "maps"]
    assert Asking("q", together=2).words("old river maps") == ["old river", "river maps"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("changed", "12 minutes ago"), ("hits", "34"), ("when", "yesterday"), ("seen", "7 views")],
)
def test_what_says_when_or_how_often_a_record_was_listed_is_no_query(name: str, value: str) -> None:
    found = Asking("q").terms({"title": "old maps", name: value})
    assert {term.value for term in found} == {"old", "maps"}


def test_a_field_whose_words_find_nothing_is_left_out_at_once() -> None:
    searched = SearchedColumns({"title": [9, 0, 0]})
    records = {n: {"title": f"map {n}", "by": "admin"} for n in range(6)}
    searched.note(records, set(), "admin", WordMode.WORDS, whole=True)
    assert searched.missing(["title", "by"]) == {"by"}
    unproved = SearchedColumns({})
    unproved.note(records, set(), "admin", WordMode.WORDS, whole=True)
    assert not unproved.missing(["title", "by"])


@pytest.mark.parametrize(
    ("texts", "language", "first", "missing"),
    [
        (["old maps"], "en", "人", "time"),
        (["old maps 地图"], "en", "год", "人"),
        (["地图"], "zh", "time", "人"),
        (["alte Karten"], "de", "人", "haus"),
    ],
)
def test_other_languages_than_those_seen_are_tried(
    texts: list[str], language: str, first: str, missing: str
) -> None:
    words = words_elsewhere(texts, language)
    assert words[0] == first and missing not in words
