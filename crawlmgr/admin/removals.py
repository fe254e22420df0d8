"""Deletion of large objects from the desk: starts the deletion run and shows its progress."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from crawlmgr.admin.rooms import back
from crawlmgr.models import Run
from crawlmgr.services import runs


def away(request: HttpRequest, name: str, room: str, start: Callable[[], Run | None]) -> HttpResponse:
    """Deletes the object named `name` at once and redirects to the view `room`, or starts a deletion run and redirects to the
    run."""
    try:
        run = start()
    except runs.Busy as busy:
        messages.warning(request, _("%(name)s is already being deleted; this page shows the progress.") % {"name": name})
        return back(request, "run", busy.run.pk)
    if run is None:
        messages.success(request, _("%(name)s is deleted.") % {"name": name})
        return back(request, room)
    messages.success(request, _("%(name)s is being deleted; this page shows the progress.") % {"name": name})
    return back(request, "run", run.pk)


def detail(request: HttpRequest, run: Run, now: datetime) -> dict[str, Any]:
    """Context for the progress of a deletion: rows deleted and rows left."""
    rows, removed = run.result.get("rows"), run.result.get("removed", 0)
    share = 0 if rows is None else min(100, 100 * removed // rows) if rows else 100
    return {"template": "desk/removal.html", "rows": rows, "removed": removed, "percent": share}
