"""Views of records: a table of their fields with a search for words, and one record with all its
fields."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.html import conditional_escape, format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin import tables, tags
from crawlmgr.admin.table_page import table_page
from crawlmgr.admin.tables import Choice, Column, Table
from crawlmgr.admin.tree import address
from crawlmgr.admin.views import admin_view, number, page
from crawlmgr.exports import downloads
from deepweb import reads
from deepweb.answers import storing
from deepweb.models import Record, Source

USUAL = 6  # number of fields shown if a user chose none; the first of them is the record's name


MAX_SITES = 200


LONGEST_CELL = 160


OWN = ("record", "site", "page", "first_seen", "url")


def name_of(record: Record) -> str:
    """Returns the name of a record in a list: the value of its first field that is not its
    address."""
    named = (str(value) for value in record.fields.values() if value and value != record.url)
    return next(named, "") or str(record)


def lines_of(records: Sequence[Record]) -> list[dict[str, object]]:
    """Returns the lines of a short list of records: for each, a dictionary with the record
    ("record"), its name ("name"), and the values of its other fields in one text ("about")."""
    found: list[dict[str, object]] = []
    for one in records:
        name = name_of(one)
        rest = dict.fromkeys(
            str(value)
            for value in one.fields.values()
            if value and str(value) not in (name, one.url)
        )
        found.append({"record": one, "name": name, "about": " · ".join(rest)})
    return found


def _name(record: Record) -> str:
    name = name_of(record)
    return format_html(
        '<a href="{}" title="{}">{}</a>',
        address("admin:record", record.pk),
        name,
        name[:LONGEST_CELL],
    )


def _site(record: Record) -> str:
    return format_html(
        '<a href="{}">{}</a>', address("admin:source", record.source_id), record.source.name
    )


def _page(record: Record) -> str:
    if record.detail_at:
        return format_html('<span class="badge ok">{}</span>', _("detail page was read"))
    return (
        format_html('<span class="badge">{}</span>', _("list only")) if record.url else tags.NOTHING
    )


def _field(record: Record, name: str) -> str | None:
    value = record.fields.get(name)
    return None if value is None else str(value)


def _cell(record: Record, name: str) -> str:
    text = _field(record, name) or tags.NOTHING
    return (
        format_html('<span title="{}">{}</span>', text, text[:LONGEST_CELL])
        if len(text) > 24
        else conditional_escape(text)
    )


def _sites() -> list[tuple[str, str]]:
    names = Source.objects.order_by("name").values_list("pk", "name")[:MAX_SITES]
    return [("", _("All sites")), *((str(pk), name) for pk, name in names)]


def _state(record: Record) -> str | None:
    return "read" if record.detail_at else "list only" if record.url else None


def table(fields: Sequence[str], asked: Collection[str]) -> Table:
    """Returns the definition of the table of records, with a column for each of `fields` (most
    frequent first; the first few are shown by default), and for the further fields `asked` that the
    query string names."""
    names = [name for name in dict.fromkeys([*fields, *asked]) if name not in OWN]
    of_fields = [
        Column(
            name,
            name,
            partial(_field, name=name),
            partial(_cell, name=name),
            look="one",
            usual=name in fields[1:USUAL],
        )
        for name in names
    ]
    return Table(
        "records",
        (
            Column("record", gettext_lazy("Record"), name_of, _name, look="title one"),
            *of_fields,
            Column("site", gettext_lazy("Site"), lambda row: row.source.name, _site, look="one"),
            Column("page", gettext_lazy("Page"), _state, _page, look="nowrap"),
            Column(
                "first_seen",
                gettext_lazy("First seen"),
                lambda row: row.first_seen,
                lambda row: tags.ago(row.first_seen),
                tables.NEWEST,
                look="nowrap",
            ),
            Column("url", gettext_lazy("Address"), lambda row: row.url, look="one", usual=False),
        ),
        "first_seen",
        lambda rows, text: storing.narrowed(rows, text),
        (
            Choice(
                "site",
                gettext_lazy("Site"),
                _sites,
                lambda rows, code: rows.filter(source_id=int(code)),
            ),
        ),
    )


MAX_ASKED = 40  # maximum number of fields that a query string may name


# a record's page lists at most this many records that were found just before it, and as many found
# just after it
BESIDE = 6


@admin_view("deepweb/records/", "records", "deepweb.view_record")
def record_list(request: HttpRequest) -> HttpResponseBase:
    """Lists the records of one site or of all, filtered by a search for words."""
    site = number(request.GET.get("site", ""))
    found = table(reads.fields_of(site), request.GET.getlist("col")[:MAX_ASKED])
    context = {
        "downloads": downloads.choices(("records",), site=site),
        "empty": _("No record yet. A harvest of a search form brings some."),
        "steps": "deepweb/begin.html",
        "beside": True,
    }
    trail = [(_("Search sites"), reverse("admin:sources"))]
    return table_page(
        request,
        "desk/list.html",
        found,
        reads.records(),
        context,
        title=_("Records"),
        item="deep-records",
        trail=trail,
    )


@admin_view("deepweb/record/<int:pk>/", "record", "deepweb.view_record")
def record_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows one record with all its fields."""
    row = Record.objects.select_related("source", "form").defer("form__words").filter(pk=pk).first()
    if row is None:
        raise Http404(_("There is no such record."))
    trail = [
        (_("Search sites"), reverse("admin:sources")),
        (row.source.name, reverse("admin:source", args=[row.source_id])),
        (_("Records"), f"{reverse('admin:records')}?site={row.source_id}"),
    ]
    context = {"record": row, "near": lines_of(reads.beside(row, BESIDE))}
    return page(
        request,
        "deepweb/record.html",
        context,
        title=name_of(row)[:80],
        item="deep-records",
        trail=trail,
    )
