"""Admin view of everything that is scheduled: a list by next start or a view of the next seven
days, and buttons that pause and resume all crawling; and the working hours of one item: times of
day, days of the week, time zone, random shift."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby, islice
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.dates import WEEKDAYS
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from crawlmgr.admin import forms as history
from crawlmgr.admin import words
from crawlmgr.admin.palette import KINDS, Item, Kind, Verb
from crawlmgr.admin.site import desk_site
from crawlmgr.admin.tags import duration
from crawlmgr.admin.tree import address
from crawlmgr.admin.views import admin_view, attempt, back, page, post_view
from crawlmgr.models import Timing
from crawlmgr.schedule import due, opening_hours, recurring, timings
from crawlmgr.schedule.recurring import Recurring, Starts

SHOWN = 5
MAY = "crawlmgr.change_run"
NAMES = {
    "hours": gettext_lazy("Hours"),
    "timezone": gettext_lazy("Time zone"),
    "jitter_seconds": gettext_lazy("Random shift (s)"),
}


Planned = Callable[[Collection[int], datetime, datetime, ZoneInfo], dict[int, list[Starts]]]


@dataclass(frozen=True, slots=True)
class Timed:
    """A kind of scheduled item, as the views of working hours need it.

    `what`: its name. `view`, `see`: the view of one item and the permission for it. `start`: the
    view of the button that starts an item, and the permission for it. `find`: returns an item's
    name, address and key in the navigation tree; None if it was deleted. `change`: the permission
    to set working hours. `zone`: returns an item's default time zone. `planned`: returns the next
    starts of items that have a plan of visit times instead of an interval. `single`: there is only
    one item, and its addresses contain no id."""

    what: Any
    view: str
    see: str
    start: tuple[str, str]
    find: Callable[[int], tuple[str, str, str] | None]
    change: str
    zone: Callable[[int], str] = lambda target: "UTC"
    planned: Planned | None = None
    single: bool = False

    def address(self, name: str, target: int) -> str:
        """Returns the address of the view `name` of the item with the id `target`."""
        return reverse(name) if self.single else address(name, target)


TIMED: dict[str, Timed] = {}
"""The kinds of scheduled items, by the kind of their runs; the admin modules of the crawlers add
theirs."""


class HoursForm(forms.Form):
    """Form of the working hours; if `limited` is off, the item may start at any time."""

    limited = forms.BooleanField(required=False, label=gettext_lazy("Only between"))
    start = forms.TimeField(required=False, label=gettext_lazy("Start"))
    end = forms.TimeField(required=False, label=gettext_lazy("End"))
    days = forms.TypedMultipleChoiceField(
        choices=list(WEEKDAYS.items()),
        coerce=int,
        required=False,
        label=gettext_lazy("Days of the week"),
        widget=forms.CheckboxSelectMultiple,
    )
    timezone = forms.CharField(max_length=64, label=gettext_lazy("Time zone"))
    jitter = forms.IntegerField(
        min_value=0,
        max_value=timings.MAX_JITTER_SECONDS // 60,
        label=gettext_lazy("Random shift (minutes)"),
    )

    def clean(self) -> dict[str, Any]:
        found = super().clean() or self.cleaned_data
        if found.get("limited") and not (found.get("start") and found.get("end")):
            raise forms.ValidationError(_("Enter both times."))
        if found.get("limited") and not found.get("days"):
            raise forms.ValidationError(_("Choose at least one day."))
        if not self.errors:
            try:
                timings.checked(self.values())
            except ValueError as error:
                raise forms.ValidationError(str(error)) from None
        return found

    def values(self) -> dict[str, Any]:
        """Returns the values in the form that `services.timings` expects."""
        chosen, text = self.cleaned_data, ""
        if chosen["limited"]:
            days = ",".join(opening_hours.DAY_NAMES[day] for day in sorted(chosen["days"]))
            text = f"{days} {chosen['start']:%H:%M}-{chosen['end']:%H:%M}"
        return {
            "hours": text,
            "timezone": chosen["timezone"],
            "jitter_seconds": 60 * chosen["jitter"],
        }


def _of(kind: str, target: int) -> tuple[Timed, tuple[str, str, str]]:
    timed = TIMED.get(kind)
    found = timed.find(target) if timed is not None else None
    if timed is None or found is None:
        raise Http404(_("There is no such scheduled item."))
    return timed, found


@admin_view("schedules/<slug:kind>/<int:target>/", "hours", post=MAY)
def hours(request: HttpRequest, kind: str, target: int) -> HttpResponse:
    """Shows and saves the working hours of one item, with the next periods in which it may start
    and the history of changes."""
    timed, (name, url, item) = _of(kind, target)
    now, may = datetime.now(UTC), request.user.has_perm(timed.change)
    if request.method == "POST" and not may:
        raise PermissionDenied
    row = timings.of(kind, target)
    form = HoursForm(request.POST or None, initial=_initial(row, timed))
    if request.method == "POST" and form.is_valid():
        done = _("Saved. The next start is moved into these hours.")
        if attempt(
            request,
            done,
            lambda: timings.put(kind, target, form.values(), now=now, user=request.user),
        ):
            return back(request, "hours", kind, target)
    hours = timings.hours_of(row)
    context = {
        "form": form,
        "row": row,
        "name": name,
        "url": url,
        "kind": kind,
        "target": target,
        "may": may,
        "window": hours,
        "opens": timings.opens(row, now),
        "openings": list(islice(hours.openings(now), SHOWN)) if hours else [],
        "zones": sorted(available_timezones()),
        "history": history.lines(
            timings.history_kind(kind), target, lambda way, _among: str(NAMES.get(way[0], way[0]))
        ),
        "undo": reverse("admin:hours-undo", args=[kind, target]) if may else "",
    }
    trail = [(_("Schedules"), reverse("admin:schedules")), (name, url)]
    status = 422 if form.is_bound and form.errors else 200
    return page(
        request,
        "desk/hours.html",
        context,
        title=_("Hours of work"),
        item=item,
        trail=trail,
        status=status,
    )


def _initial(row: Any, timed: Timed) -> dict[str, Any]:
    hours = timings.hours_of(row)
    zone = row.timezone if row.pk else timed.zone(row.target)
    first = {
        "limited": hours is not None,
        "timezone": zone,
        "jitter": row.jitter_seconds // 60,
        "days": list(range(7)),
    }
    if hours is None:
        return {**first, "start": "01:00", "end": "06:00"}
    end = "00:00" if hours.end == opening_hours.DAY_MINUTES else words.clock(hours.end)
    return {**first, "start": words.clock(hours.start), "end": end, "days": sorted(hours.days)}


@post_view("schedules/<slug:kind>/<int:target>/undo/", "hours-undo", MAY)
def undo(request: HttpRequest, kind: str, target: int) -> HttpResponse:
    """Undoes the newest change of an item's working hours."""
    timed, _found = _of(kind, target)
    if not request.user.has_perm(timed.change):
        raise PermissionDenied
    attempt(request, _("Undone."), lambda: timings.undo(kind, target, datetime.now(UTC)))
    return back(request, "hours", kind, target)


