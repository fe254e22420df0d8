"""Charts of the tuning page: delay against visits, visits of each board, and visit times on a
board's curve of events by hour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from unicodedata import east_asian_width

import numpy as np
from django.utils.translation import gettext as _

from crawlmgr.admin.charts import COLOURS, NEW, Chart, Series, chart
from forums.admin import policies
from forums.events import Floats
from forums.intensity import DAY_HOURS
from forums.timetable import Timetable

BARS = 40
NAME_LENGTH = 18  # columns of an axis label; a Chinese character takes two


def delays(
    numbers: Sequence[int],
    chosen: int,
    curves: Mapping[str, Sequence[float]],
    weight: float,
    points: Mapping[str, tuple[float, float]],
) -> Chart:
    """Returns a chart of the mean delay in hours over visits per day: a line per policy, and a
    vertical line at the chosen number.

    curves: by policy, weighted event-hours a day at each of `numbers`; weight: weighted events a
    day, by which they are divided. points: single values by policy (visits per day, hours).
    """
    scale = 1.0 / weight if weight > 0 else 0.0
    series = [
        Series(
            policies.name(name),
            numbers,
            [value * scale for value in values],
            policies.COLOURS[name],
            line=True,
        )
        for name, values in curves.items()
    ]
    series += [
        Series(policies.name(name), [x], [y], policies.COLOURS[name], line=True, points=True)
        for name, (x, y) in points.items()
    ]
    drawn = chart(
        "chart-curve",
        _("Expected delay against visits a day"),
        series,
        x=_("visits per day"),
        y=_("mean delay (hours)"),
        numbers=True,
        empty=_("There is no board to plan for."),
    )
    if drawn.figure:
        drawn.figure["layout"]["xaxis"].update(
            type="log",
            tickmode="array",
            tickvals=list(numbers),
            ticktext=[f"{number:,}" for number in numbers],
        )
        upright = {
            "type": "line",
            "xref": "x",
            "yref": "paper",
            "x0": chosen,
            "x1": chosen,
            "y0": 0,
            "y1": 1,
        }
        drawn.figure["layout"]["shapes"] = [
            {**upright, "line": {"color": NEW, "width": 1, "dash": "dot"}}
        ]
    return drawn


def allocation(names: Sequence[str], visits: Floats, per_day: Floats) -> Chart:
    """Returns a chart of the visits per day of the busiest boards as bars, with their weighted
    events per day as a line."""
    order = np.argsort(-per_day, kind="stable")[:BARS]
    labels = _distinct([names[row] for row in order])
    series = [
        Series(_("visits per day"), labels, [round(float(visits[row]), 2) for row in order], NEW),
        Series(
            _("weighted events a day"),
            labels,
            [round(float(per_day[row]), 3) for row in order],
            COLOURS[2],
            line=True,
            second=True,
            points=True,
        ),
    ]
    note = (
        _("the %(number)s busiest boards") % {"number": len(order)}
        if len(order) < len(names)
        else ""
    )
    return chart(
        "chart-allocation",
        _("Visits of each board"),
        series,
        x=_("board"),
        y=_("visits per day"),
        y2=_("weighted events a day"),
        dates=False,
        note=note,
    )


def _shortened(name: str) -> str:
    widths = [1 + (east_asian_width(sign) in "WF") for sign in name]
    if sum(widths) <= NAME_LENGTH:
        return name
    return name[: sum(1 for width in accumulate(widths) if width < NAME_LENGTH)] + "…"


def _distinct(names: Sequence[str]) -> list[str]:
    """Returns names shortened to the length that fits an axis; equal ones get a number."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        short = _shortened(name)
        seen[short] = seen.get(short, 0) + 1
        found.append(short if seen[short] == 1 else f"{short} ({seen[short]})")
    return found


def hours(name: str, rates: Floats, table: Timetable | None, board: int, zone: str) -> Chart:
    """Returns a chart of a board's rhythm by hour, with a mark at each visit of a day; rates:
    (bins,), weighted events per hour."""
    bins = len(rates)
    width = DAY_HOURS / bins
    edges = [number * width for number in range(bins + 1)]
    series = [
        Series(
            _("expected events an hour"),
            edges,
            [*map(float, rates), float(rates[-1])],
            NEW,
            line=True,
        )
    ]
    if table is not None:
        visits = [float(hour) for hour in table.visits_of(board)]
        heights = [float(rates[min(int(hour / width), bins - 1)]) for hour in visits]
        series.append(Series(_("visits"), visits, heights, COLOURS[4], ticks=True))
    drawn = chart(
        "chart-hours",
        _("Visit times and the board's posting rhythm"),
        series,
        x=_("hour of the day (%(zone)s)") % {"zone": zone},
        y=_("weighted posts an hour"),
        numbers=True,
        note=name,
    )
    if drawn.figure:
        drawn.figure["data"][0]["line"]["shape"] = "hv"
        drawn.figure["layout"]["xaxis"].update(range=[0, DAY_HOURS], dtick=2)
    return drawn
