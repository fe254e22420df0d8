"""The forum of `demo`: found, read, read again after a while, planned; not visited while its pages are not served."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction
from django.db.models import Sum

from crawlmgr.clock import SYSTEM
from crawlmgr.management import demonstration, foreground
from crawlmgr.management.base import say
from crawlmgr.management.demonstration import MARK, Room, Served
from crawlmgr.services import runs
from forums.models import Site, Visit
from forums.services import plan_days, plans, sites

NAME = "Riverside forum 河畔 (demo)"
TIMEZONE = "Asia/Shanghai"
HISTORY_DAYS = 20
INTERVAL_SECONDS = 900  # of each board: the visits a day of the plan follow from it, one every few minutes in all


class ForumDemo:
    """See `Part`. The second visit is made last of all, so that posts have come meanwhile and their delays are known."""

    def kept(self) -> Served | None:
        site = _site()
        return demonstration.kept(site.url, site.settings) if site is not None else None

    def add(self, url: str, began: datetime) -> None:
        site = _site()
        if site is None:
            say("Forum: looking for its boards …")
            site = _found(url, began)
        if site.boards.filter(complete_at=None).exists():
            _visit(site)

    def finish(self) -> dict[str, Any]:
        site = _only()
        _visit(site)
        now = SYSTEM.now()
        plan = plans.current(site.pk) or plans.save(site.pk, {"visits_per_day": plans.of_intervals(site.pk)}, now=now)
        plan_days.replan(plan, now, "asked")
        sites.pause_site(site.pk, False, now)
        site.refresh_from_db()
        visits = Visit.objects.filter(board__site=site)
        names = ("requests", "fetched", "changed", "arrived_new", "arrived_replies", "delay_new_seconds", "delay_replies_seconds")
        sums = {name: value or 0 for name, value in visits.aggregate(**{name: Sum(name) for name in names}).items()}
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

    def rooms(self) -> list[Room]:
        pk = _only().pk
        return [
            Room("forum", "forum", (pk,)),
            Room("plan of its visits", "forum-plan", (pk,)),
            Room("delays", "forum-delays", (pk,)),
        ]

    def leave(self, now: datetime) -> None:
        """Without its pages a visit could only fail."""
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
        raise CommandError("The demonstration's forum was taken away meanwhile; `demo` makes it anew.")
    return site


def _found(url: str, began: datetime) -> Site:
    """Looks at the forum and saves it, its scheduled visits paused until it has been read."""
    settings = {**demonstration.crawl_settings(url, began), "history_days": HISTORY_DAYS}
    demonstration.own_runs().filter(kind="forum-discovery").delete()  # one that was broken off looked at another address
    run = sites.discover(url, {"settings": settings, "timezone": TIMEZONE}, now=SYSTEM.now(), start=False)
    run = foreground.work(run, "forum, boards")
    chosen = [board["url"] for board in run.result.get("boards", [])]
    if not chosen:
        raise CommandError(f"No board was found at {url}: {run.result.get('problem') or run.stopped_by}")
    with transaction.atomic():
        now = SYSTEM.now()
        site = sites.save(run, name=NAME, timezone=TIMEZONE, board_urls=chosen, interval_seconds=INTERVAL_SECONDS, now=now)
        sites.pause_site(site.pk, True, now)
    return site


def _visit(site: Site) -> None:
    say("Forum: reading what is new …")
    try:
        run = sites.crawl_now(site.pk, now=SYSTEM.now(), start=False)
    except runs.Busy as busy:
        run = foreground.joined(busy, "forum")
    foreground.work(run, "forum, posts")
