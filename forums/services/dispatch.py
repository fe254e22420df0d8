"""Scheduled visits: what is due is started, one run a site, once after any downtime."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Min, Q

from crawlmgr.services import events, runs
from forums.models import Board, Site
from forums.services import sites

GATHER_SECONDS = 30  # boards due within this time go into the same run


def start_due(now: datetime, limit: int = 50) -> int:
    """Starts a visit for every site with a due board; returns the number started. Sites under visit are passed over."""
    due = Q(enabled=True, next_visit__lte=now, site__paused=False)
    ids = (
        Board.objects.filter(due)
        .values("site_id")
        .annotate(at=Min("next_visit"))
        .order_by("at")
        .values_list("site_id", flat=True)[:limit]
    )
    started = 0
    for site_id in list(ids):
        boards = Board.objects.filter(site_id=site_id, enabled=True, next_visit__lte=now + timedelta(seconds=GATHER_SECONDS))
        chosen = list(boards.values_list("pk", flat=True))
        try:
            sites.crawl_now(site_id, board_ids=chosen, now=now)
        except runs.Busy:
            continue
        except ValueError as error:
            name = Site.objects.values_list("name", flat=True).get(pk=site_id)
            events.error("visit_refused", f"{name}: {error}", now=now)
        else:
            started += 1
        for board in boards:  # not due again before this visit ends, and once only however many were missed
            Board.objects.filter(pk=board.pk, next_visit=board.next_visit).update(
                next_visit=now + timedelta(seconds=board.interval_seconds)
            )
    return started
