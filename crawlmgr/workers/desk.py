"""Admin views of workers: the nodes with their heartbeats, their clusters of processes, and the
list of events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django_q.admin import FailAdmin, QueueAdmin, ScheduleAdmin, TaskAdmin
from django_q.models import Failure, OrmQ, Schedule, Success

from crawlmgr.admin import charts, tables, tags, tree, words
from crawlmgr.admin.forms import DeskModelAdmin
from crawlmgr.admin.site import desk_site
from crawlmgr.admin.table_page import table_page
from crawlmgr.admin.tables import Choice, Column, Table
from crawlmgr.admin.tree import address
from crawlmgr.admin.views import admin_view, back, existing, page, post_view
from crawlmgr.models import Event, Node, NodeState
from crawlmgr.workers import nodes, queue, queue_rows, ranking, work_sharing

LEVELS = {"warnings": Event.Level.WARNING, "errors": Event.Level.ERROR}


def _levels() -> list[tuple[str, str]]:
    return [("", _("All")), ("warnings", _("Warnings and errors")), ("errors", _("Errors"))]


def _what(event: Event) -> str:
    if not event.text:
        return format_html("{}", words.say(event.code))
    return format_html(
        '{}<br><span class="soft small wrap">{}</span>',
        words.say(event.code),
        words.happened(event),
    )


def _concerns(event: Event) -> str:
    links: list[tuple[str, Any]] = []
    if event.run is not None:
        links.append((address("admin:run", event.run.pk), event.run))
    if event.host is not None:
        links.append((address("admin:host", event.host.pk), event.host.key))
    # a constant
    return format_html_join(mark_safe("<br>"), '<a href="{}">{}</a>', links)


TABLE = Table(
    "events",
    (
        Column(
            "at",
            gettext_lazy("When"),
            lambda event: event.at,
            lambda event: tags.ago(event.at),
            tables.NEWEST,
            look="nowrap",
        ),
        Column(
            "level",
            gettext_lazy("Level"),
            lambda event: event.level,
            lambda event: render_to_string("desk/level.html", {"event": event}),
        ),
        Column(
            "what", gettext_lazy("What"), lambda event: words.say(event.code), _what, look="title"
        ),
        Column("text", gettext_lazy("Text"), lambda event: event.text, look="wrap", usual=False),
        Column(
            "concerns",
            gettext_lazy("Related to"),
            lambda event: str(event.run or event.host or ""),
            _concerns,
            look="one reason",
        ),
    ),
    "at",
    tables.words_in("text"),
    (
        Choice(
            "show",
            gettext_lazy("Level"),
            _levels,
            lambda rows, code: rows.filter(level__gte=LEVELS[code]),
        ),
    ),
)


NODES_SHOWN = 200


EVENTS_SHOWN = 8


@admin_view("workers/", "workers")
def workers_page(request: HttpRequest) -> HttpResponse:
    """Shows nodes and clusters; the page refreshes itself."""
    now = datetime.now(UTC)
    found = nodes.node_list(NODES_SHOWN)
    context = {
        "now": now,
        "part": request.GET.get("of", ""),
        "nodes": sorted_rows(found, now),
        "clusters": queue.clusters(),
        "tasks": queue.length(),
        "status": nodes.status(now),
        "events": list(nodes.event_list().order_by("-id")[:EVENTS_SHOWN]),
    }
    if request.GET.get("part") != "live":
        context |= chart_of(request.GET.get("chart", ""), found, found, now)
    return page(
        request,
        "desk/workers.html",
        context,
        title=_("Workers"),
        item="workers",
        live="desk/workers_live.html",
    )


@admin_view("events/", "events")
def event_list(request: HttpRequest) -> HttpResponseBase:
    """Lists errors, warnings and notes, newest first."""
    trail = [(_("Workers"), reverse("admin:workers"))]
    return table_page(
        request,
        "desk/events.html",
        TABLE,
        nodes.event_list(),
        {},
        title=_("Events"),
        item="events",
        trail=trail,
    )


def branch(request: HttpRequest, item: str) -> tree.Node | None:
    if not request.user.has_perm("crawlmgr.view_run"):
        return None
    children: tuple[tree.Node, ...] = (
        tree.Node(_("Events"), reverse("admin:events"), "notifications", "events"),
    )
    if request.user.has_perm("crawlmgr.delete_retention"):
        children += (tree.Node(_("Backups"), reverse("admin:backups"), "backup", "backups"),)
        children += (
            tree.Node(_("Retention"), reverse("admin:retention"), "delete_sweep", "retention"),
        )
    return tree.Node(_("Workers"), reverse("admin:workers"), "memory", "workers", children=children)


desk_site.add_branch(50, branch)


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


def sorted_rows(found: Sequence[Node], now: datetime) -> list[ranking.Row]:
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
    return existing(Node.objects.filter(pk=pk).first(), _("There is no such node."))


@admin_view("workers/<int:pk>/", "node")
def node_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows the numbers of a node and the chart of its last hour."""
    now = datetime.now(UTC)
    everybody = list(Node.objects.order_by("pk"))
    row = existing(
        next((row for row in rows(everybody, now) if row.node.pk == pk), None),
        _("There is no such node."),
    )
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
    return back(request, "node", pk, done=_("The node is draining: it accepts no further runs."))


