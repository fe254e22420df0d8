"""Deletes forums with all data stored for them; their WARC files stay in the archive."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

from django.db.models import QuerySet

from crawlmgr.clock import SYSTEM
from crawlmgr.models import ACTIVE, Run
from crawlmgr.schedule import timings
from crawlmgr.upkeep import removals
from crawlmgr.upkeep.removals import Part, Removal
from forums.models import BoardDay, BoardHour, PlannedVisit, Post, Site, Thread, Visit
from forums.services import structures

KIND = "forum-removal"


def check(site_id: int) -> None:
    """Raises runs.Busy while the site is being deleted."""
    removals.check(KIND, site_id)


def delete(site: Site, now: datetime, user: Any = None) -> None:
    """Deletes a site and returns when that is done; can be repeated if the process was killed."""
    _stop_runs(site, now)
    removals.at_once(_removal(site, now, user))


def start(site: Site, now: datetime, user: Any = None) -> Run | None:
    """Deletes a small site at once and returns None; for a large one returns the run that deletes
    it. Raises runs.Busy if it is already being deleted."""
    stop_runs = partial(_stop_runs, site, now)
    return removals.start(
        KIND, site.pk, site.name, _removal(site, now, user), stop_runs, now=now, user=user
    )


def start_by_key(site_id: int, now: datetime, user: Any = None) -> None:
    """Starts the deletion of a site (see `start`), if it still exists."""
    site = Site.objects.filter(pk=site_id).first()
    if site is not None:
        start(site, now, user)


class SiteRemoval(removals.RemovalJob):
    """The job that deletes a large site."""

    def __init__(self, run: Run) -> None:
        super().__init__(run, self._left, lambda: _runs(run.target))

    def _left(self) -> Removal | None:
        site = Site.objects.filter(pk=self.run.target).first()
        return _removal(site, SYSTEM.now(), self.run.created_by) if site is not None else None


def _runs(site_id: int | None) -> QuerySet[Run]:
    return Run.objects.filter(kind="forum", target=site_id)


def _stop_runs(site: Site, now: datetime) -> None:
    """Pauses the site's schedule and stops its runs."""
    Site.objects.filter(pk=site.pk).update(paused=True)
    removals.end_runs(_runs(site.pk).filter(state__in=ACTIVE), now)


def _removal(site: Site, now: datetime, user: Any) -> Removal:
    threads = Part(
        Thread.objects.filter(site=site), below=lambda some: Post.objects.filter(thread__in=some)
    )
    of_boards = [
        Part(model.objects.filter(board__site=site))
        for model in (PlannedVisit, BoardDay, BoardHour, Visit)
    ]

    def last() -> None:
        structures.record_event(
            site, "site_deleted", f"{site.threads} threads, {site.posts} posts", now=now, user=user
        )
        Site.objects.get(pk=site.pk).delete()
        timings.forget("forum", site.pk)

    return Removal([threads, *of_boards, *removals.of_runs(_runs(site.pk))], last)
