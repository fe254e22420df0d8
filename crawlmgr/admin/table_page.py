"""Renders a list: as a page, as its rows only, or as a file with what the list shows. Users store
its state (filters, columns and order) as saved views."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import Resolver404, resolve, reverse
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _

from crawlmgr.admin.tables import DELETE, Action, Column, Rows, Table
from crawlmgr.admin.views import back, page, post_view
from crawlmgr.database.paging import ListPage, Order, fetch_page
from crawlmgr.exports import text_formats
from crawlmgr.models import Deletion, ListView
from crawlmgr.upkeep import removals

LONGEST_SEARCH = 200


OF_PAGES = ("after", "before", "last")


OWN = ("sort", "q", "col", "from", "to", *OF_PAGES, "part", "as")


class Head(NamedTuple):
    """A column header: `address` is the link that sorts by the column ("" if that is not possible),
    `arrow` is "ascending" or "descending" if the list is sorted by it, otherwise ""."""

    name: str
    title: str
    look: str
    address: str
    arrow: str


class Asked:
    """The state of a list as read from the query string; invalid parts are ignored. `zone` is the
    time zone of the filter by days."""

    def __init__(self, table: Table, request: HttpRequest, zone: tzinfo) -> None:
        self.table, self.zone = table, zone
        self.by_name = {one.name: one for one in table.columns}
        query = request.GET
        self.sort = query.get("sort", "")
        if self._column(self.sort) is None:
            self.sort = ""
        chosen = [name for name in dict.fromkeys(query.getlist("col")) if name in self.by_name]
        self.chosen = chosen
        self.columns = [self.by_name[name] for name in chosen] or [
            one for one in table.columns if one.usual
        ]
        self.q = (
            query.get("q", "").strip()[:LONGEST_SEARCH].replace("\0", "")
            if table.search is not None
            else ""
        )
        self.options = {one.name: list(one.options()) for one in table.choices}
        known = {
            one.name: {code for code, _text in self.options[one.name] if code}
            for one in table.choices
        }
        self.narrow = {
            name: query.get(name, "")
            for name, codes in known.items()
            if query.get(name, "") in codes
        }
        self.days = {
            name: found
            for name in ("from", "to")
            if table.span and (found := _day(query.get(name, "")))
        }
        self.others = [
            (name, value) for name, value in query.items() if name not in OWN and name not in known
        ]

    def _column(self, sort: str) -> Column | None:
        found = self.by_name.get(sort.removeprefix("-"))
        return found if found is not None and found.by is not None else None

    @property
    def sorted_by(self) -> tuple[Column, Order]:
        """The column by which the list is sorted, and its order."""
        wish = self.sort or (self._by_span() if self.days else "") or self.table.order
        column = self._column(wish)
        if column is None or column.by is None:
            raise ValueError(f"the table {self.table.name} cannot be sorted by {wish}")
        turned = column.by.downwards != wish.startswith("-")
        return column, Order(column.by.fields, turned, column.by.nullable)

    def _by_span(self) -> str:
        """Returns the name of the column that sorts by the same time field as the filter by days,
        so that one database index serves both; "" if there is none."""
        return next(
            (
                one.name
                for one in self.table.columns
                if one.by is not None and one.by.fields[0] == self.table.span
            ),
            "",
        )

    def rows(self, rows: Rows) -> Rows:
        """Applies the filters and the search to the rows, and adds the annotations that the order
        needs."""
        column, _order = self.sorted_by
        for one in self.table.choices:
            if one.name in self.narrow:
                rows = one.narrow(rows, self.narrow[one.name])
        rows = rows.filter(**self._span())
        if self.q and self.table.search is not None:
            rows = self.table.search(rows, self.q)
        return rows.annotate(**column.needs) if column.needs else rows

    def _span(self) -> dict[str, datetime]:
        """Returns the filter for rows from the start of the day "from" to the end of the day "to",
        as keyword arguments; {} if neither is set."""
        first, last = self.days.get("from"), self.days.get("to")
        found = {}
        if first is not None:
            found[f"{self.table.span}__gte"] = datetime.combine(first, time(), self.zone)
        if last is not None and last < date.max:
            found[f"{self.table.span}__lt"] = datetime.combine(
                last + timedelta(days=1), time(), self.zone
            )
        return found

    def query(self, **changes: str) -> str:
        """Returns the query string of this request with some parameters changed; a value of ""
        removes a parameter."""
        changed = [(name, value) for name, value in changes.items() if value]
        return urlencode([*self.pairs(*changes), *changed])

    def pairs(self, *without: str) -> list[tuple[str, str]]:
        """Returns the (name, value) pairs of the query string, except the names in `without`."""
        days = [(name, day.isoformat()) for name, day in self.days.items()]
        columns = (("col", one) for one in self.chosen)
        state: list[tuple[str, Any]] = [
            *self.others,
            *self.narrow.items(),
            *days,
            ("q", self.q),
            ("sort", self.sort),
            *columns,
        ]
        return [(name, value) for name, value in state if value and name not in without]

    def headers(self) -> list[Head]:
        column, order = self.sorted_by
        found = []
        for one in self.columns:
            arrow, address = "", ""
            if one.by is not None:
                now = one is column
                arrow = ("descending" if order.downwards else "ascending") if now else ""
                backwards = now and order.downwards == one.by.downwards
                address = f"?{self.query(sort=('-' if backwards else '') + one.name)}"
            found.append(Head(one.name, str(one.title), one.look, address, arrow))
        return found

    def orders(self) -> list[tuple[str, str, bool]]:
        """Returns every order as (address, label, whether it is the current one), for a menu on
        screens too narrow for column headers."""
        column, now = self.sorted_by
        return [
            (
                f"?{self.query(sort=sign + one.name)}",
                f"{one.title} {'↓' if downwards else '↑'}",
                one is column and downwards == now.downwards,
            )
            for one in self.table.columns
            if one.by is not None
            for sign, downwards in (("", one.by.downwards), ("-", not one.by.downwards))
        ]


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if date(1970, 1, 2) <= date.fromisoformat(text) else None
    except ValueError:
        return None


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
    headers: list[Head]
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
        rows = rows.exclude(pk__in=removals.pending(table.deletes).values("target"))
    form = request.GET.get("as", "")
    if form in text_formats.TEXTS:
        return _file(table, asked, rows, prepare, form)
    shown = _shown(request, table, asked, rows, prepare, key)
    if request.GET.get("part") == "rows":
        return render(request, "desk/table_rows.html", {"table": shown})
    shown.views = list(ListView.objects.filter(user_id=request.user.pk, list=table.name))
    if table.deletes:
        shown.gone = list(removals.pending(table.deletes)[:MAX_GONE])
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
        asked.headers(),
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

    pieces = text_formats.streamed(form, [one.name for one in asked.columns], cells())
    name = f"{table.name}-{datetime.now(UTC):%Y%m%d-%H%M}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return StreamingHttpResponse(
        (piece.encode() for piece in pieces),
        content_type=text_formats.TYPES[form],
        headers=headers,
    )


MAX_VIEWS = (
    50  # maximum number of views of one list that a user can store; further ones are refused
)
LONGEST_QUERY = 2000


def _list_at(text: str) -> str:
    """Returns the path in a submitted address if it belongs to an admin view, otherwise ""."""
    path = text.partition("?")[0]
    try:
        found = resolve(path)
    except Resolver404:
        return ""
    return path if path.startswith("/") and found.namespace == "admin" else ""


@post_view("views/save/", "view-save", "crawlmgr.view_run")
def save(request: HttpRequest) -> HttpResponse:
    """Saves the current filters, columns and order of a list under a name; an existing name is
    overwritten."""
    path, query = _list_at(request.POST.get("at", "")), request.POST.get("query", "")
    name, table = request.POST.get("name", "").strip()[:60], request.POST.get("list", "")[:40]
    if not path or not table or len(query) > LONGEST_QUERY:
        return back(request, "index")
    of_list = ListView.objects.filter(user_id=request.user.pk, list=table)
    if not name:
        messages.error(request, _("Enter a name for the view."))
    elif of_list.exclude(name=name).count() >= MAX_VIEWS:
        messages.error(request, _("There are too many views of this list; remove one first."))
    else:
        ListView.objects.update_or_create(
            user_id=request.user.pk, list=table, name=name, defaults={"query": query}
        )
        messages.success(request, _("The view %(name)s is saved.") % {"name": name})
    return redirect(f"{path}?{query}" if query else path)


@post_view("views/<int:pk>/remove/", "view-remove", "crawlmgr.view_run")
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Deletes one of the user's own saved views."""
    path = _list_at(request.POST.get("at", ""))
    gone, _kinds = ListView.objects.filter(pk=pk, user_id=request.user.pk).delete()
    if gone:
        messages.success(request, _("The view is removed."))
    return redirect(path) if path else back(request, "index")
