"""Charts of the deep web: records and coverage by request, new records by query, the map of
clusters of forms, and the share of valid queries.
"""

from __future__ import annotations

from html import escape
from typing import Any

from django.utils.translation import gettext as _

from crawlmgr.admin.charts import COLOURS, NEW, UPDATED, Chart, Series, chart
from deepweb import reads
from deepweb.models import Harvest

MAX_POINTS = 400
MAP_FORMS = 1_000
MAP_NAMES = 12
ROOM_FOR_NAMES = 0.25
"""Share of the map's extent that is added at each end, for names."""
SYMBOLS = ("circle", "square", "diamond", "triangle-up")


def harvest_curve(harvest: Harvest) -> Chart:
    """Makes a chart of the number of records found against the number of requests sent; if the
    database's size was estimated, also of the upper and lower bound of the coverage (records found
    divided by the size)."""
    points = reads.coverage_curve(harvest)
    step = max(1, len(points) // MAX_POINTS)
    points = points[::step]
    x = [requests for requests, _records, _new in points]
    series = [Series(_("records"), x, [records for _x, records, _new in points], NEW, line=True)]
    note = ""
    if harvest.low and harvest.high:
        high, low = harvest.low, harvest.high
        series += [
            Series(
                _("coverage at most"),
                x,
                [min(1.0, r / high) for _x, r, _n in points],
                COLOURS[1],
                line=True,
                second_axis=True,
                dashed=True,
            ),
            Series(
                _("coverage at least"),
                x,
                [min(1.0, r / low) for _x, r, _n in points],
                COLOURS[2],
                line=True,
                second_axis=True,
                dashed=True,
            ),
        ]
        note = _("estimated total: %(low)s to %(high)s records (95 %% interval)") % {
            "low": f"{harvest.low:,.0f}",
            "high": f"{harvest.high:,.0f}",
        }
    drawn = chart(
        "chart-harvest",
        _("Records by request"),
        series,
        x=_("requests, result pages included"),
        y=_("records"),
        y2=_("share of the database") if harvest.low else "",
        numbers=True,
        note=note,
        empty=_("No query has returned results yet."),
    )
    if "yaxis2" in drawn.figure.get("layout", {}):
        drawn.figure["layout"]["yaxis2"]["range"] = [0, 1]
    return drawn


def new_by_query(harvest: Harvest) -> Chart:
    """Makes a bar chart of the numbers of new records that the harvest's last queries brought, one
    bar per query."""
    points = reads.coverage_curve(harvest)[-MAX_POINTS:]
    series = [
        Series(
            _("new records"),
            list(range(1, len(points) + 1)),
            [new for _x, _r, new in points],
            UPDATED,
        )
    ]
    return chart(
        "chart-new",
        _("New records by query"),
        series,
        x=_("query"),
        y=_("new records"),
        numbers=True,
    )


def cluster_map(rows: list[reads.ClusterRow]) -> Chart:
    """Makes a map of the forms in two dimensions, with one colour per cluster; forms are near each
    other if their pages use the same words.
    """
    title = _("Map of the search forms")
    if not any(row.forms for row in rows):
        return Chart("chart-map", title, empty=_("No search form has been clustered yet."))
    traces: list[dict[str, Any]] = []
    legend = []
    for place, row in enumerate(rows):
        colour = COLOURS[place % len(COLOURS)]
        shown = row.forms[:MAP_FORMS]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [form.x for form in shown],
                "y": [form.y for form in shown],
                "text": [escape(form.site).replace("%", "%&#8203;") for form in shown],
                "hovertemplate": "%{text}<extra></extra>",
                "name": escape(row.cluster.name),
                "marker": {
                    "size": 10,
                    "color": colour,
                    "opacity": 0.85,
                    "symbol": SYMBOLS[place // len(COLOURS) % len(SYMBOLS)],
                },
            }
        )
        legend.append((row.cluster.name, colour))
    traces.append(_names(rows))
    layout = {
        "template": {},
        "showlegend": False,
        "hovermode": "closest",
        "font": {"size": 11},
        "autosize": True,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "xaxis": _axis(
            _("first principal component of the words used (no unit)"),
            [x for one in traces[:-1] for x in one["x"]],
        ),
        "yaxis": _axis(
            _("second principal component (no unit)"), [y for one in traces[:-1] for y in one["y"]]
        ),
    }
    return Chart(
        "chart-map",
        title,
        {"data": traces, "layout": layout},
        _("forms close together use similar words"),
        legend=legend,
    )


def _names(rows: list[reads.ClusterRow]) -> dict[str, Any]:
    """Returns the names of the largest clusters as data of the chart, each at the centre of the
    cluster's forms."""
    named = [row for row in rows if row.forms][:MAP_NAMES]
    return {
        "type": "scatter",
        "mode": "text",
        "x": [sum(form.x for form in row.forms) / len(row.forms) for row in named],
        "y": [sum(form.y for form in row.forms) / len(row.forms) for row in named],
        # the empty second line raises the name, so that it does not cover a dot at the same
        # position
        "text": [
            escape(row.cluster.name.split(",")[0][:18]).replace("%", "%&#8203;") + "<br>&#8203;"
            for row in named
        ],
        "textposition": "top center",
        "hoverinfo": "skip",
        "name": "",
    }


def _axis(title: str, values: list[float]) -> dict[str, Any]:
    """Returns the layout of an axis of the map, extended at both ends so that names of clusters
    fit."""
    room = ROOM_FOR_NAMES * ((max(values) - min(values)) or 1.0)
    ends = [min(values) - room, max(values) + room]
    named = {"text": title, "font": {"size": 11}, "standoff": 6}
    return {"title": named, "automargin": True, "fixedrange": True, "nticks": 6, "range": ends}


def efficiency(rows: list[reads.ClusterRow]) -> Chart:
    """Makes a chart of the share of queries whose answers had records, by cluster (figure 4 of the
    deep-web paper)."""
    asked = [row for row in rows if row.queries]
    names = [row.cluster.name[:28] for row in asked]
    series = [Series(_("efficiency"), names, [row.efficiency for row in asked], COLOURS[1])]
    return chart(
        "chart-efficiency",
        _("Submission efficiency by cluster"),
        series,
        x=_("cluster"),
        y=_("valid / all submissions"),
        dates=False,
        empty=_("No cluster has been harvested yet."),
    )
