"""The closed loop of an adaptive plan, live: built from stored posts, told of visits, put away between two rankings."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from django.db.models import Q, Sum

from crawlmgr.models import ACTIVE, Run
from forums import reads
from forums.adaptive import AdaptiveLoop, LoopOptions, Outlook, Seen
from forums.events import Bools, Floats, Ints, LocalClock, Sites
from forums.models import Board, LoopState, Plan, Site, Visit
from forums.pacing import Budget
from forums.services.rhythms import Rhythm, stored_events

RANK_SECONDS = 60.0
OPTIONS = LoopOptions(tick_seconds=90.0)  # the last ranking of a day is one of those within its last 90 seconds
NEXT_NOTED = 200
READ_SLACK = timedelta(minutes=5)

_fixed: dict[int, tuple[str, dict[str, Any]]] = {}  # of each plan, by process: the arrays that a day leaves as they are


@dataclass(slots=True)
class Live:
    """A loop with the boards that it numbers. `boards` (ids), `site` (numbers into `sites`), `sites` (ids)."""

    plan: Plan
    loop: AdaptiveLoop
    boards: Ints
    site: Ints
    sites: Ints
    told_until: datetime

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
    weights = log.weights(plan.theta) * found.importance[board]
    known = log.times <= last[board]
    seen = Seen(board[known], log.times[known], weights[known])
    sites = Sites(found.site, _clocks(list(found.sites), now, plan.history_days))
    budget = _budget(plan)
    changed = budget.visits_per_day != plan.visits_per_day
    loop = AdaptiveLoop(found.profiles.rates, sites, seen, last, since.timestamp(), budget, OPTIONS)
    if changed:
        loop.change_budget(plan.visits_per_day, now.timestamp())
    fixed, moving = loop.packed()
    whole = {
        **fixed,
        "boards": np.array([one.pk for one in found.boards]),
        "site": found.site,
        "sites": np.array(found.sites),
        "prior": found.prior,
        "raw": _posts_per_weight(plan, found),
    }
    _fixed.pop(plan.pk, None)
    LoopState.objects.update_or_create(
        plan=plan,
        defaults={"fixed": _bytes(whole), "data": _bytes(moving), "told_until": now, "saved_at": now},
    )
    return loop


def _posts_per_weight(plan: Plan, found: Rhythm) -> Floats:
    """Posts a weighted event, for words."""
    posts = found.profiles.new_per_day + found.profiles.replies_per_day
    weighted = (found.profiles.new_per_day + plan.theta * found.profiles.replies_per_day) * found.importance
    return np.divide(posts, weighted, out=np.ones(len(posts)), where=weighted > 0)


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
    loop = AdaptiveLoop.unpacked(fixed, moving, sites, OPTIONS)
    return Live(plan, loop, fixed["boards"], fixed["site"], fixed["sites"], state.told_until)


def put_away(live: Live, now: datetime) -> None:
    """Keeps the loop for the next ranking, in whatever process that is."""
    _fixed_part, moving = live.loop.packed()
    LoopState.objects.filter(plan=live.plan).update(data=_bytes(moving), told_until=live.told_until, saved_at=now)


def tell(live: Live, now: datetime) -> int:
    """Tells the loop of the visits that ended since it was last told, whoever asked for them; returns their number."""
    number, since = live.number(), live.told_until - READ_SLACK  # one that ended before may have been committed after
    rows = Visit.objects.filter(finished__gte=since, finished__lte=now, started__isnull=False).order_by("finished")
    told = 0
    for visit in rows.only("board_id", "started", "finished", "complete", "list_pages", "arrivals"):
        place = number.get(visit.board_id)
        if place is None or visit.started is None or visit.started.timestamp() <= live.loop.last_visit[place]:
            continue
        if not visit.list_pages:
            live.loop.missed(np.array([place]))
            continue
        times = np.array([one[0] for one in visit.arrivals], dtype=float)
        opener = np.array([one[1] for one in visit.arrivals], dtype=bool)
        weight = np.where(opener, 1.0, live.plan.theta) * _importance(visit.board_id)
        live.loop.observe(
            np.array([place]), np.full(len(times), place), np.minimum(times, visit.started.timestamp()), weight,
            visit.started.timestamp(),
        )  # fmt: skip
        told += 1
    live.told_until = now
    _release(live)
    return told


def _importance(board_id: int) -> float:
    board, site = Board.objects.values_list("importance", "site__importance").get(pk=board_id)
    return float(board * site)


def working(site_ids: list[int]) -> set[int]:
    """Sites that a visit is at, or waits for a worker, or is paused."""
    return set(Run.objects.filter(kind="forum", target__in=site_ids, state__in=ACTIVE).values_list("target", flat=True))


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
    site_open = np.array([pk not in closed for pk in ids], dtype=bool)
    return np.array([pk in boards for pk in live.boards.tolist()], dtype=bool) & site_open[live.site]


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


def expected(plan: Plan, now: datetime, until: datetime) -> list[tuple[int, datetime]]:
    """Boards and moments of the visits that the loop expects to make, in their order."""
    live = load(plan, now)
    if live is None:
        return []
    outlook = live.loop.outlook(now.timestamp(), until.timestamp() - 1.0)
    moments = [datetime.fromtimestamp(moment, UTC) for moment in outlook.moments.tolist()]
    return list(zip(live.boards[outlook.board].tolist(), moments, strict=True))


def note_expected(found: Rhythm, outlook: Outlook) -> None:
    """Writes each board's first expected visit to where lists show it."""
    _note({board.pk: index for index, board in enumerate(found.boards)}, outlook)


def note_soon(live: Live, now: datetime, hours: float = 6.0) -> None:
    """The same after a ranking, for the boards that come within some hours."""
    _note(live.number(), live.loop.outlook(now.timestamp(), now.timestamp() + hours * 3600), NEXT_NOTED)


def _note(number: Mapping[int, int], outlook: Outlook, most: int | None = None) -> None:
    first: dict[int, float] = {}
    for board, moment in zip(outlook.board.tolist(), outlook.moments.tolist(), strict=True):
        first.setdefault(board, moment)
    pks = {index: pk for pk, index in number.items()}
    for index, moment in list(first.items())[:most]:
        at = datetime.fromtimestamp(moment, UTC)
        Board.objects.filter(pk=pks[index]).exclude(next_visit=at).update(next_visit=at)
