"""Operates the adaptive policy of a plan: builds its `AdaptiveLoop` from stored posts, reports the
results of finished visits to it, and stores it between rankings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from django.db.models import Q, Sum

from crawlmgr.models import Run
from forums.models import Board, Look, LoopState, OverviewSource, Plan, Site, Visit
from forums.plans import expected_visits, loop_sources, plans
from forums.plans.stored_rhythms import Rhythm, posts_per_weight, stored_events
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


@dataclass(slots=True)
class Live:
    """A plan's adaptive policy while the plan runs (`loop`), and what the policy's board numbers
    stand for.

    `boards`: ids of the boards, by number. `site`: the position of each board's site in `sites`,
    which holds ids. `told_until`: ended visits up to this time have been reported to the policy.
    `sources`: the policy's overview sources, in its order. `importance`: importance W of each
    board. `open_sites`: the ids of the sites that may be visited according to the last call of
    `allowed`.
    """

    plan: Plan
    loop: AdaptiveLoop
    boards: Ints
    site: Ints
    sites: Ints
    told_until: datetime
    sources: list[OverviewSource]
    importance: Floats
    open_sites: set[int] = field(default_factory=set)

    def number(self) -> dict[int, int]:
        """Returns the number of each board in the adaptive policy, by the board's id."""
        return {int(pk): index for index, pk in enumerate(self.boards.tolist())}


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


def rebuilt(plan: Plan, found: Rhythm, now: datetime) -> AdaptiveLoop:
    """Builds the adaptive policy for a plan's boards from stored posts, stores its state and
    returns it. Visits already charged to the day's budget stay charged. Called whenever the plan is
    made, at least once a day. `found` has the boards' rates.

    A board without a visit is treated as visited when its site was added (or when the history
    begins, if that is later), so that not all new boards are due at once.
    """
    since = now - timedelta(days=plan.history_days)
    last = np.array(
        [(board.last_visit or max(since, board.site.added)).timestamp() for board in found.boards]
    )
    log = stored_events([board.pk for board in found.boards], since, now)
    place = {board.pk: index for index, board in enumerate(found.boards)}
    numbers = np.array([place[int(name)] for name in log.boards], dtype=np.int64)
    board = numbers[log.board] if len(log) else np.zeros(0, dtype=np.int64)
    weights = event_weights(log.opener, plan.theta, found.importance[board])
    known = log.times <= last[board]
    seen = Seen(board[known], log.times[known], weights[known])
    sites = Sites(
        found.site,
        _clocks(list(found.sites), now, plan.history_days),
        plans.openings(list(found.sites), now),
    )
    budget = _budget(plan)
    changed = budget.visits_per_day != plan.visits_per_day
    ids = np.array([board.pk for board in found.boards])
    sources = loop_sources.of(found.sites)
    above = loop_sources.parents(found.boards)
    inputs = loop_sources.for_loop(
        sources, ids, above, found.site, np.array(found.sites), found.importance, plan.theta
    )
    loop = AdaptiveLoop(
        found.profiles.rates,
        sites,
        seen,
        last,
        since.timestamp(),
        budget,
        OPTIONS,
        inputs,
        _deadlines(found),
    )
    _recall(plan, loop, sources, ids)
    loop_sources.report_pauses(loop, ids, sources)
    if changed:
        loop.change_budget(plan.visits_per_day, now.timestamp())
    fixed, moving = loop.packed()
    whole = {
        **fixed,
        "boards": ids,
        "above": above,
        "importance": found.importance,
        "site": found.site,
        "sites": np.array(found.sites),
        "prior": found.prior,
        "raw": posts_per_weight(found, plan.theta),
    }
    _fixed.pop(plan.pk, None)
    LoopState.objects.update_or_create(
        plan=plan,
        defaults={
            "fixed": expected_visits.packed(whole),
            "data": expected_visits.packed({**moving, **loop_sources.pairs(loop, sources, ids)}),
            "told_until": now,
            "saved_at": now,
        },
    )
    return loop


def _deadlines(found: Rhythm) -> Floats:
    """Returns the longest allowed wait of each board's posts in hours; inf if none is set."""
    return np.array(
        [np.inf if board.deadline_hours is None else board.deadline_hours for board in found.boards]
    )


def _recall(plan: Plan, loop: AdaptiveLoop, sources: list[OverviewSource], boards: Ints) -> None:
    """Restores in a new adaptive policy (`loop`) what overview sources had reported, from the
    plan's stored policy, if both have the same sources and boards; otherwise sets only the numbers
    of threads and posts that each source showed last.
    """
    state = LoopState.objects.filter(plan=plan).first()
    stored = expected_visits.unpacked(bytes(state.data)) if state is not None else {}
    if stored and loop_sources.same(stored, loop, sources, boards):
        loop.restore_sources(stored)
    else:
        loop_sources.calibrate(loop, sources, boards)


