"""Makes charts as Plotly JSON, without Plotly's large default template; the browser script desk.js
applies the colours of the theme."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import plotly.graph_objects as go
from django.utils.translation import gettext as _

COLOURS = (
    "#3b82f6",
    "#10b981",
    "#f59e0b",
    "#8b5cf6",
    "#ec4899",
    "#14b8a6",
    "#f97316",
    "#6366f1",
    "#94a3b8",
)
NEW, UPDATED, UNCHANGED, BAD = "#3b82f6", "#10b981", "#94a3b8", "#ef4444"
FEWEST_BARS = (
    12  # if there are fewer bars, each is as narrow as if there were this many over the whole width
)
BAR_GAP = 0.15
FEW_COUNTED = 5
DAY_TICKS = [
    {"dtickrange": [None, 86_399_999], "value": "%m-%d %H:%M"},
    {"dtickrange": [86_399_999, None], "value": "%m-%d"},
]


@dataclass(frozen=True, slots=True)
class Series:
    """One series of a chart, drawn as bars unless an option says otherwise: `line` draws a line,
    `points` a line with marked values, `dashed` a dashed line, `ticks` short vertical strokes,
    `dots` a dot for each value. With `second_axis` the values belong to the axis at the right."""

    name: str
    x: Sequence[Any]
    y: Sequence[float | None]
    colour: str
    line: bool = False
    second_axis: bool = False
    points: bool = False
    ticks: bool = False
    dashed: bool = False
    dots: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart as the template needs it. `figure` is the Plotly JSON; `legend` are pairs of name and
    colour. If `empty` is set, that sentence is shown instead of the chart. `brush` names the table
    below the chart that is filtered by the days selected in the chart; "" for none."""

    id: str
    title: str
    figure: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    empty: str = ""
    legend: Sequence[tuple[str, str]] = ()
    brush: str = ""


def chart(
    key: str,
    title: str,
    series: Sequence[Series],
    *,
    x: str,
    y: str,
    y2: str = "",
    note: str = "",
    dates: bool = True,
    numbers: bool = False,
    each: bool = False,
    ticks: str = "",
    empty: str = "",
) -> Chart:
    """Makes a chart of stacked bars and lines. `x`, `y` and `y2` are the titles of the axes, with
    units; `key` is the id of the chart's HTML element, `note` a remark shown with it.

    The x values are times by default, numbers with `numbers`, and categories if `dates` is False.
    With `each`, every category gets a label. `ticks` is the format of time labels, for charts of
    less than a day. `empty` is the sentence shown if all values are 0 or None."""
    if not any(value for one in series for value in one.y):
        return Chart(key, title, empty=empty or _("Nothing to draw yet."))
    axis = "numbers" if numbers else "dates" if dates else "names"
    layout = _layout(x, y, y2, axis, length=max(len(one.x) for one in series))
    if ticks:
        layout["xaxis"].update(tickformatstops=[], tickformat=ticks)
    if each:
        layout["xaxis"].update(tickmode="linear", dtick=1, tickangle=-45)
    if _few_whole([one for one in series if not one.second_axis]):
        layout["yaxis"].update(tickmode="linear", dtick=1)
    figure = go.Figure([_trace(one) for one in series], layout=layout)
    legend = [(one.name, one.colour) for one in series] if len(series) > 1 else []
    return Chart(key, title, json.loads(figure.to_json()), note, legend=legend)


def _few_whole(series: Sequence[Series]) -> bool:
    """Tells whether all values are whole numbers and the axis reaches at most FEW_COUNTED (5), so
    that Plotly would put fractions on it. The heights of stacked bars are estimated by the sum of
    all bars."""
    lines = [value for one in series if one.line for value in one.y if value is not None]
    bars = [value for one in series if not one.line for value in one.y if value is not None]
    height = max(max(map(abs, lines), default=0), sum(map(abs, bars)))
    return all(isinstance(value, int) for value in (*lines, *bars)) and height <= FEW_COUNTED


