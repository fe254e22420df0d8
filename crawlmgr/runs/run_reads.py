"""Queries on runs: lists of runs, and a run's pages, hosts, events and speed, its report; the texts
for the codes that are stored with runs, visits, pages and events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Count, Exists, OuterRef, QuerySet
from django.db.models.functions import TruncDate
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from crawlmgr.database import caches
from crawlmgr.database.caches import once
from crawlmgr.frontier import host_reads
from crawlmgr.models import (
    ACTIVE,
    Event,
    Node,
    NodeState,
    Page,
    Run,
    RunHost,
    RunState,
    RunTally,
    Url,
    UrlState,
)
from crawlmgr.runs import runs
from crawlmgr.schedule import timings
from crawlmgr.workers import ranking

ENDED = tuple(state for state in RunState if state not in ACTIVE)


DAYS_SHOWN = 30


def for_lists() -> QuerySet[Run]:
    """Returns all runs as a queryset that does not load the large columns `parameters` and
    `result`."""
    return Run.objects.defer("parameters", "result")


def ended_by_day(
    now: datetime, days: int = DAYS_SHOWN
) -> tuple[list[date], dict[tuple[date, str], int]]:
    """Returns the last `days` days (UTC), oldest first, and the number of runs that ended by (day,
    state), without those that are 0; reads only an index."""
    today = now.astimezone(UTC).date()
    shown = [today - timedelta(days=back) for back in range(days - 1, -1, -1)]
    since = datetime.combine(shown[0], time(), UTC)
    rows = Run.objects.filter(state__in=ENDED, finished__gte=since).order_by()
    counts = rows.values_list(TruncDate("finished", tzinfo=UTC), "state").annotate(Count("id"))
    return shown, {(day, state): number for day, state, number in counts}


def in_states(rows: QuerySet[Run], states: tuple[str, ...]) -> QuerySet[Run]:
    """Returns those runs of `rows` that are in one of the states; for the active states uses the
    partial index of active runs."""
    if set(states) == set(ACTIVE):
        return rows.filter(pk__in=list(Run.objects.at_work().values_list("pk", flat=True)))
    return rows.filter(state__in=states)


@once
def all_active() -> list[Run]:
    """Returns all active runs (running, queued or paused) without the large columns."""
    return list(Run.objects.at_work().defer("parameters", "result"))


def active(limit: int = 20) -> list[Run]:
    """Returns at most `limit` active runs (running, queued or paused), running ones first."""
    rank = {RunState.RUNNING: 0, RunState.QUEUED: 1, RunState.PAUSED: 2}
    return sorted(all_active(), key=lambda run: (rank[RunState(run.state)], -run.pk))[:limit]


def at_work(kind: str, targets: Collection[int] | None = None) -> dict[int, Run]:
    """Returns the active runs of a kind by their `target`, the key of the crawled object: of all
    targets or only of the given ones."""
    rows = (run for run in all_active() if run.kind == kind)
    return {
        run.target: run
        for run in rows
        if run.target is not None and (targets is None or run.target in targets)
    }


def lately(kind: str, since: datetime) -> list[Run]:
    """Returns the runs of a kind that are active, then those that ended since `since`."""
    over = Run.objects.filter(state__in=ENDED, finished__gte=since, kind=kind).defer(
        "parameters", "result"
    )
    return [*(run for run in all_active() if run.kind == kind), *over]


def ended(limit: int = 6) -> list[Run]:
    """Returns at most `limit` runs that have ended, those created last first."""
    over = (
        Run.objects.exclude(state__in=ACTIVE).exclude(finished=None).defer("parameters", "result")
    )
    return list(over.order_by("-id")[:limit])


def recent_pages(run: Run, limit: int = 15) -> list[Page]:
    """Returns the pages that a run fetched most recently, newest first."""
    return list(Page.objects.filter(run=run).order_by("-id")[:limit])


def recent_failures(run: Run, limit: int = 10) -> list[Url]:
    """Returns a run's addresses that failed, were refused, or were dropped before they were
    requested, those that ended last first."""
    rows = Url.objects.filter(
        run=run, state__in=[UrlState.FAILED, UrlState.REFUSED, UrlState.DROPPED]
    )
    return list(rows.defer("payload").order_by("-ended_at")[:limit])


def rate(run: Run, now: datetime, window_seconds: int = 60) -> float | None:
    """Returns a run's pages per minute: over the last `window_seconds` for a running one, otherwise
    over the whole run. None if it has not started, or is not running and lasted less than a second.
    """
    if run.started is None:
        return None
    if run.state == RunState.RUNNING:
        start = max(run.started, now - timedelta(seconds=window_seconds))
        seconds = max(5.0, (now - start).total_seconds())
        return Page.objects.filter(run=run, fetched_at__gt=start).count() * 60 / seconds
    end = run.finished or run.progressed or now
    seconds = (end - run.started).total_seconds()
    return run.fetched * 60 / seconds if seconds >= 1 else None


def hosts(run: Run, limit: int = 10) -> list[RunHost]:
    """Returns at most `limit` hosts that a run requests, first those on which addresses are
    waiting."""
    return list(
        RunHost.objects.filter(run=run)
        .select_related("host")
        .order_by("-active", "host__next_at")[:limit]
    )


def events(run: Run, limit: int = 10) -> list[Event]:
    """Returns a run's most recent events, newest first."""
    return list(Event.objects.filter(run=run).order_by("-id")[:limit])


