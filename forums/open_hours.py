"""Working hours in planning: a day's timetable for sites that may be visited only at some hours.

The planning clock of a site stops outside its working hours: the open hours of a day are stretched
to 24 planning hours, posts made outside them count as made when the next open hours begin, and
planned visits are mapped back to real hours. So every policy can be used unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from crawlmgr.schedule import opening_hours
from forums import planning
from forums.events import Floats, Ints
from forums.intensity import DAY_HOURS
from forums.timetable import Timetable

Spans = tuple[tuple[float, float], ...]
"""The open hours of a local day: pairs (begin, end) in ascending order, in hours since midnight."""
WHOLE_DAY: Spans = ((0.0, DAY_HOURS),)
MINUTES = 1440


def spans(window: opening_hours.Window | None, day: date, zone: ZoneInfo) -> Spans:
    """Returns the open hours of a day on the clock of `zone`, as pairs (begin, end) in hours; () if
    the site is closed all day. A site without working hours (window None) is open all day.

    >>> spans(windows.parse("22:00-06:00", ZoneInfo("UTC")), date(2026, 5, 1), ZoneInfo("UTC"))
    ((0.0, 6.0), (22.0, 24.0))
    """
    if window is None:
        return WHOLE_DAY
    start, end = (
        datetime.combine(day + timedelta(days=step), time(), zone).astimezone(UTC)
        for step in (0, 1)
    )
    scale = DAY_HOURS / (end - start).total_seconds()
    parts = opening_hours.between(window, start, end)
    return tuple(
        ((first - start).total_seconds() * scale, (last - start).total_seconds() * scale)
        for first, last in parts
    )


def to_planning_clock(rates: Floats, open_: Spans) -> Floats:
    """Converts rates (n, bins) per hour of the real day to rates per hour of the planning clock,
    which stops outside the open hours; each board's sum over the day is unchanged."""
    bins = rates.shape[1]
    starts, ends, before = _bounds(open_)
    minute = (np.arange(MINUTES) + 0.5) * DAY_HOURS / MINUTES
    place = np.searchsorted(
        ends, minute, side="right"
    )  # number of the open span that contains this minute, or of the next one
    last = place == len(starts)
    place = np.where(last, 0, place)
    at = before[place] + np.where(last, 0.0, np.maximum(minute - starts[place], 0.0))
    total = float((ends - starts).sum())
    target = np.minimum((at / total * bins).astype(np.int64), bins - 1)
    source = np.minimum((minute / DAY_HOURS * bins).astype(np.int64), bins - 1)
    made = np.zeros_like(rates)
    np.add.at(made.T, target, rates.T[source] * bins / MINUTES)
    return made


def to_day_hours(hours: Floats, open_: Spans) -> Floats:
    """Converts hours of the planning clock to hours of the real day. It runs from 0 to 24 and
    stands still outside `open_`."""
    starts, ends, before = _bounds(open_)
    along = np.asarray(hours, dtype=float) / DAY_HOURS * float((ends - starts).sum())
    place = np.searchsorted(before, along, side="right") - 1
    return np.minimum(starts[place] + along - before[place], np.nextafter(ends[place], 0.0))


def _bounds(open_: Spans) -> tuple[Floats, Floats, Floats]:
    starts, ends = np.array([one[0] for one in open_]), np.array([one[1] for one in open_])
    return starts, ends, np.concatenate([[0.0], np.cumsum(ends - starts)[:-1]])


def schedule(
    policy: str, given: planning.DayInput, visits_per_day: int, open_: Sequence[Spans]
) -> planning.Schedule:
    """Plans a day as `planning.schedule` does, but with every visit inside the open hours of its
    site; `open_` has one entry per site number. Boards of sites that are closed all day get no
    visits."""
    boards = np.flatnonzero(
        np.array([bool(open_[number]) for number in given.site.tolist()], dtype=bool)
    )
    if not len(boards):
        return planning.Schedule((), ())
    rates, plain, gap = given.rates.copy(), given.plain.copy(), given.gap_hours.astype(float)
    for number, hours in enumerate(open_):
        if hours and hours != WHOLE_DAY:
            rows = given.site == number
            rates[rows], plain[rows] = (
                to_planning_clock(rates[rows], hours),
                to_planning_clock(plain[rows], hours),
            )
            gap[number] *= DAY_HOURS / sum(last - first for first, last in hours)
    made = planning.schedule(
        policy, replace(given, rates=rates, plain=plain, gap_hours=gap).only(boards), visits_per_day
    )
    parts = []
    for part in made.parts:
        own = boards[part.boards]
        parts.append(
            planning.Part(own, _mapped(part.table, given.site[own][part.table.board], open_))
        )
    return planning.Schedule(tuple(parts), made.limited)


def _mapped(table: Timetable, site: Ints, open_: Sequence[Spans]) -> Timetable:
    hour = table.hour.copy()
    for number in np.unique(site).tolist():
        rows = site == number
        hour[rows] = to_day_hours(hour[rows], open_[number])
    return Timetable.of(table.boards, table.board, hour, table.day, table.days)


def matching_days_before(day: date, alike: Sequence[bool]) -> int:
    """Returns how many days from the year 1 until `day` (exclusive) have the same open hours as
    `day`. alike: seven flags from Monday to Sunday, true for the weekdays whose open hours equal
    those of `day`.

    A visiting cycle of several days counts only such days, so that every board is visited even if
    some days are closed.
    """
    weeks, weekday = divmod(day.toordinal() - 1, 7)
    return weeks * sum(alike) + sum(alike[:weekday])
