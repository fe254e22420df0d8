"""Requests in flight, as the desk shows them: what is being asked of which host, and since when."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Min

from crawlmgr.conf import CrawlSettings
from crawlmgr.models import Run, RunState, Url, UrlState

PATIENT = timedelta(seconds=5)
"""A host that has been at an answer for so long is named."""


@dataclass(frozen=True, slots=True)
class OnHost:
    """One host's part: addresses in work, and when the oldest of them was claimed."""

    pk: int
    key: str
    number: int
    since: datetime


@dataclass(frozen=True, slots=True)
class InFlight:
    """A run's requests in flight, of how many at the most; `on` says how many by host; `waited_for` are
    hosts that take long, slowest first."""

    number: int
    most: int
    on: dict[int, int]
    waited_for: tuple[OnHost, ...]


def of_run(run: Run, now: datetime, limit: int = 5) -> InFlight | None:
    """What a run that works is asking now; None for one that does not. Reads the index of claimed addresses alone."""
    if run.state != RunState.RUNNING:
        return None
    settings = CrawlSettings.from_mapping(run.parameters.get("settings", {}))
    rows = Url.objects.filter(run=run, state=UrlState.CLAIMED, lease_until__gt=now)
    grouped = rows.values("host_id", "host__key").annotate(number=Count("id"), until=Min("lease_until")).order_by("until")
    lease = timedelta(seconds=settings.lease_seconds)
    hosts = [OnHost(row["host_id"], row["host__key"], row["number"], row["until"] - lease) for row in grouped]
    late = tuple(one for one in hosts if now - one.since >= PATIENT)
    number = min(sum(one.number for one in hosts), settings.in_flight)  # some more may be claimed and wait for these
    return InFlight(number, settings.in_flight, {one.pk: one.number for one in hosts}, late[:limit])


def of_hosts(ids: Collection[int], now: datetime) -> dict[int, int]:
    """How many addresses of each host are being asked for, by any run."""
    rows = Url.objects.filter(host_id__in=ids, state=UrlState.CLAIMED, lease_until__gt=now)
    return dict(rows.values_list("host_id").annotate(Count("id")).order_by())


def total(now: datetime) -> int:
    """How many addresses are being asked for by all runs."""
    return Url.objects.filter(state=UrlState.CLAIMED, lease_until__gt=now).count()
