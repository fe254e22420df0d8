"""The closed loop of an adaptive plan, live: built from stored posts, told of visits, put away between two rankings."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from django.db.models import Q, Sum

from crawlmgr.models import Run
from forums import reads
from forums.adaptive import AdaptiveLoop, LoopOptions, Outlook, Seen
from forums.events import Bools, Floats, Ints, LocalClock, Sites
from forums.law import event_weights
from forums.models import Board, Look, LoopState, OverviewSource, Plan, Site, Visit
from forums.pacing import Budget
from forums.services import loop_sources
from forums.services.rhythms import Rhythm, posts_per_weight, stored_events

RANK_SECONDS = 60.0
OPTIONS = LoopOptions(tick_seconds=90.0)  # the last ranking of a day is one of those within its last 90 seconds
NEXT_NOTED = 200
BY_VISITS, BY_LOOKS = (0.95, 1.05), (0.4, 4.5)  # of the time until an expected visit: nine in ten of replayed logs lie between
READ_SLACK = timedelta(minutes=5)

_fixed: dict[int, tuple[str, dict[str, Any]]] = {}  # of each plan, by process: the arrays that a day leaves as they are


@dataclass(slots=True)
class Live:
    """A loop with the boards that it numbers. `boards` (ids), `site` (numbers into `sites`), `sites` (ids), `sources` in the
    order of the loop's overview, `importance` W of each board, `open_sites` as `allowed` found them."""

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
        """Each board's number in the loop."""
        return {int(pk): index for index, pk in enumerate(self.boards.tolist())}


def _clocks(site_ids: list[int], now: datetime, days: float) -> list[LocalClock]:
    zones = {site.pk: reads.zone(site) for site in Site.objects.filter(pk__in=site_ids).only("timezone")}
    made: dict[ZoneInfo, LocalClock] = {}
    since, until = now.timestamp() - (days + 3) * 86400, now.timestamp() + 4 * 86400
    for zone in zones.values():
        made.setdefault(zone, LocalClock(zone, since, until))
    return [made[zones.get(pk, ZoneInfo("UTC"))] if pk in zones else next(iter(made.values())) for pk in site_ids]


def rebuilt(plan: Plan, found: Rhythm, now: datetime) -> AdaptiveLoop:
    """The loop for a plan's boards from what visits have stored, with the budget where it stands; it is put away at once.

    A board that was never visited waits from when its site was added: a new site is not crawled at once by the loop.
    """
    since = now - timedelta(days=plan.history_days)
    last = np.array([(board.last_visit or max(since, board.site.added)).timestamp() for board in found.boards])
    log = stored_events([board.pk for board in found.boards], since, now)
    place = {board.pk: index for index, board in enumerate(found.boards)}
    numbers = np.array([place[int(name)] for name in log.boards], dtype=np.int64)
    board = numbers[log.board] if len(log) else np.zeros(0, dtype=np.int64)
    weights = event_weights(log.opener, plan.theta, found.importance[board])
    known = log.times <= last[board]
    seen = Seen(board[known], log.times[known], weights[known])
    sites = Sites(found.site, _clocks(list(found.sites), now, plan.history_days))
    budget = _budget(plan)
    changed = budget.visits_per_day != plan.visits_per_day
    ids = np.array([board.pk for board in found.boards])
    sources = loop_sources.of(found.sites)
    looks = loop_sources.looks(sources, ids, found.site, np.array(found.sites), found.importance, plan.theta)
    loop = AdaptiveLoop(
        found.profiles.rates, sites, seen, last, since.timestamp(), budget, OPTIONS, looks, _deadlines(found)
    )
    _recall(plan, loop, sources, ids)
    if changed:
        loop.change_budget(plan.visits_per_day, now.timestamp())
    fixed, moving = loop.packed()
    whole = {
        **fixed,
        "boards": ids,
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
            "fixed": _bytes(whole),
            "data": _bytes({**moving, **loop_sources.pairs(loop, sources, ids)}),
            "told_until": now,
            "saved_at": now,
        },
    )
    return loop


