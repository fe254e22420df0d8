"""Adds topics to the home page (a panel) and to the navigation tree (a branch)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin.site import Beginning, Step, desk_site
from crawlmgr.admin.tree import Node, address
from crawlmgr.upkeep.demonstration import MARK
from focused import reads
from focused.models import TopicRun

TOPICS_SHOWN = 8


def panel(request: HttpRequest, now: datetime) -> dict[str, Any] | None:
    """Returns the context of the panel with topics and their newest runs; None if there is no topic
    or the user may not see them.
    """
    if not request.user.has_perm("focused.view_topic"):
        return None
    rows = reads.first_topics(TOPICS_SHOWN + 1)
    shown = {
        "template": "focused/panel.html",
        "rows": rows[:TOPICS_SHOWN],
        "more": len(rows) > TOPICS_SHOWN,
    }
    return shown if rows else None


def branch(request: HttpRequest, item: str) -> Node | None:
    """Returns the branch of the navigation tree with the topics by name, at most TREE_LIMIT; None
    if the user may not see topics. `item`, the key of the page that is open, is not used."""
    if not request.user.has_perm("focused.view_topic"):
        return None
    rows = reads.tree_topics()
    working = reads.active_topics()
    nodes = []
    for topic in rows[: reads.TREE_LIMIT]:
        state = working.get(topic.pk, "")
        mark = "working" if state in ("running", "queued") else "paused" if state else ""
        nodes.append(
            Node(topic.name, address("admin:topic", topic.pk), "", f"topic:{topic.pk}", mark)
        )
    if len(rows) > reads.TREE_LIMIT:
        nodes.append(Node(_("All topics"), reverse("admin:topics"), "more_horiz", "topics:all"))
    if request.user.has_perm("focused.add_topic"):
        nodes.append(Node(_("Add topic"), reverse("admin:topic-add"), "add", "topic-add"))
    return Node(
        _("Topics"),
        reverse("admin:topics"),
        "category",
        "topics",
        children=tuple(nodes),
        unfolded=True,
    )


desk_site.add_branch(12, branch)
desk_site.add_panel(12, panel)


def _tunnel() -> Step | None:
    about = gettext_lazy(
        "Some pages on topic are reached only through pages off topic. The crawl continues through"
        " these as long as it finds relevant pages."
    )
    run = TopicRun.objects.filter(topic__settings__has_key=MARK).order_by("-pk").first()
    return (
        Step(gettext_lazy("A tunnel"), about, address("admin:topic-run", run.pk))
        if run is not None
        else None
    )


desk_site.add_tour(30, _tunnel)
desk_site.add_beginning(
    12,
    Beginning(
        gettext_lazy("Pages on a topic"),
        gettext_lazy("Samples define the topic; the crawl searches for similar pages."),
        "topic-add",
        "focused.add_topic",
        "category",
    ),
)
