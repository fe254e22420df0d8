"""Ranges are divided by the estimated distribution of records: into intervals whose records fit
into one response, none of which is queried twice. The record field that a range input filters is
recognised."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from deepweb.choice.range_cells import Cell, QueriedRange, cells, scale_of
from deepweb.choice.slots import column_of, value_of
from deepweb.forms.templates import Range

DAYS = Range(date(1900, 1, 1).toordinal(), date(2100, 12, 31).toordinal(), "%Y-%m-%d")
PRICES = Range(0, 1_000_000)
LIMIT = 50


def covered(values: np.ndarray, whole: Range, queries: int, stated: bool) -> int:
    """Returns how many records range queries find on a site that shows 50 random matches and, if
    `stated`, their total."""
    rng = np.random.default_rng(1)
    order, seen, asked = rng.permutation(len(values)), set(), []
    span = whole
    for left in reversed(range(queries)):
        matching = [int(place) for place in order if span.low <= values[place] <= span.high]
        before = float(sum(span.low <= values[place] <= span.high for place in seen))
        seen.update(matching[:LIMIT])
        known = stated or len(matching) <= LIMIT
        asked.append(
            QueriedRange(
                span,
                float(len(matching)) if known else LIMIT,
                known,
                len(matching) <= LIMIT,
                before,
            )
        )
        found = cells(
            whole,
            asked,
            np.sort(values[sorted(seen)]).astype(float),
            scale_of(asked, LIMIT),
            LIMIT,
            left,
        )
        if not found:
            break
        span = max(found, key=lambda cell: cell.new).range
    return len(seen)


@pytest.mark.parametrize(("stated", "least"), [(True, 1_450), (False, 1_100)])
def test_cells_bring_most_of_a_database_that_words_hardly_open(stated: bool, least: int) -> None:
    rng = np.random.default_rng(2)
    prices = (np.exp(rng.normal(4.5, 1, 2000)) + 1).astype(int)
    days = (date(2024, 12, 31).toordinal() - np.minimum(3600, rng.exponential(700, 2000))).astype(
        int
    )
    for values, whole in ((prices, PRICES), (days, DAYS)):
        assert covered(values, whole, 40, stated) >= least


@pytest.mark.parametrize("stated", [True, False])
def test_in_the_end_nothing_is_left_out(stated: bool) -> None:
    values = np.random.default_rng(3).integers(200, 90_000, 700)
    assert covered(values, PRICES, 400, stated) == len(values)


def test_how_many_match_for_each_seen_is_told_by_counts_and_by_cuts() -> None:
    told = [
        QueriedRange(Range(0, 9), 90, True, False, 3),
        QueriedRange(Range(10, 19), 60, True, False, 2),
    ]
    cut = [
        QueriedRange(Range(0, 9), 50, False, False, 1),
        QueriedRange(Range(10, 19), 50, False, False, 1),
    ]
    assert 20 < scale_of(told, LIMIT) < 35
    assert scale_of(cut, LIMIT) > 2 * scale_of([], LIMIT) > 20, (
        "twice cut: more than fifty for each one seen"
    )


def test_what_was_answered_whole_is_never_asked_again() -> None:
    asked = [
        QueriedRange(Range(0, 99), 30, True, True),
        QueriedRange(Range(200, 299), 75, False, False),
    ]
    found = cells(Range(0, 999), asked, np.array([210.0, 220.0, 250.0, 800.0]), 10.0, LIMIT)
    spans = [cell.range for cell in found]
    assert all(span.low > 99 for span in spans) and Range(200, 299) not in spans
    assert Range(100, 199) in spans and any(span.low == 300 for span in spans), (
        "each stretch from its begin"
    )


@pytest.mark.parametrize(("matching", "parts"), [(60, 2), (110, 3)])
def test_a_range_that_was_cut_is_divided_into_as_few_parts_as_fit_under_the_limit(
    matching: int, parts: int
) -> None:
    found = cells(
        Range(0, 99),
        [QueriedRange(Range(0, 99), matching, True, False)],
        np.arange(0.0, 100.0, 5.0),
        10.0,
        LIMIT,
    )
    spans = sorted((cell.range.low, cell.range.high) for cell in found)
    assert len(spans) == parts and spans[0][0] == 0 and spans[-1][1] == 99
    assert all(high + 1 == low for (_, high), (low, _) in zip(spans, spans[1:], strict=False))


def test_a_range_is_divided_at_quantiles_of_all_its_known_records() -> None:
    found = cells(
        Range(0, 99),
        [QueriedRange(Range(0, 99), 80, True, False)],
        np.array([10.0, 20.0, 30.0, 90.0]),
        28.0,
        LIMIT,
    )
    assert [cell.range for cell in found] == [
        Range(0, 30),
        Range(31, 99),
    ], "the last record, far from the others, counts too"


def test_a_rest_that_one_answer_can_hold_is_one_part() -> None:
    asked = [
        QueriedRange(Range(0, 99), 60, True, False),
        QueriedRange(Range(0, 79), 50, True, True),
    ]
    found = cells(Range(0, 99), asked, np.arange(0.0, 80.0, 2.0), 10.0, LIMIT)
    assert [cell.range for cell in found] == [Range(80, 99)] and found[0].new == pytest.approx(
        10, abs=0.5
    )


def test_ranges_without_a_record_leave_all_records_to_the_others() -> None:
    empty = [
        QueriedRange(Range(200, 299), 0, True, True),
        QueriedRange(Range(220, 239), 0, True, True),
    ]
    found = cells(
        Range(0, 999),
        [*empty, QueriedRange(Range(0, 999), 60, True, False)],
        np.array([10.0, 20.0, 500.0, 800.0]),
        10.0,
        LIMIT,
    )
    assert sum(cell.new for cell in found) == pytest.approx(60 - 4), "all but those seen"


def test_beside_a_narrow_range_the_next_is_as_dense() -> None:
    asked = [
        QueriedRange(Range(0, 99), 40, True, True),
        QueriedRange(Range(500, 549), 80, True, False),
        QueriedRange(Range(0, 999), 600, True, False),
    ]
    found = cells(Range(0, 999), asked, np.arange(0.0, 1000.0, 20.0), 10.0, LIMIT)
    spans = [cell.range for cell in found]
    assert spans[:2] == [
        Range(100, 224),
        Range(469, 499),
    ], "50 records at 0.4 and at 1.6 a step, from both ends of a stretch"
    assert spans[2] == Range(550, 580)
    assert all(0 < cell.new <= LIMIT for cell in found)


def test_a_change_of_density_is_expected_to_go_on() -> None:
    rising = [
        QueriedRange(Range(0, 99), 30, True, True),
        QueriedRange(Range(100, 199), 40, True, True),
        QueriedRange(Range(0, 999), 400, True, False),
    ]
    even = [
        QueriedRange(Range(0, 99), 40, True, True),
        QueriedRange(Range(100, 199), 40, True, True),
        QueriedRange(Range(0, 999), 400, True, False),
    ]
    values = np.arange(0.0, 1000.0, 20.0)
    width = [
        cells(Range(0, 999), asked, values, 10.0, LIMIT)[0].range.high for asked in (rising, even)
    ]
    assert width[0] < 323 and width[1] == 324, (
        "50 records at 0.4 a step, fewer steps where it has been rising"
    )


def test_without_neighbours_the_first_cell_lies_where_records_are_densest() -> None:
    values = np.sort(np.concatenate([np.arange(0.0, 800.0, 40.0), np.arange(800.0, 900.0, 3.0)]))
    (first,) = cells(
        Range(0, 9999), [QueriedRange(Range(0, 9999), 2000, True, False)], values, 40.0, LIMIT
    )
    assert 800 <= first.range.low <= first.range.high <= 900


def test_a_cell_cut_without_a_count_is_divided_not_taken_for_endless() -> None:
    values = np.sort(np.concatenate([np.arange(0.0, 1000.0, 40.0), np.arange(300.0, 400.0, 2.0)]))
    asked = [
        QueriedRange(Range(0, 999), LIMIT, False, False),
        QueriedRange(Range(300, 399), LIMIT, False, False),
    ]
    inside = [
        cell
        for cell in cells(Range(0, 999), asked, values, 15.0, LIMIT)
        if 300 <= cell.range.low <= 399
    ]
    assert inside and all(cell.new < LIMIT / 2 for cell in inside), (
        "its records are known, except for the few that were cut off"
    )


def test_masses_agree_with_every_count_that_is_told() -> None:
    asked = [QueriedRange(Range(0, 9999), 2000, True, False)] + [
        QueriedRange(Range(90 * n, 90 * n + 89), 90, True, False) for n in range(20)
    ]
    values = np.sort(np.random.default_rng(1).integers(0, 1800, 1300)).astype(float)
    found = cells(Range(0, 9999), asked, values, 1.5, LIMIT)
    assert max(cell.new for cell in found if cell.range.low >= 1800) == LIMIT, (
        "200 of 2000 lie behind the last range asked"
    )


def test_a_single_value_that_was_cut_is_given_up() -> None:
    assert (
        cells(
            Range(5, 5), [QueriedRange(Range(5, 5), 90, True, False)], np.array([5.0]), 2.0, LIMIT
        )
        == []
    )
    assert isinstance(
        cells(
            Range(5, 6), [QueriedRange(Range(5, 6), 90, True, False)], np.array([5.0]), 2.0, LIMIT
        )[0],
        Cell,
    )


@pytest.mark.parametrize(
    ("text", "whole", "value"),
    [
        ("$ 1,250", PRICES, 1250.0),
        ("no price", PRICES, None),
        ("3000000", PRICES, None),
        ("2021-03-04", DAYS, date(2021, 3, 4).toordinal()),
        ("4 March 2021", DAYS, date(2021, 3, 4).toordinal()),
        ("2021年3月4日", DAYS, date(2021, 3, 4).toordinal()),
        ("about 2021", DAYS, date(2021, 7, 1).toordinal()),
        ("99/99", DAYS, None),
    ],
)
def test_values_are_read_as_they_are_written(text: str, whole: Range, value: float | None) -> None:
    assert value_of(text, whole) == value


def test_the_column_is_told_by_its_name_or_by_what_answers_hold() -> None:
    rows = {n: {"Price": str(100 + n), "Pages": str(300 - 10 * n), "Title": "x"} for n in range(20)}
    asked = [(Range(100, 109), list(range(10)))]
    assert column_of(rows, PRICES, asked, frozenset()) == "Price"
    assert column_of(rows, PRICES, [], frozenset({"price"})) == "Price"
    assert column_of(rows, PRICES, [], frozenset({"cost"})) is None
    found = [value_of(row["Price"], PRICES) for row in rows.values()]
    assert sorted(value for value in found if value is not None) == [
        float(100 + n) for n in range(20)
    ]
