"""Admin views that list boards, threads and posts over all forums."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from crawlmgr.admin import tables, tags, words
from crawlmgr.admin.table_page import table_page
from crawlmgr.admin.tables import Action, Choice, Column, Rows, Table, by, falling
from crawlmgr.admin.tree import address
from crawlmgr.admin.views import admin_view, number, numbers, post_view
from crawlmgr.exports import downloads
from crawlmgr.runs import runs
from forums import reads
from forums.admin import thread_table
from forums.admin.add import INTERVALS
from forums.admin.thread_table import SITE
from forums.models import Board, Site
from forums.reads import BoardRow
from forums.reads.today import late_boards
from forums.services import plans, sites

MAY = "forums.change_board"


MAX_TICKED = 500


def _name(row: BoardRow) -> str:
    return format_html('<a href="{}">{}</a>', address("admin:board", row.board.pk), row.board.name)


def _site(row: BoardRow) -> str:
    return format_html(
        '<a href="{}">{}</a>', address("admin:forum", row.board.site_id), row.board.site.name
    )


def _next(row: BoardRow) -> str:
    return render_to_string("forums/due.html", {"due": row.due})


def _last(row: BoardRow) -> str:
    return (
        tags.ago(row.board.last_visit)
        if row.board.last_visit
        else format_html('<span class="soft">{}</span>', _("never"))
    )


def _ended(row: BoardRow) -> str:
    visit = row.visit
    if visit is None:
        return tags.NOTHING
    if visit.finished is None and row.halted:
        return format_html('<span class="badge warn">{}</span>', _("paused"))
    if visit.finished is None:
        return format_html('<span class="badge on">{}</span>', _("running"))
    look = "" if visit.complete else "warn"
    return format_html(
        '<span class="{}" title="{}">{}</span>',
        look,
        words.say(visit.stopped_by),
        words.brief(visit.stopped_by),
    )


def _figure(name: str, title: Any, *, usual: bool = True) -> Column:
    """Returns a column for the board's counter `name`, sortable with the largest first; `usual`:
    shown unless the user hides it."""

    def value(row: BoardRow) -> int:
        return int(getattr(row.board, name))

    return Column(
        name,
        title,
        value,
        lambda row: tags.number(value(row)),
        falling(name),
        look="num",
        usual=usual,
    )


def _of_visit(name: str, title: Any) -> Column:
    """Returns a column for the counter `name` of the board's last visit, empty if the board was
    never visited."""

    def value(row: BoardRow) -> int | None:
        return None if row.visit is None else int(getattr(row.visit, name))

    return Column(
        name, title, value, lambda row: tags.number(value(row)), look="num", usual=name == "new"
    )


def _states() -> list[tuple[str, str]]:
    return [
        ("", _("All states")),
        ("late", _("Late")),
        ("never", _("Never visited")),
        ("out", _("Excluded")),
    ]


def _in_state(rows: Rows, code: str) -> Rows:
    if code == "late":
        return late_boards(rows, datetime.now(UTC))
    return rows.filter(last_visit__isnull=True) if code == "never" else rows.filter(enabled=False)


TABLE = Table(
    "boards",
    (
        Column(
            "name",
            gettext_lazy("Board"),
            lambda row: row.board.name,
            _name,
            by("name"),
            look="title one",
        ),
        Column("site", gettext_lazy("Forum"), lambda row: row.board.site.name, _site, look="one"),
        _figure("threads", gettext_lazy("Threads read")),
        _figure("posts", gettext_lazy("Posts")),
        Column(
            "interval",
            gettext_lazy("Fixed interval"),
            lambda row: row.board.interval_seconds,
            lambda row: tags.duration(row.board.interval_seconds),
            by("interval_seconds"),
            look="num",
        ),
        Column(
            "deadline",
            gettext_lazy("Maximum wait (h)"),
            lambda row: row.board.deadline_hours,
            look="num",
            usual=False,
        ),
        Column(
            "next_visit",
            gettext_lazy("Next visit"),
            lambda row: row.due.at,
            _next,
            by("next_visit", nullable=True),
            look="nowrap",
        ),
        Column(
            "last_visit",
            gettext_lazy("Last visit"),
            lambda row: row.board.last_visit,
            _last,
            falling("last_visit", nullable=True),
            look="nowrap",
        ),
        _of_visit("new", gettext_lazy("New")),
        _of_visit("updated", gettext_lazy("Updated")),
        _of_visit("unchanged", gettext_lazy("Unchanged")),
        Column(
            "ended",
            gettext_lazy("End reason"),
            lambda row: words.say(row.visit.stopped_by) if row.visit else None,
            _ended,
            look="one",
        ),
        Column("url", gettext_lazy("Address"), lambda row: row.board.url, look="one", usual=False),
    ),
    "name",
    tables.words_in("name"),
    (SITE, Choice("show", gettext_lazy("State"), _states, _in_state)),
    (
        Action("crawl", gettext_lazy("Crawl now"), "play_arrow", "crawlmgr.add_run"),
        Action("interval", gettext_lazy("Set interval"), "timer", MAY),
        Action("off", gettext_lazy("Exclude"), "event_busy", MAY),
        Action("on", gettext_lazy("Include"), "event_available", MAY),
    ),
    "boards-do",
    "forums/interval_field.html",
)


NEEDED = {one.do: one.permission for one in TABLE.actions}


@post_view("forums/boards/do/", "boards-do", "crawlmgr.add_run")
def do(request: HttpRequest) -> HttpResponse:
    """Carries out the submitted action on the selected boards: visit now, set the interval, include
    in or exclude from scheduled visits."""
    action, usual = request.POST.get("do", ""), reverse("admin:boards")
    ticked = numbers(request.POST.getlist("row"))[:MAX_TICKED]
    of_site: dict[int, list[int]] = {}
    for pk, site in (
        Board.objects.filter(pk__in=ticked).order_by("site_id", "pk").values_list("pk", "site_id")
    ):
        of_site.setdefault(site, []).append(pk)
    seconds = _seconds(request) if action == "interval" else 0
    if action not in NEEDED or not of_site or seconds is None:
        messages.warning(
            request, _("Choose an interval.") if seconds is None else _("Nothing is selected.")
        )
        return tables.to_list(request, usual)
    if not request.user.has_perm(NEEDED[action]):
        raise PermissionDenied
    done = sum(
        _carry_out(request, action, site, boards, seconds) for site, boards in of_site.items()
    )
    text = ngettext("Applied to %(count)s board.", "Applied to %(count)s boards.", done)
    tables.add_messages(request, done, len(ticked), text)
    return tables.to_list(request, usual)


def _seconds(request: HttpRequest) -> int | None:
    """Returns the submitted interval in seconds; None if it is missing or out of range."""
    found = numbers([request.POST.get("interval", "")])
    return (
        found[0] if found and sites.SHORTEST_SECONDS <= found[0] <= sites.LONGEST_SECONDS else None
    )


def _carry_out(
    request: HttpRequest, action: str, site: int, boards: Sequence[int], seconds: int
) -> int:
    """Carries out an action (`action`: "crawl", "interval", "on" or "off") on boards of one forum;
    `seconds` is the new interval. Returns the number of boards, 0 if the action was refused."""
    now = datetime.now(UTC)
    try:
        if action == "crawl":
            sites.crawl_now(site, board_ids=boards, now=now, user=request.user)
            return len(boards)
        with plans.budget_following_intervals(site, now):
            if action == "interval":
                sites.set_interval(boards, seconds, now)
            else:
                sites.set_enabled(boards, action == "on")
    except (runs.Busy, ValueError):
        return 0
    return len(boards)


LIST = "desk/list.html"


def _trail(site: int | None) -> list[tuple[str, str]]:
    """Returns the breadcrumb of a list (links to the pages above), with the forum by which the list
    is filtered."""
    found = Site.objects.only("id", "name").filter(pk=site).first() if site else None
    way = [(_("Forums"), reverse("admin:forums"))]
    return (
        [*way, (found.name, reverse("admin:forum", args=[found.pk]))] if found is not None else way
    )


def _may_begin(request: HttpRequest) -> bool:
    """Tells whether there is no forum yet and the user may add one. If so, empty lists offer a link
    to add a forum."""
    return bool(request.user.has_perm("forums.add_site")) and not Site.objects.exists()


@admin_view("forums/boards/", "boards", "forums.view_board")
def boards(request: HttpRequest) -> HttpResponseBase:
    """Lists the boards of all forums, or of one."""
    now, site = datetime.now(UTC), number(request.GET.get("site", ""))
    context = {
        "intervals": INTERVALS,
        "downloads": downloads.choices(["boards"], site=site),
        "begin": partial(_may_begin, request),
        "empty": _("No board is known yet. Add a forum and its boards are found."),
    }
    return table_page(
        request,
        LIST,
        TABLE,
        reads.all_boards(),
        context,
        prepare=lambda rows: reads.with_visits(rows, now),
        key=lambda row: row.board.pk,
        title=_("Boards"),
        item="boards",
        trail=_trail(site),
    )


@admin_view("forums/threads/", "threads", "forums.view_thread")
def threads(request: HttpRequest) -> HttpResponseBase:
    """Lists the threads of all forums, or of one, most recent replies first."""
    site = number(request.GET.get("site", ""))
    context = {
        "downloads": downloads.choices(["threads"], site=site),
        "begin": partial(_may_begin, request),
        "empty": _("No threads are stored yet. They appear after the first visit to a forum."),
    }
    return table_page(
        request,
        LIST,
        thread_table.ALL,
        reads.all_threads(),
        context,
        title=_("Threads"),
        item="threads",
        trail=_trail(site),
    )


@admin_view("forums/posts/", "posts", "forums.view_thread")
def posts(request: HttpRequest) -> HttpResponseBase:
    """Lists the posts of all forums, most recently fetched first."""
    empty = _("No posts are stored yet. They appear after the first visit to a forum.")
    context = {
        "downloads": downloads.choices(["posts"]),
        "empty": empty,
        "begin": partial(_may_begin, request),
    }
    return table_page(
        request,
        LIST,
        thread_table.POSTS,
        reads.all_posts(),
        context,
        title=_("Posts"),
        item="posts",
        trail=_trail(None),
    )
