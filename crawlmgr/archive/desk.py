"""Admin views of the archive: WARC files, and the stored pages of an address (its captures), shown
as plain text."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin import charts, tables, tags, words
from crawlmgr.admin.site import desk_site
from crawlmgr.admin.table_page import table_page
from crawlmgr.admin.tables import Choice, Column, Rows, Table, by, falling
from crawlmgr.admin.tree import address
from crawlmgr.admin.views import admin_view, existing, page
from crawlmgr.archive import archive, warc_files
from crawlmgr.exports import downloads
from crawlmgr.models import Page, WarcFile


def _name(file: WarcFile) -> str:
    return format_html(
        '<a class="mono" href="{}" title="{}">{}</a>',
        address("admin:warc", file.pk),
        file.name,
        file.name,
    )


def _from(file: WarcFile) -> str:
    if file.run is not None:
        return format_html('<a href="{}">{}</a>', address("admin:run", file.run.pk), file.run)
    return (
        format_html('<span class="badge">{}</span>', _("imported"))
        if file.imported
        else tags.NOTHING
    )


def _closed(file: WarcFile) -> str:
    if file.closed:
        return tags.ago(file.closed)
    return format_html('<span class="badge on">{}</span>', _("being written"))


def _take(file: WarcFile) -> str:
    return format_html(
        '<a href="{}">{}</a>', reverse("admin:warc-download", args=[file.pk]), _("Download")
    )


def _states() -> list[tuple[str, str]]:
    return [
        ("", _("All files")),
        ("open", _("being written")),
        ("closed", _("closed")),
        ("imported", _("imported")),
        ("store", _("in the file store")),
    ]


def _in_state(rows: Rows, code: str) -> Rows:
    if code == "store":
        return rows.exclude(object_url="")
    return (
        rows.filter(imported=True)
        if code == "imported"
        else rows.filter(closed__isnull=code == "open")
    )


TABLE = Table(
    "archive",
    (
        Column(
            "file",
            gettext_lazy("File"),
            lambda file: file.name,
            _name,
            by("name"),
            look="title one",
        ),
        Column(
            "size",
            gettext_lazy("Size"),
            lambda file: file.bytes,
            lambda file: tags.size(file.bytes),
            falling("bytes"),
            look="num",
        ),
        Column(
            "records",
            gettext_lazy("Records"),
            lambda file: file.records,
            lambda file: tags.number(file.records),
            falling("records"),
            look="num",
        ),
        Column("run", gettext_lazy("From"), lambda file: str(file.run or ""), _from, look="from"),
        Column(
            "created",
            gettext_lazy("Created"),
            lambda file: file.created,
            lambda file: tags.ago(file.created),
            tables.NEWEST,
            look="nowrap",
        ),
        Column(
            "closed",
            gettext_lazy("Closed"),
            lambda file: file.closed,
            _closed,
            falling("closed", nullable=True),
            look="nowrap",
        ),
        Column(
            "place",
            gettext_lazy("File store address"),
            lambda file: file.object_url,
            look="one",
            usual=False,
        ),
        Column(
            "take",
            gettext_lazy("Download"),
            lambda file: reverse("admin:warc-download", args=[file.pk]),
            _take,
            look="nowrap",
        ),
    ),
    "created",
    tables.words_in("name"),
    (Choice("show", gettext_lazy("State"), _states, _in_state),),
    span="created",
)


SHOWN_CHARACTERS = 200_000


@admin_view("archive/", "archive")
def archive_page(request: HttpRequest) -> HttpResponseBase:
    """Lists all WARC files and, if an address was searched for, its captures."""
    url, problem = request.GET.get("url", "").strip(), ""
    captures: list[Page] = []
    if url:
        try:
            captures = warc_files.captures(url)
        except ValueError:
            problem = words.say("bad_url")

    def context() -> dict[str, Any]:
        return {
            "totals": warc_files.totals(),
            "url": url,
            "captures": captures,
            "problem": problem,
            "downloads": downloads.choices(["pages", "links"]),
            "charts": [by_day(datetime.now(UTC))],
        }

    return table_page(
        request,
        "desk/archive.html",
        TABLE,
        warc_files.files(),
        context,
        title=_("Archive"),
        item="archive",
    )


def by_day(now: datetime) -> charts.Chart:
    """Returns the chart of the bytes stored on each of the last 30 days, by the day when the file
    was created. Dragging over days filters the list of files below the chart."""
    days, sums = warc_files.bytes_by_day(now)
    series = [
        charts.Series(
            _("MB stored"), days, [round(sums.get(day, 0) / 1e6, 3) for day in days], charts.NEW
        )
    ]
    note = _("the last 30 days; drag over days to see their files")
    drawn = charts.chart(
        "chart-archive", _("Stored by day"), series, x=_("day (UTC)"), y=_("MB per day"), note=note
    )
    return replace(drawn, brush=TABLE.name)


@admin_view("archive/files/<int:pk>/", "warc")
def warc_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Lists the captures in one WARC file."""
    file = _file(pk)
    context = {"file": file, "slice": warc_files.in_file(file, request.GET.dict()), "keep": ""}
    trail = [(_("Archive"), reverse("admin:archive"))]
    return page(request, "desk/warc.html", context, title=file.name, item="archive", trail=trail)


def _file(pk: int) -> WarcFile:
    rows = WarcFile.objects.select_related("run").defer("run__parameters", "run__result")
    return existing(rows.filter(pk=pk).first(), _("There is no such file."))


@admin_view("archive/files/<int:pk>/download", "warc-download")
def warc_download(request: HttpRequest, pk: int) -> HttpResponse | FileResponse:
    """Downloads a WARC file."""
    file = _file(pk)
    found = existing(warc_files.open_file(file), _("The file is no longer in the archive folder."))
    name = Path(file.name).name
    return FileResponse(found, as_attachment=True, filename=name, content_type="application/warc")


@admin_view("archive/pages/<int:pk>/", "capture")
def capture_page(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows one capture: status, headers, and the content as text, so that nothing in it is
    executed or loaded."""
    found = existing(warc_files.capture(pk), _("There is no such page."))
    record = archive.read_page(found)
    context: dict[str, Any] = {"capture": found, "record": record, "now": datetime.now(UTC)}
    if record is not None:
        text = record.text if _is_text(found.content_type) else ""
        context.update(
            headers=list(record.headers),
            text=text[:SHOWN_CHARACTERS],
            size=len(record.payload),
            left=max(0, len(text) - SHOWN_CHARACTERS),
            binary=not _is_text(found.content_type),
        )
    context["others"] = warc_files.of_address(found.url_hash, 20)
    trail = [(_("Archive"), reverse("admin:archive"))]
    return page(
        request,
        "desk/capture.html",
        context,
        title=found.title or found.url,
        item="archive",
        trail=trail,
    )


def _is_text(kind: str) -> bool:
    return (
        not kind
        or kind.startswith("text/")
        or any(part in kind for part in ("html", "xml", "json", "javascript"))
    )


desk_site.add_page(40, gettext_lazy("Archive"), "archive", "inventory_2", "archive")
