"""The dispatcher (`dispatch`), and the start of scheduled items (such as topic crawls) that are
due: each only once, however many starts were missed while the program was not running, and only
within its working hours.

A start that did not happen in time, because the program was not running or all crawling was paused,
is recorded as an event when the start that replaces it is made."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models import Model, QuerySet
from django.utils.module_loading import import_string

from crawlmgr.archive import archive
from crawlmgr.database.caches import once
from crawlmgr.models import Event, Hold, Run, RunState, Timing, events
from crawlmgr.runs import runs
from crawlmgr.schedule import timings
from crawlmgr.workers import queue

ONLY = 1
"""Primary key of the only row of `Hold`."""


@once
def current() -> Hold | None:
    """Returns the pause of all crawling if it is in force, else None."""
    return Hold.objects.select_related("by").filter(pk=ONLY).first()


def pause_all(now: datetime, user: Any = None) -> int:
    """Pauses all running crawls and keeps scheduled ones from starting; returns how many were
    paused. Crawls that users start afterwards do run, and so do jobs without requests (exports,
    simulations).

    The pause is stored before the first run is paused: after a kill in between, calling it again
    pauses the rest.
    """
    active = [run.pk for run in Run.objects.at_work().only("id", "kind", "state") if _crawls(run)]
    with transaction.atomic():
        hold, made = Hold.objects.get_or_create(
            pk=ONLY, defaults={"since": now, "by": user, "runs": active}
        )
        if not made:
            hold.runs = sorted({*hold.runs, *active})
            hold.save(update_fields=["runs"])
        elif user is not None:
            events.note("all_paused", str(user), now=now)
    for pk in active:
        try:
            runs.pause(pk, now)
        except runs.WrongState:
            continue  # the run has ended in the meantime
    return len(active)


def _crawls(run: Run) -> bool:
    return run.kind not in settings.JOBS and run.state != RunState.PAUSED


def resume_all(now: datetime, user: Any = None) -> int:
    """Ends the pause of all crawling and resumes the runs that it paused; returns how many. Runs
    that were paused by a user before stay paused. The pause is deleted last: after a kill in
    between, calling it again resumes the rest.
    """
    hold = current()
    if hold is None:
        return 0
    gone_on = 0
    for pk in hold.runs:
        Run.objects.filter(pk=pk, state=RunState.RUNNING, wanted="pause").update(wanted="")
        if Run.objects.filter(pk=pk, state=RunState.PAUSED).exists():
            try:
                runs.resume(pk, now)
            except (runs.WrongState, runs.Busy):
                # a user has resumed the run already, or has started another run on the same target
                continue
        gone_on += 1
    Hold.objects.filter(pk=ONLY).delete()
    if user is not None:
        events.note("all_resumed", str(user), now=now)
    return gone_on


LATE = timedelta(minutes=10)  # a start that is later than this counts as missed
MISSED = "schedule_missed"
MAX_LISTED = 20
KEPT = re.compile(
    r"(?P<name>.*): (?P<times>\d+) since (?P<since>\d{4}-\d\d-\d\d \d\d:\d\d) UTC", re.DOTALL
)
"""Format of the text of an event about missed starts: the item's name, their number, and the time
at which the first was due."""


class Missed(NamedTuple):
    """Missed starts of one scheduled item: its name, their number, and when the first should have
    been."""

    name: str
    times: int
    since: datetime


def read_missed(event: Event) -> Missed | None:
    """Returns the missed starts that an event records; None for an event of another kind."""
    found = KEPT.fullmatch(event.text) if event.code == MISSED else None
    if found is None:
        return None
    since = datetime.strptime(found["since"], "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
    return Missed(found["name"], int(found["times"]), since)


def record_missed(name: str, due: datetime | None, seconds: int, now: datetime) -> None:
    """Records the number of missed starts of the item `name` as an event, if the start at `due` is
    overdue; further ones were due every `seconds` until `now`. The single start that the caller
    makes now replaces all of them.
    """
    if due is None or now - due < LATE:
        return
    times = 1 + int((now - due).total_seconds() // max(1, seconds))
    events.warn(MISSED, f"{name}: {times} since {due:%Y-%m-%d %H:%M} UTC", now=now)


def lately_missed(since: datetime) -> Sequence[Event]:
    """Returns the newest events about missed starts since a time, at most MAX_LISTED."""
    return list(Event.objects.filter(at__gte=since, code=MISSED).order_by("-at")[:MAX_LISTED])


Row = TypeVar("Row", bound=Model)


def start_each(
    kind: str,
    due: Sequence[Row],
    start: Callable[[Row, Timing | None, datetime], bool],
    now: datetime,
) -> int:
    """Starts a run of each item in `due` and returns the number started. `start` is called with the
    item, its working hours (None for no restriction) and the time, and returns whether it started a
    run; items that already have an active run are skipped."""
    hours = timings.of_many(kind, [row.pk for row in due]) if due else {}
    started = 0
    for row in due:
        try:
            started += start(row, hours.get(row.pk), now)
        except runs.Busy:
            continue
    return started


def claim(
    rows: QuerySet[Any, Any],
    column: str,
    due: datetime | None,
    *,
    name: str,
    seconds: int,
    hours: Timing | None,
    now: datetime,
) -> bool:
    """Moves the next start of a scheduled item from `due` to `seconds` after now or, if the item is
    outside its working hours, to their beginning. Returns True if the caller must start the item
    now.

    Returns False if the item is outside its working hours, or if another process or a user changed
    the next start first. `rows` selects the row of the item, and `column` names its field with the
    next start. Missed starts are recorded under `name`. The caller must create the run in the same
    transaction, because a kill between two transactions would lose the start."""
    after = timings.when(hours, now + timedelta(seconds=seconds), now)
    held = timings.opens(hours, now)
    if not rows.filter(**{column: due}).update(**{column: held or after}):
        return False
    record_missed(name, due, seconds, now)
    return held is None


def dispatch(now: datetime) -> dict[str, int]:
    """Executes one round of the dispatcher. Calls all functions in settings.DISPATCHERS; while all
    crawling is paused, those that start crawls are left out. Runs that were paused for want of room
    on the disk are resumed once there is room. Then queues the runs that could
    continue but are held by no worker, because their first slice was lost, their lease expired or
    their wait is over. Returns {"started": number of runs started, "queued": number of runs
    queued}."""
    held = settings.CRAWL_DISPATCHERS if current() is not None else ()
    if not held:
        runs.resume_for_room(now, archive.takes_files)
    started = sum(import_string(name)(now) for name in settings.DISPATCHERS if name not in held)
    waiting = runs.ready(now)
    queue.requeue(waiting, now)
    return {"started": started, "queued": len(waiting)}
