"""Working hours of forums: windows and open intervals of each site, the sites that are closed now,
and moving planned visits into changed hours."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

from crawlmgr.models import Timing
from crawlmgr.schedule import opening_hours, timings
from forums.models import Board, Plan, PlannedVisit
from forums.schedule.events import Openings

KIND = "forum"
# time before and after now for which open intervals are computed: a weekly window opens at least
# once in it
BEFORE, AFTER = timedelta(days=2), timedelta(days=11)


def of_sites(site_ids: Collection[int]) -> dict[int, opening_hours.Window]:
    """Returns the working hours of these sites, without sites that have none."""
    found = {pk: timings.window(row) for pk, row in timings.of_many(KIND, site_ids).items()}
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
    window = timings.window(hours)
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
