"""Admin views of one worker node (the worker cluster of a machine): its speed, its current runs,
and the buttons that control it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin import charts
from crawlmgr.admin.views import admin_view, back, page, post_view
from crawlmgr.models import Node, NodeState
from crawlmgr.workers import nodes, ranking, work_sharing

MAY = "crawlmgr.change_node"
LAST_OF_MINUTE = 0.999
LOOKS = {
    "active": ("ok", gettext_lazy("accepts work")),
    "draining": ("warn", gettext_lazy("draining")),
    "paused": ("warn", gettext_lazy("paused")),
    "drained": ("", gettext_lazy("drained")),
    "lost": ("bad", gettext_lazy("lost")),
}
MEANT = {
    "active": "",
    "draining": gettext_lazy(
        "The node accepts no further runs and exits when its current runs have ended."
    ),
    "paused": gettext_lazy(
        "The node accepts no runs until it is resumed; other nodes continue its runs."
    ),
    "drained": gettext_lazy("The node has exited. After a restart it accepts work."),
    "lost": gettext_lazy(
        "The node sends no heartbeats: other nodes continue its runs. When it returns, it accepts"
        " work automatically."
    ),
}
"""Explanations of the states of a node, shown on its page."""
ENDED = ("drained", "lost")


def rows(found: Sequence[Node], now: datetime) -> list[ranking.Row]:
    """Compares nodes with each other (see `standing.rows`), and adds to each node the style and the
    name of its state."""
    told = ranking.rows(found, now)
    for row in told:
        node: Any = row.node
        node.look, node.words = LOOKS[row.state]
    return told


def listed(found: Sequence[Node], now: datetime) -> list[ranking.Row]:
    """Returns the rows for the list of nodes: sorted by name, so that none changes its position
    with a heartbeat; nodes that have ended last."""
    return sorted(rows(found, now), key=lambda row: (row.state in ENDED, str(row.node).casefold()))


class Measure(NamedTuple):
    """A measure that the chart of nodes can show: titles of the chart and its axis, the text of an
    empty chart, and a function that returns for each node a dict of values by minute."""

    title: Any
    axis: Any
    empty: Any
    values: Callable[[Sequence[Node], Sequence[int]], list[dict[int, float]]]


def _speeds(found: Sequence[Node], minutes: Sequence[int]) -> list[dict[int, float]]:
    counts = [dict(node.minutes) for node in found]
    return [{minute: one.get(minute, 0) for minute in minutes} for one in counts]


def _shares(found: Sequence[Node], minutes: Sequence[int]) -> list[dict[int, float]]:
    """Returns for each node a dictionary from minute to its share, in [0, 1], in the weights of all
    nodes at the end of that minute (weights: see `crawlmgr.workers.work_sharing`). Minutes at whose
    end no node has a weight are left out.
    """
    counts = {node.name: dict(node.minutes) for node in found}
    values: list[dict[int, float]] = [{} for _ in found]
    for minute in minutes:
        end = minute + LAST_OF_MINUTE
        up = {node.name: end - node.started.timestamp() / 60 for node in found}
        weights = {
            name: work_sharing.weight(work_sharing.trailing(one, end), up[name]) or 0.0
            for name, one in counts.items()
        }
        if sum(weights.values()):
            for node, one in zip(found, values, strict=True):
                one[minute] = round(work_sharing.shares(weights)[node.name], 4)
    return values


def _level(
    place: int, divisor: int
) -> Callable[[Sequence[Node], Sequence[int]], list[dict[int, float]]]:
    def values(found: Sequence[Node], minutes: Sequence[int]) -> list[dict[int, float]]:
        wanted = range(minutes[0], minutes[-1] + 1)
        told = [
            [
                (row[0], row[place])
                for row in node.levels
                if row[0] in wanted and row[place] is not None
            ]
            for node in found
        ]
        return [
            {minute: value / divisor if divisor > 1 else value for minute, value in own}
            for own in told
        ]

    return values


NO_PAGE = gettext_lazy(
    "No node fetched a page within the last hour. Pages of commands and of the demonstration are"
    " not counted here."
)
MEASURES = {
    "speed": Measure(gettext_lazy("Speed"), gettext_lazy("pages a minute"), NO_PAGE, _speeds),
    "share": Measure(
        gettext_lazy("Share of the work"), gettext_lazy("share of all nodes"), NO_PAGE, _shares
    ),
    "runs": Measure(
        gettext_lazy("Current runs"),
        gettext_lazy("current runs"),
        gettext_lazy("No node had a run within the last hour."),
        _level(1, 1),
    ),
    "memory": Measure(
        gettext_lazy("Memory"),
        gettext_lazy("megabytes"),
        gettext_lazy("Nothing was measured within the last hour."),
        _level(2, 1_000_000),
    ),
}


def chart_of(
    asked: str, found: Sequence[Node], among: Sequence[Node], now: datetime
) -> dict[str, Any]:
    """Returns template values for the chart of a measure over the last hour, with a line for each
    node of `found` (the nine busiest if there are more), and for the tabs that choose the measure.
    `asked` is its name; "speed" is used if it is unknown. Shares are those among the nodes `among`.
    The current minute is left out, since it is not over.
    """
    key = asked if asked in MEASURES else "speed"
    measure, last = MEASURES[key], int(now.timestamp()) // 60
    minutes = range(last - nodes.HISTORY_MINUTES + 1, last)
    values = dict(zip((node.pk for node in among), measure.values(among, minutes), strict=True))
    busiest = sorted(found, key=lambda node: -sum(count for _minute, count in node.minutes))
    series = []
    for node, colour in zip(busiest, charts.COLOURS, strict=False):
        points = sorted(values[node.pk].items())
        times = [datetime.fromtimestamp(60 * minute, UTC) for minute, _value in points]
        series.append(
            charts.Series(str(node), times, [value for _minute, value in points], colour, line=True)
        )
    chart = charts.chart(
        "chart-nodes",
        str(measure.title),
        series,
        x=_("minute (UTC)"),
        y=str(measure.axis),
        note=_("the last hour"),
        ticks="%H:%M",
        empty=str(measure.empty),
    )
    tabs = [(one.title, f"?chart={name}", name == key) for name, one in MEASURES.items()]
    return {"charts": [chart], "chart_tabs": tabs}


def _find(pk: int) -> Node:
    node = Node.objects.filter(pk=pk).first()
    if node is None:
        raise Http404(_("There is no such node."))
    return node


@admin_view("workers/<int:pk>/", "node")
def node_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows the numbers of a node and the chart of its last hour."""
    now = datetime.now(UTC)
    everybody = list(Node.objects.order_by("pk"))
    row = next((row for row in rows(everybody, now) if row.node.pk == pk), None)
    if row is None:
        raise Http404(_("There is no such node."))
    node = row.node
    context = {
        "row": row,
        "node": node,
        "meant": MEANT[row.state],
        "now": now,
        "longest": nodes.LONGEST_LABEL,
        **chart_of(request.GET.get("chart", ""), [node], everybody, now),
    }
    trail = [(_("Workers"), reverse("admin:workers"))]
    return page(request, "desk/node.html", context, title=str(node), item="workers", trail=trail)


