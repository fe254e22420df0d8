"""Host clocks: one turn at a time for all workers, and what an answer does to the next turn."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

from django.db import transaction
from django.db.models import F

from crawlmgr.conf import CrawlSettings
from crawlmgr.models import Host, HostHour
from crawlmgr.web.exchange import FetchResponse
from crawlmgr.web.politeness import HostState, PacePolicy, after


@lru_cache(maxsize=4096)
def _cached_id(key: str, database: str) -> int:
    return Host.objects.get_or_create(key=key)[0].pk


def host_id(key: str) -> int:
    """The id of a host, made when new."""
    return _cached_id(key, str(Host.objects.db))


def forget() -> None:
    """Empties the cache of host ids (a test's database was replaced, a host was deleted)."""
    _cached_id.cache_clear()


def effective_delay(host: Host) -> float:
    """The larger of our own delay and what robots.txt asks for, in seconds."""
    return max(host.delay_seconds, host.crawl_delay_seconds or 0.0)


def take_turn(host: Host, now: datetime) -> bool:
    """Takes the host's turn: moves its clock by the delay if it has come; False where another was faster."""
    return bool(
        Host.objects.filter(pk=host.pk, next_at__lte=now).update(
            next_at=now + timedelta(seconds=effective_delay(host)), last_request_at=now
        )
    )


def configure(key: str, settings: CrawlSettings) -> Host:
    """Sets a host's own pace from a site's settings."""
    host = Host.objects.get(pk=host_id(key))
    if (host.delay_seconds, host.connections) != (settings.delay_seconds, settings.connections):
        Host.objects.filter(pk=host.pk).update(delay_seconds=settings.delay_seconds, connections=settings.connections)
        host.refresh_from_db()
    return host


def settle(host: Host, response: FetchResponse, now: datetime) -> Host:
    """Moves the host's clock by what came back (success, Retry-After, failure) and adds to its sums."""
    policy = PacePolicy(delay_seconds=host.delay_seconds)
    failed = response.failure is not None or response.status >= 500 or response.status == 429
    problem = (
        (f"{response.failure.value} {response.detail}".strip() if response.failure else str(response.status)) if failed else ""
    )
    hour = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    with transaction.atomic():
        fresh = Host.objects.select_for_update().get(pk=host.pk)
        state = HostState(
            next_at=fresh.next_at,
            failures=fresh.failures,
            retry_after_until=fresh.retry_after_until,
            crawl_delay_seconds=fresh.crawl_delay_seconds,
        )
        state = after(state, response, now, policy)
        fresh.next_at, fresh.failures, fresh.retry_after_until = state.next_at, state.failures, state.retry_after_until
        fresh.last_status, fresh.last_error = response.status or None, problem[:300]
        requests = 1 + len(response.redirects)
        fresh.requests += requests
        fresh.bytes += response.received_bytes
        fresh.errors += failed
        fresh.save(
            update_fields=[
                "next_at",
                "failures",
                "retry_after_until",
                "last_status",
                "last_error",
                "requests",
                "bytes",
                "errors",
            ]
        )
        changes = {
            "requests": F("requests") + requests,
            "bytes": F("bytes") + response.received_bytes,
            "errors": F("errors") + int(failed),
        }
        if not HostHour.objects.filter(host=host, hour=hour).update(**changes):
            HostHour.objects.get_or_create(host=host, hour=hour)
            HostHour.objects.filter(host=host, hour=hour).update(**changes)
    return fresh
