"""The clocks of hosts, which tell when each may be requested next: the right to send a request (turn) is shared by all
workers, and a response decides when the next request may be sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial

from django.db import connection, transaction

from crawlmgr.conf import CrawlSettings
from crawlmgr.models import Host
from crawlmgr.services import sql
from crawlmgr.web.exchange import FetchResponse
from crawlmgr.web.politeness import HostState, PacePolicy, after, pace

MOST_KNOWN = 65_536
_SOME = 500
_known: dict[tuple[str, str], int] = {}
_made: set[tuple[str, str]] = set()  # hosts created in uncommitted transactions: their ids are valid only after the commit


def host_id(key: str) -> int:
    """The id of a host, created if new."""
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


def host_ids(keys: Iterable[str]) -> dict[str, int]:
    """The ids of many hosts. New ones are created in the order of their names, so that concurrent transactions cannot
    deadlock."""
    base, wanted = str(Host.objects.db), set(keys)
    found = {key: known for key in wanted if (known := _known.get((base, key))) is not None}
    missing = sorted(wanted - found.keys())
    if len(missing) == 1:
        return {**found, missing[0]: host_id(missing[0])}
    for start in range(0, len(missing), _SOME):
        found |= _found_or_made(base, missing[start : start + _SOME])
    return found


def _found_or_made(base: str, keys: list[str]) -> dict[str, int]:
    found = dict(Host.objects.filter(key__in=keys).values_list("key", "pk"))
    new = [key for key in keys if key not in found]
    if new:
        Host.objects.bulk_create([Host(key=key) for key in new], ignore_conflicts=True)
        found |= dict(Host.objects.filter(key__in=new).values_list("key", "pk"))
    for key, pk in found.items():
        place = (base, key)
        if key in new and connection.in_atomic_block:
            _made.add(place)
            transaction.on_commit(partial(_keep, place, pk))
        elif place not in _made:
            _keep(place, pk)
    return found


class OwnPace:
    """A run's crawl delay for hosts that were never requested."""

    def __init__(self, settings: CrawlSettings) -> None:
        self.values = (settings.delay_seconds, settings.connections)
        self._given: set[int] = set()

    def give(self, ids: Iterable[int]) -> None:
        """Sets the delay on hosts that it was not set on before, in the order of ids as other transactions do."""
        for pk in sorted(set(ids) - self._given):
            sql.execute(_PACE, (*self.values, pk, *self.values))
            self._given.add(pk)


_PACE = (
    "UPDATE crawlmgr_host SET delay_seconds = %s, connections = %s WHERE id = %s AND last_request_at IS NULL"
    " AND (delay_seconds <> %s OR connections <> %s)"
)


def _keep(place: tuple[str, str], pk: int) -> None:
    if len(_known) >= MOST_KNOWN:
        _known.clear()
    _made.discard(place)
    _known[place] = pk


def forget() -> None:
    """Clears the cache of host ids (after a test's database was replaced or a host was deleted)."""
    _known.clear()
    _made.clear()


def effective_delay(host: Host) -> float:
    """The effective crawl delay in seconds: the larger of our own and that of robots.txt."""
    return max(host.delay_seconds, host.crawl_delay_seconds or 0.0)


_TURN = (
    "UPDATE crawlmgr_host SET next_at = %s, last_request_at = %s"
    " WHERE id = (SELECT id FROM crawlmgr_host WHERE id = %s AND next_at <= %s"
)
_GIVE_TURN_BACK = "UPDATE crawlmgr_host SET next_at = %s, last_request_at = %s WHERE id = %s"


def take_turn(pk: int, delay_seconds: float, now: datetime) -> bool:
    """Takes a turn on a host, the right to send it one request: if its clock allows a request at `now`, advances the clock by
    the delay and returns True; False if another worker took the turn first.

    A host locked by another transaction is skipped instead of waited for, because the caller may hold locks as well.
    """
    statement = f"{_TURN}{sql.locking(wait=False)})"
    return bool(sql.execute(statement, (now + timedelta(seconds=delay_seconds), now, pk, now)))


_TURNS = (
    "UPDATE crawlmgr_host SET next_at = %s, last_request_at = %s"
    " WHERE id IN (SELECT id FROM crawlmgr_host WHERE id IN ({}) AND next_at <= %s{}) RETURNING id"
)


def take_turns(delays: Mapping[int, float], now: datetime) -> set[int]:
    """Takes the turns of several hosts as `take_turn` does; `delays` gives the delay in seconds by host id. Returns the ids of
    the hosts whose turn was taken. Sends one statement for each distinct delay."""
    taken: set[int] = set()
    for delay in set(delays.values()):
        ids = sql.padded([pk for pk, own in delays.items() if own == delay])
        statement = _TURNS.format(", ".join(["%s"] * len(ids)), sql.locking(wait=False))
        taken.update(row[0] for row in sql.fetch(statement, (now + timedelta(seconds=delay), now, *ids, now)))
    return taken


