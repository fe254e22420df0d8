"""Downloads: whole tables as CSV, JSON or JSON lines, sent while they are being read from the
database, and finished files of saved exports, also at a secret address for programs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from urllib.parse import urlencode

from django.http import (
    FileResponse,
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    StreamingHttpResponse,
)
from django.urls import reverse
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import condition

from crawlmgr.admin.views import admin_view, existing, number
from crawlmgr.exports import exports, saved_exports, text_formats
from crawlmgr.models import ExportFile

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
                for fmt in text_formats.TEXTS
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
    return StreamingHttpResponse(pieces, content_type=text_formats.TYPES[fmt], headers=headers)


def _sent(file: ExportFile, *, manifest: bool) -> HttpResponseBase:
    """Returns a response with a finished export file, or with its manifest. Raises Http404 if the
    file is gone."""
    try:
        content, name, kind = saved_exports.opened(file, manifest=manifest)
    except OSError:
        raise Http404(_("The file is gone.")) from None
    return FileResponse(
        content,
        as_attachment=True,
        filename=name,
        content_type=kind,
        headers={"Cache-Control": "no-store"},
    )


@admin_view("exports/file/<int:pk>", "export-file")
def download_file(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Downloads a finished export file; with `?manifest`, the JSON description of it."""
    file = existing(ExportFile.objects.filter(pk=pk).first(), _("There is no such file."))
    return _sent(file, manifest="manifest" in request.GET)


def by_address(request: HttpRequest, secret: str) -> HttpResponseBase:
    """Sends the newest file (with `?manifest`, its manifest) of the export that the secret belongs
    to; 304 if the client already has it (`If-None-Match`)."""
    if request.method not in ("GET", "HEAD"):
        return HttpResponse(status=HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "GET, HEAD"})
    export = existing(
        saved_exports.by_secret(secret, datetime.now(UTC)), _("There is no such file.")
    )
    file = existing(saved_exports.newest(export), _("No file has been written yet."))
    tag = f'"{file.sha256}"'
    send = condition(etag_func=lambda *_: tag)(
        lambda _request: _sent(file, manifest="manifest" in request.GET)
    )
    # the decorator has no types
    answer: HttpResponseBase = send(request)  # type: ignore[no-untyped-call]
    return answer
