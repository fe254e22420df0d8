"""The forum part of the command `demo`: inspects and reads the forum, visits it over a simulated
day, and makes a plan. Visits are paused while the forum's pages are not served."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction
from django.db.models import Sum

from crawlmgr.clock import SYSTEM
from crawlmgr.management import demonstration, foreground
from crawlmgr.management.base import say
from crawlmgr.management.demonstration import CLOCK, DeskPage, Served
from crawlmgr.models import Run
from crawlmgr.upkeep.demonstration import MARK, note_replay
from forums.models import Plan, PlannedVisit, Site, Visit
from forums.plans import loops, plan_days, plans
from forums.plans.plan_state import PlanState
from forums.sites import sites

NAME = "Riverside forum 河畔 (demo)"
TIMEZONE = "Asia/Shanghai"
HISTORY_DAYS = 20
# time between two visits of a board; over all boards of the demo's forum this makes one visit every
# twenty minutes
INTERVAL_SECONDS = 7200
DAY = timedelta(days=1)
STEP = timedelta(seconds=loops.RANK_SECONDS * 10)  # time between two rankings in the simulated day


class ForumDemo:
    """The part of the `demo` command that concerns forums (implements the demonstration's `Part`).

    The forum is first read as of a day ago. Then that day is simulated on a fast clock, with visits
    as the adaptive policy chooses them, so that their benefit is visible at once. The last visit is
    made at the present time.
    """

    def kept(self) -> Served | None:
        site = _site()
        return demonstration.kept(site.url, site.settings) if site is not None else None

    def add(self, url: str, began: datetime) -> None:
        site = _site()
        if site is None:
            say("Forum: looking for its boards …")
            CLOCK.put(began - DAY)
            note_replay(CLOCK.now())
            site = _found(url, began)
        if site.boards.filter(complete_at=None).exists():
            CLOCK.put(site.added)
            note_replay(CLOCK.now())
            _visit(site)
            note_replay(None)
        CLOCK.put(_simulated_until(site))

    def finish(self) -> dict[str, Any]:
        site = _only()
        plan = plans.current(site.pk)
        if plan is None or CLOCK.behind and plan.active:
            plan = _planned(site)
        if CLOCK.behind:
            _simulate_day(site, plan)
        note_replay(None)
        _visit(site)
        now = SYSTEM.now()
        if not plan.active:
            plan = plans.save(site.pk, {"active": True}, now=now)
        plan_days.replan(plan, now, "asked")
        sites.pause_site(site.pk, False, now)
        site.refresh_from_db()
        visits = Visit.objects.filter(board__site=site)
        names = (
            "requests",
            "fetched",
            "changed",
            "arrived_new",
            "arrived_replies",
            "delay_new_seconds",
            "delay_replies_seconds",
        )
        sums = {
            name: value or 0
            for name, value in visits.aggregate(**{name: Sum(name) for name in names}).items()
        }
        arrived = sums["arrived_new"] + sums["arrived_replies"]
        waited = sums["delay_new_seconds"] + sums["delay_replies_seconds"]
        return {
            "site": site.pk,
            "name": site.name,
            "url": site.url,
            "boards": site.boards.count(),
            "threads": site.threads,
            "posts": site.posts,
            "visits": visits.count(),
            "requests": sums["requests"],
            "precision": sums["changed"] / sums["fetched"] if sums["fetched"] else None,
            "found_late": arrived,
            "mean_delay_seconds": round(waited / arrived, 3) if arrived else None,
            "plan": {"plan": plan.pk, "policy": plan.policy, "visits_per_day": plan.visits_per_day},
        }

    def pages(self) -> list[DeskPage]:
        pk = _only().pk
        return [
            DeskPage("forum", "forum", (pk,)),
            DeskPage("plan of its visits", "forum-plan", (pk,)),
            DeskPage("delays", "forum-delays", (pk,)),
        ]

    def leave(self, now: datetime) -> None:
        """Pauses the forum's scheduled visits when the demonstration ends, since its pages are then
        no longer served."""
        site = _site()
        if site is not None:
            sites.pause_site(site.pk, True, now)

    def remove(self, now: datetime) -> list[str]:
        told = []
        for site in _marked():
            told.append(f"forum {site.name}: {site.threads} threads, {site.posts} posts")
            sites.delete_site(site.pk, now)
        return told


def _marked() -> Any:
    return Site.objects.filter(settings__has_key=MARK).order_by("pk")


def _site() -> Site | None:
    found: Site | None = _marked().first()
    return found


def _only() -> Site:
    site = _site()
    if site is None:
        raise CommandError(
            "The demonstration's forum was taken away meanwhile; `demo` makes it anew."
        )
    return site


def _found(url: str, began: datetime) -> Site:
    """Inspects the forum and saves it, with its scheduled visits paused until it has been read."""
    settings = {**demonstration.crawl_settings(url, began), "history_days": HISTORY_DAYS}
    demonstration.own_runs().filter(
        kind="forum-discovery"
    ).delete()  # left by interrupted starts, perhaps at another address
    run = sites.discover(
        url, {"settings": settings, "timezone": TIMEZONE}, now=CLOCK.now(), start=False
    )
    run = foreground.work(run, "forum, boards", CLOCK)
    chosen = [board["url"] for board in run.result.get("boards", [])]
    if not chosen:
        raise CommandError(
            f"No board was found at {url}: {run.result.get('problem') or run.stopped_by}"
        )
    with transaction.atomic():
        now = CLOCK.now()
        site = sites.save(
            run,
            name=NAME,
            timezone=TIMEZONE,
            board_urls=chosen,
            interval_seconds=INTERVAL_SECONDS,
            now=now,
        )
        sites.pause_site(site.pk, True, now)
    return site


def _visit(site: Site) -> None:
    say("Forum: reading what is new …")
    _visited_now(site, None)


def _visited_now(
    site: Site, board_ids: list[int] | None, planned: Sequence[PlannedVisit] = ()
) -> None:
    """Visits these boards, or all (None), and marks the planned visits as started. If a visit was
    interrupted before, it is continued instead."""

    def begin() -> Run:
        with transaction.atomic():
            run = sites.crawl_now(site.pk, board_ids=board_ids, now=CLOCK.now(), start=False)
            # Not by `crawl_now`, which would leave the run to the dispatcher.
            Run.objects.filter(pk=run.pk).update(scheduled=bool(planned))
            for one in planned:
                one.visit = Visit.objects.get_or_create(run=run, board_id=one.board_id)[0]
                one.state = PlannedVisit.State.STARTED
                one.save()
        return run

    demonstration.worked(begin, "forum, posts", CLOCK)


def _simulated_until(site: Site) -> datetime:
    """Returns the time up to which the demonstration's day has been simulated: the end of the last
    visit; now without visits."""
    last = (
        Visit.objects.filter(board__site=site, finished__isnull=False).order_by("-finished").first()
    )
    return last.finished if last is not None and last.finished is not None else SYSTEM.now()


def _planned(site: Site) -> Plan:
    """Creates the plan for the accelerated day and returns it; it is inactive, so that the
    dispatcher ignores it until the day has passed."""
    plan_values = {
        "visits_per_day": plans.of_intervals(site.pk),
        "history_days": float(HISTORY_DAYS),
        "active": False,
    }
    plan = plans.save(site.pk, plan_values, now=CLOCK.now())
    plan_days.replan(plan, CLOCK.now(), "asked")
    return plan


def _simulate_day(site: Site, plan: Plan) -> None:
    """Simulates the day up to the present on the demonstration's clock, which is put forward by
    `STEP` at a time: at each step the adaptive policy is given the results of visits, and chooses
    the boards that are visited next.
    """
    say("Forum: a day on a fast clock, visited as the closed loop asks …")
    while CLOCK.behind:
        now = CLOCK.now()
        note_replay(now)
        live = loops.load(plan, now)
        if live is None:
            return CLOCK.let_go()
        loops.report(live, now)
        due = live.loop.due(now.timestamp())
        planned = [_due(plan, live, int(place), now) for place in due]
        loops.store(live, now)
        if planned:
            _visited_now(site, [one.board_id for one in planned], planned)
        CLOCK.put(now + STEP)
    return None


def _due(plan: Plan, live: PlanState, place: int, now: datetime) -> PlannedVisit:
    """Returns the planned visit (not saved) for a board that the adaptive policy has chosen, as the
    dispatcher would store it. place: index of the board in `live.boards`."""
    reason = loops.reason_of(live, place, now)
    board = int(live.boards[place])
    shown = {
        "code": "waiting",
        "figures": reason.figures,
        "expected_events": reason.waiting,
        "expected_delay": reason.rank,
    }
    return PlannedVisit(plan=plan, board_id=board, at=now, **shown)
