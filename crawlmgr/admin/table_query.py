"""The state of a list that a query string describes: order, filters, days, search and columns."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.http import HttpRequest

from crawlmgr.admin.tables import Column, Rows, Table
from crawlmgr.reads.paging import Order

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
