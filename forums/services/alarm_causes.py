"""Causes of alarms in forums: no or fewer new posts, delays over target, overdue visits, changed
layouts, doubtful readings."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from math import inf

from django.db.models import Count, Min, Q
from django.utils.translation import gettext_noop

from crawlmgr.alarms.causes import Cause, dropped
from crawlmgr.database.caches import remembered
from forums.models import Board, Doubt, Site
from forums.reads import delays
from forums.services import plans

LATE = timedelta(hours=1)
MAX_CAUSES = (
    100  # largest number of causes of each kind that are reported; further ones are left out
)
DAYS = 2  # days over which delays are averaged: today and yesterday in the forum's zone
# a board raises no alarm about its delay if fewer posts than this were found on it in the last DAYS
# days
FEWEST = 5
WORKED_OUT_SECONDS = (
    300  # how long a forum's delays are cached, since computing them reads all visits of two days
)


def causes(now: datetime) -> list[Cause]:
    """Returns the present problems that raise alarms: for each forum one cause per kind of problem
    that it has."""
    return [*_silent(), *_dropped(), *_over(now), *_late(now), *_layouts(), *_doubts()]


def _silent() -> list[Cause]:
    text = gettext_noop("%(site)s yields nothing new although new items were expected.")
    rows = (
        Site.objects.filter(silent_since__isnull=False, paused=False)
        .only("name")
        .order_by("pk")[:MAX_CAUSES]
    )
    return [
        Cause(
            f"silent {site.pk}",
            "silence",
            text,
            {"site": site.name},
            f"/admin/forums/site/{site.pk}/",
        )
        for site in rows
    ]


def _dropped() -> list[Cause]:
    text = gettext_noop(
        "%(site)s has %(share)s %% less new content than usual: %(items)s items in two days,"
        " usually %(usual)s."
    )
    rows = (
        Site.objects.filter(~Q(drop={}), paused=False)
        .only("name", "drop")
        .order_by("pk")[:MAX_CAUSES]
    )
    return [
        Cause(
            f"drop {site.pk}",
            "drop",
            text,
            {"site": site.name, **dropped(site.drop["items"], site.drop["usual"])},
            f"/admin/forums/site/{site.pk}/",
        )
        for site in rows
    ]


def _over(now: datetime) -> list[Cause]:
    """Returns a cause for each site that has boards whose posts wait longer on average than the
    operator's target for the board; the figures are those of the delay report."""
    text = gettext_noop(
        "Posts of %(site)s wait too long. Boards over their target: %(count)s; the worst is"
        " %(board)s with %(hours)s hours on average (target: %(target)s)."
    )
    wanted = Site.objects.filter(
        paused=False, boards__enabled=True, boards__deadline_hours__isnull=False
    )
    found = []
    for site in wanted.distinct().order_by("pk")[:MAX_CAUSES]:
        over = remembered(
            f"delays-over-target-{site.pk}", WORKED_OUT_SECONDS, partial(_over_target, site, now)
        )
        if over:
            board, hours, target = max(over, key=lambda one: one[1] / one[2])
            facts = {
                "site": site.name,
                "count": len(over),
                "board": board,
                "hours": round(hours, 1),
                "target": round(target, 1),
            }
            found.append(
                Cause(
                    f"delay {site.pk}", "late", text, facts, f"/admin/forums/site/{site.pk}/delays/"
                )
            )
    return found


def _over_target(site: Site, now: datetime) -> list[tuple[str, float, float]]:
    """Returns (board name, mean delay in hours, target in hours) of each board whose mean delay
    exceeds its target."""
    plan = plans.draft(site.pk, now)
    found = delays.found(site, now, DAYS, plan.theta, plans.zone_of(plan))
    judged = [
        (found.boards[part.board], part.delay)
        for part in delays.by_board(found, found.items.hours, inf)
    ]
    return [
        (board.name, delay.mean_hours, board.deadline_hours)
        for board, delay in judged
        if board.enabled
        and board.deadline_hours is not None
        and delay.events >= FEWEST
        and delay.mean_hours is not None
        and delay.mean_hours > board.deadline_hours
    ]


def _late(now: datetime) -> list[Cause]:
    text = gettext_noop(
        "Visits of %(site)s are late: %(count)s boards, the longest overdue by %(hours)s hours."
    )
    late = Board.objects.filter(enabled=True, site__paused=False, next_visit__lt=now - LATE)
    rows = (
        late.values("site", "site__name")
        .annotate(count=Count("pk"), first=Min("next_visit"))
        .order_by("site")[:MAX_CAUSES]
    )
    found = []
    for row in rows:
        hours = int((now - row["first"]).total_seconds() // 3600)
        facts = {"site": row["site__name"], "count": row["count"], "hours": hours}
        found.append(
            Cause(f"late {row['site']}", "late", text, facts, f"/admin/forums/site/{row['site']}/")
        )
    return found


def _layouts() -> list[Cause]:
    text = gettext_noop("The layout of %(site)s has changed and could not be learned again.")
    rows = Site.objects.filter(layout__state="disagrees").only("name").order_by("pk")[:MAX_CAUSES]
    return [
        Cause(
            f"layout {site.pk}",
            "layout",
            text,
            {"site": site.name},
            f"/admin/forums/site/{site.pk}/model/",
        )
        for site in rows
    ]


def _doubts() -> list[Cause]:
    text = gettext_noop("Readings of %(site)s may be wrong: %(count)s doubts to check.")
    rows = (
        Doubt.objects.filter(settled_at__isnull=True)
        .values("site", "site__name")
        .annotate(count=Count("pk"))
        .order_by("site")
    )
    return [
        Cause(
            f"doubt {row['site']}",
            "doubt",
            text,
            {"site": row["site__name"], "count": row["count"]},
            f"/admin/forums/site/{row['site']}/model/",
        )
        for row in rows[:MAX_CAUSES]
    ]
