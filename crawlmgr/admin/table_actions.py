"""Actions on the selected rows of a list: each row is handled separately, a deletion can be undone,
and a message reports the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from crawlmgr.admin.tables import DELETE, UNDO, Rows, Table
from crawlmgr.admin.views import numbers
from crawlmgr.runs import runs
from crawlmgr.upkeep import removals

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
