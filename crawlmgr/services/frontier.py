"""The frontier: addresses added once, claimed by one conditional UPDATE with a lease, ended with a reason."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, Min

from crawlmgr.models import Host, RunHost, Url, UrlState
from crawlmgr.services import hosts, sql
from crawlmgr.web.url import host_key, url_hash


@dataclass(frozen=True, slots=True)
class NewUrl:
    """An address to add. `key` (default: the address) decides what counts as already seen in the run."""

    url: str
    kind: str = ""
    key: str = ""
    group: int | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    anchor: str = ""
    depth: int = 0
    priority: float = 0.0


@dataclass(frozen=True, slots=True)
class Wait:
    """Why nothing can be claimed now: the host to wait for and until when."""

    host: str
    until: datetime


_ADDED = (
    *("run_id", "host_id", "parent_id", "key_hash", "url", "kind", "group", "payload", "anchor", "depth", "priority"),
    *("state", "attempts", "reason", "added_at"),
)
_ADD = (
    'INSERT INTO crawlmgr_url ("' + '", "'.join(_ADDED) + '")'  # noqa: S608 - fixed names
    f" VALUES ({', '.join(['%s'] * len(_ADDED))}) ON CONFLICT (run_id, key_hash) DO NOTHING"
)
_ENTER = (
    "INSERT INTO crawlmgr_runhost (run_id, host_id, active) VALUES (%s, %s, %s) ON CONFLICT (run_id, host_id)"
    " DO UPDATE SET active = excluded.active WHERE NOT crawlmgr_runhost.active"
)


def add(run_id: int, links: Iterable[NewUrl], now: datetime, *, parent_id: int | None = None) -> int:
    """Adds addresses that the run has not seen; returns how many were offered (seen ones are passed over)."""
    keyed = [(host_key(link.url), link) for link in links]
    # New hosts are made in the order of their names: two transactions that meet the same ones never wait for each other.
    ids = {key: hosts.host_id(key) for key in sorted({key for key, _link in keyed})}
    rows = []
    for key, link in keyed:
        place = (run_id, ids[key], parent_id, url_hash(link.key or link.url), link.url, link.kind, link.group)
        rank = (link.anchor[:300], link.depth, link.priority)
        rows.append((*place, json.dumps(dict(link.payload)), *rank, int(UrlState.WAITING), 0, "", now))
    if not rows:
        return 0
    with transaction.atomic(savepoint=False):
        sql.execute_many(_ADD, rows)
        sql.execute_many(_ENTER, [(run_id, pk, True) for pk in sorted({row[1] for row in rows})])
    return len(rows)


_DUE_HOSTS = (
    "SELECT e.id, h.id, h.next_at, h.last_request_at, h.delay_seconds, h.crawl_delay_seconds, h.connections"
    " FROM crawlmgr_runhost e JOIN crawlmgr_host h ON h.id = e.host_id WHERE e.run_id = %s AND e.active AND h.next_at <= %s"
    " ORDER BY h.next_at LIMIT 32"
)
_FIELDS = ("id", "key_hash", "url", "kind", "group", "payload", "anchor", "depth", "priority", "attempts", "parent_id")
_COLUMNS = ", ".join(f'"{name}"' for name in _FIELDS)
_CLAIM = (
    "UPDATE crawlmgr_url SET state = 1, lease_until = %s, fence = %s, attempts = attempts + 1"  # noqa: S608 - fixed names
    " WHERE id = (SELECT id FROM crawlmgr_url WHERE run_id = %s AND host_id = %s AND state = 0"
    " AND (due_at IS NULL OR due_at <= %s) ORDER BY priority DESC, id LIMIT 1)"
    " AND (SELECT COUNT(*) FROM crawlmgr_url WHERE host_id = %s AND state = 1 AND lease_until > %s) < %s"
    f" RETURNING {_COLUMNS}"
)


def claim(run_id: int, fence: int, now: datetime, seconds: float) -> Url | None:
    """Claims the best address of the host that has waited longest among those whose turn it is; None: see `next_turn`.

    One transaction, the caller's where there is one, takes the host's turn and the address. On a host with one connection
    no address is given out while another of it is in work, whichever run or worker has it: the turn holds the host's row,
    so the count of what is in work is not overtaken.
    """
    for entry, host_id, next_at, last_at, delay, crawl_delay, connections in sql.fetch(_DUE_HOSTS, (run_id, now)):
        with transaction.atomic(savepoint=False):
            if not hosts.take_turn(host_id, max(delay, crawl_delay or 0.0), now):
                continue
            best = (run_id, host_id, now)
            rows = sql.fetch(_CLAIM, (now + timedelta(seconds=seconds), fence, *best, host_id, now, connections))
            if rows:
                values = dict(zip(_FIELDS, rows[0], strict=True))
                if isinstance(values["payload"], str):
                    values["payload"] = json.loads(values["payload"])
                return Url(run_id=run_id, host_id=host_id, fence=fence, state=UrlState.CLAIMED, **values)
            hosts.give_turn_back(host_id, next_at, last_at)
        if not Url.objects.filter(run_id=run_id, host_id=host_id, state=UrlState.WAITING).exists():
            RunHost.objects.filter(pk=entry).update(active=False)
    return None


def next_turn(run_id: int, now: datetime) -> Wait | None:
    """When and for which host the run's next address can be claimed; None: nothing waits any more."""
    waiting = Url.objects.filter(run_id=run_id, state=UrlState.WAITING)
    best: Wait | None = None
    for entry in RunHost.objects.filter(run_id=run_id, active=True).select_related("host").order_by("host__next_at")[:32]:
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
    return best