def _deadlines(found: Rhythm) -> Floats:
    """The longest that a post of each board should wait, hours; inf where nobody set any."""
    return np.array([np.inf if board.deadline_hours is None else board.deadline_hours for board in found.boards])


def _recall(plan: Plan, loop: AdaptiveLoop, sources: list[OverviewSource], boards: Ints) -> None:
    """What looks had told the loop before it was built anew, where it has the same sources and boards."""
    state = LoopState.objects.filter(plan=plan).first()
    stored = _arrays(bytes(state.data)) if state is not None else {}
    if stored and loop_sources.same(stored, loop, sources, boards):
        loop.recall_looks(stored)
    else:
        loop_sources.calibrate(loop, sources, boards)


def _budget(plan: Plan) -> Budget:
    state = LoopState.objects.filter(plan=plan).first()
    if state is None:
        return Budget(plan.visits_per_day)
    return Budget.unpacked(_arrays(bytes(state.data))["budget"])


def _bytes(arrays: Mapping[str, Any]) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def _arrays(data: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def load(plan: Plan, now: datetime) -> Live | None:
    """The loop as it was put away; None where it was never built. Arrays of the day are kept by the process."""
    state = LoopState.objects.defer("fixed").filter(plan=plan).first()
    if state is None:
        return None
    stamp = f"{plan.days.order_by('-made_at').values_list('made_at', flat=True).first()}"
    kept = _fixed.get(plan.pk)
    if kept is None or kept[0] != stamp:
        kept = (stamp, _arrays(bytes(LoopState.objects.values_list("fixed", flat=True).get(plan=plan))))
        _fixed[plan.pk] = kept
    fixed, moving = kept[1], _arrays(bytes(state.data))
    if len(fixed["rates"]) != len(moving["last_visit"]):  # another process has just built it anew
        fixed = _arrays(bytes(LoopState.objects.values_list("fixed", flat=True).get(plan=plan)))
    sites = Sites(fixed["site"], _clocks(fixed["sites"].tolist(), now, 3.0))
    sources = loop_sources.of(fixed["sites"].tolist())
    importance = fixed.get("importance", np.ones(len(fixed["boards"])))
    looks = loop_sources.looks(sources, fixed["boards"], fixed["site"], fixed["sites"], importance, plan.theta)
    loop = AdaptiveLoop.unpacked(fixed, moving, sites, OPTIONS, looks)
    if not loop_sources.same(moving, loop, sources, fixed["boards"]):
        loop.forget_looks(looks)
        loop_sources.calibrate(loop, sources, fixed["boards"])
    return Live(plan, loop, fixed["boards"], fixed["site"], fixed["sites"], state.told_until, sources, importance)


def put_away(live: Live, now: datetime) -> None:
    """Keeps the loop for the next ranking, in whatever process that is."""
    _fixed_part, moving = live.loop.packed()
    data = _bytes({**moving, **loop_sources.pairs(live.loop, live.sources, live.boards)})
    LoopState.objects.filter(plan=live.plan).update(data=data, told_until=live.told_until, saved_at=now)


def tell(live: Live, now: datetime) -> int:
    """Tells the loop of the visits that ended since it was last told, whoever asked for them; returns their number."""
    since = live.told_until - READ_SLACK  # one that ended before may have been committed after
    rows = Visit.objects.filter(finished__gte=since, finished__lte=now, started__isnull=False, kind=Visit.Kind.LIST)
    visits = list(rows.only("board_id", "started", "finished", "complete", "list_pages", "arrivals").order_by("finished"))
    looks = loop_sources.ended(live.sources, since, now)
    events: list[tuple[datetime, Visit | Look]] = [(one.started or now, one) for one in visits]
    events += [(one.read_at or now, one) for one in looks]
    number, told = live.number(), 0
    for _at, one in sorted(events, key=lambda pair: pair[0]):
        if isinstance(one, Visit):
            told += _tell_visit(live, number, one)
        else:
            told += loop_sources.tell(live.loop, live.sources, live.boards, live.importance, live.plan.theta, one)
    live.told_until = now
    _release(live)
    if told:
        loop_sources.remember(live.loop, live.sources)
    return told


def _tell_visit(live: Live, number: Mapping[int, int], visit: Visit) -> int:
    """Tells the loop what a visit found, once; returns whether it was news."""
    place = number.get(visit.board_id)
    if place is None or visit.started is None or visit.started.timestamp() <= live.loop.last_visit[place]:
        return 0
    if not visit.list_pages:
        live.loop.missed(np.array([place]))
        return 0
    times = np.array([one[0] for one in visit.arrivals], dtype=float)
    opener = np.array([one[1] for one in visit.arrivals], dtype=bool)
    weight = event_weights(opener, live.plan.theta, float(live.importance[place]))
    at = visit.started.timestamp()
    live.loop.observe(np.array([place]), np.full(len(times), place), np.minimum(times, at), weight, at)
    return 1


def working(site_ids: list[int]) -> set[int]:
    """Sites that a visit is at, or waits for a worker, or is paused."""
    wanted = set(site_ids)
    rows = Run.objects.at_work().values_list("kind", "target")
    return {target for kind, target in rows if kind == "forum" and target in wanted}


def _release(live: Live) -> None:
    """Boards whose visit has vanished (a run that a person stopped before it began) rank again."""
    resting = np.flatnonzero(live.loop.visiting)
    if not len(resting):
        return
    busy = working(live.sites[np.unique(live.site[resting])].tolist())
    free = np.array([int(live.sites[live.site[number]]) not in busy for number in resting.tolist()], dtype=bool)
    live.loop.missed(resting[free])


def allowed(live: Live, now: datetime) -> Bools:
    """Boards that may be visited now: in the scheduled visits, site not paused, not being visited, requests left."""
    ids = live.sites.tolist()
    rows = Board.objects.filter(enabled=True, site_id__in=ids, site__paused=False)
    boards = dict(rows.values_list("pk", "site__requests_per_day"))
    closed = working(ids)
    if any(limit is not None for limit in boards.values()):
        closed |= exhausted(ids, now)
    live.open_sites = set(ids) - closed - set(Site.objects.filter(pk__in=ids, paused=True).values_list("pk", flat=True))
    site_open = np.array([pk not in closed for pk in ids], dtype=bool)
    return np.array([pk in boards for pk in live.boards.tolist()], dtype=bool) & site_open[live.site]


def choose(live: Live, now: datetime) -> tuple[Ints, OverviewSource | None]:
    """One ranking: the numbers of the boards to visit now, and the source to read; they count as used."""
    may_visit = allowed(live, now)
    may_read = loop_sources.readable(live.loop, live.sources, live.open_sites)
    due, source = live.loop.choose(now.timestamp(), may_visit, may_read)
    return due, live.sources[source] if source >= 0 else None


def exhausted(site_ids: list[int], now: datetime) -> set[int]:
    """Sites whose requests for today (by their own clock) are used up."""
    found = set()
    for site in Site.objects.filter(pk__in=site_ids, requests_per_day__isnull=False):
        local = now.astimezone(reads.zone(site))
        midnight = local.replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)
        visits = Visit.objects.filter(
            Q(finished__gte=midnight) | Q(finished__isnull=True), board__site=site, started__gte=midnight
        )
        asked = visits.aggregate(n=Sum("requests"))["n"] or 0
        if asked >= (site.requests_per_day or 0):
            found.add(site.pk)
    return found


