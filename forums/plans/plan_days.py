"""Creates the days of a plan: the visits with their reasons and the expected results of each
board."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from typing import Any

import numpy as np
from django.db import transaction

from crawlmgr.conf import CrawlSettings
from crawlmgr.schedule.opening_hours import OpeningHours, next_allowed
from forums.models import BoardDay, Plan, PlanDay, PlannedVisit, Policy
from forums.plans import expected_visits, loops, next_visits, plans
from forums.plans.plan_state import PlanState
from forums.plans.stored_rhythms import Rhythm, posts_per_weight, rhythm
from forums.schedule import day_planning, opening_hours_arrays
from forums.schedule.equations import HOUR_SECONDS
from forums.schedule.events import Floats, Ints, LocalClock
from forums.schedule.optimal import expected_cost, quick_optimal
from forums.schedule.policies import POLICIES
from forums.schedule.rhythm import DAY_HOURS, Intensity

# up to this number of visits a day today and tomorrow are planned; with more, only today
TWO_DAYS_UP_TO = 20_000
EPOCH = date(1970, 1, 1)
VISITS_KEPT_DAYS, DAYS_KEPT_DAYS = 90, 400


@dataclass(slots=True)
class _Visits:
    """Visits in the order of time, as parallel arrays: index of the board in `Rhythm.boards`, epoch
    seconds, expected number of weighted events, their expected delay in weighted event-hours, and
    `figures`, the values that are shown as the visit's reason."""

    board: Ints
    moments: Floats
    events: Floats
    delay: Floats
    figures: list[dict[str, Any]]


def replan(plan: Plan, now: datetime, reason: str = "asked") -> PlanDay | None:
    """Plans the rest of today and tomorrow again, or only today if the plan has more than
    TWO_DAYS_UP_TO visits per day. Visits pinned by users and visits already due are kept. Returns
    the stored day that was planned last.

    If the plan has no board or the policy INTERVAL (a fixed interval for each board), deletes all
    planned visits that are not pinned, and returns None. reason: code that is stored with the day.
    """
    found = rhythm(plan, now)
    _prune(plan, now)
    if not found.boards or plan.policy == Policy.INTERVAL:
        with transaction.atomic():
            _claim(plan)
            PlannedVisit.objects.filter(
                plan=plan, state=PlannedVisit.State.PLANNED, pinned=False
            ).delete()
        return None
    zone = plans.zone_of(plan)
    today = now.astimezone(zone).date()
    days = [today, today + timedelta(days=1)] if plan.visits_per_day <= TWO_DAYS_UP_TO else [today]
    made: PlanDay | None = None
    with transaction.atomic():
        _claim(plan)
        PlannedVisit.objects.filter(
            plan=plan, state=PlannedVisit.State.PLANNED, pinned=False, at__gte=now
        ).delete()
        if plan.policy == Policy.ADAPTIVE:
            state = loops.rebuilt(plan, found, now)
            made = _adaptive_days(state, found, days, now, reason)
        else:
            made = _timetable_days(plan, found, days, now, reason)
            next_visits.note_next([board.pk for board in found.boards], now)
    return made


def _claim(plan: Plan) -> None:
    """Locks the plan in the transaction that writes its visits. Clears `stale`, unless the plan was
    changed since it was read; so a plan whose planning was killed keeps its reason and is planned
    again."""
    list(Plan.objects.select_for_update().filter(pk=plan.pk).values_list("pk"))
    Plan.objects.filter(pk=plan.pk, stale=plan.stale, changed_at=plan.changed_at).update(stale="")
    plan.stale = ""


def _prune(plan: Plan, now: datetime) -> None:
    """Deletes visits and days beyond the time for which they are kept; pinned visits that recur
    daily stay."""
    old = now - timedelta(days=VISITS_KEPT_DAYS)
    PlannedVisit.objects.filter(plan=plan, at__lt=old, daily=False).delete()
    PlanDay.objects.filter(
        plan=plan, day__lt=(now - timedelta(days=DAYS_KEPT_DAYS)).date()
    ).delete()


