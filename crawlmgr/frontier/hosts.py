"""Politeness towards hosts: when each may be requested next. All workers share the times in the
database. A worker takes a turn (the right to send one request), and each response decides when the
next request is allowed. A `HostLimit` bounds the pages that a run fetches from one host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from django.apps import apps
from django.conf import settings as django_settings
from django.db import connection, transaction
from django.db.models import Max, Q

from crawlmgr.conf import CrawlSettings
from crawlmgr.database import sql
from crawlmgr.models import Host, RunHost, events
from crawlmgr.web.http.exchange import FetchResponse
from crawlmgr.web.politeness import LONGEST_PAUSE, HostState, PacePolicy, after, pace, wished

_INSTALLED = Path(__file__).stat().st_mtime
MAX_KNOWN = 65_536
_SOME = 500
_known: dict[tuple[str, str], int] = {}
# hosts created in transactions that are not committed yet: their ids are cached only after the
# commit
_made: set[tuple[str, str]] = set()


def host_id(key: str) -> int:
    """Returns the id of a host, which is created if it is unknown."""
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
    """Returns the ids of many hosts by their keys. Unknown hosts are created, in alphabetical
    order, so that two transactions that create the same hosts cannot deadlock."""
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
    """The crawl delay and number of connections in a run's settings, for hosts that were never
    requested."""

    def __init__(self, settings: CrawlSettings) -> None:
        self.values = (settings.delay_seconds, settings.connections)
        self._given: set[int] = set()

    def give(self, ids: Iterable[int]) -> None:
        """Stores the run's delay and number of connections in those of the hosts with these ids
        that were never requested, in the order of the ids to avoid deadlocks. Later calls skip
        hosts that were passed before."""
        for pk in sorted(set(ids) - self._given):
            sql.execute(_PACE, (*self.values, pk, *self.values))
            self._given.add(pk)


_PACE = (
    "UPDATE crawlmgr_host SET delay_seconds = %s, connections = %s WHERE id = %s AND"
    " last_request_at IS NULL AND (delay_seconds <> %s OR connections <> %s)"
)


def _keep(place: tuple[str, str], pk: int) -> None:
    if len(_known) >= MAX_KNOWN:
        _known.clear()
    _made.discard(place)
    _known[place] = pk


def forget() -> None:
    """Clears the cache of host ids. Called when a host was deleted or a test has replaced the
    database."""
    _known.clear()
    _made.clear()


def effective_delay(host: Host) -> float:
    """Returns the crawl delay in seconds: the larger of our own and that of robots.txt."""
    return max(host.delay_seconds, host.crawl_delay_seconds or 0.0)


_TURN = (
    "UPDATE crawlmgr_host SET next_at = %s, last_request_at = %s"
    " WHERE id = (SELECT id FROM crawlmgr_host WHERE id = %s AND next_at <= %s"
)
_GIVE_TURN_BACK = "UPDATE crawlmgr_host SET next_at = %s, last_request_at = %s WHERE id = %s"


def take_turn(pk: int, delay_seconds: float, now: datetime) -> bool:
    """Takes a turn on a host, the right to send it one request at `now`. If a request is allowed
    then, advances the host's next request time by the delay and returns True; returns False if it
    is not allowed yet, for example because another worker took the turn first.

    A host that is locked by another transaction counts as not allowed. Waiting for the lock could
    deadlock, because the caller may hold locks as well."""
    statement = f"{_TURN}{sql.locking(wait=False)})"
    return bool(sql.execute(statement, (now + timedelta(seconds=delay_seconds), now, pk, now)))


_TURNS = (
    "UPDATE crawlmgr_host SET next_at = %s, last_request_at = %s"
    " WHERE id IN (SELECT id FROM crawlmgr_host WHERE id IN ({}) AND next_at <= %s{}) RETURNING id"
)


def take_turns(delays: Mapping[int, float], now: datetime) -> set[int]:
    """Takes a turn on several hosts at once, like `take_turn`; `delays` gives the crawl delay in
    seconds by host id. Returns the ids of the hosts whose turn was taken. Sends one statement for
    each distinct delay."""
    taken: set[int] = set()
    for delay in set(delays.values()):
        ids = sql.padded([pk for pk, own in delays.items() if own == delay])
        statement = _TURNS.format(", ".join(["%s"] * len(ids)), sql.locking(wait=False))
        taken.update(
            row[0] for row in sql.fetch(statement, (now + timedelta(seconds=delay), now, *ids, now))
        )
    return taken


def cut_pauses(now: datetime) -> int:
    """Lets hosts be requested whose next request time, or time of a Retry-After, is further ahead
    than any rule can make it: a clock was wrong when it was stored. Their robots.txt is requested
    again if it was to be valid for longer than any rule allows. Records an event for each host, and
    returns the number of those that may be requested now."""
    latest = now + LONGEST_PAUSE
    ahead = Q(next_at__gt=latest) | Q(retry_after_until__gt=latest)
    with transaction.atomic():
        for pk, key, at in list(
            Host.objects.filter(
                Q(robots_expires_at__gt=latest) | Q(robots_fetched_at__gt=latest)
            ).values_list("pk", "key", "robots_expires_at")
        ):
            Host.objects.filter(pk=pk).update(robots_expires_at=None, robots_fetched_at=None)
            text = f"robots.txt, {key}: {at:%Y-%m-%d %H:%M}" if at else f"robots.txt, {key}"
            events.warn("time_cut", text, now=now, host_id=pk)
        Host.objects.filter(last_request_at__gt=latest).update(last_request_at=now)
        found = list(Host.objects.filter(ahead).values_list("pk", "key", "next_at"))
        Host.objects.filter(pk__in=[pk for pk, _key, _at in found]).update(
            next_at=now, retry_after_until=None
        )
        for pk, key, at in found:
            events.warn("pause_cut", f"{key}: {at:%Y-%m-%d %H:%M}", now=now, host_id=pk)
    return len(found)


def cut_times(now: datetime) -> int:
    """Replaces stored times that are further ahead than the program's own rules can put them
    (settings.STORED_TIMES) by the present, and the pauses of hosts (`cut_pauses`): a clock was
    wrong when they were stored. Records an event for each kind, and returns the number of rows.
    Does nothing while the present clock is behind the time at which the program was installed."""
    if now.timestamp() < _INSTALLED:
        return 0
    cut = cut_pauses(now)
    for label, columns in django_settings.STORED_TIMES.items():
        model = apps.get_model(label)
        for column, days in columns.items():
            late = model._default_manager.filter(**{f"{column}__gt": now + timedelta(days=days)})
            latest = late.aggregate(at=Max(column))["at"]
            if latest is None:
                continue
            with transaction.atomic():
                rows = late.update(**{column: now})
                name = f"{model._meta.verbose_name_plural}, {column.replace('_', ' ')}"
                events.warn("time_cut", f"{name}: {rows}, {latest:%Y-%m-%d %H:%M}", now=now)
            cut += rows
    return cut


def give_turn_back(pk: int, next_at: datetime, last_request_at: datetime | None) -> None:
    """Undoes `take_turn` if no request was sent: resets the host's next and last request times to
    the given earlier values. Must be called in the transaction that called `take_turn`."""
    sql.execute(_GIVE_TURN_BACK, (next_at, last_request_at, pk))


def configure(key: str, settings: CrawlSettings) -> Host:
    """Copies the crawl delay and the number of connections from `settings` to the host with this
    key, which is created if it is unknown; returns the host."""
    host = Host.objects.get(pk=host_id(key))
    if (host.delay_seconds, host.connections) != (settings.delay_seconds, settings.connections):
        Host.objects.filter(pk=host.pk).update(
            delay_seconds=settings.delay_seconds, connections=settings.connections
        )
        host.refresh_from_db()
    return host


_CLOCK = (
    "SELECT next_at, failures, retry_after_until, crawl_delay_seconds, delay_seconds FROM"
    " crawlmgr_host WHERE id = %s"
)
_SETTLE = (
    "UPDATE crawlmgr_host SET next_at = %s, failures = %s, retry_after_until = %s, last_status ="
    " %s, last_error = %s, requests = requests + %s, bytes = bytes + %s, errors = errors + %s WHERE"
    " id = %s"
)
_SETTLE_PLAIN = (
    "UPDATE crawlmgr_host SET next_at = CASE WHEN next_at < %s THEN %s ELSE next_at END, failures ="
    " 0, last_status = %s, last_error = '', requests = requests + %s, bytes = bytes + %s WHERE id ="
    " %s AND retry_after_until IS NULL AND delay_seconds = %s AND COALESCE(crawl_delay_seconds, 0)"
    " = %s"
)
_HOUR = (
    "INSERT INTO crawlmgr_hosthour (host_id, hour, requests, bytes, errors) VALUES (%s, %s, %s, %s,"
    " %s) ON CONFLICT (host_id, hour) DO UPDATE SET requests = crawlmgr_hosthour.requests +"
    " excluded.requests, bytes = crawlmgr_hosthour.bytes + excluded.bytes, errors ="
    " crawlmgr_hosthour.errors + excluded.errors"
)


class Hours:
    """Hourly sums of requests, bytes and errors by host, collected in memory and written once at
    the end of a transaction."""

    def __init__(self) -> None:
        self._sums: dict[tuple[int, datetime], list[int]] = {}

    def count(self, host_id: int, now: datetime, sums: tuple[int, int, int]) -> None:
        """Adds `sums` (requests, bytes, errors) to those of a host in the hour of `now`."""
        kept = self._sums.setdefault(
            (host_id, now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)), [0, 0, 0]
        )
        for place, number in enumerate(sums):
            kept[place] += number

    def write(self) -> None:
        """Adds the collected hourly sums to the database, in the order of host ids to avoid
        deadlocks, and clears them."""
        rows = [(pk, sql.stamp(hour), *sums) for (pk, hour), sums in sorted(self._sums.items())]
        self._sums = {}
        if rows:
            sql.execute_many(_HOUR, rows, stamped=True)


def settle(
    host: Host,
    response: FetchResponse,
    now: datetime,
    sent_at: datetime | None = None,
    hours: Hours | None = None,
) -> None:
    """Updates a host after a response (success, Retry-After or failure) received at `now`: its next
    allowed request time, its failures in a row, and its sums of requests, bytes and errors.

    `host` is the caller's copy of the row; its failures and delays are updated too. The crawl delay
    counts from `sent_at`, the time when the request was sent (default: `now`). With `hours`, the
    hourly sums are collected there, and the caller writes them at the end of its transaction."""
    failed = response.failure is not None or response.status >= 500 or response.status == 429
    sums = (response.requests, response.received_bytes, int(failed))
    if hours is not None:
        _settle(host, response, now, sent_at or now, sums)
        hours.count(host.pk, now, sums)
        return
    own = Hours()
    own.count(host.pk, now, sums)
    with transaction.atomic(savepoint=False):
        _settle(host, response, now, sent_at or now, sums)
        own.write()


def _settle(
    host: Host,
    response: FetchResponse,
    now: datetime,
    sent_at: datetime,
    sums: tuple[int, int, int],
) -> None:
    if (
        response.failure is not None
        or not 200 <= response.status < 300
        or not _settle_plain(host, response, sent_at)
    ):
        _settle_fully(host, response, now, sent_at, sums)


def _settle_plain(host: Host, response: FetchResponse, sent_at: datetime) -> bool:
    """Updates a host after a plain success in one statement. Returns False, and changes nothing, if
    the caller's copy of the host is out of date or a Retry-After is in force."""
    crawl_delay = host.crawl_delay_seconds or 0.0
    policy = PacePolicy(delay_seconds=host.delay_seconds)
    next_at = sent_at + timedelta(seconds=pace(HostState(sent_at, 0, None, crawl_delay), policy))
    sums = (response.requests, response.received_bytes)
    known = (host.pk, host.delay_seconds, crawl_delay)
    if not sql.execute(_SETTLE_PLAIN, (next_at, next_at, response.status, *sums, *known)):
        return False
    host.failures = 0
    return True


