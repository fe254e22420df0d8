"""Renders a list: as a page, as its rows only, or as a file with what the list shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _

from crawlmgr.admin.table_query import OF_PAGES, Asked, Head
from crawlmgr.admin.tables import DELETE, Action, Rows, Table
from crawlmgr.admin.views import page
from crawlmgr.models import Deletion, ListView
from crawlmgr.reads.paging import ListPage, fetch_page
from crawlmgr.services import deletions, export_formats

SIZE = 30
AT_A_TIME = 500  # number of rows read per query when a file is written
MAX_COUNTED = 10_000
# lower limit for searches, above which "more than 1,000" is shown: counting the rows found reads
# each of them
MAX_COUNTED_BY_SEARCH = 1_000
MAX_GONE = 20  # above a list, at most this many of the deletions that can still be undone are shown


class Line(NamedTuple):
    """A rendered row: its id, and the HTML of its cells."""

    pk: Any
    cells: str


@dataclass(slots=True)
class Shown:
    """The template's data for a list view: headers, rows, filters, columns, actions, and query
    strings of its links."""

    name: str
    heads: list[Head]
    orders: list[tuple[str, str, bool]]
    lines: list[Line]
    slice: ListPage
    keep: str
    query: str
    q: str
    search: bool
    choices: list[dict[str, Any]]
    columns: list[tuple[str, str, bool]]
    days: dict[str, str]
    narrowed: bool
    files: list[tuple[str, str]]
    actions: list[Action]
    action_url: str
    fields: str
    live: str
    path: str
    kept_by_search: list[tuple[str, str]]
    kept_by_columns: list[tuple[str, str]]
    bare: str
    usual: str
    count: str = ""
    gone: Sequence[Deletion] = ()
    may_undo: bool = False
    views: Sequence[ListView] = ()


Prepared = Callable[[list[Any]], Sequence[Any]]
"""Function that turns the rows read into what the columns show, in the same order; its number of
queries must not grow with the rows."""


def table_page(
    request: HttpRequest,
    template: str,
    table: Table,
    rows: Rows,
    context: dict[str, Any] | Callable[[], dict[str, Any]],
    *,
    prepare: Prepared = list,
    key: Callable[[Any], Any] = lambda row: row.pk,
    zone: tzinfo = UTC,
    **frame: Any,
) -> HttpResponseBase:
    """Renders a page with a list; for `?part=rows` only the list, for `?as=csv` or `?as=json` a
    file.

    `prepare` turns rows of the query into what the columns show; `key` returns what is submitted
    for a selected row. An expensive `context` is passed as a function, which only the full page
    calls. `zone` is the time zone of the filter by days, `frame` are further arguments of
    `views.page`."""
    asked = Asked(table, request, zone)
    if table.deletes:
        rows = rows.exclude(pk__in=deletions.pending(table.deletes).values("target"))
    form = request.GET.get("as", "")
    if form in export_formats.TEXTS:
        return _file(table, asked, rows, prepare, form)
    shown = _shown(request, table, asked, rows, prepare, key)
    if request.GET.get("part") == "rows":
        return render(request, "desk/table_rows.html", {"table": shown})
    shown.views = list(ListView.objects.filter(user_id=request.user.pk, list=table.name))
    if table.deletes:
        shown.gone = list(deletions.pending(table.deletes)[:MAX_GONE])
        shown.may_undo = any(one.do == DELETE for one in shown.actions)
    shown.count = _counted(shown.slice, asked, rows)
    found = context() if callable(context) else context
    return page(request, template, {"table": shown, **found}, **frame)


def _shown(
    request: HttpRequest,
    table: Table,
    asked: Asked,
    rows: Rows,
    prepare: Prepared,
    key: Callable[[Any], Any],
) -> Shown:
    _column, order = asked.sorted_by
    most = MAX_COUNTED_BY_SEARCH if asked.q else 0
    part = fetch_page(asked.rows(rows), order, size=SIZE, query=request.GET.dict(), count_to=most)
    query = asked.query()
    keep = f"{query}&" if query else ""
    starts = [
        (one.html, format_html('<td class="{}" data-title="{}">', one.look, one.title))
        for one in asked.columns
    ]
    lines = [
        Line(
            key(row),
            format_html_join("", "{}{}</td>", ((start, html(row)) for html, start in starts)),
        )
        for row in prepare(part.rows)
    ]
    on = {one.name for one in asked.columns}
    order_of = [*asked.columns, *(one for one in table.columns if one.name not in on)]
    return Shown(
        table.name,
        asked.heads(),
        asked.orders(),
        lines,
        part,
        keep,
        query,
        asked.q,
        table.search is not None,
        [
            {
                "name": one.name,
                "title": one.title,
                "options": asked.options[one.name],
                "value": asked.narrow.get(one.name, ""),
            }
            for one in table.choices
        ],
        [(one.name, str(one.title), one.name in on) for one in order_of],
        {name: str(asked.days.get(name, "")) for name in ("from", "to")} if table.span else {},
        bool(asked.narrow or asked.q or asked.days),
        [(form.upper(), f"?{keep}as={form}") for form in ("csv", "json")],
        [one for one in table.actions if request.user.has_perm(one.permission)],
        reverse(f"admin:{table.action_view}") if table.action_view else "",
        table.fields,
        (
            ""
            if not table.live or any(name in request.GET for name in OF_PAGES)
            else f"{request.path}?{keep}part=rows"
        ),
        request.path,
        asked.pairs("q", "from", "to", *asked.options),
        asked.pairs("col"),
        asked.query(**dict.fromkeys(("q", "from", "to", *asked.options), "")),
        asked.query(col=""),
    )


def _counted(shown: ListPage, asked: Asked, rows: Rows) -> str:
    """Returns the number of rows as text; "more than N" if it exceeds N, which is
    MAX_COUNTED_BY_SEARCH for a search and MAX_COUNTED otherwise."""
    most = MAX_COUNTED_BY_SEARCH if asked.q else MAX_COUNTED
    found = asked.rows(rows).order_by()[: most + 1].count() if shown.count is None else shown.count
    return _("more than %(number)s") % {"number": f"{most:,}"} if found > most else f"{found:,}"


def _file(
    table: Table, asked: Asked, rows: Rows, prepare: Prepared, form: str
) -> StreamingHttpResponse:
    """Returns a download of all matching rows in the file format `form` (such as "csv"), with the
    order and columns of the list. Rows are read in batches by key, so that no database cursor stays
    open."""
    _column, order = asked.sorted_by

    def cells() -> Iterator[Sequence[Any]]:
        at = ""
        while True:
            part = fetch_page(asked.rows(rows), order, size=AT_A_TIME, query={"after": at})
            yield from ([one.value(row) for one in asked.columns] for row in prepare(part.rows))
            at = part.older
            if not at:
                return

    pieces = export_formats.streamed(form, [one.name for one in asked.columns], cells())
    name = f"{table.name}-{datetime.now(UTC):%Y%m%d-%H%M}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return StreamingHttpResponse(
        (piece.encode() for piece in pieces),
        content_type=export_formats.TYPES[form],
        headers=headers,
    )
