"""Creates, leases, counts and ends runs. Every change of a run's state is one conditional UPDATE,
restricted to the changes that `TRANSITIONS` allows. Also counts what a run's report tells:
responses by status, pages by media type, seeds by outcome."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Count, F, Q

from crawlmgr.access import vault
from crawlmgr.clock import SYSTEM
from crawlmgr.database import sql
from crawlmgr.models import TRANSITIONS, Run, RunState, Url, UrlState, events
from crawlmgr.workers import queue

STATUS, TYPE, SEED = "status", "type", "seed"
MAX_OUTCOMES = 40
_ADD = (
    "INSERT INTO crawlmgr_runtally (run_id, what, name, number, bytes) VALUES (%s, %s, %s, %s, %s)"
    " ON CONFLICT (run_id, what, name) DO UPDATE SET number = crawlmgr_runtally.number +"
    " excluded.number, bytes = crawlmgr_runtally.bytes + excluded.bytes"
)
_ADD_TO_HOST = (
    "UPDATE crawlmgr_runhost SET fetched = fetched + %s, failed = failed + %s, bytes = bytes + %s"
    " WHERE run_id = %s AND host_id = %s"
)


class Tally:
    """Counts collected during one transaction and written once at its end. `seeds`: the outcomes of
    seeds (start addresses of the run) are counted as well."""

    def __init__(self, *, seeds: bool) -> None:
        self._seeds = seeds
        self._numbers: Counter[tuple[str, str]] = Counter()
        self._bytes: Counter[tuple[str, str]] = Counter()
        self._hosts: dict[int, list[int]] = {}

    def answer(self, response: FetchResponse) -> None:
        """Counts a response, also if its address will be requested again."""
        name = str(response.status) if response.failure is None else response.failure.value
        self._add(STATUS, name, response.received_bytes)

    def page(self, item: Url, response: FetchResponse) -> None:
        """Counts a page that was stored."""
        self._add(
            TYPE,
            response.content_type.partition(";")[0].strip().lower() or "",
            response.received_bytes,
        )
        self._host(item, 1, 0, response.received_bytes)

    def ended(self, item: Url, state: UrlState, reason: str, received_bytes: int = 0) -> None:
        """Counts an address that ended, with the bytes received for it. Pages that were stored are
        counted by `page`."""
        if state != UrlState.DONE:
            self._host(item, 0, int(state == UrlState.FAILED), received_bytes)
        if self._seeds and item.parent_id is None and item.depth == 0:
            self._add(SEED, f"{state.name.lower()} {reason.partition(':')[0]}".strip(), 0)

    def write(self, run_id: int) -> None:
        """Adds the counts to those stored for the run."""
        if self._numbers:
            rows = [
                (run_id, what, name[:100], number, self._bytes[what, name])
                for (what, name), number in self._sorted()
            ]
            sql.execute_many(_ADD, rows)
        if self._hosts:
            sql.execute_many(
                _ADD_TO_HOST, [(*sums, run_id, host) for host, sums in sorted(self._hosts.items())]
            )

    def _sorted(self) -> list[tuple[tuple[str, str], int]]:
        return sorted(self._numbers.items())

    def _add(self, what: str, name: str, received_bytes: int) -> None:
        self._numbers[what, name] += 1
        self._bytes[what, name] += received_bytes

    def _host(self, item: Url, fetched: int, failed: int, received_bytes: int) -> None:
        sums = self._hosts.setdefault(item.host_id, [0, 0, 0])
        for place, number in enumerate((fetched, failed, received_bytes)):
            sums[place] += number


def outcomes(run_id: int) -> list[dict[str, Any]]:
    """Counts a run's addresses by state and reason; returns the MAX_OUTCOMES most frequent
    combinations as dicts with "state", "reason" and "count", most frequent first. Slow for a large
    run: all its addresses are counted.
    """
    rows = Url.objects.filter(run_id=run_id).values("state", "reason").annotate(count=Count("id"))
    return list(rows.order_by("-count", "state", "reason")[:MAX_OUTCOMES])


def store_final(run_id: int) -> None:
    """Stores the outcomes of the addresses of a run that is ending, so that they need not be
    counted again for each page view."""
    Run.objects.filter(pk=run_id).update(outcomes=outcomes(run_id))


if TYPE_CHECKING:
    from crawlmgr.web.http.exchange import FetchResponse

log = logging.getLogger("crawlmgr.runs")
DISK_LOW = "disk_low"
"""Reason of a run that is paused until there is room on the disk."""
BREAKS_ALLOWED = 3
STRAINS_ALLOWED = 30
Lag = Callable[[], float]
"""Function that returns by how many seconds a clock is behind real time at the moment."""


class Busy(Exception):
    """Another active run, `run`, is already working on the same target. `same` is True if that run
    has the same kind and parameters as the requested one.
    """

    def __init__(
        self, run: Run, kind: str = "", parameters: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(f"run {run.pk} ({run.label}) is already running")
        self.run = run
        self.same = (
            parameters is not None
            and run.kind == kind
            and _in_plain(run.parameters) == _in_plain(json.loads(json.dumps(parameters)))
        )


class WrongState(Exception):
    """The run's state does not allow the requested action; `code` is that state."""

    def __init__(self, run: Run) -> None:
        super().__init__(f"run {run.pk} is {run.state}")
        self.code = run.state


