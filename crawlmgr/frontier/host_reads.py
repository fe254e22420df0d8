"""Queries on hosts: hosts that may not be requested yet and why, failing hosts, and hourly totals
of requests and bytes; requests in flight, by run and by host."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Count, Min, Q, QuerySet, Sum

from crawlmgr.conf import CrawlSettings
from crawlmgr.models import Host, HostHour, Page, Run, RunState, Url, UrlState


class Hour(NamedTuple):
    """Totals of one hour (UTC, given by its beginning) of one host or of all: number of requests,
    received bytes, failed requests."""

    hour: datetime
    requests: int
    bytes: int
    errors: int


class HostSeries(NamedTuple):
    """The hourly totals of one host, oldest first; `key` is its name, with the port if that is not
    the default."""

    key: str
    hours: list[Hour]


def for_lists() -> QuerySet[Host]:
    """Returns all hosts as a queryset that does not load the text of their robots.txt."""
    return Host.objects.defer("robots_text")


class PauseCause(NamedTuple):
    """Why a host may not be requested yet. `code` is "retry_after" (the server asked for a pause),
    "failures" (a pause after failed requests), "crawl_delay" or "delay" (the delay between two
    requests, by robots.txt or by our own setting). `amount` is the number of failures in a row for
    "failures", 0 for "retry_after", otherwise the delay in seconds.
    """

    code: str
    amount: float


def limiting_cause(key: str, now: datetime) -> PauseCause | None:
    """Returns what limits the requests to the host with this key ("example.org:8080"); None only if
    the host is unknown. Whether the host may already be requested again at `now` is left to the
    caller."""
    host = Host.objects.defer("robots_text").filter(key=key).first()
    if host is None:
        return None
    if host.retry_after_until is not None and host.retry_after_until > now:
        return PauseCause("retry_after", 0.0)
    if host.failures:
        return PauseCause("failures", float(host.failures))
    of_robots = host.crawl_delay_seconds or 0.0
    return (
        PauseCause("crawl_delay", of_robots)
        if of_robots > host.delay_seconds
        else PauseCause("delay", host.delay_seconds)
    )


def waiting(rows: QuerySet[Host], now: datetime) -> QuerySet[Host]:
    """Returns those hosts of `rows` whose next allowed request time has not come."""
    return rows.filter(next_at__gt=now)


def failing(rows: QuerySet[Host]) -> QuerySet[Host]:
    """Returns those hosts of `rows` whose last request failed, or whose robots.txt could not be
    read, so that nothing is fetched from them for now."""
    return rows.filter(Q(failures__gt=0) | Q(robots_verdict="deny"))


def hourly(now: datetime, hours: int, host: Host | None = None) -> list[Hour]:
    """Returns the totals of each of the last `hours` hours over all hosts, or of one host, oldest
    first; hours without requests are left out."""
    rows = HostHour.objects.filter(hour__gt=now - timedelta(hours=hours))
    if host is not None:
        rows = rows.filter(host=host)
    sums = (
        rows.values("hour")
        .annotate(r=Sum("requests"), b=Sum("bytes"), e=Sum("errors"))
        .order_by("hour")
    )
    return [Hour(row["hour"], row["r"], row["b"], row["e"]) for row in sums]


def busiest(now: datetime, hours: int, limit: int = 7) -> list[HostSeries]:
    """Returns the `limit` hosts with the most requests in the last `hours` hours, busiest first,
    each with its hourly totals; makes three queries."""
    since = now - timedelta(hours=hours)
    recent = HostHour.objects.filter(hour__gt=since)
    top = [
        pk
        for pk, _n in (
            recent.values_list("host_id").annotate(n=Sum("requests")).order_by("-n")[:limit]
        )
    ]
    names = dict(Host.objects.filter(pk__in=top).values_list("pk", "key"))
    series = {pk: HostSeries(names[pk], []) for pk in top}
    for row in (
        recent.filter(host_id__in=list(series))
        .order_by("hour")
        .values_list("host_id", "hour", "requests", "bytes", "errors")
    ):
        series[row[0]].hours.append(Hour(*row[1:]))
    return list(series.values())


def filled(rows: list[Hour], now: datetime, hours: int) -> list[Hour]:
    """Returns one entry for each of the last `hours` hours, oldest first, with zeros for hours
    missing in `rows`, so that a chart shows hours without requests."""
    known = {row.hour.astimezone(UTC): row for row in rows}
    last = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    span = [last - timedelta(hours=back) for back in range(hours - 1, -1, -1)]
    return [known.get(hour, Hour(hour, 0, 0, 0)) for hour in span]


def recent_pages(host: Host, limit: int = 20) -> list[Page]:
    """Returns the pages fetched most recently from a host, newest first."""
    return list(
        Page.objects.filter(host=host)
        .select_related("run")
        .defer("run__parameters", "run__result")
        .order_by("-fetched_at")[:limit]
    )


def totals() -> dict[str, Any]:
    """Returns the sums over all hosts of their counters "requests", "bytes", "errors" and "refused"
    (addresses that robots.txt disallowed), by these names; each is None if there are no hosts."""
    return Host.objects.aggregate(
        requests=Sum("requests"),
        bytes=Sum("bytes"),
        errors=Sum("errors"),
        refused=Sum("refused_by_robots"),
    )


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


def in_flight_of_run(run: Run, now: datetime, limit: int = 5) -> InFlight | None:
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


def in_flight_of_hosts(ids: Collection[int], now: datetime) -> dict[int, int]:
    """Returns the number of addresses in progress on each of the hosts with the database keys
    `ids`, over all runs; hosts without any are left out."""
    rows = Url.objects.filter(host_id__in=ids, state=UrlState.CLAIMED, lease_until__gt=now)
    return dict(rows.values_list("host_id").annotate(Count("id")).order_by())


def in_flight_total(now: datetime) -> int:
    """Returns the number of addresses in progress over all runs."""
    return Url.objects.filter(state=UrlState.CLAIMED, lease_until__gt=now).count()
