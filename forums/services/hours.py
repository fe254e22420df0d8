"""Working hours of forums: windows and openings by site, what is closed now, and visits moved into changed hours."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

from crawlmgr import windows
from crawlmgr.models import Timing
from crawlmgr.services import timings
from forums.models import Board, Plan, PlannedVisit
from forums.openings import Openings

KIND = "forum"
BEFORE, AFTER = timedelta(days=2), timedelta(days=11)  # how far openings are known: a weekly one at least


def of_sites(site_ids: Collection[int]) -> dict[int, windows.Window]:
    """The windows of those of these sites that have working hours."""
    found = {pk: timings.window(row) for pk, row in timings.of_many(KIND, site_ids).items()}
    return {pk: window for pk, window in found.items() if window is not None}


def closed(site_ids: Collection[int], now: datetime) -> dict[int, datetime]:
    """Those of these sites that are closed now, and when each opens."""
    found = {pk: windows.next_allowed(window, now) for pk, window in of_sites(site_ids).items()}
    return {pk: at for pk, at in found.items() if at > now}


def openings(site_ids: Sequence[int], now: datetime) -> tuple[Openings | None, ...]:
    """The openings of each site around now, None for those that are always open; () where none has working hours."""
    known = of_sites(site_ids)
    if not known:
        return ()
    span = (now - BEFORE).timestamp(), (now + AFTER).timestamp()
    made = {window: Openings.of(window, *span) for window in set(known.values())}
    return tuple(made[known[pk]] if pk in known else None for pk in site_ids)


def retime(site_id: int, hours: Timing, now: datetime) -> None:
    """Moves the next visits of a forum's boards into new hours and has its plan made again."""
    window = timings.window(hours)
    Plan.objects.filter(site_id=site_id).update(stale="hours", changed_at=now)
    Plan.objects.filter(site=None).update(stale="hours", changed_at=now)
    for board in Board.objects.filter(site_id=site_id, next_visit__isnull=False).only("id", "next_visit", "next_until"):
        due = max(board.next_visit or now, now)
        at = windows.next_allowed(window, due)
        if at != due:
            Board.objects.filter(pk=board.pk).update(next_visit=at, next_until=None)


def put_off(planned: Collection[PlannedVisit], opens: dict[int, datetime]) -> None:
    """Planned visits whose time has passed while their site was closed come when it opens."""
    for visit in planned:
        at = opens[visit.board.site_id]
        PlannedVisit.objects.filter(pk=visit.pk, state=PlannedVisit.State.PLANNED).update(at=at)
        Board.objects.filter(pk=visit.board_id).update(next_visit=at, next_until=None)


def next_opening(openings: Sequence[Openings | None], now: datetime) -> datetime | None:
    """When the first of these sites opens, where all of them are closed now; None where one is open."""
    if not openings or any(one is None for one in openings):
        return None
    first = min(one.next(now.timestamp()) for one in openings if one is not None)
    return datetime.fromtimestamp(first, UTC) if now.timestamp() < first < float("inf") else None
