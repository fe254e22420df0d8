"""Sites that also find a queried word inside other words, or in one column only: how this is
recognised from their answers, and that a word counts in all records that such a site would return.
"""

from __future__ import annotations

from deepweb.answers.retrieved import Choice, Logged, Outcome, Query, Term
from deepweb.choice.matching import InsideWords, looks_inside, words_inside
from deepweb.choice.words import FreshPolicy

BOX = "q"
RECORDS = {
    1: {"title": "party of stars", "year": "1999"},
    2: {"title": "starting point", "year": "1999"},
    3: {"title": "a depart ment", "year": "2001"},
    4: {"title": "cartwheel", "year": "2001"},
    5: {"title": "tea", "year": "1999"},
}


def asked(number: int, query: Query, found: list[int], cut: bool = False) -> Logged:
    return Logged(number, Choice(query), found, cut, False, (), None)


def outcomes(log: list[Logged]) -> list[Outcome]:
    return [Outcome(each.choice.query, len(each.found), 0, each.overflowed) for each in log]


def test_a_site_looks_inside_words_where_it_finds_them_behind_other_letters() -> None:
    inside = [asked(1, (Term(BOX, "art"),), [1, 2, 3, 4])]
    assert looks_inside(inside, RECORDS, BOX)
    assert not looks_inside(inside, RECORDS, "other")
    stems = [asked(1, (Term(BOX, "star"),), [1, 2]), asked(2, (Term(BOX, "tea"),), [5])]
    assert not looks_inside(
        stems, RECORDS, BOX
    )  # "star" is the beginning of "stars" and "starting", as a stem would be


def test_the_words_inside_of_a_word_are_known_ones_only() -> None:
    assert words_inside("starting", {"star", "art", "tart", "starting", "wheel"}) == [
        "star",
        "tart",
        "art",
    ]
    assert words_inside("tea", {"tea"}) == []


def test_a_word_counts_in_every_record_that_holds_it_anywhere() -> None:
    words = InsideWords(BOX)
    log = [
        asked(1, (Term(BOX, "tea"),), [5]),
        asked(2, (Term(BOX, "point"),), [2, 1]),
        asked(3, (Term(BOX, "x"),), [3, 4]),
    ]
    records = {**RECORDS, 6: {"title": "art"}}
    log.append(asked(4, (Term(BOX, "y"),), [6]))
    [offer] = words.offers(log, outcomes(log), records, FreshPolicy(), ["title"])
    place = words.retrieved.index_of(Term(BOX, "art"))
    assert (
        place is not None and words.retrieved.frequency[place] == 5
    )  # words that contain “art”: party, starting, depart, cartwheel, art
    assert offer.choice.query == (Term(BOX, "art"),) and offer.gain > 0


def test_a_word_of_one_column_is_another_than_the_same_word_of_another() -> None:
    parts = [(Term("column", name), Term("op", "contains")) for name in ("title", "year", "hidden")]
    words = InsideWords("value", parts)
    log = [
        asked(1, (Term("value", ""), Term("column", "")), [1, 2, 5]),
        asked(2, (Term("value", "tea"), *parts[0]), [5]),
    ]
    [(choice, *_)] = words.offers(log, outcomes(log), RECORDS, FreshPolicy(), ["title", "year"])
    assert choice.query == (Term("value", "1999"), *parts[1])
    again = [*log, asked(3, choice.query, [1, 2, 5])]
    [(following, *_)] = words.offers(
        again, outcomes(again), RECORDS, FreshPolicy(), ["title", "year"]
    )
    assert following.query not in (choice.query, log[1].choice.query)
    assert all(term.value != "hidden" for term in following.query)
