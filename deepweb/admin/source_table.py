"""The table of search sites: its columns, filters, and actions on selected rows."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from crawlmgr.admin import narrowing, table_actions, tables, tags
from crawlmgr.admin.tables import Action, Choice, Column, Rows, Table, by, falling
from crawlmgr.admin.tree import address
from crawlmgr.admin.views import post_view
from deepweb.models import Form, Source
from deepweb.reads import SourceRow, is_search
from deepweb.services import sources

MAY_DELETE = "deepweb.delete_source"


def _name(row: SourceRow) -> str:
    one = row.source
    name = format_html(
        '<a href="{}" title="{}">{}</a>', address("admin:source", one.pk), one.name, one.name
    )
    return format_html("{}<br>{}", name, tags.outlink(one.url, one.url, "soft small"))


def _records(row: SourceRow) -> str:
    if not row.source.records:
        return "0"
    html = '<a href="{}?site={}">{}</a>'
    return format_html(
        html, reverse("admin:records"), row.source.pk, tags.number(row.source.records)
    )


def _state(row: SourceRow) -> str:
    return render_to_string("deepweb/source_state.html", {"row": row})


def _state_word(row: SourceRow) -> str:
    if row.run is not None:
        return str(row.run.state)
    return "can be queried" if row.search else "no search form" if row.source.looked_at else "new"


def _states() -> list[tuple[str, str]]:
    return [
        ("", _("All states")),
        ("search", _("can be queried")),
        ("none", _("no search form")),
        ("new", _("not inspected yet")),
    ]


def _in_state(rows: Rows, code: str) -> Rows:
    if code == "new":
        return rows.filter(looked_at__isnull=True)
    found = Exists(Form.objects.filter(is_search(), source=OuterRef("pk")))
    return rows.filter(found) if code == "search" else rows.filter(~found, looked_at__isnull=False)


TABLE = Table(
    "sources",
    (
        Column(
            "site",
            gettext_lazy("Site"),
            lambda row: row.source.name,
            _name,
            by("name"),
            look="title one",
        ),
        Column("url", gettext_lazy("Address"), lambda row: row.source.url, look="one", usual=False),
        Column(
            "search",
            gettext_lazy("Search forms"),
            lambda row: row.search,
            lambda row: tags.number(row.search),
            falling("search_forms"),
            {"search_forms": Count("forms", filter=is_search("forms__"))},
            look="num",
        ),
        Column(
            "forms",
            gettext_lazy("Forms"),
            lambda row: row.forms,
            lambda row: tags.number(row.forms),
            falling("all_forms"),
            {"all_forms": Count("forms")},
            look="num",
        ),
        Column(
            "pages",
            gettext_lazy("Pages"),
            lambda row: row.source.pages,
            lambda row: tags.number(row.source.pages),
            falling("pages"),
            look="num",
        ),
        Column(
            "records",
            gettext_lazy("Records"),
            lambda row: row.source.records,
            _records,
            falling("records"),
            look="num",
        ),
        Column(
            "inspected",
            gettext_lazy("Inspected"),
            lambda row: row.source.looked_at,
            lambda row: tags.ago(row.source.looked_at),
            falling("looked_at", nullable=True),
            look="nowrap",
        ),
        Column(
            "added",
            gettext_lazy("Added"),
            lambda row: row.source.created,
            lambda row: tags.ago(row.source.created),
            tables.NEWEST,
            look="nowrap",
            usual=False,
        ),
        Column("state", gettext_lazy("State"), _state_word, _state),
    ),
    "added",
    narrowing.words_in("name", "url"),
    (Choice("show", gettext_lazy("State"), _states, _in_state),),
    (
        Action("find", gettext_lazy("Search for forms again"), "refresh", "crawlmgr.add_run"),
        Action(tables.DELETE, gettext_lazy("Delete"), "delete", MAY_DELETE),
    ),
    "sources-do",
    deletes="source",
)


def _find(request: HttpRequest, source: Source, now: Any) -> None:
    sources.find([source.url], now=now, settings=source.parameters, user=request.user)


VERBS: dict[str, table_actions.Verb] = {"find": _find}


@post_view("deepweb/do/", "sources-do", "deepweb.change_source")
def do(request: HttpRequest) -> HttpResponse:
    """Carries out an action on the selected sites: search for forms again, delete, or undo the
    deletion."""

    def success_text(count: int) -> str:
        return ngettext(
            "Applied to %(count)s search site.", "Applied to %(count)s search sites.", count
        )

    rows = Source.objects.defer("links")
    return table_actions.carry_out(
        request, TABLE, rows, VERBS, reverse("admin:sources"), success_text
    )
