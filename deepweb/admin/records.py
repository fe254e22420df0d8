"""Records: a table with the columns found, searched by words; one record with all it says."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from crawlmgr.admin import exports
from crawlmgr.admin.rooms import number, page, room
from deepweb import reads
from deepweb.models import Record, Source

LONGEST_CELL = 160


@room("deepweb/records/", "records", "deepweb.view_record")
def record_list(request: HttpRequest) -> HttpResponse:
    """Records of all sites or of one, by words."""
    site = number(request.GET.get("site", ""))
    source = Source.objects.only("id", "name").filter(pk=site).first() if site else None
    chosen = {"source": source} if source is not None else {}
    found, columns = reads.records(chosen, request.GET.dict())
    kept = {name: request.GET[name] for name in ("q", "site") if request.GET.get(name)}
    rows = [(row, [str(row.fields.get(name, ""))[:LONGEST_CELL] for name in columns]) for row in found.rows]
    context = {
        "slice": found,
        "rows": rows,
        "columns": columns,
        "source": source,
        "words": request.GET.get("q", ""),
        "keep": f"{urlencode(kept)}&" if kept else "",
        "downloads": exports.choices(("records",), site=source.pk if source is not None else None),
        "sources": Source.objects.only("id", "name").order_by("name")[:200],
    }
    trail = [(_("Search sites"), reverse("admin:sources"))]
    return page(request, "deepweb/records.html", context, title=_("Records"), item="deep-records", trail=trail)


@room("deepweb/record/<int:pk>/", "record", "deepweb.view_record")
def record_page(request: HttpRequest, pk: int) -> HttpResponse:
    """One record with all its fields."""
    row = Record.objects.select_related("source", "form").defer("form__words").filter(pk=pk).first()
    if row is None:
        raise Http404(_("There is no such record."))
    trail = [
        (_("Search sites"), reverse("admin:sources")),
        (row.source.name, reverse("admin:source", args=[row.source_id])),
        (_("Records"), f"{reverse('admin:records')}?site={row.source_id}"),
    ]
    return page(request, "deepweb/record.html", {"record": row}, title=str(row)[:80], item="deep-records", trail=trail)