MAX_SHOWN = 40
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
        "hold": due.current(),
        "now": now,
        "week": week,
        "zone": zone,
        "missed": due.lately_missed(now - TOLD),
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
    timed = TIMED[one.kind]
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
    asked = {kind: TIMED[kind].planned for kind in targets}
    return {
        (kind, target): starts
        for kind, ask in asked.items()
        if ask is not None
        for target, starts in ask(targets[kind], now, until, zone).items()
    }


@post_view("schedules/pause/", "schedules-pause", MAY)
def pause(request: HttpRequest) -> HttpResponse:
    """Pauses all crawling, including active runs."""
    count = due.pause_all(datetime.now(UTC), request.user)
    told = ngettext(
        "All crawling is paused, including %(count)s run.",
        "All crawling is paused, including %(count)s runs.",
        count,
    )
    return back(request, "schedules", done=told % {"count": count})


@post_view("schedules/resume/", "schedules-resume", MAY)
def resume(request: HttpRequest) -> HttpResponse:
    """Resumes all crawling, including the runs that were paused with it."""
    count = due.resume_all(datetime.now(UTC), request.user)
    told = ngettext(
        "All crawling is resumed, including %(count)s run.",
        "All crawling is resumed, including %(count)s runs.",
        count,
    )
    return back(request, "schedules", done=told % {"count": count})


def _everything(words: Sequence[str], most: int) -> Sequence[Item]:
    """Returns the command palette's item "all crawling" if each of the typed words is a name of it,
    such as "all" or "everything"; otherwise []."""
    known = ("all", "everything", "全部", "所有", "一切")
    return [Item(due.ONLY, _("all crawling"))] if all(word in known for word in words) else []


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
desk_site.add_page(25, gettext_lazy("Schedules"), "schedules", "calendar_month", "schedules")