def get(pk: int) -> Run | None:
    return Run.objects.select_related("created_by").filter(pk=pk).first()


def neighbours(run: Run) -> dict[str, Any]:
    """Returns the keys of the previous and the next run of the same kind and target as "before" and
    "after"; each is None if there is none."""
    same = (
        Run.objects.filter(kind=run.kind, target=run.target)
        if run.target is not None
        else Run.objects.none()
    )
    return {
        "before": same.filter(pk__lt=run.pk).order_by("-id").values_list("pk", flat=True).first(),
        "after": same.filter(pk__gt=run.pk).order_by("id").values_list("pk", flat=True).first(),
    }


# number of hosts of a run that are examined for free connections, as in `frontier.next_turn`
MAX_EXAMINED = 32


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

    def as_json(self) -> dict[str, Any]:
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
    nodes = list(Node.objects.filter(ranking.are_alive(now)))
    takers = [node for node in nodes if node.state == NodeState.ACTIVE]
    if not takers:
        return ("nodes_paused", len(nodes)) if nodes else ("no_workers", 0)
    held, workers = ranking.runs_in_hand(now), sum(node.workers for node in takers)
    return (
        ("workers_busy", workers) if sum(held[node.name] for node in takers) >= workers else ("", 0)
    )


def waits_of(run: Run, now: datetime) -> Waiting:
    """Returns what a run waits for at the time `now`; a `Waiting` without values if it has ended,
    is paused, or is working."""
    if run.state == RunState.QUEUED:
        return Waiting(because="worker")
    if run.state != RunState.RUNNING:
        return Waiting()
    if run.waiting_for and run.waiting_until and run.waiting_until > now:
        if timings.is_of_hours(run.waiting_for):
            return Waiting(run.waiting_for, run.waiting_until, "hours")
        cause = host_reads.limiting_cause(run.waiting_for, now)
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
    wanted = {row.host_id: row.host for row in rows.defer("host__robots_text")[:MAX_EXAMINED]}
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
    fields of `Waiting.as_json`."""
    pks = [one["id"] for one in documents if one["state"] in (RunState.QUEUED, RunState.RUNNING)]
    found: Mapping[int, Run] = Run.objects.in_bulk(pks)
    return [
        {**one, **(waits_of(found[one["id"]], now) if one["id"] in found else Waiting()).as_json()}
        for one in documents
    ]


MAX_HOSTS = 20


MAX_FULL = 1000


MAX_NAMES = 50


# the outcomes of an active run with at least this many requests are cached for COUNTED_SECONDS
MANY = 20_000


COUNTED_SECONDS = 60


def report(run: Run, now: datetime, waits: Waiting | None = None) -> dict[str, Any]:
    """Returns the report of a run as a dictionary, for the run's page in the web interface, the API
    and the command. Its lists of statuses, types, seeds and hosts are None for runs of older
    versions of the program, which did not count them. `waits` is what the run waits for; it is
    looked up if not given."""
    began, ended = run.started, run.finished or (now if run.active else run.progressed)
    counted = RunTally.objects.filter(run=run).exists() or not run.requests
    return {
        "run": run.pk,
        "kind": run.kind,
        "label": run.label,
        "state": run.state,
        "stopped_by": run.stopped_by,
        "detail": run.detail,
        **(waits_of(run, now) if waits is None else waits).as_json(),
        "started": began,
        "finished": run.finished,
        "seconds": max(0.0, (ended - began).total_seconds()) if began and ended else None,
        "pages": run.fetched,
        "failed": run.failed,
        "refused": run.refused,
        "requests": run.requests,
        "bytes": run.bytes,
        "answers_429_or_503": run.busy,
        "retries": run.retries,
        "waits": run.waits,
        "waited_seconds": run.waited_seconds,
        "statuses": _named(run, runs.STATUS, "status", "answers") if counted else None,
        "types": _named(run, runs.TYPE, "type", "pages") if counted else None,
        "seeds": (
            _named(run, runs.SEED, "outcome", "urls")
            if counted and run.kind in settings.RUNS_WITH_SEEDS
            else None
        ),
        "hosts": _hosts(run) if counted else None,
        "pages_per_host": _limit(run) or None,
        "hosts_full": _full(run),
        "outcomes": outcomes(run),
    }


def _named(run: Run, what: str, name: str, number: str) -> list[dict[str, Any]]:
    """Returns the largest counts of one kind `what` ("status", "type", "seed"), largest first, as
    dictionaries: the counted value under the key `name`, the count under the key `number`, and
    except for seeds the "bytes"."""
    rows = RunTally.objects.filter(run=run, what=what).order_by("-number", "name")[:MAX_NAMES]
    sized = what != runs.SEED
    return [
        {name: row.name, number: row.number, **({"bytes": row.bytes} if sized else {})}
        for row in rows
    ]


def _hosts(run: Run) -> list[dict[str, Any]]:
    """Returns the hosts with the most pages in the run as dictionaries with their counters, at most
    MAX_HOSTS."""
    rows = (
        RunHost.objects.filter(run=run)
        .select_related("host")
        .order_by("-fetched", "id")[:MAX_HOSTS]
    )
    return [
        {
            "host": row.host.key,
            "id": row.host_id,
            "pages": row.fetched,
            "failed": row.failed,
            "bytes": row.bytes,
        }
        for row in rows
    ]


def outcomes(run: Run) -> list[dict[str, Any]]:
    """Returns the numbers of a run's addresses by state and reason, as dictionaries with "state",
    "reason" and "urls" (number): as stored at the end of the run, or counted now if it is active.
    """
    count = partial(runs.outcomes, run.pk)
    stored: list[dict[str, Any]] | None = run.outcomes
    if stored is None or run.active:
        many = run.requests >= MANY
        stored = (
            caches.remembered(f"run-outcomes-{run.pk}", COUNTED_SECONDS, count) if many else count()
        )
    return [
        {
            "state": UrlState(row["state"]).name.lower(),
            "reason": row["reason"],
            "urls": row["count"],
        }
        for row in stored
    ]


def _limit(run: Run) -> int:
    """Returns the run's limit of pages per host; 0 for none."""
    return int(run.parameters.get("settings", {}).get("pages_per_host") or 0)


