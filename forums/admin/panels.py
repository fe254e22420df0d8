"""The panel of forums on the home page, and the branch of forums in the navigation tree."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin.site import Beginning, Step, desk_site
from crawlmgr.admin.tree import Node, address
from crawlmgr.admin.views import admin_view, numbers
from crawlmgr.upkeep.demonstration import MARK
from crawlmgr.workers.status import all_paused
from forums import reads
from forums.models import Board, Plan, Site, Visit
from forums.reads import silences, upcoming

SITES_SHOWN = 12
FEWEST_COMING = 3


def panel(request: HttpRequest, now: datetime) -> dict[str, Any] | None:
    """Returns the data for the home page's panel of forums with their freshness and next visits. If
    there are no forums yet, the data are for a panel that explains how to begin. None if the user
    may not see forums."""
    if not request.user.has_perm("forums.view_site"):
        return None
    rows = reads.sites({}, now, SITES_SHOWN)
    if not rows.rows:
        return {
            "template": "forums/panel_begin.html",
            "first": True,
            "may_add": request.user.has_perm("forums.add_site"),
        }
    silent = silences.silent_sites()
    return {
        "template": "forums/panel.html",
        "first": False,
        "rows": rows.rows,
        "more": rows.older,
        "coming": _coming(now, max(FEWEST_COMING, len(rows.rows))),
        "all_paused": all_paused(),
        "only_paused": (
            all(row.site.paused for row in rows.rows)
            and not Site.objects.filter(paused=False).exists()
        ),
        "notes": "forums/panel_notes.html",
        "silent": silent,
        "alarms": len(silent),
        "now": now,
    }


def _coming(now: datetime, most: int) -> list[Board]:
    """Returns at most `most` boards with the earliest next visits; none while all crawling is
    paused. Sets `due` of each board to its next visit as displayed (a `Due`)."""
    boards = reads.due_next()[:most]
    stopped = upcoming.with_paused_visits({board.site_id for board in boards})
    board: Any
    for board in boards:
        board.due = upcoming.of_board(board, now, hold=False, visits_paused=stopped)
    return boards


def branch(request: HttpRequest, item: str) -> Node | None:
    """Returns the forums' branch of the navigation tree: forums, their boards, and lists. Boards of
    the open forum are included, others are loaded when their forum is unfolded. item: key of the
    open page. None if the user may not see forums.
    """
    if not request.user.has_perm("forums.view_site"):
        return None
    rows = reads.tree_sites()
    shown = rows[: reads.TREE_SITES]
    opened = _open_site(item)
    if opened and opened not in {site.pk for site in shown}:
        shown += list(Site.objects.only("id", "name", "paused").filter(pk=opened))
    working = (
        {run.target: run.state for run in reads.active_runs([site.pk for site in shown])}
        if shown
        else {}
    )
    nodes = [_site_node(site, working.get(site.pk, ""), site.pk == opened) for site in shown]
    if len(rows) > reads.TREE_SITES:
        nodes.append(Node(_("All forums"), reverse("admin:forums"), "more_horiz", "forums:all"))
    if rows and request.user.has_perm("forums.view_thread"):
        nodes += [
            Node(_("Boards"), reverse("admin:boards"), "list", "boards"),
            Node(_("Threads"), reverse("admin:threads"), "toc", "threads"),
            Node(_("Posts"), reverse("admin:posts"), "chat", "posts"),
        ]
    if request.user.has_perm("forums.add_site"):
        nodes.append(Node(_("Add forum"), reverse("admin:forum-add"), "add", "forum-add"))
    if request.user.has_perm("forums.view_plan"):
        nodes.append(
            Node(
                _("Plan of all forums"),
                reverse("admin:forum-plan", args=[0]),
                "event_note",
                "plan:all",
            )
        )
    if request.user.has_perm("forums.view_simulation"):
        nodes.append(Node(_("Simulations"), reverse("admin:simulations"), "science", "simulations"))
    return Node(
        _("Forums"),
        reverse("admin:forums"),
        "forum",
        "forums",
        children=tuple(nodes),
        unfolded=True,
    )


def _open_site(item: str) -> int:
    kind, _colon, rest = item.partition(":")
    parts = numbers(rest.split("."))
    return parts[0] if kind in ("site", "board") and parts else 0


def _site_node(site: Site, state: str, opened: bool) -> Node:
    mark = "working" if state in ("running", "queued") else "paused" if state or site.paused else ""
    children = board_nodes(site.pk) if opened else ()
    lazy = "" if opened else address("admin:forum-tree", site.pk)
    url = address("admin:forum", site.pk)
    return Node(
        site.name, url, "", f"site:{site.pk}", mark, children=children, lazy=lazy, unfolded=opened
    )


def board_nodes(site_id: int) -> tuple[Node, ...]:
    return tuple(_board_node(board, depth) for board, depth in reads.tree_boards(site_id))


def _board_node(board: Board, depth: int) -> Node:
    mark = "" if board.enabled else "paused"
    return Node(
        board.name,
        address("admin:board", board.pk),
        "",
        f"board:{board.site_id}.{board.pk}",
        mark,
        depth=min(depth, 3),
    )


@admin_view("forums/tree/<int:pk>/", "forum-tree", "forums.view_site")
def tree_part(request: HttpRequest, pk: int) -> HttpResponse:
    """Returns the boards of a site as HTML, loaded when its branch of the tree is unfolded."""
    if not Site.objects.filter(pk=pk).exists():
        raise Http404(_("There is no such forum."))
    return render(request, "desk/tree.html", {"nodes": board_nodes(pk)})


desk_site.add_branch(10, branch)
desk_site.add_panel(10, panel)


def _demonstration() -> Site | None:
    return Site.objects.filter(settings__has_key=MARK).order_by("pk").first()


def _delays() -> Step | None:
    about = gettext_lazy(
        "The adaptive policy visits when posts are expected. This page shows how long posts waited,"
        " compared with equal visits."
    )
    site = _demonstration()
    measured = Visit.objects.filter(
        Q(arrived_new__gt=0) | Q(arrived_replies__gt=0), board__site=site
    )
    if site is None or not measured.exists():
        return None
    return Step(gettext_lazy("Posts found in time"), about, address("admin:forum-delays", site.pk))


def _plan() -> Step | None:
    about = gettext_lazy(
        "Each board has hours of its own. The plan shows when each is likely to be visited next."
    )
    site = _demonstration()
    title = gettext_lazy("Boards with different rhythms")
    if site is None or not Plan.objects.filter(site=site).exists():
        return None
    return Step(title, about, address("admin:forum-plan", site.pk))


desk_site.add_tour(10, _delays)
desk_site.add_tour(20, _plan)
desk_site.add_beginning(
    10,
    Beginning(
        gettext_lazy("Posts of a forum"),
        gettext_lazy("Visited when new posts are expected; only new content is fetched."),
        "forum-add",
        "forums.add_site",
        "forum",
    ),
)
