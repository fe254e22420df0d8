"""Adds the deep web to the home page (a panel of search sites) and to the navigation tree (a
branch)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin.site import Beginning, Step, desk_site
from crawlmgr.admin.tree import Node, address
from crawlmgr.services.demonstration import MARK
from deepweb import reads
from deepweb.models import Harvest

SOURCES_SHOWN = 8


def panel(request: HttpRequest, now: datetime) -> dict[str, Any] | None:
    """Returns the context of the panel with search sites, their forms and records; None if there is
    no site or the user may not see them.
    """
    if not request.user.has_perm("deepweb.view_source"):
        return None
    rows = reads.newest_sources(SOURCES_SHOWN + 1)
    shown = {
        "template": "deepweb/panel.html",
        "rows": rows[:SOURCES_SHOWN],
        "more": len(rows) > SOURCES_SHOWN,
    }
    return shown if rows else None


def branch(request: HttpRequest, item: str) -> Node | None:
    """Returns the branch of the navigation tree with search sites by name, records, harvests and
    clusters; None if the user may not see them. `item`, the key of the page that is open, is not
    used.
    """
    if not request.user.has_perm("deepweb.view_source"):
        return None
    rows = reads.tree_sources()
    shown = rows[: reads.TREE_LIMIT]
    working = reads.working("deepweb-find", [row.pk for row in shown])
    nodes = [
        Node(
            row.name,
            address("admin:source", row.pk),
            "",
            f"source:{row.pk}",
            "working" if row.pk in working else "",
        )
        for row in shown
    ]
    if len(rows) > reads.TREE_LIMIT:
        nodes.append(
            Node(_("All search sites"), reverse("admin:sources"), "more_horiz", "sources:all")
        )
    if request.user.has_perm("deepweb.add_source"):
        nodes.append(Node(_("Add search sites"), reverse("admin:source-add"), "add", "source-add"))
    if rows:
        nodes.append(Node(_("Records"), reverse("admin:records"), "dataset", "deep-records"))
        nodes.append(Node(_("Harvests"), reverse("admin:harvests"), "agriculture", "harvests"))
        nodes.append(
            Node(
                _("Form clusters"), reverse("admin:form-clusters"), "bubble_chart", "form-clusters"
            )
        )
    return Node(
        _("Search sites"),
        reverse("admin:sources"),
        "manage_search",
        "sources",
        children=tuple(nodes),
        unfolded=True,
    )


desk_site.add_branch(14, branch)
desk_site.add_panel(14, panel)


def _coverage() -> Step | None:
    about = gettext_lazy(
        "Each query returns fewer new records. Random probes estimate how much of the database has"
        " been harvested."
    )
    harvest = Harvest.objects.filter(form__source__parameters__has_key=MARK).order_by("-pk").first()
    return (
        Step(gettext_lazy("A coverage curve"), about, address("admin:harvest", harvest.pk))
        if harvest is not None
        else None
    )


desk_site.add_tour(40, _coverage)
desk_site.add_beginning(
    14,
    Beginning(
        gettext_lazy("A database behind a search form"),
        gettext_lazy("The form is found and queried until nearly all records are stored."),
        "source-add",
        "deepweb.add_source",
        "manage_search",
    ),
)
