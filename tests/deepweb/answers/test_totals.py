"""A number counts as the total of results only if several queries confirm it: not numbers inside
records, prices, years or versions."""

from __future__ import annotations

from deepweb.answers.totals import AnswerStatement, Stated, stated_numbers, total_of, trusted_shape

TRAPS = (
    "The ISO 9660 file system",
    "ISO 9660 files and how to read them",
    "Sale: 1,999 books at $ 2,499.00 in all",
    "Since 1998, 2,400 members",
    "Page 2 of 9",
    "Python 3.12.4 found 2024",
)


def statement(
    line: str, returned: int, whole: bool = True, shown: int = 0, bound: tuple[str, ...] = ("fox",)
) -> AnswerStatement:
    said = stated_numbers([*TRAPS, line], bound, shown)
    return AnswerStatement(said, returned, whole, frozenset(("q", word) for word in bound))


def numbers(answers: list[AnswerStatement]) -> list[int | None]:
    shape = trusted_shape(answers)
    return [total_of(answer.stated, shape) for answer in answers]


def test_a_line_that_counts_what_was_returned_is_the_total() -> None:
    answers = [
        statement("34 results for fox", 34),
        statement("7 results for yak", 7, bound=("yak",)),
        statement("812 results for zebra", 50, bound=("zebra",)),
    ]
    assert numbers(answers) == [34, 7, 812]


def test_numbers_that_stand_still_or_contradict_are_no_totals() -> None:
    assert numbers([statement("", 34), statement("", 7), statement("", 50)]) == [None, None, None]
    assert numbers(
        [statement("5 books by the same house", 34), statement("9 books by the same house", 7)]
    ) == [None, None]


def test_one_answer_alone_says_nothing_unless_it_counts_what_it_shows() -> None:
    assert numbers([statement("34 results", 34)]) == [None]
    assert numbers([statement("Showing 1 to 10 of 134", 10, False, shown=10)]) == [134]
    assert numbers([statement("Tracks 1 to 12 of 134", 10, False, shown=10)]) == [None]


def test_a_narrower_query_has_no_more() -> None:
    wide, narrow = (
        statement("60 hits", 50, bound=("a",)),
        statement("90 hits", 50, bound=("a", "b")),
    )
    assert trusted_shape([wide, narrow, statement("71 hits", 50, bound=("c",))]) is None


def test_parts_of_an_answer_that_the_site_never_cut_are_told_from_its_total() -> None:
    lines = [
        ("Fiction: 20 books", "30 found"),
        ("Fiction: 61 books", "80 found"),
        ("Fiction: 3 books", "9 found"),
    ]
    answers = [
        AnswerStatement(stated_numbers(pair), int(pair[1].split()[0]), True) for pair in lines
    ]
    assert numbers(answers) == [30, 80, 9]


def test_named_numbers_of_data_are_judged_like_lines() -> None:
    answers = [
        AnswerStatement((Stated("data .count", 10), Stated("data .total", n)), 10, True)
        for n in (40, 71, 500)
    ]
    assert numbers(answers) == [40, 71, 500]
