"""Operates the adaptive policy of a plan: builds its `AdaptiveLoop` from stored posts, reports the
results of finished visits to it, and stores it between rankings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from django.db.models import Q, Sum

from crawlmgr.models import Run
from forums.models import Board, Look, LoopState, OverviewSource, Plan, Site, Visit
from forums.plans import expected_visits, plan_state, plans
from forums.plans.plan_state import PlanState
from forums.plans.stored_rhythms import Rhythm, stored_events
from forums.schedule.adaptive import AdaptiveLoop, LoopOptions, Seen
from forums.schedule.equations import event_weights
from forums.schedule.events import Bools, Floats, Ints, LocalClock, Sites
from forums.schedule.pacing import Budget

RANK_SECONDS = 60.0
# A ranking in the last 90 s of a day counts as its last one. This exceeds RANK_SECONDS, because a
# ranking may be late.
OPTIONS = LoopOptions(tick_seconds=90.0)
READ_SLACK = timedelta(minutes=5)

# cache of this process, by plan id: (creation time of the newest plan day, arrays that are constant
# during a day)
_fixed: dict[int, tuple[str, dict[str, Any]]] = {}


def _clocks(site_ids: list[int], now: datetime, days: float) -> list[LocalClock]:
    zones = {site.pk: site.zone for site in Site.objects.filter(pk__in=site_ids).only("timezone")}
    made: dict[ZoneInfo, LocalClock] = {}
    since, until = now.timestamp() - (days + 3) * 86400, now.timestamp() + 4 * 86400
    for zone in zones.values():
        made.setdefault(zone, LocalClock(zone, since, until))
    return [
        made[zones.get(pk, ZoneInfo("UTC"))] if pk in zones else next(iter(made.values()))
        for pk in site_ids
    ]


def rebuilt(plan: Plan, found: Rhythm, now: datetime) -> PlanState:
    """Builds the adaptive policy for a plan's boards from stored posts, stores its state and
    returns it. Visits already charged to the day's budget stay charged. Called whenever the plan is
    made, at least once a day. `found` has the boards' rates.

    A board without a visit is treated as visited when its site was added (or when the history
    begins, if that is later), so that not all new boards are due at once.
    """
    since = now - timedelta(days=plan.history_days)
    state = PlanState.of(plan, found, now)
    last = np.array(
        [(board.last_visit or max(since, board.site.added)).timestamp() for board in found.boards]
    )
    log, place = stored_events(state.boards.tolist(), since, now), state.number()
    numbers = np.array([place[int(name)] for name in log.boards], dtype=np.int64)
    board = numbers[log.board] if len(log) else np.zeros(0, dtype=np.int64)
    weights = event_weights(log.opener, plan.theta, found.importance[board])
    known = log.times <= last[board]
    stored = _stored(plan)
    budget = Budget.unpacked(stored["budget"]) if stored else Budget(plan.visits_per_day)
    changed = budget.visits_per_day != plan.visits_per_day
    state.loop = AdaptiveLoop(
        found.profiles.rates,
        _local_sites(state, now, plan.history_days),
        Seen(board[known], log.times[known], weights[known]),
        last,
        since.timestamp(),
        budget,
        OPTIONS,
        plan_state.for_loop(state),
        _deadlines(found),
    )
    # what overview sources had reported, if the plan's stored policy has the same sources and
    # boards; otherwise only the numbers of threads and posts that each source showed last
    if stored and plan_state.same(stored, state):
        state.loop.restore_sources(stored)
    else:
        plan_state.calibrate(state)
    plan_state.report_pauses(state)
    if changed:
        state.loop.change_budget(plan.visits_per_day, now.timestamp())
    fixed, _moving = state.loop.packed()
    _fixed.pop(plan.pk, None)
    LoopState.objects.update_or_create(
        plan=plan,
        defaults={
            "fixed": expected_visits.packed({**fixed, **state.arrays()}),
            **_changing(state, now),
        },
    )
    return state


def _changing(state: PlanState, now: datetime) -> dict[str, Any]:
    """Returns the values of a LoopState that every ranking changes."""
    data = expected_visits.packed({**state.loop.packed()[1], **plan_state.pairs(state)})
    return {"data": data, "told_until": state.told_until, "saved_at": now}


def _local_sites(state: PlanState, now: datetime, days: float) -> Sites:
    """Returns the sites with their clocks, from `days` days ago on, and their opening hours."""
    ids = state.sites.tolist()
    return Sites(state.site, _clocks(ids, now, days), plans.openings(ids, now))


def _deadlines(found: Rhythm) -> Floats:
    """Returns the longest allowed wait of each board's posts in hours; inf if none is set."""
    return np.array(
        [np.inf if board.deadline_hours is None else board.deadline_hours for board in found.boards]
    )


