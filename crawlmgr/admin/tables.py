"""Definitions of lists. All lists offer sorting, search, filters, choice and order of columns,
paging by key, actions on selected rows, and a download of what is shown. This state is in the query
string; it can be saved as a named view.

An admin view declares a `Table`, restricts the rows to those that the user may see, and passes both
to `table_page.table_page`. Actions handle each of the selected rows separately; a deletion can be
undone, and a message reports the result. The filters here cost no more in a longer list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import conditional_escape
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from crawlmgr.admin.views import back, numbers
from crawlmgr.database.paging import BY_ID, Order
from crawlmgr.models import Run
from crawlmgr.runs import runs
from crawlmgr.upkeep import removals


def delete_object(
    request: HttpRequest, name: str, view: str, start: Callable[[], Run | None]
) -> HttpResponse:
    """Calls `start` to delete the object named `name`. If the deletion is done at once, redirects
    to the view named `view`; otherwise to the page of the run that deletes the object."""
    try:
        run = start()
    except runs.Busy as busy:
        messages.warning(
            request,
            _("%(name)s is already being deleted; this page shows the progress.") % {"name": name},
        )
        return back(request, "run", busy.run.pk)
    if run is None:
        return back(request, view, done=_("%(name)s is deleted.") % {"name": name})
    return back(
        request,
        "run",
        run.pk,
        done=_("%(name)s is being deleted; this page shows the progress.") % {"name": name},
    )


def deletion_detail(request: HttpRequest, run: Run, now: datetime) -> dict[str, Any]:
    """Returns template values for the progress of a deletion run: `rows` (number of rows to delete,
    None until they are counted), `removed` (number deleted so far), `percent` and the name of the
    `template`."""
    rows, removed = run.result.get("rows"), run.result.get("removed", 0)
    share = 0 if rows is None else min(100, 100 * removed // rows) if rows else 100
    return {"template": "desk/removal.html", "rows": rows, "removed": removed, "percent": share}


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


MAX_FEW = 1000


def words_in(*names: str) -> Callable[[Rows, str], Rows]:
    """Returns a search filter: every word of the text must occur in at least one of the fields
    `names`, ignoring case."""

    def search(rows: Rows, text: str) -> Rows:
        for word in text.split():
            fits = Q()
            for name in names:
                fits |= Q(**{f"{name}__icontains": word})
            rows = rows.filter(fits)
        return rows

    return search


def newest_with(most: int, time: str, *names: str) -> Callable[[Rows, str], Rows]:
    """Returns a search filter like that of `words_in` (every word in one of the fields `names`),
    but of bounded cost: only the `most` rows with the latest times in the indexed field `time` are
    searched. If fewer rows than that have a time, the `most` newest rows without one are searched
    as well."""
    plain = words_in(*names)

    def search(rows: Rows, text: str) -> Rows:
        return plain(rows.filter(_newest(rows, time, most)), text)

    return search


def _newest(rows: Rows, time: str, most: int) -> Q:
    timed, untimed = (
        rows.filter(**{f"{time}__isnull": False}),
        rows.filter(**{f"{time}__isnull": True}),
    )
    oldest = timed.order_by(f"-{time}").values_list(time, flat=True)[most - 1 : most].first()
    if oldest is not None:
        return Q(**{f"{time}__gte": oldest})
    first = untimed.order_by("-pk").values_list("pk", flat=True)[most - 1 : most].first()
    return Q() if first is None else Q(**{f"{time}__isnull": False}) | Q(pk__gte=first)


def few(rows: Rows, **condition: Any) -> Rows:
    """Filters rows by the values of fields (`condition`). If at most MAX_FEW rows match, they are
    found through a partial index and then sorted. If more match, the database reads rows in the
    list's order until a page is full, which does not take long.
    """
    # searched without the other filters of `rows`, because with them the database would choose
    # another index
    whole = rows.model._default_manager.filter(**condition).order_by()
    keys = list(whole.values_list("pk", flat=True)[: MAX_FEW + 1])
    return rows.filter(pk__in=keys) if len(keys) <= MAX_FEW else rows.filter(**condition)


MAX_DELETED = 500
MAX_TICKED = 500
Verb = Callable[[HttpRequest, Any, datetime], object]
"""What is done with one row. Raises runs.Busy, runs.WrongState or ValueError where it cannot be
done now."""


def to_list(request: HttpRequest, usual: str) -> HttpResponse:
    """Redirects to the list with the filters and order with which the rows were selected; `usual`
    is the list's plain address."""
    at = request.POST.get("at", "")
    return redirect(at if at.partition("?")[0] == usual else usual)


def add_messages(request: HttpRequest, done: int, ticked: int, text: str) -> None:
    """Shows a message on how many of the `ticked` selected rows were changed; `text` has a
    placeholder for the count."""
    if done:
        messages.success(request, text % {"count": done})
    if left := ticked - done:
        success_text = ngettext(
            "%(count)s cannot be changed now.", "%(count)s cannot be changed now.", left
        )
        messages.warning(request, success_text % {"count": left})


def delete(request: HttpRequest, table: Table, rows: Rows, name: str, usual: str) -> HttpResponse:
    """Schedules the deletion of the selected rows (at most MAX_DELETED) or, for the action UNDO,
    cancels all scheduled deletions of this kind that have not begun. `name` is the field with a
    row's display name; `usual` is the list's address.
    """
    if not any(one.do == DELETE and request.user.has_perm(one.permission) for one in table.actions):
        raise PermissionDenied
    if request.POST.get("do") == UNDO:
        count = removals.undo(table.deletes)
        success_text = ngettext("%(count)s restored.", "%(count)s restored.", count)
        messages.success(request, success_text % {"count": count})
        return to_list(request, usual)
    ticked = numbers(request.POST.getlist("row"))[:MAX_DELETED]
    names = dict(rows.filter(pk__in=ticked).values_list("pk", name))
    count = removals.ask(table.deletes, names, datetime.now(UTC), request.user)
    success_text = ngettext(
        "%(count)s deleted; Undo restores it.", "%(count)s deleted; Undo restores them.", count
    )
    messages.success(request, success_text % {"count": count})
    return to_list(request, usual)


def carry_out(
    request: HttpRequest,
    table: Table,
    rows: Rows,
    verbs: Mapping[str, Verb],
    usual: str,
    success_text: Callable[[int], str],
) -> HttpResponse:
    """Applies the submitted action, a function in `verbs`, to the selected rows (at most
    MAX_TICKED); deletions are only scheduled (see `delete`). Redirects to the list, whose plain
    address is `usual`. Rows that cannot be changed now are skipped and counted in a message.
    `success_text(n)`: message for n changed rows, with a placeholder for n.
    """
    wish, needed = request.POST.get("do", ""), {one.do: one.permission for one in table.actions}
    if table.deletes and wish in (DELETE, UNDO):
        return delete(request, table, rows, "name", usual)
    verb, ticked = verbs.get(wish), numbers(request.POST.getlist("row"))[:MAX_TICKED]
    if verb is None or not ticked or not request.user.has_perm(needed[wish]):
        messages.warning(request, _("Nothing is selected."))
        return to_list(request, usual)
    now, done = datetime.now(UTC), 0
    for row in list(rows.filter(pk__in=ticked)):
        try:
            verb(request, row, now)
        except (runs.Busy, runs.WrongState, ValueError):
            continue
        done += 1
    add_messages(request, done, len(ticked), success_text(done))
    return to_list(request, usual)
