"""Plans of visits: their scope, policy and budget, and visits added, moved, pinned and removed by
users."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q

from crawlmgr.models import Timing
from crawlmgr.schedule import opening_hours, timings
from forums.models import (
    ALL_SITES,
    MAX_DEADLINE_HOURS,
    MIN_DEADLINE_HOURS,
    Board,
    Plan,
    PlannedVisit,
    Policy,
    Site,
)
from forums.plans import expected_visits, next_visits
from forums.schedule.bounds import checked_importance
from forums.schedule.opening_hours_arrays import Openings

FIELDS = ("policy", "visits_per_day", "theta", "history_days", "half_life_days", "bins", "active")
USUAL_VISITS_PER_BOARD = 4
MAX_A_BOARD = 24 * 60  # largest number of visits per day of one board: one a minute
FARTHEST_DAYS = 14  # how far ahead a user may schedule a visit


def current(site_id: int | None) -> Plan | None:
    """Returns the saved plan of a site, or (None) of all sites; None if there is none."""
    return Plan.objects.select_related("site").filter(scope=next_visits.scope(site_id)).first()


def draft(site_id: int | None, now: datetime) -> Plan:
    """Returns the saved plan of a site (None: of all sites), or else a new adaptive one with four
    visits per board and day."""
    found = current(site_id)
    if found is not None:
        return found
    boards = Board.objects.filter(enabled=True)
    number = (boards.filter(site_id=site_id) if site_id is not None else boards).count()
    site = Site.objects.get(pk=site_id) if site_id is not None else None
    return Plan(
        scope=next_visits.scope(site_id),
        site=site,
        visits_per_day=max(1, USUAL_VISITS_PER_BOARD * number),
        changed_at=now,
    )


def save(
    site_id: int | None, values: Mapping[str, Any], *, now: datetime, user: Any = None
) -> Plan:
    """Creates or changes the plan of a site (None: of all sites) and returns it; the dispatcher
    plans again in its next round. values: new values by names in FIELDS. Raises ValueError with a
    one-line message for an unknown name or an invalid value.
    """
    unknown = set(values) - set(FIELDS)
    if unknown:
        raise ValueError(f"a plan has no {', '.join(sorted(unknown))}")
    with transaction.atomic():
        plan = draft(site_id, now)
        before = {name: getattr(plan, name) for name in FIELDS}
        for name, value in values.items():
            setattr(plan, name, value)
        plan.changed_at, plan.changed_by = now, user
        try:
            plan.full_clean(validate_unique=False)
        except ValidationError as error:
            name, messages = next(iter(error.message_dict.items()))
            raise ValueError(f"{name}: {messages[0]}") from None
        if plan.visits_per_day > most_visits(plan):
            raise ValueError(
                f"visits_per_day: {most_visits(plan)} at the most, that is every board once a"
                " minute"
            )
        changed = [name for name in FIELDS if getattr(plan, name) != before[name]]
        if plan.pk is None:
            plan.stale = "new"
        elif changed:
            plan.stale = "visits_per_day" if changed == ["visits_per_day"] else changed[0]
        plan.save()
        if plan.site_id is not None:
            Plan.objects.filter(scope=ALL_SITES).update(stale="boards")
        return_to_intervals(plan, now)
    return plan


def of_intervals(site_id: int) -> int:
    """Returns the visits per day that the intervals of a site's scheduled boards add up to, at
    least 1."""
    seconds = Board.objects.filter(site_id=site_id, enabled=True).values_list(
        "interval_seconds", flat=True
    )
    return max(1, round(sum(86400 / one for one in seconds)))


def begin(site_id: int, *, now: datetime, user: Any = None) -> Plan | None:
    """Creates and returns the plan of a new site: the adaptive policy, with as many visits per day
    as the intervals of its boards add up to.

    Returns None, creating nothing, if the site has a plan or the plan of all sites covers it.
    """
    if current(site_id) is not None:
        return None
    if Plan.objects.filter(scope=ALL_SITES, active=True).update(stale="boards"):
        return None
    return save(site_id, {"visits_per_day": of_intervals(site_id)}, now=now, user=user)


@contextmanager
def budget_following_intervals(site_id: int, now: datetime) -> Iterator[None]:
    """Keeps a plan's budget equal to `of_intervals` during a change of a site's intervals or boards
    (context manager): if the two were equal before the change, the budget is set to the new value
    afterwards."""
    before = of_intervals(site_id)
    yield
    plan, after = current(site_id), of_intervals(site_id)
    if plan is not None and plan.visits_per_day == before != after:
        save(site_id, {"visits_per_day": after}, now=now, user=plan.changed_by)


def return_to_intervals(plan: Plan, now: datetime) -> None:
    """If the plan is inactive or its policy is to visit at fixed intervals, deletes the planned
    visits of its boards and makes each board due by its own interval."""
    if plan.active and plan.policy != Policy.INTERVAL:
        return
    PlannedVisit.objects.filter(plan=plan, state=PlannedVisit.State.PLANNED).delete()
    for board in boards_under(plan).only("id", "site_id", "last_visit", "interval_seconds"):
        due = max(now, next_visits.by_interval(board, board.last_visit or now, now))
        Board.objects.filter(pk=board.pk).update(next_visit=due, next_until=None)


def boards_under(plan: Plan) -> Any:
    """Returns the scheduled boards covered by this plan."""
    rows = Board.objects.filter(enabled=True)
    return (
        rows.filter(site_id=plan.site_id)
        if plan.site_id is not None
        else rows.exclude(site__plan__active=True)
    )


def most_visits(plan: Plan) -> int:
    """Returns the largest number of visits per day that a plan may have: one a minute for each of
    its boards (for one board if it has none), as with the shortest interval."""
    return MAX_A_BOARD * max(1, boards_under(plan).count())


def planned_sites() -> Q:
    """Returns a query condition for boards whose visits a plan determines; all other boards follow
    their interval."""
    own = Q(site__plan__active=True) & ~Q(site__plan__policy=Policy.INTERVAL)
    rest = (
        Plan.objects.filter(scope=ALL_SITES, active=True).exclude(policy=Policy.INTERVAL).exists()
    )
    return own | ~Q(site__plan__active=True) if rest else own


def set_importance(
    site_id: int,
    *,
    site: float | None = None,
    boards: Mapping[int, float] | None = None,
    requests_per_day: int | None = None,
    unlimited: bool = False,
    now: datetime,
) -> None:
    """Sets the importance of a site and of its boards (by id), and its limit of requests per day
    (`unlimited` removes it). What is None stays unchanged.

    Plans affected become stale, so that they are made again. Raises ValueError with a one-line
    message for a value out of bounds.
    """
    for value in [*([site] if site is not None else []), *(boards or {}).values()]:
        checked_importance(value)
    if requests_per_day is not None and requests_per_day < 1:
        raise ValueError("a site needs at least one request a day")
    with transaction.atomic():
        if site is not None:
            Site.objects.filter(pk=site_id).update(importance=site)
        for pk, value in (boards or {}).items():
            Board.objects.filter(pk=pk, site_id=site_id).update(importance=value)
        if requests_per_day is not None or unlimited:
            Site.objects.filter(pk=site_id).update(
                requests_per_day=None if unlimited else requests_per_day
            )
        Plan.objects.filter(Q(site_id=site_id) | Q(site=None)).update(
            stale="importance", changed_at=now
        )


def set_deadline(board_ids: Sequence[int], hours: float | None, now: datetime) -> int:
    """Sets the longest time in hours that a post of these boards should wait, None for no limit;
    returns the number of boards. Their plans become stale. Raises ValueError for hours out of
    bounds."""
    if hours is not None and not MIN_DEADLINE_HOURS <= hours <= MAX_DEADLINE_HOURS:
        raise ValueError(
            f"a deadline lies between {MIN_DEADLINE_HOURS:g} and {MAX_DEADLINE_HOURS:g} hours"
        )
    with transaction.atomic():
        changed = Board.objects.filter(pk__in=board_ids).update(deadline_hours=hours)
        sites = Board.objects.filter(pk__in=board_ids).values("site_id")
        Plan.objects.filter(Q(site_id__in=sites) | Q(site=None)).update(
            stale="deadline", changed_at=now
        )
    return changed


def zone_of(plan: Plan) -> ZoneInfo:
    """Returns the time zone of a plan's days: its site's; for the plan of all sites, that of the
    first site."""
    site = plan.site if plan.site is not None else Site.objects.order_by("pk").first()
    return site.zone if site is not None else ZoneInfo("UTC")


# --- visits added by a user
# -----------------------------------------------------------------------------------------------


def add(
    plan: Plan, board_id: int, at: datetime, *, daily: bool = False, now: datetime, user: Any = None
) -> PlannedVisit:
    """Adds a visit requested by a user: it is pinned (kept when planning again) and charged to the
    budget. Raises ValueError if the plan does not cover the board or the time is not within the
    next 14 days."""
    if not boards_under(plan).filter(pk=board_id).exists():
        raise ValueError("this plan does not visit that board")
    _check_time(at, now)
    visit = PlannedVisit.objects.create(
        plan=plan, board_id=board_id, at=at, pinned=True, daily=daily, code="person", edited_by=user
    )
    _changed(visit, now)
    return visit


def move(planned_id: int, at: datetime, *, now: datetime, user: Any = None) -> PlannedVisit:
    """Moves a planned visit to another time and pins it to that time. Raises ValueError if the
    visit has begun or the time is not within the next 14 days."""
    visit = _to_come(planned_id)
    _check_time(at, now)
    visit.at, visit.pinned, visit.code, visit.figures, visit.edited_by = (
        at,
        True,
        "person",
        {},
        user,
    )
    visit.expected_events = visit.expected_delay = None
    visit.save()
    _changed(visit, now)
    return visit


def pin(
    planned_id: int, *, pinned: bool, daily: bool = False, now: datetime, user: Any = None
) -> PlannedVisit:
    """Pins a visit to its time, so that planning again does not move it (with `daily` every day);
    or lets planning move it again."""
    visit = _to_come(planned_id)
    if visit.daily and not (pinned and daily):
        _end_series(visit)
    visit.pinned, visit.daily, visit.edited_by = pinned, pinned and daily, user
    visit.save()
    _changed(visit, now)
    return visit


def remove(planned_id: int, *, now: datetime) -> None:
    """Removes a planned visit; the day then has one visit fewer."""
    visit = _to_come(planned_id)
    if visit.daily:
        _end_series(visit)
    visit.delete()
    _note(visit, now)


def _to_come(planned_id: int) -> PlannedVisit:
    visit = (
        PlannedVisit.objects.select_related("plan")
        .filter(pk=planned_id, state=PlannedVisit.State.PLANNED)
        .first()
    )
    if visit is None:
        raise ValueError("this visit is no longer to come")
    return visit


def _end_series(visit: PlannedVisit) -> None:
    """Ends the series of daily pinned visits of a board to which `visit` belongs (same local time):
    the other visits of the series that are still planned are deleted, and past ones are no longer
    marked as daily."""
    zone = zone_of(visit.plan)
    clock = visit.at.astimezone(zone).time()
    others = PlannedVisit.objects.filter(
        plan_id=visit.plan_id, board_id=visit.board_id, daily=True
    ).exclude(pk=visit.pk)
    same = [other for other in others if other.at.astimezone(zone).time() == clock]
    PlannedVisit.objects.filter(
        pk__in=[one.pk for one in same], state=PlannedVisit.State.PLANNED
    ).delete()
    PlannedVisit.objects.filter(pk__in=[one.pk for one in same]).update(daily=False)


def _check_time(at: datetime, now: datetime) -> None:
    if not now <= at <= now + timedelta(days=FARTHEST_DAYS):
        raise ValueError(f"a visit can be put between now and {FARTHEST_DAYS} days ahead")


def _changed(visit: PlannedVisit, now: datetime) -> None:
    """Marks the plan as stale after a user's change of a visit, so that the other visits of the day
    are planned around it."""
    Plan.objects.filter(pk=visit.plan_id).update(stale="visits")
    _note(visit, now)


def _note(visit: PlannedVisit, now: datetime) -> None:
    if visit.plan.policy == Policy.ADAPTIVE:
        expected_visits.note(visit.plan, [visit.board_id], now)
    else:
        next_visits.note_next([visit.board_id], now)


KIND = "forum"
# time before and after now for which open intervals are computed: a weekly window opens at least
# once in it
BEFORE, AFTER = timedelta(days=2), timedelta(days=11)


def of_sites(site_ids: Collection[int]) -> dict[int, opening_hours.OpeningHours]:
    """Returns the working hours of these sites, without sites that have none."""
    found = {pk: timings.hours_of(row) for pk, row in timings.of_many(KIND, site_ids).items()}
    return {pk: window for pk, window in found.items() if window is not None}


def closed(site_ids: Collection[int], now: datetime) -> dict[int, datetime]:
    """Returns the sites among these that are outside their working hours now, and when each one's
    next hours begin."""
    found = {
        pk: opening_hours.next_allowed(window, now) for pk, window in of_sites(site_ids).items()
    }
    return {pk: at for pk, at in found.items() if at > now}


def openings(site_ids: Sequence[int], now: datetime) -> tuple[Openings | None, ...]:
    """Returns, for each site, its working hours from BEFORE `now` to AFTER it as intervals; None
    for a site that has no working hours. Returns () if none of the sites has any."""
    known = of_sites(site_ids)
    if not known:
        return ()
    span = (now - BEFORE).timestamp(), (now + AFTER).timestamp()
    made = {window: Openings.of(window, *span) for window in set(known.values())}
    return tuple(made[known[pk]] if pk in known else None for pk in site_ids)


def retime(site_id: int, hours: Timing, now: datetime) -> None:
    """Moves the next visits of a forum's boards into new working hours and marks its plan to be
    recomputed."""
    window = timings.hours_of(hours)
    Plan.objects.filter(site_id=site_id).update(stale="hours", changed_at=now)
    Plan.objects.filter(site=None).update(stale="hours", changed_at=now)
    for board in Board.objects.filter(site_id=site_id, next_visit__isnull=False).only(
        "id", "next_visit", "next_until"
    ):
        due = max(board.next_visit or now, now)
        at = opening_hours.next_allowed(window, due)
        if at != due:
            Board.objects.filter(pk=board.pk).update(next_visit=at, next_until=None)


def put_off(planned: Collection[PlannedVisit], opens: dict[int, datetime]) -> None:
    """Moves planned visits that became due outside their site's working hours to the time when
    these hours begin next. `opens`: this time, by site id."""
    for visit in planned:
        at = opens[visit.board.site_id]
        PlannedVisit.objects.filter(pk=visit.pk, state=PlannedVisit.State.PLANNED).update(at=at)
        Board.objects.filter(pk=visit.board_id).update(next_visit=at, next_until=None)


def next_opening(openings: Sequence[Openings | None], now: datetime) -> datetime | None:
    """Returns when the first of these sites begins its working hours, if all are outside theirs
    now; None if one is inside."""
    if not openings or any(one is None for one in openings):
        return None
    first = min(one.next(now.timestamp()) for one in openings if one is not None)
    return datetime.fromtimestamp(first, UTC) if now.timestamp() < first < float("inf") else None
