"""Scheduled harvests: starts harvests of forms that are due again, with the settings of their last
harvest, and changes schedules.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from crawlmgr.models import Timing, events
from crawlmgr.services import due, recurring, timings
from deepweb.models import Form, Harvest
from deepweb.services import harvests

MIN_SECONDS, MAX_SECONDS = 3600, 366 * 86_400
FROZEN = ("forms", "settings")  # parameters of a run that are not harvest options


def repeat(form: Form, seconds: int | None, now: datetime) -> None:
    """Schedules harvests of a form at this interval in seconds, with the options of its last
    harvest; with None, the form is harvested only when a user starts it. Raises ValueError with a
    one-line message if the interval is out of range.
    """
    if seconds and not MIN_SECONDS <= seconds <= MAX_SECONDS:
        raise ValueError(
            "a harvest is repeated every hour at the most, and once a year at the least"
        )
    at = (
        timings.when(timings.of(harvests.KIND, form.pk), now + timedelta(seconds=seconds), now)
        if seconds
        else None
    )
    Form.objects.filter(pk=form.pk).update(interval_seconds=seconds or None, next_harvest=at)


def last_settings(form: Form) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the options and the crawl settings of a form's last harvest as two dictionaries, not
    counting single trial queries; ({}, {}) if there is none.
    """
    last = (
        Harvest.objects.filter(form=form)
        .order_by("-pk")
        .values_list("run__parameters", flat=True)[:20]
    )
    found: dict[str, Any] = next((one for one in last if not one.get("fixed")), {})
    return {name: value for name, value in found.items() if name not in FROZEN}, found.get(
        "settings", {}
    )


def repeat_by_key(form: int, seconds: int | None, now: datetime) -> None:
    """Schedules harvests of the form with this id, as `repeat` does. Raises ValueError if there is
    no such form."""
    row = Form.objects.filter(pk=form).defer("words").first()
    if row is None:
        raise ValueError(f"there is no form {form}")
    repeat(row, seconds, now)


def start_due(now: datetime, limit: int = 50) -> int:
    """Starts a harvest of every form that is due, at most `limit` in one call; returns the number
    started. Forms being harvested are skipped; a form outside its working hours waits for them.
    Called regularly by the dispatcher.
    """
    rows = Form.objects.filter(next_harvest__lte=now, interval_seconds__isnull=False)
    found = list(rows.select_related("source").defer("words").order_by("next_harvest")[:limit])
    return due.start_each(harvests.KIND, found, _start, now)


@transaction.atomic
def _start(form: Form, hours: Timing | None, now: datetime) -> bool:
    """Creates a run for a form that is due and sets its next due time, in one transaction. Returns
    False without a run if the form is outside its working hours `hours` (its start then moves to
    their beginning), another process was faster, or the harvest was refused."""
    seconds = form.interval_seconds or MAX_SECONDS
    rows, name = Form.objects.filter(pk=form.pk), form.source.name
    if not due.claim(
        rows, "next_harvest", form.next_harvest, name=name, seconds=seconds, hours=hours, now=now
    ):
        return False
    try:
        options, web = last_settings(form)
        harvests.start([form], options, now=now, settings=web, scheduled=True)
    except ValueError as error:
        events.error("harvest_refused", f"{name}: {error}", now=now)
        return False
    return True


def retime(form: int, hours: Timing, now: datetime) -> None:
    """Moves the next scheduled harvest of a form into its changed working hours."""
    for one in Form.objects.filter(pk=form, next_harvest__isnull=False).only(
        "next_harvest", "interval_seconds"
    ):
        at = timings.soonest(hours, one.next_harvest, now, one.interval_seconds)
        Form.objects.filter(pk=form).update(next_harvest=at)


def entries(now: datetime, most: int) -> list[recurring.Recurring]:
    """Returns the forms with scheduled harvests, those due first, for the page of schedules; at
    most `most`."""
    rows = Form.objects.filter(interval_seconds__isnull=False, next_harvest__isnull=False).order_by(
        "next_harvest"
    )
    columns = rows.values_list("pk", "source__name", "interval_seconds", "next_harvest")
    return [recurring.Recurring(harvests.KIND, *row) for row in columns[:most]]
