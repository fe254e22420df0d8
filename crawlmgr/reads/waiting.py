"""Determines what a run waits for, for display on the run's page, by the commands and in the
API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef

from crawlmgr.models import Node, NodeState, Run, RunHost, RunState, Url, UrlState
from crawlmgr.reads import hosts
from crawlmgr.services import standing, timings

# number of hosts of a run that are examined for free connections, as in `frontier.next_turn`
MAX_HOSTS = 32


class Waiting(NamedTuple):
    """What a run waits for.

    `what` is the key of a host, the working hours as stored in `Run.waiting_for`, or "". `until` is
    the time at which the wait ends, None if it is not known. `because` is the reason: a code of
    `hosts.PauseCause`; "hours" (outside its working hours); "worker" (no worker has taken the run,
    or taken it again); "connections" (other runs use all connections of the host, or another node
    requests it); "" if the run does not wait. `amount` is that of `hosts.PauseCause`, or for
    "connections" the id of a run that requests the host."""

    what: str = ""
    until: datetime | None = None
    because: str = ""
    amount: float = 0.0

    def columns(self) -> dict[str, Any]:
        """Returns `what`, `until` and `because` under the names of these columns in lists and JSON
        documents of runs."""
        return {
            "waiting_for": self.what,
            "waiting_until": self.until,
            "waiting_because": self.because,
        }


def no_free_worker(now: datetime) -> tuple[str, int]:
    """Returns why no worker takes a waiting run, as a code and a number. ("no_workers", 0): no node
    is alive. ("nodes_paused", nodes alive): all of them are paused or draining. ("workers_busy",
    workers of active nodes): each of these has a run. ("", 0): a worker is free and takes the run
    within moments."""
    nodes = list(Node.objects.filter(standing.are_alive(now)))
    takers = [node for node in nodes if node.state == NodeState.ACTIVE]
    if not takers:
        return ("nodes_paused", len(nodes)) if nodes else ("no_workers", 0)
    held, workers = standing.runs_in_hand(now), sum(node.workers for node in takers)
    return (
        ("workers_busy", workers) if sum(held[node.name] for node in takers) >= workers else ("", 0)
    )


def of(run: Run, now: datetime) -> Waiting:
    """Returns what a run waits for at the time `now`; a `Waiting` without values if it has ended,
    is paused, or is working."""
    if run.state == RunState.QUEUED:
        return Waiting(because="worker")
    if run.state != RunState.RUNNING:
        return Waiting()
    if run.waiting_for and run.waiting_until and run.waiting_until > now:
        if timings.is_of_hours(run.waiting_for):
            return Waiting(run.waiting_for, run.waiting_until, "hours")
        cause = hosts.limiting_cause(run.waiting_for, now)
        return Waiting(run.waiting_for, run.waiting_until, *(cause or ("", 0.0)))
    if run.lease_until is None or run.lease_until < now:
        return Waiting(because="worker")
    return _for_connections(run, now)


def _for_connections(run: Run, now: datetime) -> Waiting:
    """Returns the `Waiting` of a run that can request nothing, because other runs use every host of
    its waiting addresses. Returns an empty `Waiting` if the run has a request in progress or one of
    these hosts has a free connection.
    """
    claimed = Url.objects.filter(state=UrlState.CLAIMED, lease_until__gt=now)
    if claimed.filter(run_id=run.pk).exists():
        return Waiting()
    addresses = Url.objects.filter(
        run_id=run.pk, host_id=OuterRef("host_id"), state=UrlState.WAITING
    )
    rows = (
        RunHost.objects.filter(Exists(addresses), run_id=run.pk, active=True)
        .select_related("host")
        .order_by("host__next_at")
    )
    wanted = {row.host_id: row.host for row in rows.defer("host__robots_text")[:MAX_HOSTS]}
    others = list(
        claimed.filter(host_id__in=list(wanted)).values_list(
            "host_id", "run_id", "run__lease_holder"
        )
    )
    used, node = Counter(pk for pk, _run, _holder in others), _node(run.lease_holder)
    occupied = {
        pk: other
        for pk, other, holder in others
        if used[pk] >= wanted[pk].connections or (holder and _node(holder) != node)
    }
    if not wanted or len(occupied) < len(wanted):
        return Waiting()
    first = next(iter(wanted))
    return Waiting(wanted[first].key, None, "connections", float(occupied[first]))


def _node(holder: str) -> str:
    """Returns the name of the node in the holder of a lease, "node:process"."""
    return holder.rpartition(":")[0]


def with_waits(documents: list[dict[str, Any]], now: datetime) -> list[dict[str, Any]]:
    """Adds to JSON documents of runs (with "id" and "state") what each run waits for now: the
    fields of `Waiting.columns`."""
    pks = [one["id"] for one in documents if one["state"] in (RunState.QUEUED, RunState.RUNNING)]
    found: Mapping[int, Run] = Run.objects.in_bulk(pks)
    return [
        {**one, **(of(found[one["id"]], now) if one["id"] in found else Waiting()).columns()}
        for one in documents
    ]
