"""API operations on saved exports; the web interface shows the same exports."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.http import FileResponse, HttpRequest
from django.urls import reverse
from django.utils.translation import gettext_noop
from ninja import Router, Schema
from ninja.errors import HttpError
from pydantic import AwareDatetime

from crawlmgr.api.base import api, changes, page_of
from crawlmgr.api.shared import Key, Limit, Page, run_document
from crawlmgr.models import Every, Export
from crawlmgr.services import saved_exports

router = Router(tags=["exports"])


class NewExport(Schema):
    """A new export. `days` limits it to rows of that many days before the file is written;
    `every_hours` is the interval at which files are written (0: only on request), `keep` the number
    of files kept."""

    name: str
    table: str
    format: str = "csv"
    columns: list[str] = []
    site: int | None = None
    run: int | None = None
    since: AwareDatetime | None = None
    days: int | None = None
    bom: bool = False
    every_hours: int = Every.NEVER
    keep: int = 5


class PlanOfExport(Schema):
    """How often an export is written, in hours, and how many files are kept; what is None stays as
    it is."""

    every_hours: int | None = None
    keep: int | None = None


def _now() -> datetime:
    return datetime.now(UTC)


@router.get("", response=Page, summary=gettext_noop("Saved exports, oldest first"))
def kept_list(request: HttpRequest, after: Key = 0, limit: Limit = 100) -> dict[str, Any]:
    rows = list(Export.objects.filter(pk__gt=after).order_by("pk")[:limit])
    return page_of([saved_exports.document(row) for row in rows], limit, [row.pk for row in rows])


@router.post("", auth=changes, summary=gettext_noop("Save an export and write its first file"))
def kept_add(request: HttpRequest, wanted: NewExport) -> dict[str, Any]:
    made = saved_exports.begin(Export(**wanted.dict(), created=_now()), now=_now())
    return saved_exports.document(made)


@router.get("/{int:export}", summary=gettext_noop("One export with its files"))
def kept_page(request: HttpRequest, export: int) -> dict[str, Any]:
    return saved_exports.document(Export.objects.get(pk=export))


@router.patch(
    "/{int:export}",
    auth=changes,
    summary=gettext_noop("Change how often an export is written and how many files are kept"),
)
def kept_plan(request: HttpRequest, export: int, plan: PlanOfExport) -> dict[str, Any]:
    found = Export.objects.get(pk=export)
    every = found.every_hours if plan.every_hours is None else plan.every_hours
    saved_exports.plan(
        found, every_hours=every, keep=found.keep if plan.keep is None else plan.keep, now=_now()
    )
    return saved_exports.document(found)


@router.post(
    "/{int:export}/write",
    auth=changes,
    summary=gettext_noop("Write an export now"),
    description=gettext_noop(
        "The response is the run that writes the file; its `result` shows the progress."
    ),
)
def kept_write(request: HttpRequest, export: int) -> dict[str, Any]:
    return run_document(saved_exports.start(Export.objects.get(pk=export), now=_now()).pk)


@router.get(
    "/{int:export}/file",
    summary=gettext_noop("The newest file of an export"),
    description=gettext_noop(
        "With `manifest`, a description of the file instead (filter, columns, rows, SHA-256)."
    ),
)
def kept_file(request: HttpRequest, export: int, manifest: bool = False) -> FileResponse:
    file = saved_exports.newest(Export.objects.get(pk=export))
    if file is None:
        raise HttpError(404, "No file has been written yet.")
    try:
        content, name, kind = saved_exports.opened(file, manifest=manifest)
    except OSError:
        raise HttpError(404, "The file is gone.") from None
    return FileResponse(
        content,
        as_attachment=True,
        filename=name,
        content_type=kind,
        headers={"Cache-Control": "no-store"},
    )


@router.post(
    "/{int:export}/address",
    auth=changes,
    summary=gettext_noop("Create an address that needs no token"),
    description=gettext_noop(
        "The address always returns the newest file. It is shown only in this response; an earlier"
        " address stops working."
    ),
)
def kept_open(request: HttpRequest, export: int) -> dict[str, Any]:
    secret = saved_exports.open_address(Export.objects.get(pk=export), _now())
    return {"address": request.build_absolute_uri(reverse("export-address", args=[secret]))}


@router.delete(
    "/{int:export}/address", auth=changes, summary=gettext_noop("Withdraw the address of an export")
)
def kept_close(request: HttpRequest, export: int) -> dict[str, Any]:
    found = Export.objects.get(pk=export)
    saved_exports.close_address(found, _now())
    found.refresh_from_db()
    return saved_exports.document(found)


@router.delete(
    "/{int:export}", auth=changes, summary=gettext_noop("Remove an export with its files")
)
def kept_remove(request: HttpRequest, export: int) -> dict[str, Any]:
    found = Export.objects.get(pk=export)
    saved_exports.remove(found, _now())
    return {"removed": export}


api.add_router("/exports", router)
