"""Replays days of an event log: the dispatcher and the crawler run with a simulated clock, over
HTTP, under one policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import numpy as np
from django.db.models import Q

from crawlmgr import engine
from crawlmgr.frontier import hosts
from crawlmgr.models import Run, RunState
from crawlmgr.web.url import canonical, host_key, url_hash
from forums import dispatch
from forums.models import Board, Look, OverviewSource, Plan, PlannedVisit, Site, SourceKind, Visit
from forums.plans import loops, plans
from forums.reading import board_key
from forums.schedule.bounds import USUAL_THETA
from forums.schedule.delay_report import event_delays
from forums.schedule.equations import delay_of_sums
from forums.schedule.events import Events, Floats, Ints
from forums.schedule.pacing import PAUSE_TICKS
from forums.schedule.policies import POLICIES
from forums.simulation.delay_simulation import Setup, Simulation
from forums.sites import sites
from tests.benches.forums.replay_forum import ReplayForum, ReplayServer
from tests.clocks import ManualClock

OPEN = {"allow_private": "127.0.0.1", "delay_seconds": 0.0, "respect_robots": False}
# days replayed after the measured ones, so that posts of the last measured days are still fetched
AFTER_DAYS = 3


@dataclass(frozen=True, slots=True)
class Replayed:
    """The results of a replay. Delays are in weighted event-hours per day, over the posts that the
    log has in the replayed days.

    items: number of these posts; found: how many of them were fetched. measured: delay from the
    visits' stored records. recomputed: delay by eq. (4) of the forum paper from the times of the
    visits. daily: the measured delay of each day of posting. simulated: the simulator's delay for
    the same policy, log and budget; simulated_daily: the same for each day of posting.
    """

    policy: str
    visits_per_day: float
    items: int
    found: int
    measured: float
    recomputed: float
    simulated: float
    daily: Floats
    simulated_daily: Floats
    requests: int


def replay(
    events: Events,
    start: date,
    policy: str,
    visits_per_board: int,
    *,
    days: int = 10,
    history_days: int = 20,
    theta: float = USUAL_THETA,
    step_seconds: float = 60.0,
    pulse: Callable[[datetime], None] = lambda now: None,
) -> Replayed:
    """Crawls the history of a served forum at `start`, then follows a plan for `days`; returns the
    measured and simulated delays. Needs an empty database.

    Uses the boards with an event in the 160 days before, as the simulator does. pulse: called with
    the simulated time before each step.
    """
    setup = Setup(start, history_days=history_days, test_days=days, theta=theta)
    simulation = Simulation(events, setup)
    clock = ManualClock(datetime.fromtimestamp(simulation.start, UTC))
    forum = ReplayForum(simulation.events, clock)
    with ReplayServer(forum) as server:
        site = _added(server.url, simulation.events, history_days, clock.now())
        if POLICIES[policy].observes:
            _add_source(site, POLICIES[policy].observes, server.url, clock.now())
        _work(sites.crawl_now(site.pk, now=clock.now(), start=False), clock)
        plans.save(
            site.pk,
            {
                "policy": "adaptive" if POLICIES[policy].loop else policy,
                "visits_per_day": visits_per_board * simulation.boards,
                "history_days": float(history_days),
                "theta": theta,
            },
            now=clock.now(),
        )
        last = clock.now() + timedelta(days=days + AFTER_DAYS)
        stop = clock.now() + timedelta(days=days)
        while clock.now() < last:
            pulse(clock.now())
            dispatch.start_due(clock.now())
            for run in Run.objects.filter(kind="forum", state=RunState.QUEUED):
                _work(run, clock)
            if clock.now() >= stop and not Board.objects.filter(last_visit__lt=stop).exists():
                break
            clock.time = _next(clock.now(), step_seconds, policy)
    return _figures(simulation, policy, visits_per_board, forum.requests)


def _added(url: str, events: Events, history_days: int, now: datetime) -> Site:
    """Stores the forum as if a user had added it; finding its boards is not part of the
    measurement."""
    site = Site.objects.create(
        name="Replay",
        url=url,
        url_hash=url_hash(canonical(url)),
        host_id=hosts.host_id(host_key(url)),
        timezone="UTC",
        settings={**OPEN, "history_days": float(history_days)},
        added=now,
    )
    for number, name in enumerate(events.boards):
        address = f"{url}board/{number}"
        Board.objects.create(
            site=site, name=name, url=address, key=board_key(address), position=number
        )
    return site


def _add_source(site: Site, kind: str, url: str, now: datetime) -> None:
    """Stores an overview source of this kind, as discovery would have found it."""
    address = url if kind == SourceKind.INDEX else f"{url}newest"
    boards = list(site.boards.order_by("pk").values_list("pk", flat=True))
    OverviewSource.objects.create(
        site=site,
        kind=kind,
        names_threads=kind == SourceKind.NEWEST,
        url=address,
        url_hash=url_hash(canonical(address)),
        found=now,
        boards=boards,
    )


def _work(run: Run, clock: ManualClock) -> None:
    state = engine.run_slice(run.pk, clock=clock)
    if state != RunState.FINISHED:
        raise RuntimeError(f"a visit of the replay ended as {state}")


def _next(now: datetime, step_seconds: float, policy: str) -> datetime:
    """Returns the next time at which the dispatcher has something to do; never later than the end
    of the day.

    For a timetable that is the next planned visit. For an adaptive policy it is the first step at
    which the policy would choose a board or a source, but early enough that the policy does not
    treat the gap as a pause (`PAUSE_TICKS`). Calls of the dispatcher in between would change
    nothing and cost time.
    """
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    before = midnight - timedelta(seconds=60)
    step = now + timedelta(seconds=step_seconds)
    if POLICIES[policy].loop:
        # an overview source was just read, so the policy ranks the boards again without waiting for
        # the next step
        if Look.objects.filter(read_at__gte=now - timedelta(seconds=1)).exists():
            return min(now + timedelta(seconds=60), before if now < before else midnight)
        step += timedelta(seconds=_idle_steps(now, step_seconds) * step_seconds)
    else:
        planned = PlannedVisit.objects.filter(
            state=PlannedVisit.State.PLANNED, at__gt=now
        ).order_by("at")
        step = planned.values_list("at", flat=True).first() or step
    return min(step, before if now < before else midnight)


def _idle_steps(now: datetime, step_seconds: float) -> int:
    """Returns the number of ranking steps after the next one that the replay can skip, because
    until then the policy learns nothing new and chooses no board."""
    plan = Plan.objects.get()
    live = loops.load(plan, now)
    if live is None or live.loop.visiting.any():
        return 0
    longest = PAUSE_TICKS * loops.OPTIONS.tick_seconds - step_seconds
    outlook, looks = live.loop.ahead(now.timestamp(), now.timestamp() + longest, step_seconds)
    soon = np.sort(np.concatenate([outlook.moments, looks]))[:1]
    until = soon[0] - now.timestamp() if len(soon) else longest
    return max(0, int(round(until / step_seconds)) - 1)


def _figures(simulation: Simulation, policy: str, visits_per_board: int, requests: int) -> Replayed:
    setup, days = simulation.setup, simulation.setup.test_days
    number = {pk: int(position) for pk, position in Board.objects.values_list("pk", "position")}
    visits = Visit.objects.filter(Q(planned__isnull=False) | Q(kind=Visit.Kind.TARGETED)).order_by(
        "started"
    )
    listed = np.array([visit.kind == Visit.Kind.LIST for visit in visits], dtype=bool)
    looks = Look.objects.filter(
        at__gte=datetime.fromtimestamp(simulation.start, UTC),
        at__lt=datetime.fromtimestamp(simulation.stop, UTC),
    )
    spent = sum(looks.values_list("cost", flat=True))
    board: Ints = np.array([number[visit.board_id] for visit in visits], dtype=np.int64)
    moments: Floats = np.array([visit.started.timestamp() for visit in visits if visit.started])
    daily, found = np.zeros(days), 0
    for visit in visits:
        for posted, opener, delay in visit.arrivals:
            day = int((posted - simulation.start) // 86400)
            if 0 <= day < days and posted >= simulation.start:
                found += 1
                daily[day] += delay_of_sums(
                    delay if opener else 0.0, 0.0 if opener else delay, setup.theta, 1.0
                )
    delays = event_delays(
        simulation.test_board, simulation.test_times, board, moments, simulation.stop
    )
    inside = (moments >= simulation.start) & (moments < simulation.stop)
    outcome = simulation.run(policy, visits_per_board)
    if outcome.daily is None:
        raise ValueError(f"{policy} is a bound, not a policy that visits could follow")
    return Replayed(
        policy=policy,
        visits_per_day=float((inside & listed).sum() + spent) / days,
        items=len(simulation.test_times),
        found=found,
        measured=float(daily.sum()) / days,
        recomputed=float((delays.hours * simulation.test_weights).sum()) / days,
        simulated=outcome.delay.total_per_day,
        daily=daily,
        simulated_daily=outcome.daily,
        requests=requests,
    )
