"""Saved views of lists (filters, columns and order under a name): a user stores, opens and deletes
them."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import Resolver404, resolve
from django.utils.translation import gettext as _

from crawlmgr.admin.views import back, post_view
from crawlmgr.models import ListView

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
