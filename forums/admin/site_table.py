"""The list of forums: its columns, filters, and the actions on selected rows; and the tabs above
the pages of one forum."""

from __future__ import annotations

from typing import Any

from django.db.models import Max, Min, Q
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import conditional_escape, format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from crawlmgr.admin import tables, tags
from crawlmgr.admin.tables import Action, Choice, Column, Table, by, falling
from crawlmgr.admin.tree import address
from crawlmgr.admin.views import post_view
from forums.models import Site
from forums.sites import sites
from forums.sites.reads import SiteRow

MAY, MAY_DELETE = "forums.change_site", "forums.delete_site"


def _name(row: SiteRow) -> str:
    name = format_html(
        '<a href="{}" title="{}">{}</a>',
        address("admin:forum", row.site.pk),
        row.site.name,
        row.site.name,
    )
    return format_html("{}<br>{}", name, tags.outlink(row.site.url, row.site.url, "soft small"))


def _figure(name: str, title: Any) -> Column:
    """Returns a column for the forum's counter `name`, sortable with the largest first."""

    def value(row: SiteRow) -> int:
        return int(getattr(row.site, name))

    return Column(
        name, title, value, lambda row: tags.number(value(row)), falling(name), look="num"
    )


def _paused() -> list[tuple[str, str]]:
    return [("", _("All states")), ("on", _("Visited by schedule")), ("paused", _("Paused"))]


def _last(row: SiteRow) -> str:
    return render_to_string("forums/last_visit.html", {"last": row.last})


def _next(row: SiteRow) -> str:
    return render_to_string("forums/due.html", {"due": row.due})


def _state(row: SiteRow) -> str:
    return render_to_string("forums/site_state.html", {"row": row})


def engine(site: Site) -> str:
    """Returns the name of a forum's software; the word for "unknown" if it was not recognised."""
    return _("unknown") if site.engine == "unknown" else site.engine


def _engine(row: SiteRow) -> str:
    return conditional_escape(engine(row.site))


TABLE = Table(
    "forums",
    (
        Column(
            "name",
            gettext_lazy("Forum"),
            lambda row: row.site.name,
            _name,
            by("name"),
            look="title one",
        ),
        Column("url", gettext_lazy("Address"), lambda row: row.site.url, look="one", usual=False),
        Column(
            "boards",
            gettext_lazy("Boards"),
            lambda row: row.boards,
            lambda row: tags.number(row.boards),
            look="num",
        ),
        _figure("threads", gettext_lazy("Threads read")),
        _figure("posts", gettext_lazy("Posts")),
        Column(
            "last_visit",
            gettext_lazy("Last visit"),
            lambda row: row.last.complete,
            _last,
            falling("last", nullable=True),
            {"last": Max("boards__complete_at")},
            look="nowrap",
        ),
        Column(
            "next_visit",
            gettext_lazy("Next visit"),
            lambda row: row.due.at,
            _next,
            by("coming", nullable=True),
            {"coming": Min("boards__next_visit", filter=Q(boards__enabled=True, paused=False))},
            look="nowrap",
        ),
        Column(
            "engine",
            gettext_lazy("Software"),
            lambda row: row.site.engine,
            _engine,
            look="nowrap",
            usual=False,
        ),
        Column(
            "added",
            gettext_lazy("Added"),
            lambda row: row.site.added,
            lambda row: tags.ago(row.site.added),
            falling("added"),
            look="nowrap",
            usual=False,
        ),
        Column("state", gettext_lazy("State"), lambda row: row.state, _state),
    ),
    "name",
    tables.words_in("name", "url"),
    (
        Choice(
            "show",
            gettext_lazy("State"),
            _paused,
            lambda rows, code: rows.filter(paused=code == "paused"),
        ),
    ),
    (
        Action("crawl", gettext_lazy("Crawl now"), "play_arrow", "crawlmgr.add_run"),
        Action("pause", gettext_lazy("Pause schedule"), "event_busy", MAY),
        Action("resume", gettext_lazy("Resume schedule"), "event_available", MAY),
        Action(tables.DELETE, gettext_lazy("Delete"), "delete", MAY_DELETE),
    ),
    "forums-do",
    deletes="forum",
)


VERBS: dict[str, tables.Verb] = {
    "crawl": lambda request, site, now: sites.crawl_now(
        site.pk, board_ids=None, now=now, user=request.user
    ),
    "pause": lambda _request, site, now: sites.pause_site(site.pk, True, now),
    "resume": lambda _request, site, now: sites.pause_site(site.pk, False, now),
}


@post_view("forums/do/", "forums-do", MAY)
def do(request: HttpRequest) -> HttpResponse:
    """Carries out the submitted action on the selected forums: visit now, pause or resume their
    schedules, delete, or undo the deletion."""

    def success_text(count: int) -> str:
        return ngettext("Applied to %(count)s forum.", "Applied to %(count)s forums.", count)

    rows = Site.objects.only("pk")
    return tables.carry_out(request, TABLE, rows, VERBS, reverse("admin:forums"), success_text)


def of_forum(request: HttpRequest, pk: int, here: str) -> list[tuple[str, str, bool]]:
    """Returns the tabs of a forum's pages that the user may see: title, address, and whether it is
    the current page (`here`). `pk` 0 stands for all forums: then the tabs are those of their common
    plan."""
    planned = [
        (_("Plan"), "forum-plan"),
        (_("Tuning"), "forum-tuning"),
        (_("Delays"), "forum-delays"),
    ]
    pages = planned if request.user.has_perm("forums.view_plan") else []
    if pk:
        pages = [(_("Overview"), "forum"), *pages, (_("Model"), "forum-model")]
        if request.user.has_perm("forums.change_site"):
            pages += [(_("Login"), "forum-login"), (_("Edit"), "forum-edit")]
    return [(title, reverse(f"admin:{name}", args=[pk]), name == here) for title, name in pages]
