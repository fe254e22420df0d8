"""The frontier: adds addresses to a run once, lets workers claim them for a limited time (lease),
and records how each ended. A claim is one conditional UPDATE, so that two workers never claim the
same address."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Count, Min

from crawlmgr.database import sql
from crawlmgr.frontier import hosts
from crawlmgr.frontier.hosts import OwnPace
from crawlmgr.models import Host, Run, RunHost, Url, UrlState
from crawlmgr.web.politeness import LONGEST_PAUSE
from crawlmgr.web.url import host_key, url_hash

log = logging.getLogger("crawlmgr.frontier")


@dataclass(frozen=True, slots=True)
class NewUrl:
    """An address to add to the frontier. `key` decides whether it counts as already seen in the run
    (default: the address itself)."""

    url: str
    kind: str = ""
    key: str = ""
    group: int | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    anchor: str = ""
    depth: int = 0
    priority: float = 0.0
    parent_id: int | None = None
    """The id of the frontier row on whose page the address was found; None if it was found on the
    page that is being stored."""


@dataclass(frozen=True, slots=True)
class Wait:
    """What a run that can claim nothing now waits for: the host that may be requested first, and
    the time from which it may."""

    host: str
    until: datetime


_WAITING = int(UrlState.WAITING)
_ADDED = (
    *(
        "run_id",
        "host_id",
        "parent_id",
        "key_hash",
        "url",
        "kind",
        "group",
        "payload",
        "anchor",
        "depth",
        "priority",
    ),
    *("state", "attempts", "reason", "added_at"),
)
_ADD = (
    'INSERT INTO crawlmgr_url ("' + '", "'.join(_ADDED) + '")'  # noqa: S608 - fixed names
    f" VALUES ({', '.join(['%s'] * len(_ADDED))}) ON CONFLICT (run_id, key_hash) DO NOTHING"
)
_ENTER = (
    "INSERT INTO crawlmgr_runhost (run_id, host_id, active) VALUES (%s, %s, %s) ON CONFLICT"
    " (run_id, host_id) DO UPDATE SET active = excluded.active WHERE NOT crawlmgr_runhost.active"
)


def add(
    run_id: int,
    links: Iterable[NewUrl],
    now: datetime,
    *,
    parent_id: int | None = None,
    pace: OwnPace | None = None,
) -> int:
    """Adds addresses to the frontier of a run; those that the run has seen are skipped. Returns the
    number passed in, including skipped ones. With `pace`, hosts that were never requested get its
    crawl delay and number of connections.
    """
    return add_many(run_id, [(link, parent_id) for link in links], now, pace=pace)


def add_many(
    run_id: int,
    links: Sequence[tuple[NewUrl, int | None]],
    now: datetime,
    *,
    pace: OwnPace | None = None,
) -> int:
    """Adds the links of several pages to the frontier, like `add`. `links` are pairs of an address
    and the id of the frontier row on whose page it was found (None for seeds)."""
    keyed = [(host_key(link.url), link, parent) for link, parent in links]
    ids = hosts.host_ids({key for key, _link, _parent in keyed})
    if pace is not None:
        pace.give(ids.values())
    rows, at = [], sql.stamp(now)
    for key, link, parent in keyed:
        place = (
            run_id,
            ids[key],
            link.parent_id or parent,
            url_hash(link.key or link.url),
            link.url,
            link.kind,
            link.group,
        )
        rank = (link.anchor[:300], link.depth, link.priority)
        payload = json.dumps(dict(link.payload)) if link.payload else "{}"
        rows.append((*place, payload, *rank, _WAITING, 0, "", at))
    if not rows:
        return 0
    with transaction.atomic(savepoint=False):
        sql.execute_many(_ADD, rows, stamped=True)
        sql.execute_many(
            _ENTER, [(run_id, pk, True) for pk in sorted({row[1] for row in rows})], stamped=True
        )
    return len(rows)


_PLACES = (
    "h.connections - (SELECT COUNT(*) FROM crawlmgr_url c WHERE c.host_id = h.id AND c.state = 1"
    " AND c.lease_until > %s)"
)
_NOBODY_ELSE = (
    "(h.connections = 1 OR NOT EXISTS (SELECT 1 FROM crawlmgr_url c JOIN crawlmgr_run o ON o.id ="
    " c.run_id WHERE c.host_id = h.id AND c.state = 1 AND c.lease_until > %s AND o.lease_holder <>"
    " '' AND SUBSTR(o.lease_holder, 1, %s) <> %s))"
)
"""SQL condition: no other node has claimed addresses on the host. A host belongs to the node that
has claimed addresses on it until the last of them has ended or its lease has expired. For a host
with one connection this follows from the limit on connections."""
_DUE_HOSTS = (
    # fixed names
    "SELECT * FROM (SELECT h.id, h.next_at, h.last_request_at, h.connections,"  # noqa: S608
    " CASE WHEN h.crawl_delay_seconds > h.delay_seconds THEN h.crawl_delay_seconds ELSE"
    " h.delay_seconds END AS pause,"
    f" {_PLACES} AS places FROM crawlmgr_runhost e JOIN crawlmgr_host h ON h.id = e.host_id"
    " WHERE e.run_id = %s AND e.active AND (h.next_at <= %s OR (h.next_at <= %s AND h.connections"
    " = 1))"
    f" AND {_NOBODY_ELSE}"
    " AND EXISTS (SELECT 1 FROM crawlmgr_url w WHERE w.run_id = %s"
    " AND w.host_id = h.id AND w.state = 0 AND (w.due_at IS NULL OR w.due_at <= %s))) AS due"
    " WHERE places > 0 ORDER BY next_at LIMIT %s"
)
_FIELDS = (
    "id",
    "host_id",
    "key_hash",
    "url",
    "kind",
    "group",
    "payload",
    "anchor",
    "depth",
    "priority",
    "attempts",
    "parent_id",
)
_COLUMNS = ", ".join(f'"{name}"' for name in _FIELDS)
_CLAIM = (
    # fixed names
    "UPDATE crawlmgr_url SET state = 1, lease_until = %s, fence = %s, "  # noqa: S608
    "attempts = attempts "
    "+ 1"
    " WHERE id IN (SELECT (SELECT u.id FROM crawlmgr_url u WHERE u.run_id = %s AND u.host_id = h.id"
    " AND u.state = 0"
    " AND (u.due_at IS NULL OR u.due_at <= %s) ORDER BY u.priority DESC, u.id LIMIT 1)"
    f" FROM crawlmgr_host h WHERE h.id IN ({{}}) AND {_PLACES} > 0 AND {_NOBODY_ELSE})"
    f" RETURNING {_COLUMNS}"
)
_EMPTY_HOSTS = (
    "SELECT e.id FROM crawlmgr_runhost e WHERE e.run_id = %s AND e.active AND NOT EXISTS (SELECT 1"
    " FROM crawlmgr_url w WHERE w.run_id = e.run_id AND w.host_id = e.host_id AND w.state = 0)"
    " LIMIT 500"
)


def claim(run_id: int, fence: int, now: datetime, seconds: float) -> Url | None:
    """Claims one address; None if none can be claimed now. See `claim_many`."""
    return next(iter(claim_many(run_id, fence, now, seconds, 1)), None)


def claim_many(
    run_id: int,
    fence: int,
    now: datetime,
    seconds: float,
    most: int,
    *,
    node: str = "",
    spare: int = 0,
    early_seconds: float = 0.0,
    last: Collection[int] = (),
) -> list[Url]:
    """Claims the waiting addresses with the highest priority on each host that may be requested now
    and has a free connection; the hosts that have waited longest come first. Claims one address per
    host, and on hosts without a delay one for each free connection. If nothing can be claimed,
    `next_turn` tells when something can.

    The next request times of the hosts are advanced and the addresses are claimed in one
    transaction (the caller's if there is one). Over all runs and workers, a host never has more
    addresses claimed than it has connections, and all of them are claimed by one node (`node` is
    the name of this one; "" means any). To ensure this, the transaction locks the host's row.

    Parameters
    ----------
    seconds : length of the lease after which a claim expires.
    most : maximum number of addresses to claim for sending now.
    spare : maximum number of further addresses to claim ahead, on hosts with one connection and \
without a delay. They are sent
        when a request of the run has ended.
    early_seconds : hosts with one connection whose next request is allowed within this time count \
as available too. Such an
        address must not be sent before its `due_at`.
    last : ids of hosts that are considered after all others, however long they have waited.
    """
    claimed: list[Url] = []
    if most + spare <= 0:
        return claimed
    until, ours = now + timedelta(seconds=early_seconds), f"{node}:" if node else ""
    own = (now, len(ours), ours)
    rows = sql.fetch(
        _DUE_HOSTS, (now, run_id, now, until, *own, run_id, now, most + spare + len(last))
    )
    due = sorted((_Due(*row) for row in rows), key=lambda host: host.pk in last)[: most + spare]
    due = [
        host
        for place, host in enumerate(due)
        if place < most or (host.connections == 1 and not host.pause)
    ]
    if not due:
        return claimed
    with transaction.atomic(savepoint=False):
        turns = _take_turns(due, now)
        places = {host.pk: host.places for host in due}
        left = [host.pk for host in due if host.pk in turns]
        while left:
            ids = sql.padded(left)
            statement = _CLAIM.format(", ".join(["%s"] * len(ids)))
            rows = sql.fetch(
                statement, (now + timedelta(seconds=seconds), fence, run_id, now, *ids, now, *own)
            )
            order = {pk: place for place, pk in enumerate(left)}
            claimed += [
                _url(run_id, fence, row, turns)
                for row in sorted(rows, key=lambda row: order[row[1]])
            ]
            given = {row[1] for row in rows}
            for pk in given:
                places[pk] -= 1
            more = [
                host.pk
                for host in due
                if host.pk in given and places[host.pk] > 0 and not host.pause
            ]
            left = more[: max(0, most - len(claimed))]
        used = {item.host_id for item in claimed}
        for host in due:
            if host.pk in turns and host.pk not in used:
                hosts.give_turn_back(host.pk, host.next_at, host.last_at)
    return claimed


class _Due(NamedTuple):
    """A host that may be requested now or soon: its id, the times of its next and its last request,
    its number of connections, its crawl delay in seconds (`pause`), and its number of free
    connections (`places`)."""

    pk: int
    next_at: datetime
    last_at: datetime | None
    connections: int
    pause: float
    places: int


def _take_turns(due: Sequence[_Due], now: datetime) -> dict[int, datetime | None]:
    """Takes a turn (the right to send one request) on each of the hosts, unless another worker took
    it first. Returns, for each host whose turn was taken, the time before which its request must
    not be sent, None if it may be sent now.
    """
    comes = {
        host.pk: at for host in due if (at := sql.moment(host.next_at)) is not None and at > now
    }
    turns: dict[int, datetime | None] = dict.fromkeys(
        hosts.take_turns({h.pk: h.pause for h in due if h.pk not in comes}, now)
    )
    return turns | {
        h.pk: comes[h.pk]
        for h in due
        if h.pk in comes and hosts.take_turn(h.pk, h.pause, comes[h.pk])
    }


def _url(run_id: int, fence: int, row: Sequence[Any], turns: Mapping[int, datetime | None]) -> Url:
    values = dict(zip(_FIELDS, row, strict=True))
    if isinstance(values["payload"], str):
        values["payload"] = json.loads(values["payload"])
    return Url(
        run_id=run_id,
        fence=fence,
        state=UrlState.CLAIMED,
        due_at=turns[values["host_id"]],
        **values,
    )


def _tidy(run_id: int) -> None:
    """Marks those hosts of a run on which no address waits any more as inactive, so that they are
    not checked again until an address is added."""
    while rows := sql.fetch(_EMPTY_HOSTS, (run_id,)):
        RunHost.objects.filter(pk__in=[pk for (pk,) in rows]).update(active=False)


def next_turn(run_id: int, now: datetime) -> Wait | None:
    """Returns the host and the time at which the run's next address can be claimed; None if no
    address waits any more."""
    _tidy(run_id)
    waiting = Url.objects.filter(run_id=run_id, state=UrlState.WAITING)
    best: Wait | None = None
    for entry in (
        RunHost.objects.filter(run_id=run_id, active=True)
        .select_related("host")
        .order_by("host__next_at")[:32]
    ):
        mine = waiting.filter(host_id=entry.host_id)
        if mine.filter(due_at__isnull=True).exists():
            until = entry.host.next_at
        else:
            due = mine.aggregate(at=Min("due_at"))["at"]
            if due is None:
                continue
            until = max(due, entry.host.next_at)
        if best is None or until < best.until:
            best = Wait(entry.host.key, until)
    if best is not None and best.until > now + LONGEST_PAUSE:
        # No rule makes such a wait. Another process may have ended it since it was read.
        _cut_waits(run_id, now)
        return Wait(best.host, now)
    return best


def _cut_waits(run_id: int, now: datetime) -> None:
    """Ends waits of hosts and of the run's addresses that are longer than any rule makes them, as
    after a clock that was wrong."""
    hosts.cut_pauses(now)
    Url.objects.filter(run_id=run_id, due_at__gt=now + LONGEST_PAUSE).update(due_at=now)


def reclaim(run_id: int, now: datetime, fence: int) -> int:
    """Sets addresses that were claimed by an earlier holder of the run's lease back to waiting;
    returns how many. Called when a worker has taken over a run: the earlier holder is dead or has
    lost the lease."""
    stale = Url.objects.filter(run_id=run_id, state=UrlState.CLAIMED).exclude(fence=fence)
    named = set(stale.values_list("host_id", flat=True))
    if not named:
        return 0
    RunHost.objects.filter(run_id=run_id, host_id__in=named).update(active=True)
    return stale.update(state=UrlState.WAITING, lease_until=None, fence=None)


def overlooked(run_id: int, now: datetime, fence: int) -> bool:
    """Makes addresses claimable again that a worker changed after it had lost the run's lease:
    those claimed under another fencing token than `fence` (that of the present lease), and those
    waiting on a host that the worker marked as inactive. Called before a run ends; returns whether
    there are any."""
    waiting = Url.objects.filter(run_id=run_id, state=UrlState.WAITING)
    named = set(waiting.order_by().values_list("host_id", flat=True)[:500])
    if named:
        RunHost.objects.filter(run_id=run_id, host_id__in=named).update(active=True)
    return bool(reclaim(run_id, now, fence)) or bool(named)


_FINISH = (
    "UPDATE crawlmgr_url SET state = %s, reason = %s, lease_until = NULL, ended_at = %s WHERE id"
    " = %s"
)


def finish(item: Url, state: UrlState, now: datetime, reason: str = "") -> None:
    """Records that an address needs no further request: `state` is done, failed, refused or
    dropped; `reason` says why."""
    _tell(item, state, reason)
    sql.execute(_FINISH, _end(item, state, now, reason))


def finish_many(ends: Sequence[tuple[Url, UrlState, str]], now: datetime) -> None:
    """Records that many addresses need no further request: `ends` are (address, final state,
    reason); the states are those of `finish`."""
    for item, state, reason in ends:
        _tell(item, state, reason)
    if ends:
        sql.execute_many(_FINISH, [_end(item, state, now, reason) for item, state, reason in ends])


def _end(item: Url, state: UrlState, now: datetime, reason: str) -> tuple[Any, ...]:
    return (int(state), reason[:300], now, item.pk)


def _tell(item: Url, state: UrlState, reason: str) -> None:
    if state in (UrlState.FAILED, UrlState.REFUSED):
        event = "refused" if state == UrlState.REFUSED else "failed"
        log.info(
            "%s: %s",
            reason,
            item.url,
            extra={"event": event, "run": item.run_id, "host": host_key(item.url)},
        )


_RELEASE = (
    "UPDATE crawlmgr_url SET state = 0, due_at = %s, lease_until = NULL, fence = NULL, reason = %s,"
    " attempts = %s WHERE id = %s AND state = 1 AND fence = %s"
)


def release(
    item: Url, *, due_at: datetime | None = None, reason: str = "", attempt: bool = True
) -> None:
    """Sets a claimed address back to waiting; it is not claimed again before `due_at`. With
    `attempt=False` the try is not counted."""
    if reason:
        log.info(
            "%s: %s",
            reason,
            item.url,
            extra={"event": "retry", "run": item.run_id, "host": host_key(item.url)},
        )
    attempts = item.attempts if attempt else max(0, item.attempts - 1)
    sql.execute(_RELEASE, (due_at, reason[:300], attempts, item.pk, item.fence))
    sql.execute_many(_ENTER, [(item.run_id, item.host_id, True)])


def release_many(items: Iterable[Url], *, perhaps_sent: bool = True) -> None:
    """Sets claimed addresses that were not requested back to waiting, and does not count the try.
    For an address that must be sent only once (payload "once") the try is counted if it was
    `perhaps_sent`."""
    with transaction.atomic(savepoint=False):
        for item in sorted(items, key=lambda item: item.host_id):
            release(item, attempt=perhaps_sent and bool(item.payload.get("once")))


def drop(
    run_id: int, now: datetime, reason: str, *, group: int | None = None, host: Host | None = None
) -> int:
    """Drops the waiting addresses of a run, restricted to a group or a host if given; returns how
    many."""
    waiting = Url.objects.filter(run_id=run_id, state=UrlState.WAITING)
    if group is not None:
        waiting = waiting.filter(group=group)
    if host is not None:
        waiting = waiting.filter(host=host)
    return waiting.update(state=UrlState.DROPPED, reason=reason[:300], ended_at=now)


_OUT_OF_REACH = (
    *("dns", "connect", "timeout", "too_slow", "reset", "truncated", "proxy", "tls", "protocol"),
    *("robots_unreachable", "host_unreachable", "http_429", "http_5"),
)


def unreachable(run_id: int) -> str:
    """Returns the most frequent reason why a run could fetch nothing at all, such as "dns" or
    "timeout"; "" if anything was fetched, or if any address ended for a reason other than that its
    host could not be reached."""
    if Run.objects.filter(pk=run_id, fetched__gt=0).exists():
        return ""
    reasons = Counter({row["reason"]: row["number"] for row in outcomes(run_id)})
    if not reasons or not all(reason.startswith(_OUT_OF_REACH) for reason in reasons):
        return ""
    return reasons.most_common(1)[0][0]


def outcomes(run_id: int) -> list[dict[str, Any]]:
    """Returns the numbers of a run's addresses by state and reason, as dictionaries with "state",
    "reason" and "number": at most 100 of them, largest number first."""
    rows = (
        Url.objects.filter(run_id=run_id)
        .values("state", "reason")
        .annotate(number=Count("id"))
        .order_by("-number")
    )
    return list(rows[:100])
