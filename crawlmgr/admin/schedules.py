"""All recurring work on one page in the order of its next execution, with buttons to pause and resume all crawling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from crawlmgr.admin.palette import KINDS, Item, Kind, Verb
from crawlmgr.admin.rooms import act, back, page, room
from crawlmgr.admin.tree import Node, address
from crawlmgr.models import Export
from crawlmgr.services import holds, queue

MOST_SHOWN = 40
MAY = "crawlmgr.change_run"
PAUSE, RESUME = ("pause", "暂停"), ("resume", "恢复", "继续")


@dataclass(frozen=True, slots=True)
class Entry:
    """One recurring task: a description and its interval in words, and its next time, or with `until` the likely span of it.
    `crawls`: pausing all crawling holds it back. `start`: the address that a button posts to for doing it now; "" if there
    is none."""

    what: str
    name: str
    url: str
    often: str
    next_at: datetime | None
    until: datetime | None = None
    paused: bool = False
    crawls: bool = True
    start: str = ""


Maker = Callable[[HttpRequest, int], Sequence[Entry]]
"""Function that returns the next recurring tasks of one kind, soonest first, at most the given number."""


@room("schedules/", "schedules")
def schedules(request: HttpRequest) -> HttpResponse:
    """Shows upcoming recurring tasks of every kind."""
    found = [entry for _order, make in admin.site.schedules for entry in make(request, MOST_SHOWN)]
    late = datetime.max.replace(tzinfo=UTC)
    found.sort(key=lambda entry: (entry.paused, entry.next_at or late))
    context = {"rows": found[:MOST_SHOWN], "more": len(found) > MOST_SHOWN, "hold": holds.current(), "now": datetime.now(UTC)}
    return page(request, "desk/schedules.html", context, title=_("Schedules"), item="schedules")


@act("schedules/pause/", "schedules-pause", MAY)
def pause(request: HttpRequest) -> HttpResponse:
    """Pauses all crawling."""
    count = holds.pause_all(datetime.now(UTC), request.user)
    told = ngettext("All crawling is paused, %(count)s run with it.", "All crawling is paused, %(count)s runs with it.", count)
    messages.success(request, told % {"count": count})
    return back(request, "schedules")


@act("schedules/resume/", "schedules-resume", MAY)
def resume(request: HttpRequest) -> HttpResponse:
    """Resumes all crawling."""
    count = holds.resume_all(datetime.now(UTC), request.user)
    told = ngettext("All crawling goes on, %(count)s run with it.", "All crawling goes on, %(count)s runs with it.", count)
    messages.success(request, told % {"count": count})
    return back(request, "schedules")


def _own(request: HttpRequest, most: int) -> Sequence[Entry]:
    """Recurring tasks of the core: scheduled exports and the pruning of old rows."""
    may = request.user.has_perm("crawlmgr.change_export")
    found = [
        Entry(
            _("Export"), one.name, address("admin:export-page", one.pk), one.get_every_hours_display(), one.next_at, crawls=False,
            start=address("admin:export-write", one.pk) if may else "",
        )
        for one in Export.objects.filter(next_at__isnull=False).order_by("next_at")[:most]
    ]
    pruned = queue.next_pruning()
    if pruned is not None and request.user.has_perm("crawlmgr.delete_retention"):
        where = reverse("admin:retention")
        found.append(Entry(_("Retention"), _("Old rows are removed"), where, _("every day"), pruned, crawls=False))
    return found


def branch(request: HttpRequest, item: str) -> Node | None:
    may = request.user.has_perm("crawlmgr.view_run")
    return Node(_("Schedules"), reverse("admin:schedules"), "calendar_month", "schedules") if may else None


def _everything(words: Sequence[str], most: int) -> Sequence[Item]:
    """The palette item for all crawling; its only names are words such as "all" and "everything"."""
    known = ("all", "everything", "全部", "所有", "一切")
    return [Item(holds.ONLY, _("all crawling"))] if all(word in known for word in words) else []


KINDS.insert(
    0,
    Kind(
        gettext_lazy("Schedules"), "calendar_month", "crawlmgr.view_run", "admin:schedules", lambda words, most: (),
        (
            Verb(gettext_lazy("Pause"), PAUSE, MAY, "admin:schedules-pause", "pause", (), _everything, whole=True),
            Verb(gettext_lazy("Resume"), RESUME, MAY, "admin:schedules-resume", "play_arrow", (), _everything, whole=True),
        ),
    ),
)
admin.site.add_schedule(90, _own)
admin.site.add_branch(25, branch)
