"""The component behind all lists: sorting, search, filters, choice and order of columns, paging by key, actions on selected rows,
and download of the list as shown. This state is in the query string; it can be saved as a named view.

An admin view declares a `Table`, restricts the rows to those the user may see and passes both to `table_page`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from crawlmgr.admin.rooms import numbers, page
from crawlmgr.models import Deletion, ListView
from crawlmgr.reads.paging import BY_ID, Order, Slice, cut
from crawlmgr.services import deletions, export_formats

SIZE = 30
AT_A_TIME = 500  # rows read per query when writing a file
MOST_COUNTED = 10_000
MOST_COUNTED_BY_SEARCH = 1_000  # lower, because a search reads every row
LONGEST_SEARCH = 200
MOST_DELETED = 500
MOST_GONE = 20  # deleted items named above a list, at most
DELETE, UNDO = "delete", "undo"  # values of the parameter `do`
OF_PAGES = ("after", "before", "last")
OWN = ("sort", "q", "col", "from", "to", *OF_PAGES, "part", "as")
Rows = QuerySet[Any]


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `value` is its plain value for files: a number, a time, a boolean, text or None; `show` its HTML, if that is
    more than the escaped value. `by` is how the list is sorted by it, in the direction of the first click; `needs` are
    annotations for that. `look` is its style: "num", "nowrap", "title one". Columns that are not `usual` are hidden until
    chosen."""

    name: str
    title: Any
    value: Callable[[Any], Any]
    show: Callable[[Any], str] | None = None
    by: Order | None = None
    needs: Mapping[str, Any] | None = None
    look: str = ""
    usual: bool = True

    def html(self, row: Any) -> str:
        if self.show is not None:
            return self.show(row)
        value = self.value(row)
        return "–" if value is None or value == "" else conditional_escape(value)


@dataclass(frozen=True, slots=True)
class Choice:
    """A filter with a list of options (code and text, "" for all); `narrow` filters the rows by the chosen code."""

    name: str
    title: Any
    options: Callable[[], Sequence[tuple[str, Any]]]
    narrow: Callable[[Rows, str], Rows]


