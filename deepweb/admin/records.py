"""Views of records: a table of their fields with a search for words, and one record with all its
fields."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _

from crawlmgr.admin.table_page import table_page
from crawlmgr.admin.views import admin_view, number, page
from crawlmgr.exports import downloads
from deepweb import reads
from deepweb.admin.record_table import lines_of, name_of, table
from deepweb.models import Record

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