def _stored(plan: Plan) -> dict[str, Any]:
    """Returns the stored arrays of the plan's policy that every ranking changes; {} if it was never
    built."""
    data = LoopState.objects.filter(plan=plan).values_list("data", flat=True).first()
    return expected_visits.unpacked(bytes(data)) if data is not None else {}


def load(plan: Plan, now: datetime) -> PlanState | None:
    """Restores the plan's adaptive policy as last stored; None if it was never built. Arrays that
    are constant during a day are cached per process."""
    row = LoopState.objects.defer("fixed").filter(plan=plan).first()
    if row is None:
        return None
    stamp = f"{plan.days.order_by('-made_at').values_list('made_at', flat=True).first()}"
    moving = expected_visits.unpacked(bytes(row.data))
    kept, fixed = _fixed.get(plan.pk, ("", {}))
    # the lengths differ if another process has built the adaptive policy again meanwhile
    if kept != stamp or len(fixed["rates"]) != len(moving["last_visit"]):
        data = LoopState.objects.values_list("fixed", flat=True).get(plan=plan)
        _fixed[plan.pk] = stamp, (fixed := expected_visits.unpacked(bytes(data)))
    state = PlanState.restored(plan, fixed, row.told_until)
    inputs = plan_state.for_loop(state)
    sites = _local_sites(state, now, 3.0)
    state.loop = AdaptiveLoop.unpacked(fixed, moving, sites, OPTIONS, inputs)
    if not plan_state.same(moving, state):
        state.loop.replace_sources(inputs)
        plan_state.calibrate(state)
    plan_state.report_pauses(state)
    return state


def store(state: PlanState, now: datetime) -> None:
    """Stores the state of the adaptive policy, so that any process can make the next ranking."""
    LoopState.objects.filter(plan=state.plan).update(**_changing(state, now))


def report(state: PlanState, now: datetime) -> int:
    """Reports to the adaptive policy all board visits and readings of overview sources that ended
    since the last call, both those chosen by the policy and those requested by an operator; returns
    the number of those that were new to the policy.
    """
    # READ_SLACK earlier: a visit that ended before the last call may have been committed after it
    since = state.told_until - READ_SLACK
    rows = Visit.objects.filter(
        finished__gte=since, finished__lte=now, started__isnull=False, kind=Visit.Kind.LIST
    )
    visits = list(
        rows.only("board_id", "started", "finished", "complete", "list_pages", "arrivals").order_by(
            "finished"
        )
    )
    readings = plan_state.ended(state.sources, since, now)
    events: list[tuple[datetime, Visit | Look]] = [(one.started or now, one) for one in visits]
    events += [(one.read_at or now, one) for one in readings]
    number, reported = state.number(), 0
    for _at, one in sorted(events, key=lambda pair: pair[0]):
        if isinstance(one, Visit):
            reported += _report_visit(state, number, one)
        else:
            reported += plan_state.report(state, one)
    state.told_until = now
    _release(state)
    if reported:
        plan_state.remember(state)
    return reported


def _report_visit(state: PlanState, number: Mapping[int, int], visit: Visit) -> int:
    """Reports a visit's results to the adaptive policy; returns 1, or 0 if the policy already knows
    them, does not include the board, or the board's list was not read (which is reported as
    missed). `number`: board numbers by id.
    """
    place = number.get(visit.board_id)
    if (
        place is None
        or visit.started is None
        or visit.started.timestamp() <= state.loop.last_visit[place]
    ):
        return 0
    if not visit.list_pages:
        state.loop.missed(np.array([place]))
        return 0
    times = np.array([one[0] for one in visit.arrivals], dtype=float)
    opener = np.array([one[1] for one in visit.arrivals], dtype=bool)
    weight = event_weights(opener, state.plan.theta, float(state.importance[place]))
    at = visit.started.timestamp()
    state.loop.observe(
        np.array([place]), np.full(len(times), place), np.minimum(times, at), weight, at
    )
    return 1


def working(site_ids: list[int]) -> set[int]:
    """Returns the ids of those sites with an active visit: running, waiting for a worker, or
    paused."""
    wanted = set(site_ids)
    rows = Run.objects.at_work().values_list("kind", "target")
    return {target for kind, target in rows if kind == "forum" and target in wanted}


