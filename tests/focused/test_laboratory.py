"""Comparisons with several random repetitions: areas under curves against values computed by hand,
means over repetitions, and the test of significance."""

from dataclasses import replace

import pytest

from focused.lab.comparison import Cell, Entry, Outcome, area, cells, gathered, winner
from focused.run.loop import Trail


def outcome(curve: list[tuple[int, int]], wanted: int = 10) -> Outcome:
    fetched, relevant = curve[-1]
    return Outcome(
        entry=Entry("any"),
        trail=Trail(stopped_by="pages"),
        fetched=fetched,
        relevant=relevant,
        recall=relevant / wanted,
        mean_similarity=0.5,
        similarity_curve=[0.5] * len(curve),
        important_found=1,
        important_share=0.1,
        pagerank_found=1,
        tunnel_lengths={1: 2},
        curve=curve,
        important_curve=curve,
        pagerank_curve=curve,
        wanted=wanted,
        labelled=None,
        seconds=1.0,
    )


def test_area_by_hand() -> None:
    assert area(outcome([(5, 5), (10, 5)]), 10, 10) == pytest.approx((2.5 * 5 + 5 * 5) / 10 / 10)
    assert area(outcome([(5, 5)]), 10, 10) == pytest.approx((2.5 * 5 + 5 * 5) / 10 / 10), (
        "what ended early keeps what it has"
    )
    assert area(outcome([(5, 5)]), 10, 0) == 0.0
    assert area(replace(outcome([(5, 5)]), curve=[]), 10, 10) == 0.0


def test_cells_go_draw_by_draw() -> None:
    assert [cell.key for cell in cells(["a", "b"], 2)] == ["a#1", "b#1", "a#2", "b#2"]


def compared(first: list[int], second: list[int]) -> list[dict[str, object]]:
    rows = [
        (Cell("a", n), outcome([(5, hits), (10, hits)])) for n, hits in enumerate(first, start=1)
    ]
    rows += [
        (Cell("b", n), outcome([(5, hits), (10, hits)])) for n, hits in enumerate(second, start=1)
    ]
    return gathered(rows, 10)


def test_draws_are_averaged_and_tunnels_summed() -> None:
    one, other = compared([4, 6], [1, 3])
    assert (one["strategy"], one["draws"], one["relevant"], one["recall"]) == ("a", 2, 5, 0.5)
    assert one["curve"] == [[5.0, 5.0], [10.0, 5.0]] and one["tunnel_lengths"] == {"1": 4}
    low, high = one["area_interval"]
    assert low <= one["area"] <= high and other["area"] < one["area"]


def test_precision_is_of_pages_with_a_label() -> None:
    one = outcome([(5, 3), (10, 6)])
    assert one.precision == one.harvest_rate == 0.6, (
        "without labels the judge has a word on every page"
    )
    assert replace(one, labelled=8).precision == 0.75 and replace(one, labelled=0).precision is None
    rows = gathered(
        [(Cell("a", 1), replace(one, labelled=8)), (Cell("a", 2), replace(one, labelled=0))], 10
    )
    assert rows[0]["precision"] is None, "no mean of what is not known"


def test_the_winner_tells_a_difference_from_chance() -> None:
    clear = winner(compared([8, 7, 8, 9], [2, 3, 2, 2]))
    assert clear is not None and (clear.best, clear.second, clear.real) == ("a", "b", True)
    assert clear.difference is not None and clear.difference[1] <= clear.gap <= clear.difference[2]
    unclear = winner(compared([9, 1, 5, 5], [4, 5, 5, 5]))
    assert unclear is not None and not unclear.real
    once = winner(compared([9], [1]))
    assert once is not None and once.difference is None and not once.real
    assert winner(compared([9], [])[:1]) is None