def reclaim(run_id: int, now: datetime, fence: int) -> int:
    """Gives addresses back that an earlier, dead holder of the run had claimed."""
    stale = Url.objects.filter(run_id=run_id, state=UrlState.CLAIMED).exclude(fence=fence)
    named = set(stale.values_list("host_id", flat=True))
    if not named:
        return 0
    RunHost.objects.filter(run_id=run_id, host_id__in=named).update(active=True)
    return stale.update(state=UrlState.WAITING, lease_until=None, fence=None)


_FINISH = "UPDATE crawlmgr_url SET state = %s, reason = %s, lease_until = NULL, ended_at = %s WHERE id = %s"


def finish(item: Url, state: UrlState, now: datetime, reason: str = "") -> None:
    """Ends an address: done, failed, refused or dropped, with its reason."""
    sql.execute(_FINISH, (int(state), reason[:300], now, item.pk))


def give_back(item: Url, *, due_at: datetime | None = None, reason: str = "", attempt: bool = True) -> None:
    """Puts a claimed address back to waiting, not before `due_at`; `attempt=False` takes the try back."""
    Url.objects.filter(pk=item.pk, state=UrlState.CLAIMED, fence=item.fence).update(
        state=UrlState.WAITING,
        due_at=due_at,
        lease_until=None,
        fence=None,
        reason=reason[:300],
        attempts=item.attempts if attempt else max(0, item.attempts - 1),
    )
    RunHost.objects.filter(run_id=item.run_id, host_id=item.host_id, active=False).update(active=True)


def drop(run_id: int, now: datetime, reason: str, *, group: int | None = None, host: Host | None = None) -> int:
    """Drops what still waits in a run, in one group of it, or on one host."""
    waiting = Url.objects.filter(run_id=run_id, state=UrlState.WAITING)
    if group is not None:
        waiting = waiting.filter(group=group)
    if host is not None:
        waiting = waiting.filter(host=host)
    return waiting.update(state=UrlState.DROPPED, reason=reason[:300], ended_at=now)


def open_count(run_id: int, group: int) -> int:
    """How many addresses of a group are still waiting or in work."""
    return Url.objects.filter(run_id=run_id, group=group, state__in=[UrlState.WAITING, UrlState.CLAIMED]).count()


def outcomes(run_id: int) -> list[dict[str, Any]]:
    """How a run's addresses ended: state, reason and number, most frequent first."""
    rows = Url.objects.filter(run_id=run_id).values("state", "reason").annotate(number=Count("id")).order_by("-number")
    return list(rows[:100])
