"""Admin views that list boards, threads and posts over all forums."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _

from crawlmgr.admin import exports
from crawlmgr.admin.table_page import table_page
from crawlmgr.admin.views import admin_view, number
from forums import reads
from forums.admin import board_table, thread_table
from forums.admin.add import INTERVALS
from forums.models import Site

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
        "downloads": exports.choices(["boards"], site=site),
        "begin": partial(_may_begin, request),
        "empty": _("No board is known yet. Add a forum and its boards are found."),
    }
    return table_page(
        request,
        LIST,
        board_table.TABLE,
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
        "downloads": exports.choices(["threads"], site=site),
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
        "downloads": exports.choices(["posts"]),
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
