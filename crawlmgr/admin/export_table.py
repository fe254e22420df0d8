"""Columns, filters and actions of the list of saved exports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from crawlmgr.admin import narrowing, table_actions, tables, tags
from crawlmgr.admin.exports import NAMES
from crawlmgr.admin.tables import Action, Choice, Column, Table, by
from crawlmgr.admin.tree import address
from crawlmgr.admin.views import post_view
from crawlmgr.models import Export, ExportFile, Run
from crawlmgr.services import saved_exports

MAX_TICKED = 500


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the list: an export with its newest file (None if there is none) and the run that
    is writing a file now (None if there is none)."""

    export: Export
    file: ExportFile | None
    run: Run | None

    @property
    def pk(self) -> int:
        return int(self.export.pk)


def lines(rows: Sequence[Export]) -> list[Line]:
    """Makes the rows of the list from exports, in three queries, whatever their number."""
    newest = (
        ExportFile.objects.filter(export__in=[row.pk for row in rows])
        .values("export")
        .annotate(newest=Max("pk"))
    )
    files = {
        file.export_id: file for file in ExportFile.objects.filter(pk__in=newest.values("newest"))
    }
    active = {run.target: run for run in Run.objects.at_work() if run.kind == saved_exports.KIND}
    return [Line(row, files.get(row.pk), active.get(row.pk)) for row in rows]


def _name(line: Line) -> str:
    return format_html(
        '<a href="{}">{}</a>', address("admin:export-page", line.pk), line.export.name
    )


def _next(line: Line) -> str:
    return tags.state(line.run) if line.run is not None else tags.ago(line.export.next_at)


def _file(line: Line) -> str:
    if line.file is None:
        return tags.NOTHING
    link = '<a class="link" href="{}" download>{}</a>'
    return format_html(
        link, address("admin:export-file", line.file.pk), tags.ago(line.file.written)
    )


def _opened(line: Line) -> str:
    return (
        format_html('<span class="badge on">{}</span>', _("has a download address"))
        if line.export.digest
        else tags.NOTHING
    )


def _of_file(name: str) -> Any:
    return lambda line: getattr(line.file, name) if line.file is not None else None


def _kinds() -> list[tuple[str, str]]:
    return [("", _("All tables")), *((name, _(text)) for name, text in NAMES.items())]


TABLE = Table(
    "exports",
    (
        Column(
            "name",
            gettext_lazy("Name"),
            lambda line: line.export.name,
            _name,
            by("name"),
            look="title one",
        ),
        Column(
            "what", gettext_lazy("What"), lambda line: _(NAMES[line.export.table]), look="nowrap"
        ),
        Column(
            "format", gettext_lazy("Format"), lambda line: line.export.format.upper(), look="nowrap"
        ),
        Column(
            "often",
            gettext_lazy("Frequency"),
            lambda line: line.export.get_every_hours_display(),
            by=by("every_hours"),
            look="nowrap",
        ),
        Column(
            "next",
            gettext_lazy("Next"),
            lambda line: line.export.next_at,
            _next,
            by("next_at", nullable=True),
            look="nowrap",
        ),
        Column(
            "file",
            gettext_lazy("Newest file"),
            lambda line: line.file.written if line.file else None,
            _file,
            look="nowrap",
        ),
        Column(
            "rows",
            gettext_lazy("Rows"),
            _of_file("rows"),
            lambda line: tags.number(_of_file("rows")(line)),
            look="num",
        ),
        Column(
            "size",
            gettext_lazy("Size"),
            _of_file("bytes"),
            lambda line: tags.size(_of_file("bytes")(line)),
            look="num",
        ),
        Column(
            "address",
            gettext_lazy("Address"),
            lambda line: bool(line.export.digest),
            _opened,
            look="nowrap",
        ),
        Column(
            "created",
            gettext_lazy("Created"),
            lambda line: line.export.created,
            lambda line: tags.ago(line.export.created),
            tables.NEWEST,
            look="nowrap",
            usual=False,
        ),
    ),
    "created",
    narrowing.words_in("name"),
    (Choice("table", gettext_lazy("Table"), _kinds, lambda rows, code: rows.filter(table=code)),),
    (
        Action("write", gettext_lazy("Export now"), "edit_document", "crawlmgr.change_export"),
        Action(tables.DELETE, gettext_lazy("Delete"), "delete", "crawlmgr.delete_export"),
    ),
    "exports-do",
    deletes="export",
)


@post_view("exports/do/", "exports-do", "crawlmgr.change_export")
def do(request: HttpRequest) -> HttpResponse:
    """Applies an action to the selected exports: write now, delete, or undo the deletion."""

    def success_text(count: int) -> str:
        return ngettext("Applied to %(count)s export.", "Applied to %(count)s exports.", count)

    verbs: dict[str, table_actions.Verb] = {
        "write": lambda _, one, now: saved_exports.start(one, now=now, user=request.user)
    }
    return table_actions.carry_out(
        request, TABLE, Export.objects.all(), verbs, reverse("admin:exports"), success_text
    )
