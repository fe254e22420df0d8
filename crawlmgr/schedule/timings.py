"""Working hours and random shift of scheduled items: stores them with their history, tells
dispatchers and slices whether work may go on, and computes the next start."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string

from crawlmgr.models import Run, Timing
from crawlmgr.schedule import opening_hours
from crawlmgr.upkeep import settings_history
from crawlmgr.workers import queue

WAITS = "hours"
"""Prefix of a run's `waiting_for` if it waits for its working hours; it is followed by a space,
which no host contains."""
FIELDS = ("hours", "timezone", "jitter_seconds")
MAX_JITTER_SECONDS = 12 * 3600
USUAL = {"hours": "", "timezone": "UTC", "jitter_seconds": 0}


def is_of_hours(waiting_for: str) -> bool:
    """Tells whether a run with this `waiting_for` waits for its working hours."""
    return waiting_for.startswith(f"{WAITS} ")


def of(kind: str, target: int) -> Timing:
    """Returns the working hours of an item; an unsaved row without restriction if none were set."""
    return Timing.objects.filter(kind=kind, target=target).first() or Timing(
        kind=kind, target=target
    )


def of_many(kind: str, targets: Collection[int] | None = None) -> dict[int, Timing]:
    """Returns {target: working hours} of those items of a kind that have any; `targets` restricts
    the items, None means all."""
    rows = Timing.objects.filter(kind=kind)
    return {
        row.target: row for row in (rows if targets is None else rows.filter(target__in=targets))
    }


def hours_of(row: Timing | None) -> opening_hours.OpeningHours | None:
    """Returns the working hours of a row as a `Window`; None if they are not restricted."""
    return (
        opening_hours.parse(row.hours, ZoneInfo(row.timezone))
        if row is not None and row.hours
        else None
    )


def opens(row: Timing | None, now: datetime) -> datetime | None:
    """Returns when the working hours in `row` next begin; None if `now` is within them or they are
    not restricted."""
    at = opening_hours.next_allowed(hours_of(row), now)
    return at if at > now else None


def when(row: Timing | None, due: datetime, now: datetime) -> datetime:
    """Returns the start of an item that is due at `due`: shifted at random by at most
    `row.jitter_seconds` in either direction, but not to before `now` (unless `due` itself is past),
    then moved into its working hours. Without a `row`, it is `due`.
    """
    if row is None:
        return due
    moved = due + opening_hours.jitter(f"{row.kind} {row.target}", due, row.jitter_seconds)
    return opening_hours.next_allowed(hours_of(row), max(moved, min(now, due)))


def outside_hours(run: Run, now: datetime) -> tuple[str, datetime] | None:
    """Tells whether a run that was started by schedule is outside its working hours: returns (code
    of what it waits for, time at which they begin); None if the run may continue."""
    if not run.scheduled or run.target is None:
        return None
    row = Timing.objects.filter(kind=run.kind, target=run.target).first()
    until = opens(row, now)
    return (
        (f"{WAITS} {row.hours} {row.timezone}", until)
        if row is not None and until is not None
        else None
    )


def checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Validates working hours, time zone and random shift, and returns them in the form in which
    they are stored. Raises ValueError with a one-line message."""
    zone, jitter = str(values["timezone"]).strip() or "UTC", int(values["jitter_seconds"])
    if zone not in available_timezones():
        raise ValueError(f"there is no time zone {zone[:60]!r}")
    if not 0 <= jitter <= MAX_JITTER_SECONDS:
        raise ValueError(f"a start can be shifted by 0 to {MAX_JITTER_SECONDS // 60} minutes")
    found = opening_hours.parse(str(values["hours"]), ZoneInfo(zone))
    return {
        "hours": found.text if found is not None else "",
        "timezone": zone,
        "jitter_seconds": jitter,
    }