def _release(state: PlanState) -> None:
    """Lets boards that are marked as being visited be ranked again if their site has no active
    visit, as after a stopped run."""
    resting = np.flatnonzero(state.loop.visiting)
    if not len(resting):
        return
    busy = working(state.sites[np.unique(state.site[resting])].tolist())
    free = np.array(
        [int(state.sites[state.site[number]]) not in busy for number in resting.tolist()],
        dtype=bool,
    )
    state.loop.missed(resting[free])


def allowed(state: PlanState, now: datetime) -> Bools:
    """Returns a mask of the boards that may be visited now, (n,): included in scheduled visits,
    site open and not paused, no visit of the site under way, requests left for today."""
    ids = state.sites.tolist()
    rows = Board.objects.filter(enabled=True, site_id__in=ids, site__paused=False)
    boards = dict(rows.values_list("pk", "site__requests_per_day"))
    closed = working(ids) | set(plans.closed(ids, now))
    if any(limit is not None for limit in boards.values()):
        closed |= exhausted(ids, now)
    state.open_sites = (
        set(ids)
        - closed
        - set(Site.objects.filter(pk__in=ids, paused=True).values_list("pk", flat=True))
    )
    site_open = np.array([pk not in closed for pk in ids], dtype=bool)
    return (
        np.array([pk in boards for pk in state.boards.tolist()], dtype=bool) & site_open[state.site]
    )


def choose(state: PlanState, now: datetime) -> tuple[Ints, OverviewSource | None]:
    """Makes one ranking: returns the numbers of the boards to visit now and the source to read
    (None: none); both are charged to the budget."""
    may_visit = allowed(state, now)
    may_read = plan_state.readable(state)
    due, source = state.loop.choose(now.timestamp(), may_visit, may_read)
    return due, state.sources[source] if source >= 0 else None


def exhausted(site_ids: list[int], now: datetime) -> set[int]:
    """Returns the ids of those sites that have used up their requests for today, by the date in
    each site's time zone."""
    found = set()
    for site in Site.objects.filter(pk__in=site_ids, requests_per_day__isnull=False):
        local = now.astimezone(site.zone)
        midnight = local.replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)
        visits = Visit.objects.filter(
            Q(finished__gte=midnight) | Q(finished__isnull=True),
            board__site=site,
            started__gte=midnight,
        )
        asked = visits.aggregate(n=Sum("requests"))["n"] or 0
        if asked >= (site.requests_per_day or 0):
            found.add(site.pk)
    return found


class VisitReason(NamedTuple):
    """Why a board would be visited now: the figures to display (with "price", the rank from which
    boards are visited); `waiting`, the expected weighted number of new posts not yet fetched; and
    `rank`, their expected waiting in weighted event-hours."""

    figures: dict[str, Any]
    waiting: float
    rank: float


def reason_of(state: PlanState, number: int, now: datetime) -> VisitReason:
    """Returns why the board with this number would be visited now."""
    reason = state.loop.explain(number, now.timestamp())
    share = float(state.raw[number])
    values = {
        "waiting": round(reason.waiting * share, 2),
        "hours_since": round(reason.hours_since_visit, 2),
        "per_hour": round(reason.usual_per_hour * share, 2),
        "rank": round(reason.rank, 4),
        "price": round(reason.price, 4),
        "previous": datetime.fromtimestamp(float(state.loop.last_visit[number]), UTC).isoformat(),
        "prior": bool(state.prior[number]),
    }
    return VisitReason(values, reason.waiting, reason.rank)


def used(plan: Plan, now: datetime) -> int | None:
    """Returns how many visits are charged to the budget of the plan's current day; 0 if this day or
    the plan's visits per day are not those of the stored budget. If the plan began during the day,
    this includes a share for the time before. None without a stored policy."""
    stored = _stored(plan)
    if not stored:
        return None
    budget = Budget.unpacked(stored["budget"])
    clock = _clocks([plan.site_id] if plan.site_id is not None else _first_site(), now, 1.0)
    today = (
        not clock
        or np.floor(float(clock[0].local_hours(np.array([now.timestamp()]))[0]) / 24.0)
        == budget.day
    )
    return budget.used if today and budget.visits_per_day == plan.visits_per_day else 0


def _first_site() -> list[int]:
    return list(Site.objects.order_by("pk").values_list("pk", flat=True)[:1])