# --- timetables
# --------------------------------------------------------------------------------------------------


def _given(found: Rhythm) -> day_planning.DayInput:
    limits, gaps = [], []
    first = {board.site_id: board.site for board in found.boards}
    for number, pk in enumerate(found.sites):
        site = first[pk]
        limits.append(float(site.requests_per_day) if site.requests_per_day else np.inf)
        pause = CrawlSettings.from_mapping(site.settings).delay_seconds
        gaps.append(pause * float(found.requests[found.site == number].mean()) / HOUR_SECONDS)
    return day_planning.DayInput(
        found.profiles.rates,
        found.plain.rates,
        found.site,
        found.requests,
        np.array(limits),
        np.array(gaps),
    )


def _timetable_days(
    plan: Plan, found: Rhythm, days: list[date], now: datetime, reason: str
) -> PlanDay | None:
    given = _given(found)
    pinned = {day: _pinned(plan, found, day, now) for day in days}
    by_number: dict[
        tuple[int, tuple[opening_hours_arrays.Spans, ...] | None], day_planning.Schedule
    ] = {}
    windows = plans.of_sites(found.sites)
    made: PlanDay | None = None
    last = {board.pk: board.last_visit for board in found.boards}
    for day in days:
        room = max(1, plan.visits_per_day - len(pinned[day]))
        open_ = _open(found, windows, day)
        if (room, open_) not in by_number:
            plain = (
                day_planning.schedule
                if open_ is None
                else partial(day_planning.schedule_in_hours, open_=open_)
            )
            by_number[room, open_] = plain(plan.policy, given, room)
        table = by_number[room, open_]
        visits = _of_day(plan, found, table, day, now, last, windows)
        codes = "rhythm" if POLICIES[plan.policy].by_rhythm else "even"
        _write(plan, found, visits, codes)
        visits_of = table.visits_per_day(len(found.boards))
        made = _day(
            plan,
            found,
            day,
            now,
            reason,
            visits_of,
            table.expected_delay(given.rates),
            table.limited,
        )
    return made


def _open(
    found: Rhythm, windows: Mapping[int, OpeningHours], day: date
) -> tuple[opening_hours_arrays.Spans, ...] | None:
    """Returns the open hours of each site on a day, by the site's own clock; None if no site has
    working hours."""
    if not windows:
        return None
    pairs = zip(found.sites, found.zones, strict=True)
    return tuple(opening_hours_arrays.spans(windows.get(pk), day, zone) for pk, zone in pairs)


def _turn(found: Rhythm, windows: Mapping[int, OpeningHours], day: date) -> int:
    """Returns the number of a day, counted from a fixed date, by which a timetable that repeats
    after several days selects the day's visits. With working hours (`windows`), only days with the
    same open hours as `day` are counted.
    """
    if not windows:
        return (day - EPOCH).days
    near = [day + timedelta(days=step) for step in range(7)]
    alike = {
        one.weekday(): _open(found, windows, one) == _open(found, windows, day) for one in near
    }
    return day_planning.matching_days_before(day, [alike[number] for number in range(7)])


