"""Starts the visits that are due, by plans or by the boards' intervals, in one run per site; makes
the plans again when needed. Visits of a board that were missed during a downtime are made up for by
a single one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta

import numpy as np
from django.db import transaction
from django.db.models import Min, Q

from crawlmgr.models import Run, events
from crawlmgr.runs import runs
from crawlmgr.schedule.recurring import Recurring
from forums.models import (
    Basis,
    Board,
    Look,
    OverviewSource,
    Plan,
    PlanDay,
    PlannedVisit,
    Policy,
    Site,
    Visit,
)
from forums.plans import expected_visits, loops, next_visits, plan_days, plans
from forums.sites import reads, sites
from forums.visits import overviews

GATHER_SECONDS = 30  # boards due within this time after one that is due are visited in the same run
# least time between two checks of a plan with a timetable; for an adaptive one it is
# `loops.RANK_SECONDS`
FOLLOW_SECONDS = 10.0
# If a plan's `stale` has one of these values, its next check is not made early: "" means that
# nothing has changed, and the others are set by the dispatcher itself while it plans. All other
# values are set by a user's change, which is handled at once.
OWN_REASONS = ("", "day", "history")


def start_due(now: datetime, limit: int = 50) -> int:
    """Starts the visits that are due by a plan or by a board's interval; returns the number of
    runs. Sites with an active visit are skipped. limit: maximum number of runs started for
    intervals per call. Called by the dispatcher at least every minute.
    """
    active = Plan.objects.filter(active=True).exclude(policy=Policy.INTERVAL).select_related("site")
    started = sum(follow(plan, now) for plan in active)
    return started + _by_interval(now, limit)


def _by_interval(now: datetime, limit: int) -> int:
    by_plan = plans.planned_sites()
    due = Q(enabled=True, next_visit__lte=now, site__paused=False) & ~by_plan
    ids = (
        Board.objects.filter(due)
        .values("site_id")
        .annotate(at=Min("next_visit"))
        .order_by("at")
        .values_list("site_id", flat=True)[:limit]
    )
    started, opens = 0, plans.closed(list(ids), now)
    for site_id in list(ids):
        if site_id in opens:
            Board.objects.filter(site_id=site_id, enabled=True, next_visit__lte=now).update(
                next_visit=opens[site_id]
            )
            continue
        boards = Board.objects.filter(
            site_id=site_id, enabled=True, next_visit__lte=now + timedelta(seconds=GATHER_SECONDS)
        )
        chosen = list(boards.values_list("pk", flat=True))
        if _start(site_id, chosen, now) is not None:
            started += 1
        elif site_id in loops.working([site_id]):
            continue
        for board in (
            boards
        ):  # sets the next visit one interval ahead: however many visits were missed, one is made
            Board.objects.filter(pk=board.pk, next_visit=board.next_visit).update(
                next_visit=next_visits.by_interval(board, now, now)
            )
    return started


def _start(
    site_id: int, board_ids: Sequence[int], now: datetime, readings: Sequence[int] = ()
) -> Run | None:
    """Starts a visit of these boards, preceded by the readings of overview sources with the ids
    `readings`. None if the site has an active visit, or if the visit is refused, which is recorded
    as an event."""
    try:
        return sites.crawl_now(
            site_id, board_ids=board_ids, now=now, readings=readings, scheduled=True
        )
    except runs.Busy:
        return None
    except ValueError as error:
        name = Site.objects.values_list("name", flat=True).get(pk=site_id)
        events.error("visit_refused", f"{name}: {error}", now=now)
        return None


# --- plans
# --------------------------------------------------------------------------------------------------


def follow(plan: Plan, now: datetime) -> int:
    """Checks a plan: makes it again if needed, then starts the visits that are due; returns the
    number of runs started.

    If several dispatchers run at once, the one that advances `ranked_at` first makes the check, the
    others return 0.
    """
    last = plan.ranked_at
    pause = loops.RANK_SECONDS - 1.0 if plan.policy == Policy.ADAPTIVE else FOLLOW_SECONDS - 1.0
    soon = last is not None and timedelta(0) <= now - last < timedelta(seconds=pause)
    if soon and plan.stale in OWN_REASONS:
        return 0
    reason = (
        plan.stale
        or ("" if _same_day(plan, last, now) or _made_today(plan, now) else "day")
        or _history_reason(plan)
    )
    # The reason for replanning is stored until the new plan is: if this process is killed before,
    # the next check replans.
    if not Plan.objects.filter(pk=plan.pk, ranked_at=last, stale=plan.stale).update(
        ranked_at=now, stale=reason
    ):
        return 0
    plan.ranked_at, plan.stale = now, reason
    if reason:
        if plan.policy == Policy.ADAPTIVE:
            _report(plan, now)
        plan_days.replan(plan, now, reason)
    if plan.policy == Policy.ADAPTIVE:
        return _by_loop(plan, now)
    return _by_timetable(plan, now)


def _same_day(plan: Plan, last: datetime | None, now: datetime) -> bool:
    """Tells whether the plan's previous check was on the present day of the plan's time zone; that
    check has then ensured that the day is planned."""
    zone = plans.zone_of(plan)
    return (
        last is not None
        and last <= now
        and last.astimezone(zone).date() == now.astimezone(zone).date()
    )


def _made_today(plan: Plan, now: datetime) -> bool:
    """Tells whether the plan was made since midnight in its time zone."""
    zone = plans.zone_of(plan)
    midnight = datetime.combine(now.astimezone(zone).date(), time(), zone).astimezone(UTC)
    return PlanDay.objects.filter(plan=plan, made_at__gte=midnight).exists()


def _history_reason(plan: Plan) -> str:
    """Returns "history", a reason for planning again, if more boards were read completely than at
    the last planning and no visit is active; "" otherwise."""
    latest = PlanDay.objects.filter(plan=plan).order_by("-made_at").first()
    if latest is None or latest.basis == Basis.HISTORY:
        return ""
    boards = plans.boards_under(plan)
    read = boards.filter(complete_at__isnull=False).count()
    if read <= latest.boards_known or not boards.filter(complete_at__gt=latest.made_at).exists():
        return ""
    return (
        ""
        if loops.working(list(boards.values_list("site_id", flat=True).distinct()))
        else "history"
    )


def _due(plan: Plan, now: datetime) -> dict[int, list[PlannedVisit]]:
    """Returns the due planned visits by site, for sites that may be visited now; for each board
    only the last one.

    Those followed by a later due visit of the same board are marked as missed: after a pause a
    board is visited once.
    """
    rows = PlannedVisit.objects.filter(
        plan=plan, state=PlannedVisit.State.PLANNED, at__lte=now
    ).order_by("at", "id")
    waiting = list(rows.select_related("board"))
    if not waiting:
        return {}
    latest = {visit.board_id: visit.pk for visit in waiting}
    overtaken = [visit.pk for visit in waiting if latest[visit.board_id] != visit.pk]
    PlannedVisit.objects.filter(pk__in=overtaken).update(state=PlannedVisit.State.MISSED)
    ids = list({visit.board.site_id for visit in waiting})
    opens = plans.closed(ids, now)
    plans.put_off(
        [
            visit
            for visit in waiting
            if visit.board.site_id in opens and latest[visit.board_id] == visit.pk
        ],
        opens,
    )
    closed = (
        loops.working(ids)
        | set(Site.objects.filter(pk__in=ids, paused=True).values_list("pk", flat=True))
        | set(opens)
    )
    found: dict[int, list[PlannedVisit]] = {}
    for visit in waiting:
        site_id = visit.board.site_id
        if latest[visit.board_id] == visit.pk and site_id not in closed and visit.board.enabled:
            found.setdefault(site_id, []).append(visit)
    return found


def _begin(
    site_id: int,
    planned: Sequence[PlannedVisit],
    now: datetime,
    source: OverviewSource | None = None,
) -> bool:
    """Starts a run that makes these planned visits and reads the overview source, if one is given;
    marks the planned visits as started. False if the run could not be started."""
    with transaction.atomic():
        readings = [overviews.ask(source, now).pk] if source is not None else []
        run = _start(site_id, [visit.board_id for visit in planned], now, readings)
        if run is None:
            Look.objects.filter(pk__in=readings).delete()
            return False
        for one in planned:
            one.visit = Visit.objects.get_or_create(run=run, board_id=one.board_id)[0]
            one.state = PlannedVisit.State.STARTED
            one.save()
    return True


def _by_timetable(plan: Plan, now: datetime) -> int:
    due = _due(plan, now)
    started = [visits for site_id, visits in due.items() if _begin(site_id, visits, now)]
    next_visits.note_next([visit.board_id for visits in started for visit in visits], now)
    return len(started)


def _report(plan: Plan, now: datetime) -> None:
    """Reports the visits that ended since the last ranking to the plan's adaptive policy, so that
    the remaining budget is right when the policy is built again."""
    live = loops.load(plan, now)
    if live is not None:
        loops.report(live, now)
        loops.store(live, now)


def _by_loop(plan: Plan, now: datetime) -> int:
    """Makes one ranking of the adaptive policy and starts the visits that it chooses; returns the
    number of runs started.

    First the loop gets the results of visits that have ended. Visits added by users are made first
    and are charged to the budget too.
    """
    live = loops.load(plan, now)
    if live is None:
        return 0
    reported = loops.report(live, now)
    number = live.number()
    chosen = _due(plan, now)
    for visits in chosen.values():
        for visit in visits:
            if visit.board_id in number:
                live.loop.visiting[number[visit.board_id]] = True
                live.loop.budget.used += 1
    due, source = loops.choose(live, now)
    for place in due.tolist():
        reason = loops.reason_of(live, place, now)
        visit = PlannedVisit(
            plan=plan,
            board_id=int(live.boards[place]),
            at=now,
            code="waiting",
            figures=reason.figures,
        )
        visit.expected_events, visit.expected_delay = reason.waiting, reason.rank
        chosen.setdefault(int(live.sites[live.site[place]]), []).append(visit)
    if source is not None:
        chosen.setdefault(source.site_id, [])
    started = 0
    for site_id, visits in chosen.items():
        look = source if source is not None and source.site_id == site_id else None
        if _begin(site_id, visits, now, look):
            started += 1
            continue
        live.loop.budget.used -= look.cost if look is not None else 0
        refused = [number[visit.board_id] for visit in visits if visit.board_id in number]
        live.loop.missed(np.array(refused, dtype=np.int64))
        live.loop.budget.used -= len(refused)
    loops.store(live, now)
    if started or reported or expected_visits.outdated(plan, now):
        opens = plans.next_opening(live.loop.sites.openings, now)
        soon = (opens or now) + timedelta(hours=expected_visits.SOON_HOURS)
        expected_visits.write(live, now, soon)
    return started


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
            "forum",
            row.site.pk,
            row.site.name,
            None if row.site.pk in planned else often[row.site.pk],
            row.due.at,
            row.due.until,
            row.site.paused or row.due.held == reads.VISIT_PAUSED,
        )
        for row in reads.with_freshness(list(sites), now)
    ]