def _budget(plan: Plan) -> Budget:
    state = LoopState.objects.filter(plan=plan).first()
    if state is None:
        return Budget(plan.visits_per_day)
    return Budget.unpacked(expected_visits.unpacked(bytes(state.data))["budget"])


def load(plan: Plan, now: datetime) -> Live | None:
    """Restores the plan's adaptive policy as last stored; None if it was never built. Arrays that
    are constant during a day are cached per process."""
    state = LoopState.objects.defer("fixed").filter(plan=plan).first()
    if state is None:
        return None
    stamp = f"{plan.days.order_by('-made_at').values_list('made_at', flat=True).first()}"
    kept = _fixed.get(plan.pk)
    if kept is None or kept[0] != stamp:
        kept = (
            stamp,
            expected_visits.unpacked(
                bytes(LoopState.objects.values_list("fixed", flat=True).get(plan=plan))
            ),
        )
        _fixed[plan.pk] = kept
    fixed, moving = kept[1], expected_visits.unpacked(bytes(state.data))
    if len(fixed["rates"]) != len(
        moving["last_visit"]
    ):  # another process has built the adaptive policy again meanwhile
        fixed = expected_visits.unpacked(
            bytes(LoopState.objects.values_list("fixed", flat=True).get(plan=plan))
        )
    ids = fixed["sites"].tolist()
    sites = Sites(fixed["site"], _clocks(ids, now, 3.0), plans.openings(ids, now))
    sources = loop_sources.of(ids)
    importance = fixed.get("importance", np.ones(len(fixed["boards"])))
    above = fixed.get("above", np.full(len(fixed["boards"]), -1))
    inputs = loop_sources.for_loop(
        sources, fixed["boards"], above, fixed["site"], fixed["sites"], importance, plan.theta
    )
    loop = AdaptiveLoop.unpacked(fixed, moving, sites, OPTIONS, inputs)
    if not loop_sources.same(moving, loop, sources, fixed["boards"]):
        loop.replace_sources(inputs)
        loop_sources.calibrate(loop, sources, fixed["boards"])
    loop_sources.report_pauses(loop, fixed["boards"], sources)
    return Live(
        plan,
        loop,
        fixed["boards"],
        fixed["site"],
        fixed["sites"],
        state.told_until,
        sources,
        importance,
    )


def store(live: Live, now: datetime) -> None:
    """Stores the state of the adaptive policy, so that any process can make the next ranking."""
    _fixed_part, moving = live.loop.packed()
    data = expected_visits.packed(
        {**moving, **loop_sources.pairs(live.loop, live.sources, live.boards)}
    )
    LoopState.objects.filter(plan=live.plan).update(
        data=data, told_until=live.told_until, saved_at=now
    )


def report(live: Live, now: datetime) -> int:
    """Reports to the adaptive policy all board visits and readings of overview sources that ended
    since the last call, both those chosen by the policy and those requested by an operator; returns
    the number of those that were new to the policy.
    """
    # READ_SLACK earlier: a visit that ended before the last call may have been committed after it
    since = live.told_until - READ_SLACK
    rows = Visit.objects.filter(
        finished__gte=since, finished__lte=now, started__isnull=False, kind=Visit.Kind.LIST
    )
    visits = list(
        rows.only("board_id", "started", "finished", "complete", "list_pages", "arrivals").order_by(
            "finished"
        )
    )
    readings = loop_sources.ended(live.sources, since, now)
    events: list[tuple[datetime, Visit | Look]] = [(one.started or now, one) for one in visits]
    events += [(one.read_at or now, one) for one in readings]
    number, reported = live.number(), 0
    for _at, one in sorted(events, key=lambda pair: pair[0]):
        if isinstance(one, Visit):
            reported += _report_visit(live, number, one)
        else:
            reported += loop_sources.report(
                live.loop, live.sources, live.boards, live.importance, live.plan.theta, one
            )
    live.told_until = now
    _release(live)
    if reported:
        loop_sources.remember(live.loop, live.sources)
    return reported


def _report_visit(live: Live, number: Mapping[int, int], visit: Visit) -> int:
    """Reports a visit's results to the adaptive policy; returns 1, or 0 if the policy already knows
    them, does not include the board, or the board's list was not read (which is reported as
    missed). `number`: board numbers by id.
    """
    place = number.get(visit.board_id)
    if (
        place is None
        or visit.started is None
        or visit.started.timestamp() <= live.loop.last_visit[place]
    ):
        return 0
    if not visit.list_pages:
        live.loop.missed(np.array([place]))
        return 0
    times = np.array([one[0] for one in visit.arrivals], dtype=float)
    opener = np.array([one[1] for one in visit.arrivals], dtype=bool)
    weight = event_weights(opener, live.plan.theta, float(live.importance[place]))
    at = visit.started.timestamp()
    live.loop.observe(
        np.array([place]), np.full(len(times), place), np.minimum(times, at), weight, at
    )
    return 1