@dataclass(frozen=True, slots=True)
class Action:
    """An action on selected rows: the value of `do`, label, icon, permission; `ask` is the confirmation question."""

    do: str
    text: Any
    icon: str
    permission: str
    ask: Any = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Definition of a list. `order` names the column of the default order, with "-" for the reverse of that column's own
    direction. `room` is the address that selected rows are posted to with `do` and `row`; `fields` is a template with
    further form fields. A table that is not `live` does not refresh itself. `deletes` names the kind of object that its
    delete action hides first and that can be restored. `span` is the time field for filtering by days."""

    name: str
    columns: Sequence[Column]
    order: str
    search: Callable[[Rows, str], Rows] | None = None
    choices: Sequence[Choice] = ()
    actions: Sequence[Action] = ()
    room: str = ""
    fields: str = ""
    live: bool = True
    deletes: str = ""
    span: str = ""


class Head(NamedTuple):
    """A column header: `address` sorts by the column, `arrow` is "ascending", "descending" or ""."""

    name: str
    title: str
    look: str
    address: str
    arrow: str


class Line(NamedTuple):
    """A row as rendered: its key, and the HTML of its cells."""

    pk: Any
    cells: str


@dataclass(slots=True)
class Shown:
    """A table as the templates receive it."""

    name: str
    heads: list[Head]
    orders: list[tuple[str, str, bool]]
    lines: list[Line]
    slice: Slice
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
    room: str
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


class _Asked:
    """The state of a table as read from the query string; invalid parts are ignored. Days are those of a time zone."""

    def __init__(self, table: Table, request: HttpRequest, zone: tzinfo) -> None:
        self.table, self.zone = table, zone
        self.by_name = {one.name: one for one in table.columns}
        query = request.GET
        self.sort = query.get("sort", "")
        if self._column(self.sort) is None:
            self.sort = ""
        chosen = [name for name in dict.fromkeys(query.getlist("col")) if name in self.by_name]
        self.chosen = chosen
        self.columns = [self.by_name[name] for name in chosen] or [one for one in table.columns if one.usual]
        self.q = query.get("q", "").strip()[:LONGEST_SEARCH].replace("\0", "") if table.search is not None else ""
        self.options = {one.name: list(one.options()) for one in table.choices}
        known = {one.name: {code for code, _text in self.options[one.name] if code} for one in table.choices}
        self.narrow = {name: query.get(name, "") for name, codes in known.items() if query.get(name, "") in codes}
        self.days = {name: found for name in ("from", "to") if table.span and (found := _day(query.get(name, "")))}
        self.others = [(name, value) for name, value in query.items() if name not in OWN and name not in known]

    def _column(self, sort: str) -> Column | None:
        found = self.by_name.get(sort.removeprefix("-"))
        return found if found is not None and found.by is not None else None

    @property
    def sorted_by(self) -> tuple[Column, Order]:
        """The column that the list is sorted by, and the order."""
        wish = self.sort or self.table.order
        column = self._column(wish)
        if column is None or column.by is None:
            raise ValueError(f"the table {self.table.name} cannot be sorted by {wish}")
        turned = column.by.downwards != wish.startswith("-")
        return column, Order(column.by.fields, turned, column.by.nullable)

    def rows(self, rows: Rows) -> Rows:
        """The rows that pass the filters, annotated for the order."""
        column, _order = self.sorted_by
        for one in self.table.choices:
            if one.name in self.narrow:
                rows = one.narrow(rows, self.narrow[one.name])
        rows = rows.filter(**self._span())
        if self.q and self.table.search is not None:
            rows = self.table.search(rows, self.q)
        return rows.annotate(**column.needs) if column.needs else rows

    def _span(self) -> dict[str, datetime]:
        """Filter from the start of the first day to the end of the last day."""
        first, last = self.days.get("from"), self.days.get("to")
        found = {}
        if first is not None:
            found[f"{self.table.span}__gte"] = datetime.combine(first, time(), self.zone)
        if last is not None and last < date.max:
            found[f"{self.table.span}__lt"] = datetime.combine(last + timedelta(days=1), time(), self.zone)
        return found

    def query(self, **changes: str) -> str:
        """The query string of the same state with `changes`; a value of "" removes a parameter."""
        changed = [(name, value) for name, value in changes.items() if value]
        return urlencode([*self.pairs(*changes), *changed])

    def pairs(self, *without: str) -> list[tuple[str, str]]:
        """Names and values of the state, except the names in `without`."""
        days = [(name, day.isoformat()) for name, day in self.days.items()]
        columns = (("col", one) for one in self.chosen)
        state = [*self.others, *self.narrow.items(), *days, ("q", self.q), ("sort", self.sort), *columns]
        return [(name, value) for name, value in state if value and name not in without]

    def heads(self) -> list[Head]:
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
        """Every order as (address, label, is current), for a menu on screens too narrow for column headers."""
        column, now = self.sorted_by
        return [
            (
                f"?{self.query(sort=sign + one.name)}",
                f"{one.title} {'↓' if downwards else '↑'}",
                one is column and downwards == now.downwards,
            )
            for one in self.table.columns if one.by is not None
            for sign, downwards in (("", one.by.downwards), ("-", not one.by.downwards))
        ]


Prepared = Callable[[list[Any]], Sequence[Any]]
"""Function that turns the rows read into what the columns show, in the same order; its number of queries must not grow with the
rows."""


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if date(1970, 1, 2) <= date.fromisoformat(text) else None
    except ValueError:
        return None


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
    """Renders a page with a table in its context; with `?part=rows` only the table, with `?as=csv` or `?as=json` a file.
    `prepare` turns rows into what the columns show, `key` gives what a selected row submits. An expensive context is
    passed as a function: only the full page calls it."""
    asked = _Asked(table, request, zone)
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
        shown.gone = list(deletions.pending(table.deletes)[:MOST_GONE])
        shown.may_undo = any(one.do == DELETE for one in shown.actions)
    shown.count = _counted(shown.slice, asked, rows)
    found = context() if callable(context) else context
    return page(request, template, {"table": shown, **found}, **frame)


def _shown(request: HttpRequest, table: Table, asked: _Asked, rows: Rows, prepare: Prepared, key: Callable[[Any], Any]) -> Shown:
    _column, order = asked.sorted_by
    slice_ = cut(asked.rows(rows), order, size=SIZE, query=request.GET.dict(), count_to=MOST_COUNTED_BY_SEARCH if asked.q else 0)
    query = asked.query()
    keep = f"{query}&" if query else ""
    starts = [(one.html, format_html('<td class="{}" data-title="{}">', one.look, one.title)) for one in asked.columns]
    lines = [
        Line(key(row), format_html_join("", "{}{}</td>", ((start, html(row)) for html, start in starts)))
        for row in prepare(slice_.rows)
    ]
    on = {one.name for one in asked.columns}
    order_of = [*asked.columns, *(one for one in table.columns if one.name not in on)]
    return Shown(
        table.name, asked.heads(), asked.orders(), lines, slice_, keep, query, asked.q, table.search is not None,
        [
            {"name": one.name, "title": one.title, "options": asked.options[one.name], "value": asked.narrow.get(one.name, "")}
            for one in table.choices
        ],
        [(one.name, str(one.title), one.name in on) for one in order_of],
        {name: str(asked.days.get(name, "")) for name in ("from", "to")} if table.span else {},
        bool(asked.narrow or asked.q or asked.days),
        [(form.upper(), f"?{keep}as={form}") for form in ("csv", "json")],
        [one for one in table.actions if request.user.has_perm(one.permission)],
        reverse(f"admin:{table.room}") if table.room else "",
        table.fields,
        "" if not table.live or any(name in request.GET for name in OF_PAGES) else f"{request.path}?{keep}part=rows",
        request.path,
        asked.pairs("q", "from", "to", *asked.options),
        asked.pairs("col"),
        asked.query(**dict.fromkeys(("q", "from", "to", *asked.options), "")),
        asked.query(col=""),
    )


def to_list(request: HttpRequest, usual: str) -> HttpResponse:
    """Redirects to the list in the state in which its rows were selected; `usual` is its plain address."""
    at = request.POST.get("at", "")
    return redirect(at if at.partition("?")[0] == usual else usual)


def tell(request: HttpRequest, done: int, ticked: int, text: str) -> None:
    """Shows a message on how many of the selected rows were changed; `text` has a placeholder for the count."""
    if done:
        messages.success(request, text % {"count": done})
    if left := ticked - done:
        told = ngettext("For %(count)s it cannot be done now.", "For %(count)s it cannot be done now.", left)
        messages.warning(request, told % {"count": left})


def delete(request: HttpRequest, table: Table, rows: Rows, name: str, usual: str) -> HttpResponse:
    """Deletes the selected rows or restores those not yet deleted for good; `name` is the field with a row's display name."""
    if not any(one.do == DELETE and request.user.has_perm(one.permission) for one in table.actions):
        raise PermissionDenied
    if request.POST.get("do") == UNDO:
        count = deletions.undo(table.deletes)
        told = ngettext("%(count)s is back.", "%(count)s are back.", count)
        messages.success(request, told % {"count": count})
        return to_list(request, usual)
    ticked = numbers(request.POST.getlist("row"))[:MOST_DELETED]
    names = dict(rows.filter(pk__in=ticked).values_list("pk", name))
    count = deletions.ask(table.deletes, names, datetime.now(UTC), request.user)
    told = ngettext("%(count)s is deleted; Undo brings it back.", "%(count)s are deleted; Undo brings them back.", count)
    messages.success(request, told % {"count": count})
    return to_list(request, usual)