@post_view("workers/<int:pk>/drain/", "node-drain", MAY)
def drain(request: HttpRequest, pk: int) -> HttpResponse:
    """Drains a node: it takes no new runs, and a node started with the `node` command exits once it
    has none left."""
    nodes.request_state(_find(pk), NodeState.DRAINING, datetime.now(UTC))
    messages.success(request, _("The node is draining: it accepts no further runs."))
    return back(request, "node", pk)


@post_view("workers/<int:pk>/pause/", "node-pause", MAY)
def pause(request: HttpRequest, pk: int) -> HttpResponse:
    """Pauses a node: it takes no runs until it is resumed."""
    nodes.request_state(_find(pk), NodeState.PAUSED, datetime.now(UTC))
    messages.success(request, _("The node is paused: other nodes continue its runs."))
    return back(request, "node", pk)


@post_view("workers/<int:pk>/resume/", "node-resume", MAY)
def resume(request: HttpRequest, pk: int) -> HttpResponse:
    """Resumes a node: it takes runs again."""
    nodes.request_state(_find(pk), NodeState.ACTIVE, datetime.now(UTC))
    messages.success(request, _("The node accepts work again."))
    return back(request, "node", pk)


@post_view("workers/<int:pk>/rename/", "node-rename", MAY)
def rename(request: HttpRequest, pk: int) -> HttpResponse:
    """Sets the label under which a node is shown."""
    if nodes.rename(_find(pk), request.POST.get("label", "")):
        messages.success(request, _("The name is saved."))
    else:
        told = _("A name may have at most %(most)s characters, and only printable ones.")
        messages.error(request, told % {"most": nodes.LONGEST_LABEL})
    return back(request, "node", pk)
