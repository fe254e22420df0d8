"""Downloads of whole tables as CSV, JSON or JSON lines, sent while they are being read from the
database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from crawlmgr.admin.views import admin_view, number
from crawlmgr.services import export_formats, exports

NAMES = {
    "boards": gettext_noop("boards"),
    "threads": gettext_noop("threads"),
    "posts": gettext_noop("posts"),
    "visits": gettext_noop("visits"),
    "pages": gettext_noop("pages"),
    "links": gettext_noop("links"),
    "forms": gettext_noop("forms"),
    "queries": gettext_noop("queries"),
    "records": gettext_noop("records"),
    "runs": gettext_noop("runs"),
}


def choices(
    tables: Sequence[str], *, site: int | None = None, run: int | None = None
) -> list[dict[str, object]]:
    """Returns the entries of an export menu: for each table a dictionary with its display `name`,
    and `formats` as pairs of format and address. With `site` or `run`, only the rows of that site
    or run are exported."""
    chosen = {name: value for name, value in (("site", site), ("run", run)) if value is not None}
    return [
        {
            "name": _(NAMES[table]),
            "formats": [
                (fmt, f"{reverse('admin:export', args=[table, fmt])}?{urlencode(chosen)}")
                for fmt in export_formats.TEXTS
            ],
        }
        for table in tables
    ]


def _key(request: HttpRequest, name: str) -> int | None:
    """Returns the id of a site or run in the query string; None if it is absent. Raises ValueError
    if it is not a number."""
    text = request.GET.get(name, "")
    found = number(text)
    if text and found is None:
        raise ValueError(name)
    return found


@admin_view("export/<slug:table>.<slug:fmt>", "export")
def download(request: HttpRequest, table: str, fmt: str) -> HttpResponse | StreamingHttpResponse:
    """Sends one table as a file while it is being read; `site`, `run` and `since` in the query
    string filter it."""
    try:
        site, run = (_key(request, name) for name in ("site", "run"))
        day = parse_date(request.GET["since"]) if request.GET.get("since") else None
        since = datetime(day.year, day.month, day.day, tzinfo=UTC) if day else None
        pieces = exports.stream(table, fmt=fmt, chosen=exports.Filter(site, run, since))
    except (KeyError, ValueError):
        raise Http404(_("There is no such export.")) from None
    parts = [
        table,
        *(f"{name}-{value}" for name, value in (("site", site), ("run", run)) if value is not None),
        f"{datetime.now(UTC):%Y%m%d-%H%M}",
    ]
    headers = {
        "Content-Disposition": f'attachment; filename="{"-".join(parts)}.{fmt}"',
        "Cache-Control": "no-store",
    }
    return StreamingHttpResponse(pieces, content_type=export_formats.TYPES[fmt], headers=headers)
