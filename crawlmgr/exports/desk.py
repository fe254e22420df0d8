"""Admin views of saved exports: the form for table, filters and format with a preview, and the page
with progress and finished files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db.models import Max
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from crawlmgr.admin import tables, tags, words
from crawlmgr.admin.forms import NamedField
from crawlmgr.admin.site import desk_site
from crawlmgr.admin.table_page import table_page
from crawlmgr.admin.tables import Action, Choice, Column, Table, by
from crawlmgr.admin.tree import address
from crawlmgr.admin.views import admin_view, attempt, back, existing, number, page, post_view
from crawlmgr.exports import exports, file_writers, saved_exports
from crawlmgr.exports.downloads import NAMES
from crawlmgr.models import ACTIVE, Every, Export, ExportFile, Run, RunState
from crawlmgr.runs import desk as runs
from crawlmgr.schedule import desk

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
    tables.words_in("name"),
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

    verbs: dict[str, tables.Verb] = {
        "write": lambda _, one, now: saved_exports.start(one, now=now, user=request.user)
    }
    return tables.carry_out(
        request, TABLE, Export.objects.all(), verbs, reverse("admin:exports"), success_text
    )


MAY_ADD, MAY_CHANGE, MAY_DELETE = (
    "crawlmgr.add_export",
    "crawlmgr.change_export",
    "crawlmgr.delete_export",
)


PREVIEW = 4


LONGEST_CELL = 80


FORMATS = {
    "csv": gettext_lazy("CSV: text for spreadsheets; formulas get an apostrophe"),
    "json": gettext_lazy("JSON: one array"),
    "jsonl": gettext_lazy("JSON lines: one row per line"),
    "xlsx": gettext_lazy("XLSX: a workbook; texts are never turned into formulas"),
    "parquet": gettext_lazy("Parquet: typed columns, for analysis"),
    "sqlite": gettext_lazy("SQLite: a database with one table"),
    "warc": gettext_lazy("WARC: the pages of a run as they were fetched"),
}


SITES: dict[str, Callable[[], Sequence[tuple[int, str]]]] = {}


"""Functions that return the (id, name) pairs of the sites to which an export can be restricted, by
table; the crawlers add theirs."""


MAX_RUNS, LOOKED_AT = 200, 1_000


def _runs() -> list[tuple[int, str]]:
    """Returns (id, name) of the newest runs that fetch pages, at most MAX_RUNS. Only the LOOKED_AT
    newest runs are searched, because a condition on the kind would make the database sort all runs.
    """
    rows = Run.objects.order_by("-pk").values_list("pk", "label", "kind")[:LOOKED_AT]
    named = [
        (pk, f"{label} ({words.kind(kind)})")
        for pk, label, kind in rows
        if kind in settings.CRAWLERS
    ]
    return named[:MAX_RUNS]


def _offered(fmt: str) -> str:
    """Returns the name of a format as it is offered in the form, with what has to be installed
    before it can be written."""
    extra = file_writers.lacking(fmt)
    return f"{FORMATS[fmt]} ({words.to_install(extra)})" if extra else str(FORMATS[fmt])


class ExportForm(forms.Form):
    """Form for a saved export of one table; `header` are the names of the table's columns."""

    name = forms.CharField(max_length=100, label=gettext_lazy("Name"))
    columns = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label=gettext_lazy("Columns"),
        help_text=gettext_lazy("None selected: all."),
    )
    site = NamedField(
        required=False,
        max_length=300,
        label=gettext_lazy("Only this site"),
        help_text=gettext_lazy("Type a part of its name."),
    )
    run = NamedField(
        required=False,
        max_length=300,
        label=gettext_lazy("Only this run"),
        help_text=gettext_lazy("Type a part of its name, or its number."),
    )
    since = forms.DateField(
        required=False,
        label=gettext_lazy("Since"),
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    days = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=saved_exports.MAX_DAYS,
        label=gettext_lazy("Only the last (days)"),
        help_text=gettext_lazy("Number of days before the time of each export."),
    )
    format = forms.ChoiceField(choices=[], label=gettext_lazy("Format"))
    bom = forms.BooleanField(
        required=False,
        label=gettext_lazy("CSV with a byte order mark"),
        help_text=gettext_lazy("Excel needs it to show Chinese text."),
    )
    every_hours = forms.TypedChoiceField(
        choices=Every.choices, coerce=int, label=gettext_lazy("Frequency")
    )
    keep = forms.IntegerField(
        min_value=1, max_value=saved_exports.MAX_KEPT, initial=5, label=gettext_lazy("Files kept")
    )

    def __init__(self, table: str, header: Sequence[str], *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.table = table
        # declared as a field with choices
        self.fields["columns"].choices = [  # type: ignore[attr-defined]
            (name, name) for name in header
        ]
        formats = saved_exports.FORMATS if table == "pages" else exports.FORMATS
        # declared as a field with choices
        self.fields["format"].choices = [  # type: ignore[attr-defined]
            (name, _offered(name)) for name in formats
        ]
        offer = SITES.get(table)
        # declared as a NamedField
        self.fields["site"].offer(  # type: ignore[attr-defined]
            offer() if offer is not None else ()
        )
        self.fields["run"].offer(_runs())  # type: ignore[attr-defined]  # declared as a NamedField
        for name, field in self.fields.items():
            if name not in ("columns", "bom"):
                field.widget.attrs["class"] = "field"

    def definition(self, now: datetime, user: Any) -> Export:
        """Returns an Export with the form's values, not saved yet."""
        chosen = dict(self.cleaned_data)
        day = chosen.pop("since")
        since = datetime.combine(day, time(), UTC) if day else None
        return Export(table=self.table, since=since, created=now, created_by=user, **chosen)

    def clean(self) -> dict[str, Any]:
        found = super().clean() or self.cleaned_data
        if not self.errors:
            try:
                saved_exports.check(self.definition(datetime.now(UTC), None))
            except ValueError as error:
                raise forms.ValidationError(str(error)) from None
        return found


@admin_view("exports/", "exports")
def export_list(request: HttpRequest) -> HttpResponseBase:
    """Lists all saved exports, each with its newest file."""
    rows = Export.objects.select_related("created_by")
    return table_page(
        request,
        "desk/exports.html",
        TABLE,
        rows,
        {},
        prepare=lines,
        title=_("Exports"),
        item="exports",
    )


@admin_view("exports/new/", "export-new", MAY_ADD, post=MAY_ADD)
def new(request: HttpRequest) -> HttpResponse:
    """Shows the form for a new export with a preview of its first rows; a POST with `keep-it` saves
    the export and starts writing its first file."""
    now = datetime.now(UTC)
    known = exports.tables()
    table = str(request.GET.get("table") or "posts")
    if table not in known:
        raise Http404(_("There is no such export."))
    header = known[table].header(exports.EVERYTHING)
    first = {"name": _(NAMES[table]), "format": "csv", "every_hours": 0, "keep": 5}
    first |= {
        name: request.GET[name]
        for name in ("site", "run")
        if number(request.GET.get(name, ""), 2**63 - 1) is not None
    }
    form = ExportForm(table, header, request.POST or None, initial=first)
    chosen, shape = exports.EVERYTHING, exports.AS_IT_IS
    if request.method == "POST" and form.is_valid():
        export = form.definition(now, request.user)
        if "keep-it" in request.POST:
            saved_exports.begin(export, now=now, user=request.user)
            messages.success(request, _("Saved. A worker is writing the file now."))
            return redirect("admin:export-page", export.pk)
        chosen, shape = saved_exports.chosen(export, now), exports.Shape(export.columns)
    if not form.is_bound:
        chosen = exports.Filter(
            number(str(first.get("site", "")), 2**63 - 1),
            number(str(first.get("run", "")), 2**63 - 1),
        )
    columns, rows = exports.preview(table, chosen=chosen, shape=shape, limit=PREVIEW)
    context = {
        "form": form,
        "numbers": range(1, len(rows) + 1),
        "fields": [
            (name, [_short(row[place]) for row in rows]) for place, name in enumerate(columns)
        ],
        "tabs": [(_(NAMES[name]), f"?table={name}", name == table) for name in known],
    }
    trail = [(_("Exports"), reverse("admin:exports"))]
    status = 422 if form.is_bound and form.errors else 200
    return page(
        request,
        "desk/export_new.html",
        context,
        title=_("New export"),
        item="exports",
        trail=trail,
        status=status,
    )


def _short(cell: Any) -> str:
    text = "" if cell is None else cell.isoformat() if isinstance(cell, datetime) else str(cell)
    return text if len(text) <= LONGEST_CELL else text[:LONGEST_CELL] + "…"


def _find(pk: int) -> Export:
    rows = Export.objects.select_related("created_by")
    return existing(rows.filter(pk=pk).first(), _("There is no such export."))


def _name_of(rows: Sequence[tuple[int, str]], pk: int | None) -> str:
    """Returns the name of the object with this id; "#" and the id if it was deleted; "" if no
    object was chosen."""
    return "" if pk is None else dict(rows).get(pk, f"#{pk}")


def _show(request: HttpRequest, export: Export, secret: str = "") -> HttpResponse:
    run = Run.objects.filter(kind=saved_exports.KIND, target=export.pk).order_by("-pk").first()
    done = run.result if run is not None else {}
    share = round(100 * done["read"] / done["things"]) if done.get("things") else 0
    context = {
        "export": export,
        "what": _(NAMES[export.table]),
        "how": FORMATS[export.format],
        "run": run,
        "active": run is not None and run.state in ACTIVE,
        "failed": run is not None and run.state == RunState.FAILED,
        "done": done,
        "percent": min(100, share),
        "files": list(export.files.all()[: saved_exports.MAX_KEPT]),
        "choices": Every.choices,
        "site": _name_of(SITES[export.table]() if export.table in SITES else (), export.site),
        "of_run": _name_of(
            list(Run.objects.filter(pk=export.run).values_list("pk", "label")), export.run
        ),
        "address": (
            request.build_absolute_uri(reverse("export-address", args=[secret])) if secret else ""
        ),
    }
    trail = [(_("Exports"), reverse("admin:exports"))]
    answer = page(
        request,
        "desk/export.html",
        context,
        title=export.name,
        item="exports",
        trail=trail,
        live="desk/export_live.html",
    )
    answer.headers["Cache-Control"] = "no-store"
    return answer


@admin_view("exports/<int:pk>/", "export-page")
def one(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows one export: its definition, progress and files."""
    return _show(request, _find(pk))


@post_view("exports/<int:pk>/write/", "export-write", MAY_CHANGE)
def write(request: HttpRequest, pk: int) -> HttpResponse:
    """Starts writing a file of an export now."""
    export = _find(pk)
    attempt(
        request,
        _("A worker is writing the file now."),
        lambda: saved_exports.start(export, now=datetime.now(UTC), user=request.user),
    )
    return back(request, "export-page", pk)


@post_view("exports/<int:pk>/plan/", "export-plan", MAY_CHANGE)
def plan(request: HttpRequest, pk: int) -> HttpResponse:
    """Sets how often an export is written and how many of its files are kept."""
    export = _find(pk)
    every, keep = number(request.POST.get("every_hours", "")), number(request.POST.get("keep", ""))
    now = datetime.now(UTC)
    attempt(
        request,
        _("Saved."),
        lambda: saved_exports.plan(
            export, every_hours=-1 if every is None else every, keep=keep or 0, now=now
        ),
    )
    return back(request, "export-page", pk)


@post_view("exports/<int:pk>/address/", "export-open", MAY_CHANGE)
def open_address(request: HttpRequest, pk: int) -> HttpResponse:
    """Makes a new secret download address that works without login. The secret is shown in this
    response only."""
    export = _find(pk)
    secret = saved_exports.open_address(export, datetime.now(UTC))
    return _show(request, _find(pk), secret)


@post_view("exports/<int:pk>/address/remove/", "export-close", MAY_CHANGE)
def close_address(request: HttpRequest, pk: int) -> HttpResponse:
    """Revokes the secret download address of an export."""
    saved_exports.close_address(_find(pk), datetime.now(UTC))
    return back(request, "export-page", pk, done=_("The address no longer works."))


@post_view("exports/<int:pk>/delete/", "export-delete", MAY_DELETE)
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Deletes an export with its files."""
    export = _find(pk)
    done = _("%(name)s is deleted.") % {"name": export.name}
    if attempt(request, done, lambda: saved_exports.remove(export, datetime.now(UTC))):
        return back(request, "exports")
    return back(request, "export-page", pk)


def _timed(pk: int) -> tuple[str, str, str] | None:
    name = Export.objects.filter(pk=pk).values_list("name", flat=True).first()
    return (name, reverse("admin:export-page", args=[pk]), "exports") if name is not None else None


desk_site.add_page(62, gettext_lazy("Exports"), "exports", "download", "exports")


desk.TIMED[saved_exports.KIND] = desk.Timed(
    gettext_lazy("Export"),
    "admin:export-page",
    "crawlmgr.view_run",
    ("admin:export-write", MAY_CHANGE),
    _timed,
    MAY_CHANGE,
)


def _run_detail(request: HttpRequest, run: Run, now: datetime) -> dict[str, Any]:
    """Returns the link from the page of a run to the export whose file it writes; {} if the export
    was deleted."""
    if not Export.objects.filter(pk=run.target).exists():
        return {}
    return {
        "link": reverse("admin:export-page", args=[run.target]),
        "link_text": _("To the export"),
    }


runs.details[saved_exports.KIND] = _run_detail