def _of_day(
    plan: Plan,
    found: Rhythm,
    table: day_planning.Schedule,
    day: date,
    now: datetime,
    last: dict[int, datetime | None],
    windows: Mapping[int, OpeningHours],
) -> _Visits:
    """Returns the visits of a timetable on a day that are still to come, with their expected
    results; updates `last`, the time of the last visit of each board by id."""
    zone = plans.zone_of(plan)
    midnight = datetime.combine(day, time(), zone)
    board, hour = table.on(_turn(found, windows, day))
    ahead = np.array(
        [_offset_hours(other, midnight) - _offset_hours(zone, midnight) for other in found.zones]
    )
    hour = np.mod(hour - ahead[found.site[board]], DAY_HOURS)
    wall = datetime.combine(day, time())
    moments = np.array(
        [
            (wall + timedelta(hours=value)).replace(tzinfo=zone).timestamp()
            for value in hour.tolist()
        ]
    )
    moments = _inside(found, windows, board, moments)
    order = np.argsort(moments, kind="stable")
    order = order[moments[order] >= now.timestamp()]
    board, moments = board[order], moments[order]
    previous = np.empty(len(board))
    for index, (number, moment) in enumerate(zip(board.tolist(), moments.tolist(), strict=True)):
        pk = found.boards[number].pk
        before = last[pk]
        previous[index] = before.timestamp() if before is not None else -np.inf
        last[pk] = datetime.fromtimestamp(moment, UTC)
    first = np.maximum(previous, moments - day_planning.LONGEST_HOURS * HOUR_SECONDS)
    clocks = [
        LocalClock(other, now.timestamp() - 5 * 86400, now.timestamp() + 4 * 86400)
        for other in found.zones
    ]
    local_now, local_first = (
        _local(found, clocks, board, moments),
        _local(found, clocks, board, first),
    )
    expected = day_planning.expectations(found.profiles.rates, board, local_first, local_now)
    raw = posts_per_weight(found, plan.theta)[board]
    figures = [
        {
            "from_hour": round(float(expected.from_hour[index]), 2),
            "to_hour": round(float(expected.to_hour[index]), 2),
            "per_hour": round(float(expected.per_hour[index] * raw[index]), 2),
            "per_day": round(
                float(found.profiles.new_per_day[number] + found.profiles.replies_per_day[number]),
                2,
            ),
            "previous": (
                datetime.fromtimestamp(previous[index], UTC).isoformat()
                if np.isfinite(previous[index])
                else None
            ),
            "hours_since": round(float((moments[index] - first[index]) / HOUR_SECONDS), 2),
            "prior": bool(found.prior[number]),
        }
        for index, number in enumerate(board.tolist())
    ]
    return _Visits(board, moments, expected.events, expected.delay, figures)


def _inside(
    found: Rhythm, windows: Mapping[int, OpeningHours], board: Ints, moments: Floats
) -> Floats:
    """Returns the times of visits, each within the working hours of its site: a time outside them,
    because of a clock change or a different time zone of the plan, is replaced by the next
    beginning of working hours."""
    site, inside = found.site[board], moments.copy()
    for number, pk in enumerate(found.sites):
        for row in np.flatnonzero(site == number).tolist() if pk in windows else ():
            inside[row] = next_allowed(
                windows[pk], datetime.fromtimestamp(moments[row], UTC)
            ).timestamp()
    return inside


def _offset_hours(zone: Any, moment: datetime) -> float:
    offset = moment.astimezone(zone).utcoffset()
    return offset.total_seconds() / HOUR_SECONDS if offset is not None else 0.0


def _local(found: Rhythm, clocks: list[LocalClock], board: Ints, moments: Floats) -> Floats:
    """Converts epoch seconds to hours on the local clock of each board's site."""
    result = np.empty(len(board))
    for number, clock in enumerate(clocks):
        rows = found.site[board] == number
        result[rows] = clock.local_hours(moments[rows])
    return result


# --- visits pinned by users
# --------------------------------------------------------------------------------------------------


def _pinned(plan: Plan, found: Rhythm, day: date, now: datetime) -> list[PlannedVisit]:
    """Returns the visits of a day that users have pinned; daily ones that are missing on this day
    are created."""
    zone = plans.zone_of(plan)
    start, end = (datetime.combine(day + timedelta(days=step), time(), zone) for step in (0, 1))
    here = {board.pk for board in found.boards}
    stand = [
        v
        for v in PlannedVisit.objects.filter(plan=plan, pinned=True, at__gte=start, at__lt=end)
        if v.board_id in here
    ]
    taken = {(v.board_id, v.at.astimezone(zone).time()) for v in stand}
    series = {
        (v.board_id, v.at.astimezone(zone).time()): v
        for v in PlannedVisit.objects.filter(plan=plan, pinned=True, daily=True, at__lt=start)
        if v.board_id in here
    }
    for (board_id, clock), model in series.items():
        at = datetime.combine(day, clock, zone)
        if (board_id, clock) not in taken and at > now:
            stand.append(
                PlannedVisit.objects.create(
                    plan=plan,
                    board_id=board_id,
                    at=at,
                    pinned=True,
                    daily=True,
                    code="person",
                    edited_by_id=model.edited_by_id,
                )
            )
    return stand