def working(site_ids: list[int]) -> set[int]:
    """Returns the ids of those sites with an active visit: running, waiting for a worker, or
    paused."""
    wanted = set(site_ids)
    rows = Run.objects.at_work().values_list("kind", "target")
    return {target for kind, target in rows if kind == "forum" and target in wanted}


def _release(live: Live) -> None:
    """Lets boards that are marked as being visited be ranked again if their site has no active
    visit, as after a stopped run."""
    resting = np.flatnonzero(live.loop.visiting)
    if not len(resting):
        return
    busy = working(live.sites[np.unique(live.site[resting])].tolist())
    free = np.array(
        [int(live.sites[live.site[number]]) not in busy for number in resting.tolist()], dtype=bool
    )
    live.loop.missed(resting[free])


def allowed(live: Live, now: datetime) -> Bools:
    """Returns a mask of the boards that may be visited now, (n,): included in scheduled visits,
    site open and not paused, no visit of the site under way, requests left for today."""
    ids = live.sites.tolist()
    rows = Board.objects.filter(enabled=True, site_id__in=ids, site__paused=False)
    boards = dict(rows.values_list("pk", "site__requests_per_day"))
    closed = working(ids) | set(plans.closed(ids, now))
    if any(limit is not None for limit in boards.values()):
        closed |= exhausted(ids, now)
    live.open_sites = (
        set(ids)
        - closed
        - set(Site.objects.filter(pk__in=ids, paused=True).values_list("pk", flat=True))
    )
    site_open = np.array([pk not in closed for pk in ids], dtype=bool)
    return (
        np.array([pk in boards for pk in live.boards.tolist()], dtype=bool) & site_open[live.site]
    )


def choose(live: Live, now: datetime) -> tuple[Ints, OverviewSource | None]:
    """Makes one ranking: returns the numbers of the boards to visit now and the source to read
    (None: none); both are charged to the budget."""
    may_visit = allowed(live, now)
    may_read = loop_sources.readable(live.loop, live.sources, live.open_sites)
    due, source = live.loop.choose(now.timestamp(), may_visit, may_read)
    return due, live.sources[source] if source >= 0 else None


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


def figures(live: Live, number: int, now: datetime) -> tuple[dict[str, Any], float, float]:
    """Returns why the board with this number would be visited now: the figures to display; the
    expected weighted number of new posts not yet fetched; the rank, their expected waiting in
    weighted event-hours. The figures include "price", the rank from which boards are visited."""
    reason = live.loop.explain(number, now.timestamp())
    fixed = _fixed[live.plan.pk][1]
    share = float(fixed["raw"][number])
    values = {
        "waiting": round(reason.waiting * share, 2),
        "hours_since": round(reason.hours_since_visit, 2),
        "per_hour": round(reason.usual_per_hour * share, 2),
        "rank": round(reason.rank, 4),
        "price": round(reason.price, 4),
        "previous": datetime.fromtimestamp(float(live.loop.last_visit[number]), UTC).isoformat(),
        "prior": bool(fixed["prior"][number]),
    }
    return values, reason.waiting, reason.rank


def used(plan: Plan, now: datetime) -> int | None:
    """Returns how many visits are charged to the budget of the plan's current day; 0 if this day or
    the plan's visits per day are not those of the stored budget. If the plan began during the day,
    this includes a share for the time before. None without a stored policy."""
    state = LoopState.objects.defer("fixed").filter(plan=plan).first()
    if state is None:
        return None
    budget = Budget.unpacked(expected_visits.unpacked(bytes(state.data))["budget"])
    clock = _clocks([plan.site_id] if plan.site_id is not None else _first_site(), now, 1.0)
    today = (
        not clock
        or np.floor(float(clock[0].local_hours(np.array([now.timestamp()]))[0]) / 24.0)
        == budget.day
    )
    return budget.used if today and budget.visits_per_day == plan.visits_per_day else 0


def _first_site() -> list[int]:
    return list(Site.objects.order_by("pk").values_list("pk", flat=True)[:1])


def share(plan: Plan) -> Floats:
    """Returns an array with, at the number of each board in the plan, the mean number of posts per
    weighted event. Raises KeyError if this process has not built or loaded the plan's adaptive
    policy."""
    return np.asarray(_fixed[plan.pk][1]["raw"], dtype=float)
