"""Starts the deletion of large objects from the web interface, and shows its progress."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from crawlmgr.admin.views import back
from crawlmgr.models import Run
from crawlmgr.runs import runs


def away(
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
        messages.success(request, _("%(name)s is deleted.") % {"name": name})
        return back(request, view)
    messages.success(
        request, _("%(name)s is being deleted; this page shows the progress.") % {"name": name}
    )
    return back(request, "run", run.pk)


def detail(request: HttpRequest, run: Run, now: datetime) -> dict[str, Any]:
    """Returns template values for the progress of a deletion run: `rows` (number of rows to delete,
    None until they are counted), `removed` (number deleted so far), `percent` and the name of the
    `template`."""
    rows, removed = run.result.get("rows"), run.result.get("removed", 0)
    share = 0 if rows is None else min(100, 100 * removed // rows) if rows else 100
    return {"template": "desk/removal.html", "rows": rows, "removed": removed, "percent": share}