def figures(live: Live, number: int, now: datetime) -> tuple[dict[str, Any], float, float]:
    """Why a board ranks where it does: numbers for words, expected weighted events and event-hours."""
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
    """Visits of the present day's budget that are used, those counted for the time before a plan began among them; None where
    the loop was never built."""
    state = LoopState.objects.defer("fixed").filter(plan=plan).first()
    if state is None:
        return None
    budget = Budget.unpacked(_arrays(bytes(state.data))["budget"])
    clock = _clocks([plan.site_id] if plan.site_id is not None else _first_site(), now, 1.0)
    today = not clock or np.floor(float(clock[0].local_hours(np.array([now.timestamp()]))[0]) / 24.0) == budget.day
    return budget.used if today and budget.visits_per_day == plan.visits_per_day else 0


def _first_site() -> list[int]:
    return list(Site.objects.order_by("pk").values_list("pk", flat=True)[:1])


class ExpectedVisit(NamedTuple):
    """A visit that the loop expects to make: board, moment, the posts that should wait by then, and the span in which it is
    likely."""

    board: int
    at: datetime
    posts: float
    first: datetime
    last: datetime


def expected(plan: Plan, now: datetime, until: datetime) -> list[ExpectedVisit]:
    """The visits that the loop expects to make, in their order."""
    live = load(plan, now)
    if live is None:
        return []
    outlook = live.loop.outlook(now.timestamp(), until.timestamp() - 1.0, step_seconds(live.loop))
    raw = _fixed[plan.pk][1]["raw"] if plan.pk in _fixed else np.ones(live.loop.count)
    looks = live.loop.overview is not None
    rows = zip(outlook.board.tolist(), outlook.moments.tolist(), outlook.events.tolist(), strict=True)
    return [
        ExpectedVisit(int(live.boards[board]), moment, events * float(raw[board]), *likely(now, moment, looks))
        for board, moment, events in ((board, datetime.fromtimestamp(at, UTC), events) for board, at, events in rows)
    ]


