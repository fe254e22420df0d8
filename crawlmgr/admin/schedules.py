"""Admin view of everything that is scheduled: a list by next start or a view of the next seven
days, and buttons that pause and resume all crawling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from crawlmgr.admin import hours
from crawlmgr.admin.palette import KINDS, Item, Kind, Verb
from crawlmgr.admin.site import desk_site
from crawlmgr.admin.tags import duration
from crawlmgr.admin.tree import Node
from crawlmgr.admin.views import admin_view, back, page, post_view
from crawlmgr.models import Timing
from crawlmgr.services import holds, missed, recurring
from crawlmgr.services.recurring import Recurring, Starts

MAX_SHOWN = 40
MAY = "crawlmgr.change_run"
PAUSE, RESUME = ("pause", "暂停"), ("resume", "恢复", "继续")
WEEK = 7
TOLD = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the page of schedules. `one` is the scheduled item, `what` the name of its kind.
    The other fields are its name and page, how often it starts, the address that starts it now (""
    for none), its working hours, and the address where these are set."""

    one: Recurring
    what: str
    name: str
    url: str
    often: str
    start: str = ""
    timing: Timing | None = None
    hours_url: str = ""


@dataclass(frozen=True, slots=True)
class Chip:
    """The starts of one scheduled item on one day."""

    entry: Entry
    starts: Starts


@admin_view("schedules/", "schedules")
def schedules(request: HttpRequest) -> HttpResponse:
    """Lists the next starts of all scheduled items; with `view=week` shows the next seven days."""
    now, week = datetime.now(UTC), request.GET.get("view") == "week"
    found = [entry for entry in _entries(request, now) if entry is not None]
    wanted = request.GET.get("zone", "")
    zone = ZoneInfo(wanted if wanted in available_timezones() else "UTC")
    context: dict[str, Any] = {
        "rows": found[:MAX_SHOWN],
        "more": len(found) > MAX_SHOWN,
        "hold": holds.current(),
        "now": now,
        "week": week,
        "zone": zone,
        "missed": missed.lately(now - TOLD),
        "tabs": [(_("List"), "?", not week), (_("Week"), f"?view=week&zone={zone.key}", week)],
    }
    if week:
        context |= {
            "days": days(found[:MAX_SHOWN], now, zone),
            "zones": sorted(available_timezones()),
        }
    return page(request, "desk/schedules.html", context, title=_("Schedules"), item="schedules")


def _entries(request: HttpRequest, now: datetime) -> list[Entry]:
    found = recurring.listing(now, MAX_SHOWN)
    timings = recurring.hours_of(found)
    made = (_entry(request, one, timings.get((one.kind, one.target))) for one in found)
    return [entry for entry in made if entry is not None]


def _entry(request: HttpRequest, one: Recurring, timing: Timing | None) -> Entry | None:
    """Returns the line of the schedule page for a recurring task; None if the user may not see
    tasks of its kind. `timing` are its working hours, None if it has none."""
    if one.kind == recurring.PRUNING:
        may = request.user.has_perm("crawlmgr.delete_retention")
        return (
            Entry(
                one,
                _("Retention"),
                _("Deletion of expired data"),
                reverse("admin:retention"),
                _("every day"),
            )
            if may
            else None
        )
    timed = hours.TIMED[one.kind]
    if not request.user.has_perm(timed.see):
        return None
    name = _("Backup of everything") if timed.single else one.name
    often = (
        _("by visit plan")
        if one.seconds is None
        else _("every %(time)s") % {"time": duration(one.seconds)}
    )
    view_name, permission = timed.start
    start = (
        timed.address(view_name, one.target)
        if view_name and request.user.has_perm(permission)
        else ""
    )
    return Entry(
        one,
        str(timed.what),
        name,
        timed.address(timed.view, one.target),
        often,
        start,
        timing,
        reverse("admin:hours", args=[one.kind, one.target]),
    )


