"""Records and lists missed scheduled starts: starts that did not happen in time because the program
was not running or all crawling was paused. They are recorded as events when the start that replaces
them is made."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from crawlmgr.models import Event, events

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


def read(event: Event) -> Missed | None:
    """Returns the missed starts that an event records; None for an event of another kind."""
    found = KEPT.fullmatch(event.text) if event.code == MISSED else None
    if found is None:
        return None
    since = datetime.strptime(found["since"], "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
    return Missed(found["name"], int(found["times"]), since)


def record(name: str, due: datetime | None, seconds: int, now: datetime) -> None:
    """Records the number of missed starts of the item `name` as an event, if the start at `due` is
    overdue; further ones were due every `seconds` until `now`. The single start that the caller
    makes now replaces all of them.
    """
    if due is None or now - due < LATE:
        return
    times = 1 + int((now - due).total_seconds() // max(1, seconds))
    events.warn(MISSED, f"{name}: {times} since {due:%Y-%m-%d %H:%M} UTC", now=now)


def lately(since: datetime) -> Sequence[Event]:
    """Returns the newest events about missed starts since a time, at most MAX_LISTED."""
    return list(Event.objects.filter(at__gte=since, code=MISSED).order_by("-at")[:MAX_LISTED])
