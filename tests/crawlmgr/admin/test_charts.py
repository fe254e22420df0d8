"""Charts are small and have titles and units on their axes; names from the web are never read as
markup."""

from __future__ import annotations

import json
from datetime import date

import pytest

from crawlmgr.admin.charts import NEW, UPDATED, Series, chart, heatmap

DAYS = [date(2026, 11, 1), date(2026, 11, 2)]


def test_a_figure_is_small_and_its_axes_are_named() -> None:
    drawn = chart(
        "c",
        "Title",
        [Series("one", DAYS, [1, 2], NEW), Series("two", DAYS, [0, 3], UPDATED)],
        x="day (UTC)",
        y="posts a day",
    )
    assert len(json.dumps(drawn.figure)) < 3000
    assert drawn.figure["layout"]["xaxis"]["title"]["text"] == "day (UTC)"
    assert drawn.figure["layout"]["yaxis"]["title"]["text"] == "posts a day"
    assert [trace["y"] for trace in drawn.figure["data"]] == [[1, 2], [0, 3]]
    assert [trace["x"] for trace in drawn.figure["data"]] == [["2026-11-01", "2026-11-02"]] * 2
    assert drawn.legend == [("one", NEW), ("two", UPDATED)]


def test_names_from_the_web_are_no_markup_for_the_chart() -> None:
    evil = '<a href="javascript:alert(1)">x</a> %{fullData.x}'
    trace = chart("c", "Title", [Series(evil, DAYS, [1, 2], NEW)], x="", y="").figure["data"][0]
    assert "<a" not in trace["name"] and "<a" not in trace["hovertemplate"]
    assert "%{fullData" not in trace["hovertemplate"]


def test_few_bars_are_not_stretched_over_the_width() -> None:
    drawn = chart(
        "c", "Title", [Series("a", ["#1", "#2"], [1, 2], NEW)], x="", y="", dates=False
    ).figure["layout"]
    assert drawn["xaxis"]["range"] == [-0.5, 1.5], "no part of the chart stays blank"
    assert 1 - drawn["bargap"] == pytest.approx(0.85 * 2 / 12)
    many = chart(
        "c",
        "Title",
        [Series("a", list(map(str, range(30))), [1] * 30, NEW)],
        x="",
        y="",
        dates=False,
    ).figure["layout"]
    assert many["bargap"] == pytest.approx(0.15)


def test_every_row_of_a_heat_map_has_its_whole_height() -> None:
    axis = heatmap(
        "c", "Title", ["0", "1"], ["Mon", "Tue"], [[1, 2], [None, 3]], x="", y="", z=""
    ).figure["layout"]["yaxis"]
    assert "minallowed" not in axis and axis["autorange"] == "reversed", (
        "the first row lies on both sides of its number 0"
    )
    plain = chart("c", "Title", [Series("a", DAYS, [1, 2], NEW)], x="", y="").figure["layout"][
        "yaxis"
    ]
    assert plain["minallowed"] == 0


def test_nothing_to_draw_is_a_sentence() -> None:
    assert chart("c", "Title", [Series("one", DAYS, [0, 0], NEW)], x="", y="").empty
    assert chart("c", "Title", [], x="", y="", empty="No visits.").empty == "No visits."


def test_a_second_axis_stands_at_the_right() -> None:
    series = [
        Series("a", DAYS, [1, 2], NEW),
        Series("b", DAYS, [5, 6], UPDATED, line=True, second_axis=True),
    ]
    drawn = chart("c", "Title", series, x="", y="requests", y2="MB").figure
    assert (
        drawn["layout"]["yaxis2"]["side"] == "right"
        and drawn["layout"]["yaxis2"]["title"]["text"] == "MB"
    )
    assert drawn["data"][1]["yaxis"] == "y2"


def test_every_category_can_be_named() -> None:
    words = [f"word {n}" for n in range(30)]
    plain = chart(
        "c", "Title", [Series("a", words, [1.5] * 30, NEW)], x="word", y="weight", dates=False
    ).figure["layout"]["xaxis"]
    named = chart(
        "c",
        "Title",
        [Series("a", words, [1.5] * 30, NEW)],
        x="word",
        y="weight",
        dates=False,
        each=True,
    ).figure["layout"]["xaxis"]
    assert "dtick" not in plain and (named["tickmode"], named["dtick"]) == ("linear", 1)


def test_small_counts_have_no_ticks_between_them() -> None:
    def axis(values: list[float | None]) -> dict[str, object]:
        return chart("c", "Title", [Series("a", DAYS, values, NEW)], x="", y="").figure["layout"][
            "yaxis"
        ]

    assert axis([1, 2])["dtick"] == 1
    assert "dtick" not in axis([1, 200]) and "dtick" not in axis([0.5, 1])