def days(found: Sequence[Entry], now: datetime, zone: ZoneInfo) -> list[tuple[date, list[Chip]]]:
    """Returns the next seven days of a time zone as pairs of the date and a `Chip` for each
    scheduled start on it, sorted by time."""
    today = now.astimezone(zone).date()
    until = datetime.combine(today + timedelta(days=WEEK), time(), zone).astimezone(UTC)
    chips: dict[date, list[Chip]] = {today + timedelta(days=step): [] for step in range(WEEK)}
    planned = _planned(found, now, until, zone)
    for entry in found:
        one = entry.one
        starts = recurring.ahead(one, entry.timing, now, until)
        starts = starts or ([] if one.paused else planned.get((one.kind, one.target), []))
        for day, some in groupby(starts, key=lambda start: start.first.astimezone(zone).date()):
            all_ = list(some)
            chips[day].append(
                Chip(
                    entry, Starts(all_[0].first, all_[-1].last, sum(start.count for start in all_))
                )
            )
    return [(day, sorted(some, key=lambda chip: chip.starts.first)) for day, some in chips.items()]


def _planned(
    found: Sequence[Entry], now: datetime, until: datetime, zone: ZoneInfo
) -> dict[tuple[str, int], list[Starts]]:
    """Returns by (kind, id) the starts between `now` and `until` of those items that have a plan of
    visit times instead of an interval."""
    targets: dict[str, list[int]] = {}
    for entry in found:
        if entry.one.seconds is None:
            targets.setdefault(entry.one.kind, []).append(entry.one.target)
    asked = {kind: hours.TIMED[kind].planned for kind in targets}
    return {
        (kind, target): starts
        for kind, ask in asked.items()
        if ask is not None
        for target, starts in ask(targets[kind], now, until, zone).items()
    }


@post_view("schedules/pause/", "schedules-pause", MAY)
def pause(request: HttpRequest) -> HttpResponse:
    """Pauses all crawling, including active runs."""
    count = holds.pause_all(datetime.now(UTC), request.user)
    told = ngettext(
        "All crawling is paused, including %(count)s run.",
        "All crawling is paused, including %(count)s runs.",
        count,
    )
    messages.success(request, told % {"count": count})
    return back(request, "schedules")


@post_view("schedules/resume/", "schedules-resume", MAY)
def resume(request: HttpRequest) -> HttpResponse:
    """Resumes all crawling, including the runs that were paused with it."""
    count = holds.resume_all(datetime.now(UTC), request.user)
    told = ngettext(
        "All crawling is resumed, including %(count)s run.",
        "All crawling is resumed, including %(count)s runs.",
        count,
    )
    messages.success(request, told % {"count": count})
    return back(request, "schedules")


def branch(request: HttpRequest, item: str) -> Node | None:
    may = request.user.has_perm("crawlmgr.view_run")
    return (
        Node(_("Schedules"), reverse("admin:schedules"), "calendar_month", "schedules")
        if may
        else None
    )


def _everything(words: Sequence[str], most: int) -> Sequence[Item]:
    """Returns the command palette's item "all crawling" if each of the typed words is a name of it,
    such as "all" or "everything"; otherwise []."""
    known = ("all", "everything", "全部", "所有", "一切")
    return [Item(holds.ONLY, _("all crawling"))] if all(word in known for word in words) else []


KINDS.insert(
    0,
    Kind(
        gettext_lazy("Schedules"),
        "calendar_month",
        "crawlmgr.view_run",
        "admin:schedules",
        lambda words, most: (),
        (
            Verb(
                gettext_lazy("Pause"),
                PAUSE,
                MAY,
                "admin:schedules-pause",
                "pause",
                (),
                _everything,
                whole=True,
            ),
            Verb(
                gettext_lazy("Resume"),
                RESUME,
                MAY,
                "admin:schedules-resume",
                "play_arrow",
                (),
                _everything,
                whole=True,
            ),
        ),
    ),
)
desk_site.add_branch(25, branch)
