"""Downloads of finished export files: in the web interface for users with the permission, and at a
secret address for programs."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.utils.translation import gettext as _
from django.views.decorators.http import condition

from crawlmgr.admin.views import admin_view
from crawlmgr.models import ExportFile
from crawlmgr.services import saved_exports


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
def download(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Downloads a finished export file; with `?manifest`, the JSON description of it."""
    file = ExportFile.objects.filter(pk=pk).first()
    if file is None:
        raise Http404(_("There is no such file."))
    return _sent(file, manifest="manifest" in request.GET)


def by_address(request: HttpRequest, secret: str) -> HttpResponseBase:
    """Sends the newest file (with `?manifest`, its manifest) of the export that the secret belongs
    to; 304 if the client already has it (`If-None-Match`)."""
    if request.method not in ("GET", "HEAD"):
        return HttpResponse(status=HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "GET, HEAD"})
    export = saved_exports.by_secret(secret, datetime.now(UTC))
    if export is None:
        raise Http404(_("There is no such file."))
    file = saved_exports.newest(export)
    if file is None:
        raise Http404(_("No file has been written yet."))
    tag = f'"{file.sha256}"'
    send = condition(etag_func=lambda *_: tag)(
        lambda _request: _sent(file, manifest="manifest" in request.GET)
    )
    # the decorator has no types
    answer: HttpResponseBase = send(request)  # type: ignore[no-untyped-call]
    return answer