def _trace(one: Series) -> Any:
    # names come from crawled pages, and Plotly would interpret markup and %{…} in them
    hover = "%{y:,.4~r}<extra>" + escape(one.name).replace("%", "%&#8203;") + "</extra>"
    axis = {"yaxis": "y2"} if one.second_axis else {}
    x = [value.isoformat() if hasattr(value, "isoformat") else value for value in one.x]
    if one.ticks:
        mark = {
            "symbol": "line-ns-open",
            "size": 11,
            "color": one.colour,
            "line": {"width": 2, "color": one.colour},
        }
        return go.Scatter(
            x=x,
            y=list(one.y),
            name=escape(one.name),
            mode="markers",
            marker=mark,
            hoverinfo="skip",
            **axis,
        )
    if one.dots:
        mark = {"size": 6, "color": one.colour, "opacity": 0.75}
        return go.Scatter(
            x=x,
            y=list(one.y),
            name=escape(one.name),
            mode="markers",
            marker=mark,
            hovertemplate=hover,
            **axis,
        )
    if one.line:
        style = {"color": one.colour, "width": 2, **({"dash": "dot"} if one.dashed else {})}
        mode = (
            {"mode": "lines+markers", "marker": {"size": 5 if len(x) > 1 else 9}}
            if one.points
            else {"mode": "lines"}
        )
        return go.Scatter(
            x=x,
            y=list(one.y),
            name=escape(one.name),
            line=style,
            hovertemplate=hover,
            **mode,
            **axis,
        )
    return go.Bar(
        x=x,
        y=list(one.y),
        name=escape(one.name),
        marker={"color": one.colour, "line": {"width": 0}},
        hovertemplate=hover,
        **axis,
    )


def heatmap(
    key: str,
    title: str,
    columns: Sequence[str],
    rows: Sequence[str],
    values: Sequence[Sequence[float | None]],
    *,
    x: str,
    y: str,
    z: str,
    note: str = "",
    empty: str = "",
) -> Chart:
    """Makes a heat map of `values`, given row by row from the top; None leaves a cell empty.
    `columns` and `rows` are the labels of columns and rows. `x`, `y` and `z` are the titles of the
    two axes and of the values; `empty` is the sentence shown if all values are None."""
    if not any(value is not None for row in values for value in row):
        return Chart(key, title, empty=empty or _("Nothing to draw yet."))
    trace = go.Heatmap(
        x=list(columns),
        y=list(rows),
        z=[list(row) for row in values],
        colorscale="Blues",
        xgap=1,
        ygap=1,
        hovertemplate="%{y} %{x}<br>%{z:,.4~r}<extra></extra>",
        colorbar={
            "title": {"text": z, "side": "right", "font": {"size": 11}},
            "thickness": 10,
            "outlinewidth": 0,
        },
    )
    layout = _layout(x, y, "", "names", length=0)
    layout["xaxis"].pop("range")
    # a cell extends half a row to both sides of its index, so a minimum of 0 would cut the first
    # row of cells in half
    layout["yaxis"].pop("minallowed")
    layout["yaxis"].update(
        type="category", autorange="reversed", rangemode="normal", nticks=len(rows)
    )
    layout["hovermode"] = "closest"
    return Chart(key, title, json.loads(go.Figure([trace], layout=layout).to_json()), note)


def _layout(x: str, y: str, y2: str, axis: str, length: int) -> dict[str, Any]:
    small = {"size": 11}
    xaxis: dict[str, Any] = {
        "title": {"text": x, "font": small, "standoff": 6},
        "automargin": True,
        "fixedrange": True,
        "showgrid": False,
    }
    if axis == "numbers":
        xaxis.update(type="linear", nticks=13)
    elif axis == "dates":
        xaxis.update(type="date", tickformatstops=DAY_TICKS, hoverformat="%Y-%m-%d %H:%M", nticks=8)
    else:
        xaxis.update(type="category", nticks=12, range=[-0.5, length - 0.5])
    yaxis = {
        "title": {"text": y, "font": small, "standoff": 6},
        "automargin": True,
        "fixedrange": True,
        "rangemode": "tozero",
        "minallowed": 0,  # without it, markers on the axis would make the axis begin below zero
        "nticks": 5,
    }
    layout: dict[str, Any] = {
        "template": {},
        "barmode": "stack",
        "bargap": (
            BAR_GAP
            if axis != "names" or not length
            else 1 - (1 - BAR_GAP) * min(1, length / FEWEST_BARS)
        ),
        "hovermode": "x unified",
        "showlegend": False,
        "font": {"size": 11},
        "autosize": True,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "xaxis": xaxis,
        "yaxis": yaxis,
    }
    if y2:
        layout["yaxis2"] = {
            **yaxis,
            "title": {"text": y2, "font": small, "standoff": 6},
            "overlaying": "y",
            "side": "right",
            "tickmode": "auto",
            "showgrid": False,
        }
    return layout
