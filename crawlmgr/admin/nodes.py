"""Admin views of one worker node: its speed, its current runs, and the buttons that control it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin import charts
from crawlmgr.admin.rooms import act, back, page, room
from crawlmgr.models import Node, NodeState
from crawlmgr.services import nodes, standing

MAY = "crawlmgr.change_node"
LOOKS = {
    "active": ("ok", gettext_lazy("takes work")), "draining": ("warn", gettext_lazy("draining")),
    "paused": ("warn", gettext_lazy("paused")), "drained": ("", gettext_lazy("drained")), "lost": ("bad", gettext_lazy("lost")),
}


def rows(found: Sequence[Node], now: datetime) -> list[standing.Row]:
    """Rows for the list of nodes, with the style and the wording of each node's state."""
    told = standing.rows(found, now)
    for row in told:
        row.node.look, row.node.words = LOOKS[row.state]
    return told


def speed_chart(found: Sequence[Node], now: datetime) -> charts.Chart:
    """Chart of pages per minute over the last hour, one line per node; the current unfinished minute is left out."""
    last = int(now.timestamp()) // 60
    minutes = range(last - nodes.HISTORY_MINUTES + 1, last)
    times = [datetime.fromtimestamp(60 * minute, UTC) for minute in minutes]
    fastest = sorted(found, key=lambda node: -sum(count for _minute, count in node.minutes))
    series = []
    for node, colour in zip(fastest, charts.COLOURS, strict=False):
        counts = dict(node.minutes)
        series.append(charts.Series(str(node), times, [counts.get(minute, 0) for minute in minutes], colour, line=True))
    return charts.chart(
        "chart-nodes", _("Speed"), series, x=_("minute (UTC)"), y=_("pages a minute"), note=_("the last hour"),
        empty=_("No node fetched a page within the last hour."),
    )


def _find(pk: int) -> Node:
    node = Node.objects.filter(pk=pk).first()
    if node is None:
        raise Http404(_("There is no such node."))
    return node


@room("workers/<int:pk>/", "node")
def node_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows a node's figures and its last hour."""
    now = datetime.now(UTC)
    row = next((row for row in rows(list(Node.objects.order_by("pk")), now) if row.node.pk == pk), None)
    if row is None:
        raise Http404(_("There is no such node."))
    node = row.node
    context = {
        "row": row, "node": node, "now": now, "charts": [speed_chart([node], now)],
        "longest": nodes.LONGEST_LABEL,
    }
    trail = [(_("Workers"), reverse("admin:workers"))]
    return page(request, "desk/node.html", context, title=str(node), item="workers", trail=trail)


@act("workers/<int:pk>/drain/", "node-drain", MAY)
def drain(request: HttpRequest, pk: int) -> HttpResponse:
    """Drains a node: it takes no new runs, and a node started with the `node` command exits once it has none left."""
    nodes.wish(_find(pk), NodeState.DRAINING, datetime.now(UTC))
    messages.success(request, _("The node is draining: it takes no further runs."))
    return back(request, "node", pk)


@act("workers/<int:pk>/pause/", "node-pause", MAY)
def pause(request: HttpRequest, pk: int) -> HttpResponse:
    """Pauses a node: it takes no runs until it is resumed."""
    nodes.wish(_find(pk), NodeState.PAUSED, datetime.now(UTC))
    messages.success(request, _("The node is paused: others go on with its runs."))
    return back(request, "node", pk)


@act("workers/<int:pk>/resume/", "node-resume", MAY)
def resume(request: HttpRequest, pk: int) -> HttpResponse:
    """Resumes a node: it takes runs again."""
    nodes.wish(_find(pk), NodeState.ACTIVE, datetime.now(UTC))
    messages.success(request, _("The node takes work again."))
    return back(request, "node", pk)


@act("workers/<int:pk>/rename/", "node-rename", MAY)
def rename(request: HttpRequest, pk: int) -> HttpResponse:
    """Sets the label under which a node is shown."""
    if nodes.rename(_find(pk), request.POST.get("label", "")):
        messages.success(request, _("The name was kept."))
    else:
        told = _("A name has at most %(most)s characters, all of which can be printed.")
        messages.error(request, told % {"most": nodes.LONGEST_LABEL})
    return back(request, "node", pk)
