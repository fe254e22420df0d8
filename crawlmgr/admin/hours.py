"""Admin view of the working hours of one scheduled item: times of day, days of the week, time zone,
and random shift of starts."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.dates import WEEKDAYS
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crawlmgr import windows
from crawlmgr.admin import settings_history as history
from crawlmgr.admin import words
from crawlmgr.admin.tree import address
from crawlmgr.admin.views import admin_view, attempt, back, page, post_view
from crawlmgr.services import timings
from crawlmgr.services.recurring import Starts

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
            days = ",".join(windows.DAY_NAMES[day] for day in sorted(chosen["days"]))
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
    window = timings.window(row)
    context = {
        "form": form,
        "row": row,
        "name": name,
        "url": url,
        "kind": kind,
        "target": target,
        "may": may,
        "window": window,
        "opens": timings.opens(row, now),
        "openings": list(islice(window.openings(now), SHOWN)) if window else [],
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
    window = timings.window(row)
    zone = row.timezone if row.pk else timed.zone(row.target)
    first = {
        "limited": window is not None,
        "timezone": zone,
        "jitter": row.jitter_seconds // 60,
        "days": list(range(7)),
    }
    if window is None:
        return {**first, "start": "01:00", "end": "06:00"}
    end = "00:00" if window.end == windows.DAY_MINUTES else words.clock(window.end)
    return {**first, "start": words.clock(window.start), "end": end, "days": sorted(window.days)}


@post_view("schedules/<slug:kind>/<int:target>/undo/", "hours-undo", MAY)
def undo(request: HttpRequest, kind: str, target: int) -> HttpResponse:
    """Undoes the newest change of an item's working hours."""
    timed, _found = _of(kind, target)
    if not request.user.has_perm(timed.change):
        raise PermissionDenied
    attempt(request, _("Undone."), lambda: timings.undo(kind, target, datetime.now(UTC)))
    return back(request, "hours", kind, target)