def step_seconds(loop: AdaptiveLoop) -> float:
    """The grain of an outlook: the loop's own pace for few boards, coarser for many, never so coarse that the day's visits do
    not fit."""
    grain = 120.0 if loop.count <= 300 else 300.0 if loop.count <= 2000 else 900.0
    return max(RANK_SECONDS, min(grain, 43200.0 * loop.count / loop.budget.visits_per_day))


def note_expected(found: Rhythm, loop: AdaptiveLoop, outlook: Outlook, now: datetime) -> None:
    """Writes when each board is likely to be visited next to where lists show it."""
    _note({board.pk: index for index, board in enumerate(found.boards)}, outlook, now, loop.overview is not None)


def note_soon(live: Live, now: datetime, hours: float = 6.0) -> None:
    """The same after a ranking, for the boards that come within some hours; others that should have come are put behind them."""
    start = now.timestamp()
    outlook = live.loop.outlook(start, start + hours * 3600, step_seconds(live.loop))
    _note(live.number(), outlook, now, live.loop.overview is not None, NEXT_NOTED)
    seen = set(live.boards[np.unique(outlook.board)].tolist())
    late = Board.objects.filter(pk__in=live.boards.tolist() if len(live.boards) <= 500 else [], next_visit__lte=now)
    beyond, farthest = now + timedelta(hours=hours), now + timedelta(hours=OPTIONS.longest_wait_hours)
    for pk in late.values_list("pk", flat=True):
        if pk not in seen:
            Board.objects.filter(pk=pk).update(next_visit=beyond, next_until=farthest)


def likely(now: datetime, moment: datetime, looks: bool) -> tuple[datetime, datetime]:
    """Between which moments a visit is likely that an outlook expects at `moment`. A board's own rank is known until it is
    visited; with `looks` at overview sources posts decide, and they come as they like."""
    ahead = max(moment - now, timedelta(seconds=RANK_SECONDS))
    earliest, latest = BY_LOOKS if looks else BY_VISITS
    return now + ahead * earliest, now + ahead * latest + timedelta(seconds=2 * RANK_SECONDS)


def _note(number: Mapping[int, int], outlook: Outlook, now: datetime, looks: bool, most: int | None = None) -> None:
    first: dict[int, float] = {}
    for board, moment in zip(outlook.board.tolist(), outlook.moments.tolist(), strict=True):
        first.setdefault(board, moment)
    pks = {index: pk for pk, index in number.items()}
    for index, moment in list(first.items())[:most]:
        at, until = likely(now, datetime.fromtimestamp(moment, UTC), looks)
        Board.objects.filter(pk=pks[index]).exclude(next_visit=at).update(next_visit=at, next_until=until)
