"""Admin views of backups: their schedule, the number of files kept, the progress of the current
backup, and the files."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr.admin import hours, runs
from crawlmgr.admin.palette import KINDS, Item, Kind, Verb
from crawlmgr.admin.views import admin_view, attempt, back, number, page, post_view
from crawlmgr.models import ACTIVE, Run, RunState
from crawlmgr.services import backups

MAY = "crawlmgr.delete_backupplan"
EVERY = (
    (0, gettext_lazy("only on request")),
    (24, gettext_lazy("every day")),
    (24 * 7, gettext_lazy("every week")),
    (24 * 30, gettext_lazy("every 30 days")),
)
SHOWN = 100


@admin_view("backups/", "backups", MAY)
def backup_page(request: HttpRequest) -> HttpResponse:
    """Shows the schedule of backups, the progress of the current one, and the files."""
    run, plan, found = backups.newest(), backups.plan(), backups.files()
    known = {value for value, _text in EVERY}
    own = (
        [(plan.every_hours, _("every %(hours)s hours") % {"hours": plan.every_hours})]
        if plan.every_hours not in known
        else []
    )
    context: dict[str, Any] = {
        "plan": plan,
        "choices": [*EVERY, *own],
        "files": found[:SHOWN],
        "folder": backups.folder(),
        "run": run,
        "bytes": sum(one.bytes for one in found),
        "active": run is not None and run.state in ACTIVE,
        "failed": run is not None and run.state == RunState.FAILED,
        **progress(run),
    }
    trail = [(_("Workers"), reverse("admin:workers"))]
    return page(
        request,
        "desk/backups.html",
        context,
        title=_("Backups"),
        item="backups",
        trail=trail,
        live="desk/backups_live.html",
    )


def progress(run: Run | None) -> dict[str, Any]:
    """Returns the progress of a backup as context for the template: `written` (bytes), and
    `percent` of the expected size; 0 and 0 for None."""
    done = run.result if run is not None else {}
    wanted, written = done.get("expected", 0), done.get("bytes", 0)
    return {"written": written, "percent": min(100, 100 * written // wanted) if wanted else 0}


@post_view("backups/plan/", "backups-plan", MAY)
def plan(request: HttpRequest) -> HttpResponse:
    """Sets how often a backup is made and how many files are kept."""
    every, keep = number(request.POST.get("every_hours", "")), number(request.POST.get("keep", ""))
    now = datetime.now(UTC)
    attempt(
        request,
        _("Saved."),
        lambda: backups.put(
            every_hours=-1 if every is None else every, keep=keep or 0, now=now, user=request.user
        ),
    )
    return back(request, "backups")


@post_view("backups/now/", "backups-now", MAY)
def begin(request: HttpRequest) -> HttpResponse:
    """Starts a backup."""
    attempt(
        request,
        _("A backup has started."),
        lambda: backups.start(now=datetime.now(UTC), user=request.user),
    )
    return back(request, "backups")


def _detail(request: HttpRequest, run: Run, now: datetime) -> dict[str, Any]:
    return {"template": "desk/backup_run.html", **progress(run), "file": run.result.get("file", "")}


def _timed(pk: int) -> tuple[str, str, str] | None:
    return (
        (_("Backup of everything"), reverse("admin:backups"), "backups")
        if pk == backups.ONLY
        else None
    )


def _everything(words: Any, most: int) -> list[Item]:
    """Returns the only entry for backups in the command palette, "Backup of everything", if all
    typed words are among its search words; [] otherwise."""
    known = ("backup", "backups", "备份", "everything", "全部")
    return (
        [Item(backups.ONLY, _("Backup of everything"))]
        if all(word in known for word in words)
        else []
    )


hours.TIMED[backups.KIND] = hours.Timed(
    gettext_lazy("Backup"),
    "admin:backups",
    MAY,
    ("admin:backups-now", MAY),
    _timed,
    MAY,
    single=True,
)
runs.details[backups.KIND] = _detail
KINDS.append(
    Kind(
        gettext_lazy("Backups"),
        "backup",
        MAY,
        "admin:backups",
        lambda words, most: (),
        (
            Verb(
                gettext_lazy("Back up"),
                ("backup", "备份"),
                MAY,
                "admin:backups-now",
                "backup",
                (),
                _everything,
                whole=True,
            ),
        ),
    )
)
