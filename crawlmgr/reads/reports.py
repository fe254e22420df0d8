"""The report of a run: numbers of responses by status, type and host, the outcomes of its
addresses, and why the run ended.

It is made from counters and a few indexed rows, so that the report of a run takes no longer for a
million pages than for ten.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

from django.conf import settings

from crawlmgr.database import caches
from crawlmgr.models import Run, RunHost, RunTally, UrlState
from crawlmgr.reads import waiting
from crawlmgr.services import tallies

MAX_HOSTS = 20
MAX_FULL = 1000
MAX_NAMES = 50
# the outcomes of an active run with at least this many requests are cached for COUNTED_SECONDS
MANY = 20_000
COUNTED_SECONDS = 60


def report(run: Run, now: datetime, waits: waiting.Waiting | None = None) -> dict[str, Any]:
    """Returns the report of a run as a dictionary, for the run's page in the web interface, the API
    and the command. Its lists of statuses, types, seeds and hosts are None for runs of older
    versions of the program, which did not count them. `waits` is what the run waits for; it is
    looked up if not given."""
    began, ended = run.started, run.finished or (now if run.active else run.progressed)
    counted = RunTally.objects.filter(run=run).exists() or not run.requests
    return {
        "run": run.pk,
        "kind": run.kind,
        "label": run.label,
        "state": run.state,
        "stopped_by": run.stopped_by,
        "detail": run.detail,
        **(waiting.of(run, now) if waits is None else waits).columns(),
        "started": began,
        "finished": run.finished,
        "seconds": max(0.0, (ended - began).total_seconds()) if began and ended else None,
        "pages": run.fetched,
        "failed": run.failed,
        "refused": run.refused,
        "requests": run.requests,
        "bytes": run.bytes,
        "answers_429_or_503": run.busy,
        "retries": run.retries,
        "waits": run.waits,
        "waited_seconds": run.waited_seconds,
        "statuses": _named(run, tallies.STATUS, "status", "answers") if counted else None,
        "types": _named(run, tallies.TYPE, "type", "pages") if counted else None,
        "seeds": (
            _named(run, tallies.SEED, "outcome", "urls")
            if counted and run.kind in settings.RUNS_WITH_SEEDS
            else None
        ),
        "hosts": _hosts(run) if counted else None,
        "pages_per_host": _limit(run) or None,
        "hosts_full": _full(run),
        "outcomes": outcomes(run),
    }


def _named(run: Run, what: str, name: str, number: str) -> list[dict[str, Any]]:
    """Returns the largest counts of one kind `what` ("status", "type", "seed"), largest first, as
    dictionaries: the counted value under the key `name`, the count under the key `number`, and
    except for seeds the "bytes"."""
    rows = RunTally.objects.filter(run=run, what=what).order_by("-number", "name")[:MAX_NAMES]
    sized = what != tallies.SEED
    return [
        {name: row.name, number: row.number, **({"bytes": row.bytes} if sized else {})}
        for row in rows
    ]


def _hosts(run: Run) -> list[dict[str, Any]]:
    """Returns the hosts with the most pages in the run as dictionaries with their counters, at most
    MAX_HOSTS."""
    rows = (
        RunHost.objects.filter(run=run)
        .select_related("host")
        .order_by("-fetched", "id")[:MAX_HOSTS]
    )
    return [
        {
            "host": row.host.key,
            "id": row.host_id,
            "pages": row.fetched,
            "failed": row.failed,
            "bytes": row.bytes,
        }
        for row in rows
    ]


def outcomes(run: Run) -> list[dict[str, Any]]:
    """Returns the numbers of a run's addresses by state and reason, as dictionaries with "state",
    "reason" and "urls" (number): as stored at the end of the run, or counted now if it is active.
    """
    count = partial(tallies.outcomes, run.pk)
    stored: list[dict[str, Any]] | None = run.outcomes
    if stored is None or run.active:
        many = run.requests >= MANY
        stored = (
            caches.remembered(f"run-outcomes-{run.pk}", COUNTED_SECONDS, count) if many else count()
        )
    return [
        {
            "state": UrlState(row["state"]).name.lower(),
            "reason": row["reason"],
            "urls": row["count"],
        }
        for row in stored
    ]


def _limit(run: Run) -> int:
    """Returns the run's limit of pages per host; 0 for none."""
    return int(run.parameters.get("settings", {}).get("pages_per_host") or 0)


def _full(run: Run) -> int:
    """Returns how many hosts have reached the run's limit of pages per host, at most MAX_FULL; 0
    without a limit."""
    limit = _limit(run)
    return (
        len(RunHost.objects.filter(run=run, fetched__gte=limit)[:MAX_FULL].values_list("pk"))
        if limit
        else 0
    )