@post_view("workers/<int:pk>/pause/", "node-pause", MAY)
def pause(request: HttpRequest, pk: int) -> HttpResponse:
    """Pauses a node: it takes no runs until it is resumed."""
    nodes.request_state(_find(pk), NodeState.PAUSED, datetime.now(UTC))
    return back(request, "node", pk, done=_("The node is paused: other nodes continue its runs."))


@post_view("workers/<int:pk>/resume/", "node-resume", MAY)
def resume(request: HttpRequest, pk: int) -> HttpResponse:
    """Resumes a node: it takes runs again."""
    nodes.request_state(_find(pk), NodeState.ACTIVE, datetime.now(UTC))
    return back(request, "node", pk, done=_("The node accepts work again."))


@post_view("workers/<int:pk>/rename/", "node-rename", MAY)
def rename(request: HttpRequest, pk: int) -> HttpResponse:
    """Sets the label under which a node is shown."""
    if nodes.rename(_find(pk), request.POST.get("label", "")):
        messages.success(request, _("The name is saved."))
    else:
        told = _("A name may have at most %(most)s characters, and only printable ones.")
        messages.error(request, told % {"most": nodes.LONGEST_LABEL})
    return back(request, "node", pk)


PAGES = (
    (OrmQ, QueueAdmin, "ormq"),
    (Schedule, ScheduleAdmin, "schedule"),
    (Failure, FailAdmin, "failure"),
    (Success, TaskAdmin, "success"),
)


class ReadOnly:
    """Admin mixin: rows can only be viewed. `has_work_permission` decides who may use the
    buttons."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_work_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("django_q.delete_ormq")


def _button(title: Any, work: Callable[[Iterable[Any]], int]) -> Callable[..., None]:
    def act(_admin: Any, request: HttpRequest, rows: QuerySet[Any]) -> None:
        count = work(rows.values_list("pk", flat=True))
        done = ngettext("Applied to %(count)d task.", "Applied to %(count)d tasks.", count) % {
            "count": count
        }
        messages.success(request, done)

    act.__name__ = work.__name__
    return admin.action(permissions=["work"], description=title)(act)


def free(rows: Iterable[int]) -> int:
    return queue_rows.free(rows, datetime.now(UTC))


BUTTONS: dict[Any, list[Callable[..., None]]] = {
    OrmQ: [
        _button(gettext_lazy("Let a worker take it now"), free),
        _button(gettext_lazy("Take out of the queue"), queue_rows.drop),
    ],
    Schedule: [],
    Failure: [
        _button(gettext_lazy("Put back into the queue"), queue.again),
        _button(gettext_lazy("Remove"), queue.forget),
    ],
    Success: [_button(gettext_lazy("Remove"), queue.forget)],
}


@admin.display(description=gettext_lazy("Function"))
def _function(_admin: object, row: OrmQ) -> str:
    return queue_rows.described(row)[0]


@admin.display(description=gettext_lazy("Arguments"))
def _arguments(_admin: object, row: OrmQ) -> str:
    return queue_rows.described(row)[1]


def _name_in_words(_admin: object, schedule: Schedule) -> str:
    """Returns the translated name of a schedule of this project; other schedules keep their own
    name."""
    own = {
        "dispatch what is due": _("start due visits and jobs"),
        "prune old rows": _("delete expired data"),
        "look for silence": _("check for silent forums"),
    }
    return own.get(schedule.name or "", schedule.name or str(schedule.pk))


def _options(model: Any, theirs: Any) -> dict[str, Any]:
    """Returns the ModelAdmin options that replace those of `theirs`, django-q2's admin class for
    `model`."""
    if model is OrmQ:
        shown = ("key", "what", "with_what", "lock")
        described = {"what": _function, "with_what": _arguments}
        return {
            "list_display": ("id", *shown),
            "fields": shown,
            "readonly_fields": shown,
            "list_filter": (),
            **described,
        }
    if model is Schedule:
        return {
            "list_filter": (),
            "list_display": ("what", "func", "schedule_type", "next_run", "last", "get_success"),
            "list_display_links": ("what",),
            "what": admin.display(description=gettext_lazy("name"), ordering="name")(
                _name_in_words
            ),
            "last": admin.display(description=gettext_lazy("Last run"))(theirs.get_last_run),
        }
    return {"list_filter": ()}


for model, theirs, _name in PAGES:
    if admin.site.is_registered(model):
        admin.site.unregister(model)
    # order of base classes: read-only first, then django-q2's class for its lists, then unfold's
    # forms and templates
    options = {**_options(model, theirs), "actions": BUTTONS[model]}
    admin.site.register(
        model, type(f"Desk{theirs.__name__}", (ReadOnly, theirs, DeskModelAdmin), options)
    )


def queue_branch(request: HttpRequest, item: str) -> tree.Node | None:
    """Returns the queue's branch of the tree; None for users who may not see the queue."""
    if not request.user.has_perm("django_q.view_ormq"):
        return None
    titles = {
        "ormq": _("Waiting tasks"),
        "schedule": _("Schedules"),
        "failure": _("Failed tasks"),
        "success": _("Successful tasks"),
    }
    # tasks that wait in Redis are counted on the page of workers; this list shows only rows of the
    # database
    if settings.BROKER_URL:
        del titles["ormq"]
    lists = {name: reverse(f"admin:django_q_{name}_changelist") for name in titles}
    children = tuple(
        tree.Node(titles[name], url, key=f"queue:{name}") for name, url in lists.items()
    )
    return tree.Node(_("Queue"), children[0].url, "queue", "queue", children=children)


desk_site.add_branch(60, queue_branch)
