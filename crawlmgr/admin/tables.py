"""Definitions of lists. All lists offer sorting, search, filters, choice and order of columns,
paging by key, actions on selected rows, and a download of what is shown. This state is in the query
string; it can be saved as a named view.

An admin view declares a `Table`, restricts the rows to those that the user may see, and passes both
to `table_page.table_page`; `table_query` reads the query string, and `table_actions` applies
actions to the selected rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils.html import conditional_escape

from crawlmgr.database.paging import BY_ID, Order

DELETE, UNDO = "delete", "undo"  # values of the form parameter `do`
Rows = QuerySet[Any]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a list.

    `value` returns a row's plain value for files: a number, a time, a boolean, text or None. `show`
    returns its HTML, if that is more than the escaped value. `by` is the order when the list is
    sorted by the column, in the direction of the first click, and `needs` are query annotations for
    it. `look` is the style: "num", "nowrap", "title one". Columns that are not `usual` are hidden
    until chosen."""

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
    """A filter with a list of options (code and text, "" for all); `narrow` filters the rows by the
    chosen code."""

    name: str
    title: Any
    options: Callable[[], Sequence[tuple[str, Any]]]
    narrow: Callable[[Rows, str], Rows]


@dataclass(frozen=True, slots=True)
class Action:
    """An action on selected rows: the value of the form parameter `do`, label, icon and permission;
    `ask` is a question to confirm first."""

    do: str
    text: Any
    icon: str
    permission: str
    ask: Any = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Definition of a list.

    `order` names the column of the default order, with "-" for the reverse of that column's own
    direction. `action_view` is the view to which selected rows are posted with `do` and `row`;
    `fields` is a template with further form fields. A list that is not `live` does not refresh
    itself. `deletes` is the kind of object for `deletions`, if rows can be deleted and restored.
    `span` is the time field for filtering by days."""

    name: str
    columns: Sequence[Column]
    order: str
    search: Callable[[Rows, str], Rows] | None = None
    choices: Sequence[Choice] = ()
    actions: Sequence[Action] = ()
    action_view: str = ""
    fields: str = ""
    live: bool = True
    deletes: str = ""
    span: str = ""


def by(*names: str, downwards: bool = False, nullable: bool = False) -> Order:
    """Returns the order by these fields, ascending or with `downwards` descending, and of equal
    values by id. `nullable`: the first field may be NULL; those rows come last."""
    return Order((*names, "id"), downwards, nullable)


def falling(*names: str, nullable: bool = False) -> Order:
    """Returns a descending order by fields (see `by`); used for numbers and times."""
    return by(*names, downwards=True, nullable=nullable)


NEWEST = BY_ID
