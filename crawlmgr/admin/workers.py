"""Workers: nodes with their sign of life, clusters, and what happened that a person should know."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from crawlmgr.admin import nodes as node_rooms
from crawlmgr.admin.rooms import page, room
from crawlmgr.admin.tree import Node
from crawlmgr.models import Event
from crawlmgr.reads import nodes as reads
from crawlmgr.reads import status as status_reads
from crawlmgr.services import queue

NODES_SHOWN = 200


@room("workers/", "workers")
def workers_page(request: HttpRequest) -> HttpResponse:
    """Nodes and clusters, live."""
    now = datetime.now(UTC)
    found = reads.nodes(NODES_SHOWN)
    context = {
        "now": now,
        "nodes": node_rooms.rows(found, now),
        "charts": [] if request.GET.get("part") == "live" else [node_rooms.speed_chart(found, now)],
        "clusters": queue.clusters(),
        "tasks": queue.length(),
        "status": status_reads.status(now),
        "events": reads.events({}, size=8).rows,
    }
    return page(request, "desk/workers.html", context, title=_("Workers"), item="workers", live="desk/workers_live.html")


@room("events/", "events")
def event_list(request: HttpRequest) -> HttpResponse:
    """Errors, warnings and notes, newest first."""
    show = request.GET.get("show", "")
    levels: dict[str, Any] = {"errors": Event.Level.ERROR, "warnings": Event.Level.WARNING}
    names = {"": _("All"), "warnings": _("Warnings and errors"), "errors": _("Errors")}
    context = {
        "slice": reads.events(request.GET.dict(), least=levels.get(show, 0)),
        "keep": f"show={show}&" if show in levels else "",
        "show": show,
        "tabs": [(name, f"?show={code}", code == show) for code, name in names.items()],
    }
    return page(
        request, "desk/events.html", context, title=_("Events"), item="events", trail=[(_("Workers"), reverse("admin:workers"))]
    )


def branch(request: HttpRequest, item: str) -> Node | None:
    if not request.user.has_perm("crawlmgr.view_run"):
        return None
    children: tuple[Node, ...] = (Node(_("Events"), reverse("admin:events"), "notifications", "events"),)
    if request.user.has_perm("crawlmgr.delete_retention"):
        children += (Node(_("Retention"), reverse("admin:retention"), "delete_sweep", "retention"),)
    return Node(_("Workers"), reverse("admin:workers"), "memory", "workers", children=children)


admin.site.add_branch(50, branch)