def values_of(row: Timing) -> dict[str, Any]:
    """Returns the working hours, the time zone and the maximum random shift of a row, by name."""
    return {name: getattr(row, name) for name in FIELDS}


def put(
    kind: str, target: int, values: Mapping[str, Any], *, now: datetime, user: Any = None
) -> Timing:
    """Sets working hours, time zone and random shift of an item; omitted values remain. The next
    start is moved into the new hours, and runs that waited for the old hours are queued to be
    checked again. Raises ValueError with a one-line message."""
    if kind not in settings.TIMED:
        raise ValueError(f"hours are of {', '.join(sorted(settings.TIMED))}, not of {kind}")
    with transaction.atomic():
        before = values_of(of(kind, target))
        after = checked({**before, **values})
        if (
            settings_history.note(history_kind(kind), target, before, after, now=now, user=user)
            is not None
        ):
            _store(kind, target, after, now)
    return of(kind, target)


def undo(kind: str, target: int, now: datetime) -> None:
    """Undoes the newest change of an item's working hours. Raises ValueError if there is none to
    undo."""
    with transaction.atomic():
        before = settings_history.undo(
            history_kind(kind), target, values_of(of(kind, target)), now=now
        )
        _store(kind, target, before, now)


def history_kind(kind: str) -> str:
    """Returns the kind under which `settings_history` stores changes of the working hours of items
    of this kind."""
    return f"hours:{kind}"


def forget(kind: str, target: int) -> None:
    """Deletes the working hours of an item, with their history. Called when the item is deleted."""
    Timing.objects.filter(kind=kind, target=target).delete()
    settings_history.forget(history_kind(kind), target)


def _store(kind: str, target: int, values: Mapping[str, Any], now: datetime) -> None:
    if dict(values) == USUAL:
        Timing.objects.filter(kind=kind, target=target).delete()
    else:
        Timing.objects.update_or_create(kind=kind, target=target, defaults=dict(values))
    import_string(settings.TIMED[kind])(target, of(kind, target), now)
    for run in waiting(kind, target):
        _let_go(run.pk)


def waiting(kind: str, target: int) -> list[Run]:
    """Returns the runs of an item that wait for its working hours."""
    rows = Run.objects.at_work().only("id", "kind", "target", "waiting_for")
    return [
        run
        for run in rows
        if (run.kind, run.target) == (kind, target) and run.waiting_for.startswith(f"{WAITS} ")
    ]


def _let_go(run_id: int) -> None:
    Run.objects.filter(pk=run_id, waiting_for__startswith=f"{WAITS} ").update(
        waiting_for="", waiting_until=None
    )
    queue.run_slice(run_id)


def go_on_now(run_id: int) -> None:
    """Lets a run that waits for its working hours continue at once and ignore them from then on."""
    if Run.objects.filter(pk=run_id, scheduled=True).update(scheduled=False):
        _let_go(run_id)


def soonest(
    row: Timing | None, due: datetime | None, now: datetime, seconds: int | None = None
) -> datetime | None:
    """Returns the next start after the working hours were changed: the stored one `due`, or the
    first later time that the hours allow. With an interval (`seconds`), a stored start more than
    one interval ahead is moved to one interval ahead first.
    """
    if due is None:
        return None
    latest = due if seconds is None else min(due, now + timedelta(seconds=seconds))
    return opening_hours.next_allowed(hours_of(row), max(latest, now))


def document(kind: str, target: int, now: datetime, most: int = 5) -> dict[str, Any]:
    """Returns the working hours of an item as a JSON document: its values, whether it is inside
    them now, when they begin next, and the next `most` periods."""
    row = of(kind, target)
    found, wait = hours_of(row), opens(row, now)
    openings = (
        [{"opens": first, "closes": last} for first, last in islice(found.openings(now), most)]
        if found
        else []
    )
    return {
        "kind": kind,
        "target": target,
        **values_of(row),
        "open": wait is None,
        "opens": wait,
        "openings": openings,
    }
