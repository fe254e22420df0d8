"""Admin views of backups: their schedule, the number of files kept, the progress of the current
backup, and the files; and of retention times, with what a change would delete."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from crawlmgr.admin.palette import KINDS, Item, Kind, Verb
from crawlmgr.admin.views import admin_view, attempt, back, number, page, post_view
from crawlmgr.models import ACTIVE, Retention, Run, RunState
from crawlmgr.runs import desk as runs
from crawlmgr.schedule import desk
from crawlmgr.upkeep import backups, pruning
from crawlmgr.workers import queue

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


desk.TIMED[backups.KIND] = desk.Timed(
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


MAY_PRUNE = "crawlmgr.delete_retention"
NAMES: dict[str, tuple[str, str]] = {
    "events": (
        gettext_noop("Events"),
        gettext_noop(
            "errors, warnings and notes in this interface; the log file is kept separately"
        ),
    ),
    "failed_logins": (
        gettext_noop("Failed logins"),
        gettext_noop("used to block logins after too many failures"),
    ),
    "tasks": (
        gettext_noop("Ended tasks"),
        gettext_noop("records in the queue; workers carry out a run as a series of such tasks"),
    ),
    "nodes": (
        gettext_noop("Worker nodes that disappeared"),
        gettext_noop("nodes that have sent no heartbeat for this long"),
    ),
    "hours": (
        gettext_noop("Hourly sums of hosts"),
        gettext_noop("requests, bytes and failures an hour, for charts"),
    ),
    "addresses": (
        gettext_noop("Addresses of ended runs"),
        gettext_noop(
            "addresses that were queued, with their states; needed for a run's list of failures and"
            " for “Status of an address”"
        ),
    ),
    "fetches": (
        gettext_noop("Fetch records"),
        gettext_noop(
            "what was fetched when, and its place in the archive; needed to look up a stored page"
            " by its address"
        ),
    ),
    "runs": (
        gettext_noop("Ended runs"),
        gettext_noop(
            "including their visits, fetch records and addresses; posts are kept, and so are runs"
            " of topics and harvests"
        ),
    ),
    "archive": (
        gettext_noop("Archive files"),
        gettext_noop(
            "WARC files with the content of pages; later captures recorded only as “unchanged” lose"
            " their content too"
        ),
    ),
}


@admin_view("retention/", "retention", MAY_PRUNE)
def retention(request: HttpRequest) -> HttpResponse:
    """Shows the saved retention times, or those proposed in the query string, with the number of
    rows that pruning would delete now."""
    now, set_days = datetime.now(UTC), pruning.kept()
    chosen, wrong = _chosen(request.GET.dict(), set_days)
    changed = (
        {kind: days for kind, days in chosen.items() if days != set_days[kind]} if not wrong else {}
    )
    who = {row.kind: row for row in Retention.objects.select_related("changed_by")}
    rows: list[dict[str, Any]] = [
        {
            "kind": one.kind,
            "name": _(NAMES[one.kind][0]),
            "about": _(NAMES[one.kind][1]),
            "days": request.GET.get(one.kind, one.keep_days),
            "freed": one,
            "changed": one.kind in changed,
            "wrong": one.kind in wrong,
            "default": settings.KEEP_DAYS[one.kind],
            "row": who.get(one.kind),
        }
        for one in pruning.frees(now, chosen, most=pruning.MAX_COUNTED)
    ]
    context: dict[str, Any] = {
        "rows": rows,
        "changed": changed,
        "wrong": wrong,
        "most_days": pruning.MAX_DAYS,
        "bytes": sum(row["freed"].bytes for row in rows),
        "any": any(row["freed"].rows for row in rows),
    }
    trail = [(_("Workers"), reverse("admin:workers"))]
    status = 422 if wrong else 200
    return page(
        request,
        "desk/retention.html",
        context,
        title=_("Retention"),
        item="retention",
        trail=trail,
        status=status,
    )


def _chosen(given: dict[str, str], before: dict[str, int]) -> tuple[dict[str, int], set[str]]:
    """Returns the retention days by kind from submitted values (the saved ones where none was
    sent), and the kinds whose value is invalid."""
    chosen, wrong = dict(before), set()
    for kind in before:
        if kind in given:
            days = number(given[kind], pruning.MAX_DAYS)
            if days is None:
                wrong.add(kind)
            else:
                chosen[kind] = days
    return chosen, wrong


@post_view("retention/save/", "retention-save", MAY_PRUNE)
def save(request: HttpRequest) -> HttpResponse:
    """Saves the retention times that were previewed."""
    chosen, wrong = _chosen(request.POST.dict(), pruning.kept())
    if wrong:
        messages.error(request, _("Enter whole days; 0 keeps data forever."))
        return back(request, "retention")
    done = _(
        "Saved. Expired data is deleted at the next daily pruning, or immediately with “Prune now”."
    )
    attempt(request, done, lambda: pruning.keep(chosen, now=datetime.now(UTC), user=request.user))
    return back(request, "retention")


@post_view("retention/prune/", "retention-prune", MAY_PRUNE)
def prune(request: HttpRequest) -> HttpResponse:
    """Queues a task that deletes expired data now, as is done once a day anyway."""
    queue.prune()
    return back(request, "retention", done=_("A worker is now deleting old data, in batches."))
