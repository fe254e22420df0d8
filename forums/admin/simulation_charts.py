"""Charts of a simulation: the daily rhythm, errors of estimates by length of history, delays by
number of visits (like figures 3 and 6 of the forum paper), and how many changes are found (figure
5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from crawlmgr.admin.charts import COLOURS, Chart, Series, chart
from forums.admin import policies
from forums.models import Simulation

Rows = Sequence[dict[str, Any]]


def schedules(simulation: Simulation) -> list[Chart]:
    """Returns the charts of an experiment that compares the visit schedules of several policies by
    delay."""
    rows = [row for row in simulation.result.get("rows", []) if "too_long" not in row]
    window = simulation.result.get("window", {})
    return [
        by_visits(
            rows,
            "total_delay_per_day",
            "chart-total",
            _("Delay against visits"),
            _("weighted event-hours a day"),
        ),
        by_visits(
            rows, "mean_delay_hours", "chart-mean", _("Mean delay against visits"), _("hours")
        ),
        profiles(window, simulation.setup["timezone"]),
        settling(window),
    ]


def by_visits(rows: Rows, column: str, key: str, title: str, unit: str) -> Chart:
    """Returns a chart of a figure (`column` of the rows) against visits per board and day, one line
    per policy."""
    series = []
    for policy in dict.fromkeys(row["policy"] for row in rows):
        own = [row for row in rows if row["policy"] == policy and row[column] is not None]
        own.sort(key=lambda row: row["visits_per_board"])
        numbers, values = [row["visits_per_board"] for row in own], [row[column] for row in own]
        if own:
            series.append(_line(policy, numbers, values))
    return chart(
        key,
        title,
        series,
        x=_("visits per board and day"),
        y=unit,
        numbers=True,
        empty=_("No policy has finished yet."),
    )


def profiles(window: dict[str, Any], zone: str) -> Chart:
    """Returns a chart of the daily rhythm of the busiest boards and of all together, in weighted
    events per hour."""
    boards = window.get("profiles", [])
    bins = len(window.get("all", [])) or 1
    hours = [(number + 0.5) * 24 / bins for number in range(bins)]
    series = [
        Series(board["board"], hours, board["rates"], colour, line=True)
        for board, colour in zip(boards, COLOURS, strict=False)
    ]
    if len(boards) > 1:
        series.append(
            Series(_("all boards"), hours, window["all"], COLOURS[-1], line=True, dashed=True)
        )
    return chart(
        "chart-profiles",
        _("Daily posting rhythm"),
        series,
        x=_("hour of the day (%(zone)s)") % {"zone": zone},
        y=_("weighted posts an hour"),
        numbers=True,
        note=_("the busiest boards in the history"),
        empty=_("The history before the test is read first."),
    )


def settling(window: dict[str, Any]) -> Chart:
    """Returns a chart of how far the boards' volumes and daily rhythms, estimated from the last
    days of history only, deviate from those estimated from the whole history, by number of days."""
    rows = window.get("settling", [])
    days = [row["days"] for row in rows]
    series = [
        Series(
            _("volumes"),
            days,
            [row["weights_off"] * 100 for row in rows],
            COLOURS[0],
            line=True,
            points=True,
        ),
        Series(
            _("rhythms"),
            days,
            [row["shapes_off"] * 100 for row in rows],
            COLOURS[1],
            line=True,
            points=True,
        ),
    ]
    return chart(
        "chart-settling",
        _("How fast the estimates converge"),
        series,
        x=_("days of history"),
        y=_("deviation from the whole history (%)"),
        numbers=True,
        empty=_("The history before the test is read first."),
    )


def fetching(simulation: Simulation) -> list[Chart]:
    """Returns the charts, by day, of an experiment that compares how well policies find the changed
    threads."""
    rows = [row for row in simulation.result.get("rows", []) if "too_long" not in row]
    return [
        by_day(
            rows,
            "recall",
            "chart-recall",
            _("Recall by day"),
            _("changed threads that were fetched (%)"),
            100,
        ),
        by_day(
            rows,
            "precision",
            "chart-precision",
            _("Precision by day"),
            _("fetched threads that had changed (%)"),
            100,
        ),
        by_day(
            rows,
            "mean_delay_hours",
            "chart-delay",
            _("Mean delay by day"),
            _("hours until a post is fetched"),
            1,
        ),
        by_day(rows, "fetched", "chart-fetched", _("Fetches by day"), _("threads fetched"), 1),
    ]


def by_day(rows: Rows, column: str, key: str, title: str, unit: str, factor: float) -> Chart:
    """Returns a chart of a figure (`column` of the days' rows, times `factor`) by day, one line per
    policy."""
    series = []
    for row in rows:
        days = [day["day"] + 1 for day in row["days"]]
        values = [None if day[column] is None else day[column] * factor for day in row["days"]]
        series.append(_line(row["policy"], days, values))
    return chart(
        key,
        title,
        series,
        x=_("day of the experiment"),
        y=unit,
        numbers=True,
        empty=_("No policy has finished yet."),
    )


def _line(policy: str, x: Sequence[float], y: Sequence[float | None]) -> Series:
    dashed = policy in ("clairvoyant", "oracle")
    return Series(
        policies.name(policy), x, y, policies.COLOURS[policy], line=True, points=True, dashed=dashed
    )
