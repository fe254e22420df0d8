"""Admin views of workers: the nodes with their heartbeats, their clusters of processes, and the
list of events."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin import tables, tags, words
from crawlmgr.admin.site import desk_site
from crawlmgr.admin.table_page import table_page
from crawlmgr.admin.tables import Choice, Column, Table
from crawlmgr.admin.tree import Node, address
from crawlmgr.admin.views import admin_view, page
from crawlmgr.models import Event
from crawlmgr.workers import node_desk as node_views
from crawlmgr.workers import queue
from crawlmgr.workers import status as reads
from crawlmgr.workers import status as status_reads

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
    found = reads.node_list(NODES_SHOWN)
    context = {
        "now": now,
        "part": request.GET.get("of", ""),
        "nodes": node_views.listed(found, now),
        "clusters": queue.clusters(),
        "tasks": queue.length(),
        "status": status_reads.status(now),
        "events": list(reads.event_list().order_by("-id")[:EVENTS_SHOWN]),
    }
    if request.GET.get("part") != "live":
        context |= node_views.chart_of(request.GET.get("chart", ""), found, found, now)
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
        reads.event_list(),
        {},
        title=_("Events"),
        item="events",
        trail=trail,
    )


def branch(request: HttpRequest, item: str) -> Node | None:
    if not request.user.has_perm("crawlmgr.view_run"):
        return None
    children: tuple[Node, ...] = (
        Node(_("Events"), reverse("admin:events"), "notifications", "events"),
    )
    if request.user.has_perm("crawlmgr.delete_retention"):
        children += (Node(_("Backups"), reverse("admin:backups"), "backup", "backups"),)
        children += (Node(_("Retention"), reverse("admin:retention"), "delete_sweep", "retention"),)
    return Node(_("Workers"), reverse("admin:workers"), "memory", "workers", children=children)


desk_site.add_branch(50, branch)