# --- storing the visits of a day
# --------------------------------------------------------------------------------------------------


def _write(plan: Plan, found: Rhythm, visits: _Visits, code: str) -> None:
    rows = [
        PlannedVisit(
            plan=plan,
            board_id=found.boards[number].pk,
            at=datetime.fromtimestamp(moment, UTC),
            code=code,
            figures=visits.figures[index],
            expected_events=float(visits.events[index]),
            expected_delay=float(visits.delay[index]),
        )
        for index, (number, moment) in enumerate(
            zip(visits.board.tolist(), visits.moments.tolist(), strict=True)
        )
    ]
    PlannedVisit.objects.bulk_create(rows, batch_size=500)


def _adaptive_days(
    state: PlanState, found: Rhythm, days: list[date], now: datetime, reason: str
) -> PlanDay | None:
    """Stores the given days of an adaptive plan and returns the last one. Only visits added by
    users get fixed times, since the policy chooses the others as it goes; each board's expected
    delay is that of the optimal timetable with as many visits. `reason` tells why the days are
    planned."""
    plan, zone = state.plan, plans.zone_of(state.plan)
    ends = [datetime.combine(day + timedelta(days=1), time(), zone).timestamp() for day in days]
    for day in days:
        _pinned(plan, found, day, now)
    outlook = expected_visits.write(state, now, datetime.fromtimestamp(ends[-1], UTC))
    made: PlanDay | None = None
    rates = found.profiles.rates
    # the same computation as on the tuning page
    table = quick_optimal(rates, plan.visits_per_day)
    delay = expected_cost(Intensity.of(rates), table)
    start = 0.0
    for day, end in zip(days, ends, strict=True):
        board = outlook.board[(outlook.moments >= start) & (outlook.moments < end)]
        visits = np.bincount(board, minlength=len(found.boards)).astype(float)
        made = _day(plan, found, day, now, reason, visits, delay, ())
        start = end
    return made


def _day(
    plan: Plan,
    found: Rhythm,
    day: date,
    now: datetime,
    reason: str,
    visits: Floats,
    delay: Floats,
    limited: tuple[int, ...],
) -> PlanDay:
    even = day_planning.timetable("era", _given(found), plan.visits_per_day)
    era_delay = float(expected_cost(Intensity.of(found.profiles.rates), even).sum())
    values = {
        "made_at": now,
        "reason": reason,
        "policy": plan.policy,
        "visits_per_day": plan.visits_per_day,
        "theta": plan.theta,
        "basis": found.basis,
        "known_days": found.known_days,
        "boards": len(found.boards),
        "boards_known": int((~found.prior).sum()),
        "limited_sites": [found.sites[number] for number in limited],
        "expected_delay": float(delay.sum()) if np.isfinite(delay).all() else None,
        "era_delay": era_delay if np.isfinite(era_delay) else None,
    }
    row, new = PlanDay.objects.get_or_create(plan=plan, day=day, defaults=values)
    if not new:
        row.times_made += 1
        for name, value in values.items():
            setattr(row, name, value)
        row.save()
        BoardDay.objects.filter(planned_day=row).delete()
    profiles = found.profiles
    BoardDay.objects.bulk_create(
        [
            BoardDay(
                planned_day=row,
                board_id=board.pk,
                weight=float(profiles.weights[index]),
                new_per_day=float(profiles.new_per_day[index]),
                replies_per_day=float(profiles.replies_per_day[index]),
                visits=float(visits[index]),
                expected_delay=float(delay[index]) if np.isfinite(delay[index]) else None,
            )
            for index, board in enumerate(found.boards)
        ],
        batch_size=500,
    )
    return row