def _full(run: Run) -> int:
    """Returns how many hosts have reached the run's limit of pages per host, at most MAX_FULL; 0
    without a limit."""
    limit = _limit(run)
    return (
        len(RunHost.objects.filter(run=run, fetched__gte=limit)[:MAX_FULL].values_list("pk"))
        if limit
        else 0
    )


SAID: dict[str, str] = {
    # reasons for the end of a run or a visit
    "complete": gettext_noop("complete: nothing was left to do"),
    "incomplete": gettext_noop("ended, but not everything could be read"),
    "stopped": gettext_noop("stopped by a user"),
    "disk_low": gettext_noop("too little space on the disk"),
    "secrets_unreadable": gettext_noop("a stored password or key cannot be read; enter it again"),
    "program_error": gettext_noop("an internal error"),
    "boards_found": gettext_noop("boards found"),
    "no_boards": gettext_noop("no boards were found"),
    "unreachable": gettext_noop("the address could not be reached"),
    "failed": gettext_noop("the run failed"),
    "watermark": gettext_noop("known threads reached: those that the last complete visit had read"),
    "unchanged": gettext_noop("a list page without any changed row"),
    "history": gettext_noop("reached the limit of the history to read"),
    "end_of_board": gettext_noop("the last page of the board was read"),
    "empty_board": gettext_noop("the board has no threads"),
    "no_new_rows": gettext_noop("two pages without a new row"),
    "max_pages": gettext_noop("the limit of list pages for one visit"),
    "not_modified": gettext_noop("not modified since the last visit"),
    "in_doubt": gettext_noop(
        "read to the end, but the reading may be wrong: see the list of doubtful readings"
    ),
    "no_next_page": gettext_noop("no further page: the same posts again, or none"),
    "same_thread": gettext_noop("a thread that is stored under another address"),
    "redirected": gettext_noop("redirected to a page that does not show this thread"),
    "reread": gettext_noop("every stored page was read again"),
    "no_records": gettext_noop("no threads were recognised on the page"),
    "no_posts": gettext_noop("no posts were recognised on the page"),
    "login_needed": gettext_noop("the page asks for a login"),
    "other_host": gettext_noop("rows that lead to another host were left out"),
    "layout_changed": gettext_noop(
        "the page layout has changed and could not be learned again; nothing was stored"
    ),
    "retry_after_cut": gettext_noop(
        "the host asked us to wait for more than a day: it is asked again after a day"
    ),
    "pause_cut": gettext_noop(
        "the next request to the host was stored too far ahead, by a clock that was wrong: the"
        " host is asked now"
    ),
    "counter_trap": gettext_noop(
        "addresses that differ from this one in their numbers only brought nothing new for many"
        " pages: they are not followed any more"
    ),
    "time_cut": gettext_noop(
        "a stored time was too far ahead, by a clock that was wrong: it is now the present"
    ),
    "host_unreachable": gettext_noop(
        "the host could not be reached; its other addresses were given up"
    ),
    "dropped": gettext_noop("removed from the run"),
    "host_pages": gettext_noop("the limit of pages per host was reached"),
    "budget": gettext_noop("the requested number of pages was reached"),
    "frontier_empty": gettext_noop("nothing was left to fetch"),
    "samples_read": gettext_noop("all samples are read"),
    "simulated": gettext_noop("every step was simulated"),
    "unusable_log": gettext_noop("the event file does not suit this experiment"),
    "pages": gettext_noop("the requested number of pages was reached"),
    "requests": gettext_noop("too many requests for the number of pages: most had nothing to read"),
    "minutes": gettext_noop("the time limit was reached"),
    "relevant": gettext_noop("enough pages on topic"),
    "frontier": gettext_noop("nothing was left to fetch"),
    "rule_depth": gettext_noop(
        "the remaining links lie too many steps off topic: the strategy's depth limit"
    ),
    "rule_off_topic": gettext_noop(
        "the remaining links are on off-topic pages only: the strategy drops such links"
    ),
    "rule_tunnel": gettext_noop(
        "the remaining links lie beyond the tunnel length: the strategy drops such links"
    ),
    "rule_concepts": gettext_noop(
        "the remaining links name concepts that were fetched before: the strategy's rule for"
        " duplicates"
    ),
    "no_direction": gettext_noop("the pheromone no longer favours any link"),
    "compared": gettext_noop("every strategy was run and evaluated"),
    "helped": gettext_noop("its part of a comparison is computed"),
    "removed": gettext_noop("everything is deleted"),
    "exported": gettext_noop("the file is written"),
    "backed_up": gettext_noop("the backup is complete"),
    "not_comparable": gettext_noop("there are no pages to compare on"),
    # reasons for a page's failure
    "bad_url": gettext_noop("not a web address"),
    "dns": gettext_noop("the host name cannot be resolved"),
    "refused_address": gettext_noop("a private address that is not allowed"),
    "no_contact": gettext_noop("no contact address is set"),
    "connect": gettext_noop("no connection"),
    "proxy": gettext_noop("the proxy failed"),
    "tls": gettext_noop("the certificate or encryption failed"),
    "timeout": gettext_noop("no response in time"),
    "too_slow": gettext_noop("the page took too long in total"),
    "reset": gettext_noop("the connection was closed early"),
    "protocol": gettext_noop("no valid response"),
    "too_large": gettext_noop("too large"),
    "bomb": gettext_noop("too large when unpacked"),
    "truncated": gettext_noop("the response ended early"),
    "length": gettext_noop("the response was longer than announced"),
    "bad_encoding": gettext_noop("unknown compression"),
    "type": gettext_noop("a content type that is not processed"),
    "document_unreadable": gettext_noop("a document that cannot be read"),
    "document_too_costly": gettext_noop("reading the document took too long or too much memory"),
    "over_budget": gettext_noop("parsing took longer than allowed for one page"),
    "read_in_part": gettext_noop("only the beginning of the page was read"),
    "uncorrected": gettext_noop("a correction of the forum's pages could not be applied"),
    "too_many_redirects": gettext_noop("too many redirects"),
    "redirect_loop": gettext_noop("redirects in a circle"),
    "bad_redirect": gettext_noop("redirects to something that is not a web address"),
    "refused_hop": gettext_noop("a redirect to an address that the crawl may not fetch"),
    "robots": gettext_noop("refused by robots.txt"),
    "robots_meta": gettext_noop("the page itself asks robots not to read it"),
    "no_api": gettext_noop("the forum's JSON interface returned nothing"),
    "robots_unreachable": gettext_noop(
        "robots.txt cannot be read, so nothing may be fetched for now"
    ),
    "host_waits": gettext_noop("the redirect's host asks to wait too long"),
    "not_in_archive": gettext_noop("not in the archive"),
    "fetched_before": gettext_noop("leads to a page that was fetched before"),
    # reasons why a topic crawl does not request an address: scope rules and duplicates
    "host": gettext_noop("a host outside the scope"),
    "dropped_host": gettext_noop("an excluded host"),
    "path": gettext_noop("a path outside the scope"),
    "excluded_path": gettext_noop("an excluded path"),
    "other_address": gettext_noop("other addresses of the same page (rel=canonical)"),
    "same_concepts": gettext_noop("the same concept of the ontology as another link"),
    "depth": gettext_noop("too many clicks from a seed"),
    # kinds of crawler traps
    "unread_type": gettext_noop("addresses of a form whose files cannot be read"),
    "counter": gettext_noop("a counter in the address whose pages bring nothing new"),
    "too_long": gettext_noop("an address that is too long"),
    "too_deep": gettext_noop("too many path segments"),
    "repeated_segment": gettext_noop("the same path segment again and again"),
    "calendar": gettext_noop("an endless calendar"),
    # codes of events in the log
    "run_failed": gettext_noop("A run failed"),
    "slice_broke": gettext_noop("Processing of a run was interrupted"),
    "database_trouble": gettext_noop("A temporary database error; the work was repeated"),
    "worker_ended": gettext_noop(
        "A worker process was killed or crashed; another one continues its work"
    ),
    "worker_silent": gettext_noop("A worker stopped responding; another one continues its work"),
    "node_state": gettext_noop("A worker node was asked to accept work, to pause or to drain"),
    "all_paused": gettext_noop("All crawling was paused"),
    "all_resumed": gettext_noop("All crawling was resumed"),
    "visit_incomplete": gettext_noop("A visit could not read everything"),
    "thread_given_up": gettext_noop(
        "Pages of a thread could not be read in several visits and were given up (reason, address)"
    ),
    "visit_refused": gettext_noop("A visit could not be started"),
    "threads_joined": gettext_noop("Threads that were stored twice were joined"),
    "site_edited": gettext_noop("A forum was edited"),
    "site_deleted": gettext_noop("A forum was deleted"),
    "deleted_from_list": gettext_noop("An entry of a list was deleted (name)"),
    "structure_edited": gettext_noop("The model of a forum was edited"),
    "structure_corrected": gettext_noop("The corrections of a forum's pages were changed"),
    "structure_restored": gettext_noop("A forum went back to an earlier version of its model"),
    "structure_kept": gettext_noop(
        "A layout change of a forum was dismissed; its model stays as it is"
    ),
    "layout_noticed": gettext_noop("The layout of a forum has changed"),
    "layout_agreed": gettext_noop(
        "The layout of a forum was learned again, and the new model agrees with the stored data"
    ),
    "layout_disagrees": gettext_noop(
        "The layout of a forum was learned again, but the new model contradicts the stored data:"
        " the old one stays in use"
    ),
    "login_barred": gettext_noop("Too many failed logins (name · address)"),
    "login_failed": gettext_noop("The login of a forum failed"),
    "login_expired": gettext_noop("The login of a forum has expired"),
    "login_changed": gettext_noop("The login of a forum was changed"),
    "drop": gettext_noop(
        "A forum has much less new content than usual (items in two days / usual number)"
    ),
    "silent": gettext_noop(
        "A forum yields nothing new (hours, and the usual number of items in that time)"
    ),
    "topic_refused": gettext_noop("A run of a topic could not be started"),
    "harvest_refused": gettext_noop("A harvest could not be started"),
    "schedule_missed": gettext_noop("Scheduled starts were missed; one start was made instead"),
    "task_refused": gettext_noop(
        "A task of another program was refused and removed from the queue"
    ),
    "token_made": gettext_noop("An API token was created (name, role)"),
    "token_removed": gettext_noop("An API token was removed"),
    "channel_made": gettext_noop("A channel for alarms was created"),
    "channel_removed": gettext_noop("A channel for alarms was removed"),
    "export_opened": gettext_noop("An address without login was created for an export"),
    "export_closed": gettext_noop("The address of an export was withdrawn"),
    "export_removed": gettext_noop("An export was deleted with its files"),
    "cluster_restarted": gettext_noop("The workers were restarted"),
    "web_restarted": gettext_noop("The web server was restarted"),
    "store_away": gettext_noop(
        "The archive's file store does not respond; closed files stay in the local folder"
    ),
    "file_damaged": gettext_noop(
        "An archive file does not match its index; it was not moved into the file store"
    ),
    # results of reading a host's robots.txt
    "allow": gettext_noop("all allowed"),
    "deny": gettext_noop("all refused for now"),
    "rules": gettext_noop("rules apply"),
    "parsed": gettext_noop("rules apply"),
    # codes of alarms
    "no_workers": gettext_noop(
        "No worker is alive: nothing is fetched. Start the server with `serve`, or a node with"
        " `node`."
    ),
    "no_contact_set": gettext_noop(
        "No contact is set (CRAWLMGR_CONTACT): only private addresses that a forum allows can be"
        " crawled."
    ),
    "disk_full": gettext_noop("The disk is almost full: runs pause until space is freed."),
}


def say(code: str) -> str:
    """Returns the text for a code in the current language; `code` itself if it is unknown. In a
    code such as "incomplete: a, b", the codes after the colon are translated too; for "http_404"
    the text contains the status."""
    head, colon, rest = code.partition(":")
    head, rest = head.strip(), rest.strip()
    if head.startswith("http_"):
        return _("HTTP status %(status)s") % {"status": head.removeprefix("http_")}
    known = SAID.get(head)
    if known is None:
        return code
    if not colon or not rest:
        return _(known)
    parts = "; ".join(say(piece.strip()) for piece in rest.split(","))
    return f"{_(known)} ({parts})"
