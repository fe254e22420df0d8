"""Host clocks: one turn at a time for all workers, and what an answer does to the next turn."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial

from django.db import connection, transaction

from crawlmgr.conf import CrawlSettings
from crawlmgr.models import Host
from crawlmgr.services import sql
from crawlmgr.web.exchange import FetchResponse
from crawlmgr.web.politeness import HostState, PacePolicy, after

MOST_KNOWN = 4096
_known: dict[tuple[str, str], int] = {}
_made: set[tuple[str, str]] = set()  # in transactions that may yet be rolled back: their ids hold after the commit only


def host_id(key: str) -> int:
    """The id of a host, made when new."""
    place = (str(Host.objects.db), key)
    known = _known.get(place)
    if known is not None:
        return known
    host, new = Host.objects.get_or_create(key=key)
    if new and connection.in_atomic_block:
        _made.add(place)
        transaction.on_commit(partial(_keep, place, host.pk))
    elif place not in _made:
        _keep(place, host.pk)
    return host.pk


def _keep(place: tuple[str, str], pk: int) -> None:
    if len(_known) >= MOST_KNOWN:
        _known.clear()
    _made.discard(place)
    _known[place] = pk


def forget() -> None:
    """Empties the cache of host ids (a test's database was replaced, a host was deleted)."""
    _known.clear()
    _made.clear()


def effective_delay(host: Host) -> float:
    """The larger of our own delay and what robots.txt asks for, in seconds."""
    return max(host.delay_seconds, host.crawl_delay_seconds or 0.0)


_TURN = "UPDATE crawlmgr_host SET next_at = %s, last_request_at = %s WHERE id = %s AND next_at <= %s"


def take_turn(pk: int, delay_seconds: float, now: datetime) -> bool:
    """Takes the host's turn: moves its clock by the delay if it has come; False where another was faster."""
    return bool(sql.execute(_TURN, (now + timedelta(seconds=delay_seconds), now, pk, now)))


def configure(key: str, settings: CrawlSettings) -> Host:
    """Sets a host's own pace from a site's settings."""
    host = Host.objects.get(pk=host_id(key))
    if (host.delay_seconds, host.connections) != (settings.delay_seconds, settings.connections):
        Host.objects.filter(pk=host.pk).update(delay_seconds=settings.delay_seconds, connections=settings.connections)
        host.refresh_from_db()
    return host


_CLOCK = "SELECT next_at, failures, retry_after_until, crawl_delay_seconds, delay_seconds FROM crawlmgr_host WHERE id = %s"
_SETTLE = (
    "UPDATE crawlmgr_host SET next_at = %s, failures = %s, retry_after_until = %s, last_status = %s, last_error = %s,"
    " requests = requests + %s, bytes = bytes + %s, errors = errors + %s WHERE id = %s"
)
_HOUR = (
    "INSERT INTO crawlmgr_hosthour (host_id, hour, requests, bytes, errors) VALUES (%s, %s, %s, %s, %s)"
    " ON CONFLICT (host_id, hour) DO UPDATE SET requests = crawlmgr_hosthour.requests + excluded.requests,"
    " bytes = crawlmgr_hosthour.bytes + excluded.bytes, errors = crawlmgr_hosthour.errors + excluded.errors"
)


def settle(pk: int, response: FetchResponse, now: datetime) -> HostState:
    """Moves the host's clock by what came back (success, Retry-After, failure) and adds to its sums."""
    failed = response.failure is not None or response.status >= 500 or response.status == 429
    problem = (
        f"{response.failure.value} {response.detail}".strip() if response.failure else str(response.status) if failed else ""
    )
    hour = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    sums = (1 + len(response.redirects), response.received_bytes, int(failed))
    with transaction.atomic():
        next_at, failures, until, crawl_delay, delay = sql.fetch(_CLOCK + sql.locking(), (pk,))[0]
        state = HostState(sql.moment(next_at) or now, failures, sql.moment(until), crawl_delay)
        state = after(state, response, now, PacePolicy(delay_seconds=delay))
        sql.execute(
            _SETTLE, (state.next_at, state.failures, state.retry_after_until, response.status or None, problem[:300], *sums, pk)
        )
        sql.execute(_HOUR, (pk, hour, *sums))
    return state