class LeaseLost(Exception):
    """Another worker holds the run now. The exception makes this worker's transaction roll back."""


def no_lag() -> float:
    """Returns 0.0, the lag of a holder that uses the machine's own clock (see `Lease`)."""
    return 0.0


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on a run for some seconds, renewed by heartbeats. `fence` rises each time a
    worker takes the lease; a write with an older fence is refused. `lag` returns by how many
    seconds the holder's clock is behind real time now; this is added to the end of the lease,
    because other workers compare that end with real time."""

    run_id: int
    fence: int
    seconds: float
    lag: Lag = no_lag

    def until(self, now: datetime) -> datetime:
        """Returns the end of the lease if it is renewed at `now`, a time on the holder's clock."""
        return now + timedelta(seconds=self.seconds + self.lag())


def _in_plain(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the parameters of a run with decrypted secrets, for comparing: encrypting a text
    twice gives two results. Unchanged if the secrets cannot be decrypted."""
    try:
        return {**parameters, "settings": vault.opened(parameters.get("settings", {}))}
    except vault.Unreadable:
        return parameters


def exclusive_key(kind: str, keys: Iterable[int]) -> str:
    """Returns a text for `create` that is equal for runs of one kind on the same targets, so that
    only one of them can be active. It contains the ids of the targets, or a digest of them if they
    are too long."""
    joined = ",".join(str(key) for key in sorted(keys))
    return f"{kind}-{joined if len(joined) <= 40 else sha256(joined.encode()).hexdigest()[:40]}"


def create(
    kind: str,
    label: str,
    *,
    parameters: dict[str, Any],
    now: datetime,
    target: int | None = None,
    exclusive: str = "",
    user: Any = None,
    start: bool = True,
    scheduled: bool = False,
) -> Run:
    """Creates a run and, with `start`, queues its first slice; without it, the caller works on the
    run (see `_kept_until`). Secrets among the crawl settings in `parameters` are stored encrypted.
    Raises Busy if an active run has the same non-empty `exclusive` key."""
    if "settings" in parameters:
        parameters = {**parameters, "settings": vault.sealed(parameters["settings"])}
    try:
        with transaction.atomic():
            run = Run.objects.create(
                kind=kind,
                label=label[:200],
                target=target,
                exclusive=exclusive,
                parameters=parameters,
                created=now,
                created_by=user,
                scheduled=scheduled,
                waiting_until=_kept_until(start or scheduled),
            )
    except IntegrityError:
        other = Run.objects.filter(
            exclusive=exclusive, state__in=["queued", "running", "paused"]
        ).first()
        if other is None:
            return create(
                kind,
                label,
                parameters=parameters,
                now=now,
                target=target,
                exclusive=exclusive,
                user=user,
                start=start,
                scheduled=scheduled,
            )
        raise Busy(other, kind, parameters) from None
    log.info("%s: %s", kind, run.label, extra={"event": "run_created", "run": run.pk})
    if start:
        queue.run_slice(run.pk)
    return run


def _sources(target: str) -> list[str]:
    return [state for state, targets in TRANSITIONS.items() if target in targets]


def _kept_until(start: bool) -> datetime | None:
    """Returns until when the dispatcher leaves a new run to its caller, which is about to take its
    lease if it does not `start` the run by a queued slice. By the real time, as the dispatcher's,
    because a caller may replay an earlier day."""
    return None if start else SYSTEM.now() + timedelta(seconds=settings.LEASE_SECONDS)


def _idle(now: datetime) -> Q:
    return Q(lease_until__isnull=True) | Q(lease_until__lte=now)


def _move(run_id: int, target: str, now: datetime, condition: Q, **values: Any) -> bool:
    return bool(
        Run.objects.filter(condition, pk=run_id, state__in=_sources(target)).update(
            state=target, **values
        )
    )


def _ask(run_id: int, request: str, target: str, now: datetime, **values: Any) -> Run:
    """Changes a run's state on a user's request: if no worker holds the run, sets the state
    `target` and the fields `values` at once; otherwise stores `request` ("pause" or "stop"), which
    the worker notices. Returns the run. Raises WrongState if the run's state does not allow this.
    """
    with transaction.atomic():
        if not _move(
            run_id, target, now, _idle(now), wanted="", waiting_for="", waiting_until=None, **values
        ):
            Run.objects.filter(pk=run_id, state=RunState.RUNNING).update(wanted=request)
        run = Run.objects.get(pk=run_id)
        if run.state != target and run.wanted != request:
            raise WrongState(run)
    log.info("asked for", extra={"event": f"run_{request}", "run": run_id})
    return run


def pause(run_id: int, now: datetime) -> Run:
    """Pauses a run. If a worker holds it, it stops after the current page. Raises WrongState if the
    run's state does not allow this."""
    return _ask(run_id, "pause", RunState.PAUSED, now)


def stop(run_id: int, now: datetime) -> Run:
    """Stops a run for good. If a worker holds it, it stops after the current page. Fetched pages
    are kept. Raises WrongState."""
    run = _ask(run_id, "stop", RunState.STOPPED, now, stopped_by="stopped", finished=now)
    if run.state == RunState.STOPPED:
        store_final(run_id)
    return run


def resume(run_id: int, now: datetime, *, start: bool = True) -> Run:
    """Resumes a paused or failed run where it stopped; with `start`, queues its next slice. Raises
    WrongState, and Busy if another run has started on the same target."""
    try:
        with transaction.atomic():
            moved = _move(
                run_id,
                RunState.QUEUED,
                now,
                Q(),
                wanted="",
                stopped_by="",
                detail="",
                finished=None,
                waiting_for="",
                waiting_until=_kept_until(start),
                breaks=0,
                strains=0,
            )
    except IntegrityError:
        run = Run.objects.get(pk=run_id)
        other = (
            Run.objects.filter(exclusive=run.exclusive, state__in=["queued", "running", "paused"])
            .exclude(pk=run_id)
            .first()
        )
        raise Busy(other or run) from None
    run = Run.objects.get(pk=run_id)
    if not moved:
        raise WrongState(run)
    log.info("asked for", extra={"event": "run_resume", "run": run_id})
    if start:
        queue.run_slice(run_id)
    return run


def take(
    run_id: int, holder: str, now: datetime, seconds: float, lag: Lag = no_lag
) -> Lease | None:
    """Takes the lease of a run for `seconds`, extended by `lag` (see `Lag`), if the run is queued,
    or running without a holder; returns None otherwise. If an earlier holder let the lease expire
    (frozen process, lost machine), an event records this.
    """
    before = Run.objects.values_list("lease_holder", "lease_until").filter(pk=run_id).first()
    taken = Run.objects.filter(
        _idle(now), pk=run_id, state__in=[RunState.QUEUED, RunState.RUNNING]
    ).update(
        fence=F("fence") + 1,
        lease_until=now + timedelta(seconds=seconds + lag()),
        lease_holder=holder[:120],
        state=RunState.RUNNING,
        waiting_for="",
        waiting_until=None,
    )
    if not taken:
        return None
    if before is not None and before[0] and before[1] is not None and before[1] <= now:
        told = (
            f"{before[0]} sent no heartbeat for {(now - before[1]).total_seconds() + seconds:.0f}"
            f" s; {holder} goes on"
        )
        events.warn("worker_silent", told, now=now, run_id=run_id)
    run = Run.objects.only("fence", "started").get(pk=run_id)
    if run.started is None:
        Run.objects.filter(pk=run_id, started__isnull=True).update(started=now)
    return Lease(run_id, run.fence, seconds, lag)


def beat(lease: Lease, now: datetime) -> str:
    """Renews the lease and returns what a user has requested of the run: "", "pause" or "stop".
    Raises LeaseLost if the lease was lost to another worker."""
    if not _held(lease).update(lease_until=lease.until(now)):
        raise LeaseLost(f"run {lease.run_id}")
    return str(Run.objects.values_list("wanted", flat=True).get(pk=lease.run_id))


def count(lease: Lease, now: datetime, deltas: dict[str, int]) -> str:
    """Adds `deltas` to the run's counters, renews the lease, and returns what a user has requested
    of the run, like `beat`. It is one statement, executed in the transaction that stores a page.
    Raises LeaseLost if the lease was lost to another worker.
    """
    names = tuple(name for name, delta in deltas.items() if delta)
    values = [deltas[name] for name in names]
    rows = sql.fetch(
        _count_statement(names), (now, lease.until(now), *values, lease.run_id, lease.fence)
    )
    if not rows:
        raise LeaseLost(f"run {lease.run_id}")
    return str(rows[0][0])


@lru_cache(maxsize=256)
def _count_statement(names: tuple[str, ...]) -> str:
    columns = {field.column for field in Run._meta.concrete_fields}
    if unknown := set(names) - columns:
        raise ValueError(f"a run has no counter {sorted(unknown)}")
    sums = "".join(f", {name} = {name} + %s" for name in names)
    return (
        # names checked above
        f"UPDATE crawlmgr_run SET progressed = %s, lease_until = %s, breaks = 0, "  # noqa: S608
        f"strains = "  # noqa: S608
        f"0{sums}"
        " WHERE id = %s AND fence = %s AND state = 'running' RETURNING wanted"
    )


def _held(lease: Lease) -> Any:
    return Run.objects.filter(pk=lease.run_id, fence=lease.fence, state=RunState.RUNNING)


def is_held(lease: Lease) -> bool:
    """Tells whether this lease is still valid, that is whether no other worker has taken the run
    and the run has not ended."""
    return bool(_held(lease).exists())


def begun(lease: Lease) -> None:
    """Records that the run's seeds are in the frontier. Raises LeaseLost if the lease was lost to
    another worker."""
    if not _held(lease).update(begun=True):
        raise LeaseLost(f"run {lease.run_id}")


def release(lease: Lease) -> bool:
    """Releases the lease of an unfinished run, so that another worker can continue it. Returns
    False if the lease was lost."""
    return bool(
        _held(lease).update(lease_until=None, lease_holder="", waiting_for="", waiting_until=None)
    )


def wait(
    lease: Lease, waiting_for: str, until: datetime, now: datetime, *, release: bool = True
) -> bool:
    """Records what the run waits for (a host) and until when, and counts the wait. With `release`,
    the lease is released too; a command in the foreground keeps it while it waits. Returns False if
    the lease was lost."""
    log.info(
        "until %s",
        f"{until:%Y-%m-%dT%H:%M:%SZ}",
        extra={"event": "wait", "run": lease.run_id, "host": waiting_for},
    )
    values = {
        "waits": F("waits") + 1,
        "waited_seconds": F("waited_seconds") + max(0.0, (until - now).total_seconds()),
    }
    given_back: dict[str, Any] = {"lease_until": None, "lease_holder": ""} if release else {}
    return bool(
        _held(lease).update(
            waiting_for=waiting_for[:300], waiting_until=until, **given_back, **values
        )
    )


def waited(lease: Lease) -> None:
    """Records that the run no longer waits, after a wait during which its worker kept the lease."""
    _held(lease).update(waiting_for="", waiting_until=None)


def hold(lease: Lease, waiting_for: str, until: datetime) -> bool:
    """Releases the lease until the run's working hours begin. This is not counted as waiting for a
    host. Returns False if the lease was lost."""
    log.info(
        "until %s", f"{until:%Y-%m-%dT%H:%M:%SZ}", extra={"event": "hold", "run": lease.run_id}
    )
    return bool(
        _held(lease).update(
            lease_until=None, lease_holder="", waiting_for=waiting_for[:300], waiting_until=until
        )
    )


def end(lease: Lease, state: str, stopped_by: str, now: datetime, detail: str = "") -> None:
    """Ends or pauses the run of this lease; `stopped_by` is the code of the reason. Addresses that
    are still claimed return to waiting. Raises LeaseLost if the lease was lost to another worker.
    """
    final = state in (RunState.FINISHED, RunState.STOPPED, RunState.FAILED)
    with transaction.atomic():
        moved = _held(lease).update(
            state=state,
            wanted="",
            stopped_by=stopped_by[:60],
            detail=detail[:2000],
            lease_until=None,
            lease_holder="",
            finished=now if final else None,
            waiting_for="",
            waiting_until=None,
        )
        if not moved:
            raise LeaseLost(f"run {lease.run_id}")
        Url.objects.filter(run_id=lease.run_id, state=UrlState.CLAIMED).update(
            state=UrlState.WAITING, lease_until=None, fence=None
        )
        if final:
            store_final(lease.run_id)
        log.info("%s %s", stopped_by, detail, extra={"event": f"run_{state}", "run": lease.run_id})
        if state == RunState.FAILED:
            events.error(
                "run_failed", f"{stopped_by} {detail}".strip(), now=now, run_id=lease.run_id
            )


def broke(lease: Lease, text: str, now: datetime) -> bool:
    """Records a slice that ended with a program error, and releases the lease. The slice is
    repeated twice; the third error in a row marks the run as failed, and True is returned."""
    events.error("slice_broke", text, now=now, run_id=lease.run_id)
    _held(lease).update(breaks=F("breaks") + 1, lease_until=None, lease_holder="")
    if _held(lease).filter(breaks__gte=BREAKS_ALLOWED).exists():
        end(lease, RunState.FAILED, "program_error", now, text)
        return True
    return False


def strained(lease: Lease, text: str, now: datetime) -> int:
    """Records a slice that was ended by a temporary database problem, and releases the lease, so
    that the run continues later. Returns how often that has happened since the last progress; 0 if
    it happened too often and counts as a program error. Raises LeaseLost if the lease was lost to
    another worker."""
    if not _held(lease).update(strains=F("strains") + 1, lease_until=None, lease_holder=""):
        raise LeaseLost(f"run {lease.run_id}")
    times = int(Run.objects.values_list("strains", flat=True).get(pk=lease.run_id))
    if times == 1:
        events.warn("database_trouble", text, now=now, run_id=lease.run_id)
    return times if times <= STRAINS_ALLOWED else 0


def resume_for_room(now: datetime, has_room: Callable[[], bool]) -> int:
    """Resumes the runs that were paused for want of room on the disk if there is room; returns how
    many there are."""
    paused = [
        run.pk
        for run in Run.objects.at_work()
        if run.state == RunState.PAUSED and run.stopped_by == DISK_LOW
    ]
    if not paused or not has_room():
        return 0
    for pk in paused:
        with suppress(Busy, WrongState):
            resume(pk, now)
    return len(paused)


def ready(now: datetime, limit: int = 100) -> list[int]:
    """Returns the ids of runs that could continue but that no worker holds, so that the dispatcher
    queues them again."""
    waiting = Q(waiting_until__isnull=True) | Q(waiting_until__lte=now)
    return list(
        Run.objects.filter(_idle(now), waiting, state__in=[RunState.QUEUED, RunState.RUNNING])
        .order_by("id")
        .values_list("pk", flat=True)[:limit]
    )