def _settle_fully(
    host: Host,
    response: FetchResponse,
    now: datetime,
    sent_at: datetime,
    sums: tuple[int, int, int],
) -> None:
    problem = str(response.status) if sums[2] else ""
    if response.failure is not None:
        problem = f"{response.failure.value} {response.detail}".strip()
    next_at, failures, until, crawl_delay, delay = sql.fetch(_CLOCK + sql.locking(), (host.pk,))[0]
    state = HostState(sql.moment(next_at) or now, failures, sql.moment(until), crawl_delay)
    state = after(state, response, now, PacePolicy(delay_seconds=delay), sent_at)
    wish = wished(response, now)
    if wish is not None and wish > now + LONGEST_PAUSE:
        events.warn(
            "retry_after_cut", f"{host.key}: {wish:%Y-%m-%d %H:%M}", now=now, host_id=host.pk
        )
    clock = (state.next_at, state.failures, state.retry_after_until, response.status or None)
    sql.execute(_SETTLE, (*clock, problem[:300], *sums, host.pk))
    host.failures, host.delay_seconds, host.crawl_delay_seconds = state.failures, delay, crawl_delay
    host.last_error = problem[:300]


REASON = "host_pages"
MAX_PRELOADED = 10_000


class HostLimit:
    """Counts pages stored and requests in flight by host, for one slice. `most` is the maximum
    number of pages per host, 0 for no limit."""

    def __init__(self, run_id: int, most: int) -> None:
        self.run_id, self.most = run_id, most
        self._stored: dict[int, int] = {}
        self._flying: Counter[int] = Counter()

    def full_hosts(self) -> dict[str, int]:
        """Returns {host key: host id} of the hosts from which the run has fetched the maximum
        number of pages, at most MAX_PRELOADED hosts; `full` looks up any others one by one."""
        if not self.most:
            return {}
        rows = RunHost.objects.filter(run_id=self.run_id, fetched__gte=self.most).values_list(
            "host__key", "host_id"
        )
        return dict(rows[:MAX_PRELOADED])

    def full(self, host_id: int) -> bool:
        """Tells whether the run has reached its page limit on a host."""
        return bool(self.most) and self._pages(host_id) >= self.most

    def has_capacity(self, host_id: int) -> bool:
        """Tells whether another request may be sent to a host without exceeding the limit even if
        all requests in flight return pages."""
        return not self.most or self._pages(host_id) + self._flying[host_id] < self.most

    def sent(self, host_id: int) -> None:
        """Counts a request that was sent to a host."""
        self._flying[host_id] += 1

    def ended(self, host_id: int, *, page: bool) -> bool:
        """Counts a request that ended, with or without a page; returns True if the host has reached
        the limit with it."""
        self._flying[host_id] = max(0, self._flying[host_id] - 1)
        if not self.most or not page:
            return False
        self._stored[host_id] = self._pages(host_id) + 1
        return self._stored[host_id] == self.most

    def _pages(self, host_id: int) -> int:
        if host_id not in self._stored:
            row = (
                RunHost.objects.filter(run_id=self.run_id, host_id=host_id)
                .values_list("fetched", flat=True)
                .first()
            )
            self._stored[host_id] = row or 0
        return self._stored[host_id]
