"""Forums on the page of schedules: when each is visited next, and how many visits are planned in
the coming days."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, datetime
from zoneinfo import ZoneInfo

from django.db.models import Count, Max, Min, Q
from django.db.models.functions import TruncDate

from crawlmgr.schedule.recurring import Recurring, Starts
from forums import reads
from forums.models import Board, Plan, PlannedVisit, Policy, Site
from forums.reads.upcoming import VISIT_PAUSED
from forums.services import outlooks, plans

KIND = "forum"


def entries(now: datetime, most: int) -> list[Recurring]:
    """Returns the `most` forums with the earliest next visits, with the same times as on the forum
    list."""
    boards = Board.objects.filter(enabled=True, next_visit__isnull=False).values("site_id")
    due = boards.annotate(at=Min("next_visit"), often=Min("interval_seconds")).order_by("at")[:most]
    often = {row["site_id"]: row["often"] for row in due}
    sites = Site.objects.filter(pk__in=list(often)).defer("structure", "settings")
    planned = set(
        Board.objects.filter(plans.planned_sites(), site_id__in=list(often)).values_list(
            "site_id", flat=True
        )
    )
    return [
        Recurring(
            KIND,
            row.site.pk,
            row.site.name,
            None if row.site.pk in planned else often[row.site.pk],
            row.due.at,
            row.due.until,
            row.site.paused or row.due.held == VISIT_PAUSED,
        )
        for row in reads.with_freshness(list(sites), now)
    ]


def planned(
    site_ids: Collection[int], now: datetime, until: datetime, zone: ZoneInfo
) -> dict[int, list[Starts]]:
    """Returns by forum id, for each day (in `zone`) with planned or expected visits before `until`,
    the time of the first and of the last visit and their number; a forum without visits is missing.
    """
    found: dict[tuple[int, date], Starts] = {}
    rows = PlannedVisit.objects.filter(
        board__site__in=list(site_ids),
        state=PlannedVisit.State.PLANNED,
        at__gte=now,
        at__lt=until,
        plan__active=True,
    )
    days = rows.values_list("board__site_id", TruncDate("at", tzinfo=zone)).order_by()
    for site, day, first, last, count in days.annotate(
        first=Min("at"), last=Max("at"), count=Count("id")
    ):
        found[site, day] = Starts(first, last, count)
    for site, at in _expected(site_ids, now, until):
        key = site, at.astimezone(zone).date()
        known = found.get(key, Starts(at, at, 0))
        found[key] = Starts(min(known.first, at), max(known.last, at), known.count + 1)
    by_site: dict[int, list[Starts]] = {}
    for (site, _day), starts in sorted(found.items()):
        by_site.setdefault(site, []).append(starts)
    return by_site


def _expected(
    site_ids: Collection[int], now: datetime, until: datetime
) -> list[tuple[int, datetime]]:
    """Returns forum (id) and time of each visit that the adaptive policy expects before `until`."""
    loops = Plan.objects.filter(active=True, policy=Policy.ADAPTIVE).filter(
        Q(site__in=list(site_ids)) | Q(site=None)
    )
    visits = [
        one for plan in loops for one in outlooks.expected(plan, until).visits if one.at >= now
    ]
    sites = (
        dict(Board.objects.filter(site__in=list(site_ids)).values_list("pk", "site_id"))
        if visits
        else {}
    )
    return [(sites[one.board], one.at) for one in visits if one.board in sites]
