"""The component behind all lists: sorting, search, filters, choice and order of columns, paging by key, actions on selected rows,
and download of the list as shown. This state is in the query string; it can be saved as a named view.

An admin view declares a `Table`, restricts the rows to those the user may see and passes both to `table_page.table_page`;
`table_query` reads the query string, `table_actions` does what was asked with the selected rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils.html import conditional_escape

from crawlmgr.reads.paging import BY_ID, Order

DELETE, UNDO = "delete", "undo"  # values of the parameter `do`
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


def by(*names: str, downwards: bool = False, nullable: bool = False) -> Order:
    """An ascending (or with `downwards` descending) order by fields, with the key as tie-breaker."""
    return Order((*names, "id"), downwards, nullable)


def falling(*names: str, nullable: bool = False) -> Order:
    """A descending order, used for numbers and times."""
    return by(*names, downwards=True, nullable=nullable)


NEWEST = BY_ID
