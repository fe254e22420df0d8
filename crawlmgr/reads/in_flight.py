"""Requests in flight, as the web interface shows them: their number per host, and since when they
have been in progress."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Min

from crawlmgr.conf import CrawlSettings
from crawlmgr.models import Run, RunState, Url, UrlState

PATIENT = timedelta(seconds=5)
"""A host is listed as slow if its response has taken longer than this."""


@dataclass(frozen=True, slots=True)
class OnHost:
    """The requests in flight to one host: `number` of addresses in progress, and `since`, when the
    first of them was begun. `pk` and `key` are the host's database key and name."""

    pk: int
    key: str
    number: int
    since: datetime


@dataclass(frozen=True, slots=True)
class InFlight:
    """A run's requests in flight: their `number`, the maximum allowed (`most`), their number on
    each host by its database key (`on`), and the hosts whose responses have taken long so far,
    slowest first (`waited_for`)."""

    number: int
    most: int
    on: dict[int, int]
    waited_for: tuple[OnHost, ...]


def of_run(run: Run, now: datetime, limit: int = 5) -> InFlight | None:
    """Returns the requests in flight of a run; None if the run is not being worked on. At most
    `limit` slow hosts are listed. Reads only the index of claimed addresses."""
    if run.state != RunState.RUNNING:
        return None
    settings = CrawlSettings.from_mapping(run.parameters.get("settings", {}))
    rows = Url.objects.filter(run=run, state=UrlState.CLAIMED, lease_until__gt=now)
    grouped = (
        rows.values("host_id", "host__key")
        .annotate(number=Count("id"), until=Min("lease_until"))
        .order_by("until")
    )
    lease = timedelta(seconds=settings.lease_seconds)
    hosts = [
        OnHost(row["host_id"], row["host__key"], row["number"], row["until"] - lease)
        for row in grouped
    ]
    late = tuple(one for one in hosts if now - one.since >= PATIENT)
    # more addresses may be claimed than are allowed in flight: those beyond the limit have not been
    # requested yet
    number = min(sum(one.number for one in hosts), settings.in_flight)
    return InFlight(number, settings.in_flight, {one.pk: one.number for one in hosts}, late[:limit])


def of_hosts(ids: Collection[int], now: datetime) -> dict[int, int]:
    """Returns the number of addresses in progress on each of the hosts with the database keys
    `ids`, over all runs; hosts without any are left out."""
    rows = Url.objects.filter(host_id__in=ids, state=UrlState.CLAIMED, lease_until__gt=now)
    return dict(rows.values_list("host_id").annotate(Count("id")).order_by())


def total(now: datetime) -> int:
    """Returns the number of addresses in progress over all runs."""
    return Url.objects.filter(state=UrlState.CLAIMED, lease_until__gt=now).count()