def give_turn_back(pk: int, next_at: datetime, last_request_at: datetime | None) -> None:
    """Sets a host's clock back to what it was before a turn that was not used; called in the transaction that took it."""
    sql.execute(_GIVE_TURN_BACK, (next_at, last_request_at, pk))


def configure(key: str, settings: CrawlSettings) -> Host:
    """Sets a host's crawl delay and connections from a site's settings."""
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
_SETTLE_PLAIN = (
    "UPDATE crawlmgr_host SET next_at = CASE WHEN next_at < %s THEN %s ELSE next_at END, failures = 0, last_status = %s,"
    " last_error = '', requests = requests + %s, bytes = bytes + %s"
    " WHERE id = %s AND retry_after_until IS NULL AND delay_seconds = %s AND COALESCE(crawl_delay_seconds, 0) = %s"
)
_HOUR = (
    "INSERT INTO crawlmgr_hosthour (host_id, hour, requests, bytes, errors) VALUES (%s, %s, %s, %s, %s)"
    " ON CONFLICT (host_id, hour) DO UPDATE SET requests = crawlmgr_hosthour.requests + excluded.requests,"
    " bytes = crawlmgr_hosthour.bytes + excluded.bytes, errors = crawlmgr_hosthour.errors + excluded.errors"
)


class Hours:
    """Hourly sums of requests to hosts, collected in memory and written once at the end of a transaction."""

    def __init__(self) -> None:
        self._sums: dict[tuple[int, datetime], list[int]] = {}

    def count(self, host_id: int, now: datetime, sums: tuple[int, int, int]) -> None:
        """Adds requests, bytes and errors of a host in an hour."""
        kept = self._sums.setdefault((host_id, now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)), [0, 0, 0])
        for place, number in enumerate(sums):
            kept[place] += number

    def write(self) -> None:
        """Writes the sums, in the order of the host ids."""
        rows = [(pk, sql.stamp(hour), *sums) for (pk, hour), sums in sorted(self._sums.items())]
        self._sums = {}
        if rows:
            sql.execute_many(_HOUR, rows, stamped=True)


def settle(
    host: Host, response: FetchResponse, now: datetime, sent_at: datetime | None = None, hours: Hours | None = None
) -> None:
    """Updates the host's clock according to the response received at `now` (success, Retry-After, failure) and adds to its sums.
    With `hours` the hourly sums are collected there, to be written by the caller at the end of its transaction.

    The delay counts from `sent_at`, the time when the request was sent (default: from the response).

    `host` is the caller's copy; its failures and delay are brought up to date. A plain success takes a single statement if the
    copy is current and no Retry-After is in force.
    """
    failed = response.failure is not None or response.status >= 500 or response.status == 429
    sums = (1 + len(response.redirects), response.received_bytes, int(failed))
    if hours is not None:
        _settle(host, response, now, sent_at or now, sums)
        hours.count(host.pk, now, sums)
        return
    own = Hours()
    own.count(host.pk, now, sums)
    with transaction.atomic(savepoint=False):
        _settle(host, response, now, sent_at or now, sums)
        own.write()


def _settle(host: Host, response: FetchResponse, now: datetime, sent_at: datetime, sums: tuple[int, int, int]) -> None:
    if response.failure is not None or not 200 <= response.status < 300 or not _settle_plain(host, response, sent_at):
        _settle_fully(host, response, now, sent_at, sums)


def _settle_plain(host: Host, response: FetchResponse, sent_at: datetime) -> bool:
    """Updates the clock after a plain success; False if the caller's copy of the host is out of date."""
    crawl_delay = host.crawl_delay_seconds or 0.0
    policy = PacePolicy(delay_seconds=host.delay_seconds)
    next_at = sent_at + timedelta(seconds=pace(HostState(sent_at, 0, None, crawl_delay), policy))
    sums = (1 + len(response.redirects), response.received_bytes)
    known = (host.pk, host.delay_seconds, crawl_delay)
    if not sql.execute(_SETTLE_PLAIN, (next_at, next_at, response.status, *sums, *known)):
        return False
    host.failures = 0
    return True


def _settle_fully(
    host: Host, response: FetchResponse, now: datetime, sent_at: datetime, sums: tuple[int, int, int]
) -> None:
    problem = str(response.status) if sums[2] else ""
    if response.failure is not None:
        problem = f"{response.failure.value} {response.detail}".strip()
    next_at, failures, until, crawl_delay, delay = sql.fetch(_CLOCK + sql.locking(), (host.pk,))[0]
    state = HostState(sql.moment(next_at) or now, failures, sql.moment(until), crawl_delay)
    state = after(state, response, now, PacePolicy(delay_seconds=delay), sent_at)
    clock = (state.next_at, state.failures, state.retry_after_until, response.status or None)
    sql.execute(_SETTLE, (*clock, problem[:300], *sums, host.pk))
    host.failures, host.delay_seconds, host.crawl_delay_seconds = state.failures, delay, crawl_delay
