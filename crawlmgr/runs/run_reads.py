"""Queries on runs: lists of runs, and a run's pages, hosts, events and speed."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db.models import Count, QuerySet
from django.db.models.functions import TruncDate

from crawlmgr.database.caches import once
from crawlmgr.models import ACTIVE, Event, Page, Run, RunHost, RunState, Url, UrlState

ENDED = tuple(state for state in RunState if state not in ACTIVE)
DAYS_SHOWN = 30


def listed() -> QuerySet[Run]:
    """Returns all runs as a queryset that does not load the large columns `parameters` and
    `result`."""
    return Run.objects.defer("parameters", "result")


def ended_by_day(
    now: datetime, days: int = DAYS_SHOWN
) -> tuple[list[date], dict[tuple[date, str], int]]:
    """Returns the last `days` days (UTC), oldest first, and the number of runs that ended by (day,
    state), without those that are 0; reads only an index."""
    today = now.astimezone(UTC).date()
    shown = [today - timedelta(days=back) for back in range(days - 1, -1, -1)]
    since = datetime.combine(shown[0], time(), UTC)
    rows = Run.objects.filter(state__in=ENDED, finished__gte=since).order_by()
    counts = rows.values_list(TruncDate("finished", tzinfo=UTC), "state").annotate(Count("id"))
    return shown, {(day, state): number for day, state, number in counts}


def in_states(rows: QuerySet[Run], states: tuple[str, ...]) -> QuerySet[Run]:
    """Returns those runs of `rows` that are in one of the states; for the active states uses the
    partial index of active runs."""
    if set(states) == set(ACTIVE):
        return rows.filter(pk__in=list(Run.objects.at_work().values_list("pk", flat=True)))
    return rows.filter(state__in=states)


@once
def all_active() -> list[Run]:
    """Returns all active runs (running, queued or paused) without the large columns."""
    return list(Run.objects.at_work().defer("parameters", "result"))


def active(limit: int = 20) -> list[Run]:
    """Returns at most `limit` active runs (running, queued or paused), running ones first."""
    rank = {RunState.RUNNING: 0, RunState.QUEUED: 1, RunState.PAUSED: 2}
    return sorted(all_active(), key=lambda run: (rank[RunState(run.state)], -run.pk))[:limit]


def at_work(kind: str, targets: Collection[int] | None = None) -> dict[int, Run]:
    """Returns the active runs of a kind by their `target`, the key of the crawled object: of all
    targets or only of the given ones."""
    rows = (run for run in all_active() if run.kind == kind)
    return {
        run.target: run
        for run in rows
        if run.target is not None and (targets is None or run.target in targets)
    }


def lately(kind: str, since: datetime) -> list[Run]:
    """Returns the runs of a kind that are active, then those that ended since `since`."""
    over = Run.objects.filter(state__in=ENDED, finished__gte=since, kind=kind).defer(
        "parameters", "result"
    )
    return [*(run for run in all_active() if run.kind == kind), *over]


def ended(limit: int = 6) -> list[Run]:
    """Returns at most `limit` runs that have ended, those created last first."""
    over = (
        Run.objects.exclude(state__in=ACTIVE).exclude(finished=None).defer("parameters", "result")
    )
    return list(over.order_by("-id")[:limit])


def recent_pages(run: Run, limit: int = 15) -> list[Page]:
    """Returns the pages that a run fetched most recently, newest first."""
    return list(Page.objects.filter(run=run).order_by("-id")[:limit])


def recent_failures(run: Run, limit: int = 10) -> list[Url]:
    """Returns a run's addresses that failed, were refused, or were dropped before they were
    requested, those that ended last first."""
    rows = Url.objects.filter(
        run=run, state__in=[UrlState.FAILED, UrlState.REFUSED, UrlState.DROPPED]
    )
    return list(rows.defer("payload").order_by("-ended_at")[:limit])


def rate(run: Run, now: datetime, window_seconds: int = 60) -> float | None:
    """Returns a run's pages per minute: over the last `window_seconds` for a running one, otherwise
    over the whole run. None if it has not started, or is not running and lasted less than a second.
    """
    if run.started is None:
        return None
    if run.state == RunState.RUNNING:
        start = max(run.started, now - timedelta(seconds=window_seconds))
        seconds = max(5.0, (now - start).total_seconds())
        return Page.objects.filter(run=run, fetched_at__gt=start).count() * 60 / seconds
    end = run.finished or run.progressed or now
    seconds = (end - run.started).total_seconds()
    return run.fetched * 60 / seconds if seconds >= 1 else None


def hosts(run: Run, limit: int = 10) -> list[RunHost]:
    """Returns at most `limit` hosts that a run requests, first those on which addresses are
    waiting."""
    return list(
        RunHost.objects.filter(run=run)
        .select_related("host")
        .order_by("-active", "host__next_at")[:limit]
    )


def events(run: Run, limit: int = 10) -> list[Event]:
    """Returns a run's most recent events, newest first."""
    return list(Event.objects.filter(run=run).order_by("-id")[:limit])


def get(pk: int) -> Run | None:
    return Run.objects.select_related("created_by").filter(pk=pk).first()


def neighbours(run: Run) -> dict[str, Any]:
    """Returns the keys of the previous and the next run of the same kind and target as "before" and
    "after"; each is None if there is none."""
    same = (
        Run.objects.filter(kind=run.kind, target=run.target)
        if run.target is not None
        else Run.objects.none()
    )
    return {
        "before": same.filter(pk__lt=run.pk).order_by("-id").values_list("pk", flat=True).first(),
        "after": same.filter(pk__gt=run.pk).order_by("id").values_list("pk", flat=True).first(),
    }