def _counted(shown: Slice, asked: _Asked, rows: Rows) -> str:
    """The number of rows as text, counted up to MOST_COUNTED or MOST_COUNTED_BY_SEARCH only."""
    most = MOST_COUNTED_BY_SEARCH if asked.q else MOST_COUNTED
    found = asked.rows(rows).order_by()[: most + 1].count() if shown.count is None else shown.count
    return _("more than %(number)s") % {"number": f"{most:,}"} if found > most else f"{found:,}"


def _file(table: Table, asked: _Asked, rows: Rows, prepare: Prepared, form: str) -> StreamingHttpResponse:
    """Streams every matching row in the order and columns shown. Rows are read by key in batches, so no cursor stays open."""
    _column, order = asked.sorted_by

    def cells() -> Iterator[Sequence[Any]]:
        at = ""
        while True:
            part = cut(asked.rows(rows), order, size=AT_A_TIME, query={"after": at})
            yield from ([one.value(row) for one in asked.columns] for row in prepare(part.rows))
            at = part.older
            if not at:
                return

    pieces = export_formats.streamed(form, [one.name for one in asked.columns], cells())
    name = f"{table.name}-{datetime.now(UTC):%Y%m%d-%H%M}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return StreamingHttpResponse(
        (piece.encode() for piece in pieces), content_type=export_formats.TYPES[form], headers=headers
    )


def by(*names: str, downwards: bool = False, nullable: bool = False) -> Order:
    """An ascending (or with `downwards` descending) order by fields, with the key as tie-breaker."""
    return Order((*names, "id"), downwards, nullable)


def falling(*names: str, nullable: bool = False) -> Order:
    """A descending order, used for numbers and times."""
    return by(*names, downwards=True, nullable=nullable)


NEWEST = BY_ID

