"""Adds forums to the home page (a panel and figures), the navigation tree, the command palette, the
page of schedules and a run's page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin import tables as removal_views
from crawlmgr.admin.dashboard import DAY, TREND_DAYS, Tile, remembered
from crawlmgr.admin.palette import KINDS, Find, Item, Kind, Verb
from crawlmgr.admin.site import Beginning, Step, desk_site
from crawlmgr.admin.tags import duration, number
from crawlmgr.admin.tree import Node, address
from crawlmgr.admin.views import admin_view, numbers
from crawlmgr.exports import desk as exports_desk
from crawlmgr.models import Run
from crawlmgr.runs import desk
from crawlmgr.schedule import desk as hours
from crawlmgr.upkeep.demonstration import MARK
from crawlmgr.workers.nodes import all_paused
from forums.models import Board, Plan, Site, Visit
from forums.plans import reads as plan_reads
from forums.sites import alarms, reads, sites

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
    silent = alarms.silent_sites()
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
    stopped = reads.with_paused_visits({board.site_id for board in boards})
    board: Any
    for board in boards:
        board.due = reads.of_board(board, now, hold=False, visits_paused=stopped)
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


def _forums(words: Sequence[str], most: int, **only: bool) -> Sequence[Item]:
    rows = Site.objects.filter(**only).order_by("name", "pk")
    for word in words:
        rows = rows.filter(Q(name__icontains=word) | Q(url__icontains=word))
    return [Item(*row) for row in rows.values_list("pk", "name", "url")[:most]]


def _paused(paused: bool) -> Find:
    return lambda words, most: _forums(words, most, paused=paused)


def _boards(words: Sequence[str], most: int) -> Sequence[Item]:
    """Returns at most `most` boards, sorted by name. Each word must occur in the board's or its
    forum's name, and at least one in the board's name."""
    own, rows = Q(), Board.objects.order_by("name", "pk")
    for word in words:
        own |= Q(name__icontains=word)
        rows = rows.filter(Q(name__icontains=word) | Q(site__name__icontains=word))
    return [Item(*row) for row in rows.filter(own).values_list("pk", "name", "site__name")[:most]]


CRAWL = ("crawl now", "crawl", "visit now", "立即抓取", "抓取")


PAUSE = ("pause schedule", "pause visits", "pause", "暂停计划", "暂停")


RESUME = ("resume schedule", "resume visits", "resume", "恢复计划", "恢复")


CHANGE, SEE, SEE_PLAN = "forums.change_site", "forums.view_site", "forums.view_plan"


VERBS = (
    Verb(gettext_lazy("Crawl now"), CRAWL, "crawlmgr.add_run", "admin:forum-crawl", "refresh"),
    Verb(
        gettext_lazy("Pause schedule"),
        PAUSE,
        CHANGE,
        "admin:forum-pause",
        "event_busy",
        (("paused", "1"),),
        _paused(False),
    ),
    Verb(
        gettext_lazy("Resume schedule"),
        RESUME,
        CHANGE,
        "admin:forum-pause",
        "event_available",
        (("paused", "0"),),
        _paused(True),
    ),
    Verb(
        gettext_lazy("Plan"),
        ("plan", "plan of", "计划"),
        SEE_PLAN,
        "admin:forum-plan",
        "event_note",
        opens=True,
    ),
    Verb(
        gettext_lazy("Tuning"),
        ("tune", "tuning", "调整", "调参"),
        SEE_PLAN,
        "admin:forum-tuning",
        "tune",
        opens=True,
    ),
    Verb(
        gettext_lazy("Delays"),
        ("delay", "delays", "延迟"),
        SEE_PLAN,
        "admin:forum-delays",
        "timer",
        opens=True,
    ),
    Verb(
        gettext_lazy("Export posts"),
        ("export posts of", "export posts", "export", "导出帖子", "导出"),
        SEE,
        "admin:export",
        "download",
        opens=True,
        query="site",
        arguments=("posts", "csv"),
    ),
)


KINDS.append(Kind(gettext_lazy("Forum"), "forum", SEE, "admin:forum", _forums, VERBS))


KINDS.append(Kind(gettext_lazy("Board"), "list", SEE, "admin:board", _boards))


def _figures(now: datetime) -> dict[str, Any]:
    return {
        "posted": reads.posted(now - DAY, now),
        "posted_days": reads.posted_by_day(now, TREND_DAYS),
        "day": reads.visit_sums(now - DAY),
        "days": reads.by_day(now, TREND_DAYS),
        "late": reads.late(now),
    }


def tiles(request: HttpRequest, now: datetime) -> Sequence[Tile]:
    """Returns tiles of new posts, their waiting time, and overdue boards; () if there is no board
    or the user may not see forums."""
    if not request.user.has_perm("forums.view_site") or not Board.objects.exists():
        return ()
    found = remembered("forums", lambda: _figures(now))
    waits = [one.mean_wait_seconds or 0.0 for one in found["days"]]
    plan = reverse("admin:forum-plan", args=[0])
    late, wait = found["late"], duration(found["day"].mean_wait_seconds)
    of_late = f"{reverse('admin:boards')}?show=late" if late else plan
    return (
        Tile(
            _("New posts in 24 h"),
            number(found["posted"]),
            reverse("admin:forums"),
            _("by when they were posted; bars: each of the last 14 days"),
            "",
            [float(posts) for posts in found["posted_days"]],
        ),
        Tile(
            _("Waiting time of new posts"),
            wait,
            plan,
            _("mean over 24 h of the time until a post was fetched; all posts count equally"),
            "",
            waits,
        ),
        Tile(
            _("Late boards"),
            number(late),
            of_late,
            _("due for more than 10 minutes"),
            "warn" if late else "",
        ),
    )


desk_site.add_tile(10, tiles)


def visit_detail(request: HttpRequest, run: Run, now: datetime) -> dict[str, Any]:
    """Returns the visits of a run and the link to its forum."""
    found = reads.visits_of_run(run)
    site = Site.objects.only("id", "name").filter(pk=run.target).first()
    detail: dict[str, Any] = {
        "template": "forums/run_visits.html",
        "visits": found,
        "done": sum(1 for visit in found if visit.finished),
    }
    if site is not None:
        detail.update(link=reverse("admin:forum", args=[site.pk]), link_text=_("To the forum"))
    return detail


def discovery_detail(request: HttpRequest, run: Run, now: datetime) -> dict[str, Any]:
    """Returns the link to the boards that an inspection found."""
    return {
        "link": reverse("admin:forum-found", args=[run.pk]),
        "link_text": _("To the boards found"),
    }


desk.details["forum"] = visit_detail


desk.details[sites.REMOVAL] = removal_views.deletion_detail


desk.details["forum-discovery"] = discovery_detail


def _timed(pk: int) -> tuple[str, str, str] | None:
    name = Site.objects.filter(pk=pk).values_list("name", flat=True).first()
    return (name, address("admin:forum", pk), f"site:{pk}") if name is not None else None


def _zone(pk: int) -> str:
    return Site.objects.filter(pk=pk).values_list("timezone", flat=True).first() or "UTC"


hours.TIMED["forum"] = hours.Timed(
    gettext_lazy("Forum"),
    "admin:forum",
    "forums.view_site",
    ("admin:forum-crawl", "crawlmgr.add_run"),
    _timed,
    "forums.change_plan",
    _zone,
    plan_reads.planned,
)


def _named() -> list[tuple[int, str]]:
    return list(Site.objects.order_by("name").values_list("pk", "name"))


exports_desk.SITES |= dict.fromkeys(
    ("boards", "threads", "posts", "visits", "pages", "links"), _named
)
