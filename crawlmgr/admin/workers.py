"""Admin views of workers: the nodes with their heartbeats, their clusters of processes, and the
list of events."""

from __future__ import annotations

from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _

from crawlmgr.admin import nodes as node_views
from crawlmgr.admin.event_table import TABLE
from crawlmgr.admin.site import desk_site
from crawlmgr.admin.table_page import table_page
from crawlmgr.admin.tree import Node
from crawlmgr.admin.views import admin_view, page
from crawlmgr.reads import nodes as reads
from crawlmgr.reads import status as status_reads
from crawlmgr.services import queue

NODES_SHOWN = 200
EVENTS_SHOWN = 8


@admin_view("workers/", "workers")
def workers_page(request: HttpRequest) -> HttpResponse:
    """Shows nodes and clusters; the page refreshes itself."""
    now = datetime.now(UTC)
    found = reads.nodes(NODES_SHOWN)
    context = {
        "now": now,
        "part": request.GET.get("of", ""),
        "nodes": node_views.listed(found, now),
        "clusters": queue.clusters(),
        "tasks": queue.length(),
        "status": status_reads.status(now),
        "events": list(reads.events().order_by("-id")[:EVENTS_SHOWN]),
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
        reads.events(),
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
