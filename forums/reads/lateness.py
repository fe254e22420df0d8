"""Finds the reasons why an overdue visit has not started: no worker, a failing or waiting host, or
an active run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from crawlmgr.models import Host, Node, Run
from crawlmgr.workers import ranking
from forums import reads
from forums.models import Board

NO_WORKER, ASKED_TO_WAIT, HOST_FAILS, VISIT_RUNS, VISIT_STANDS, NO_TURN = (
    "no_worker",
    "asked_to_wait",
    "host_fails",
    "visit_runs",
    "visit_stands",
    "no_turn",
)


@dataclass(frozen=True, slots=True)
class Why:
    """One reason why a visit is late: its code; the run or host concerned; and when the reason
    ends, if known."""

    code: str
    run: Run | None = None
    host: Host | None = None
    until: datetime | None = None


def why_late(board: Board, now: datetime) -> list[Why]:
    """Returns the reasons why an overdue board is not visited, the most important first. If nothing
    prevents the visit, the only reason is NO_TURN: the dispatcher, which runs every minute, has not
    started it yet."""
    found: list[Why] = []
    if not Node.objects.filter(ranking.are_alive(now)).exists():
        found.append(Why(NO_WORKER))
    host = Host.objects.defer("robots_text").get(pk=board.site.host_id)
    if host.retry_after_until is not None and host.retry_after_until > now:
        found.append(Why(ASKED_TO_WAIT, host=host, until=host.retry_after_until))
    elif host.failures and host.next_at > now:
        found.append(Why(HOST_FAILS, host=host, until=host.next_at))
    for run in reads.active_runs([board.site_id]):
        found.append(Why(VISIT_STANDS if run.state == "paused" else VISIT_RUNS, run=run))
    return found or [Why(NO_TURN)]
