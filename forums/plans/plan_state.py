"""The state of a plan with the adaptive policy, and its overview sources: which of them may be
read, which figures are stored of them, and what each reading of a source (`Look`) showed.

A board is identified in three ways here: by its database id; by its number, the index in the
policy's arrays; by the row of a source that shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
from django.db.models import Model

from forums.models import Board, Look, OverviewSource, Plan, Visit
from forums.plans.stored_rhythms import Rhythm, posts_per_weight
from forums.schedule.adaptive import AdaptiveLoop, LoopSources, Source
from forums.schedule.equations import event_weights, weighted
from forums.schedule.events import Bools, Floats, Ints
from forums.schedule.loop_values import Figures

NEVER = float("nan")
NONE = np.zeros(0, dtype=np.int64)
# the index row that may count a board is searched up to this many levels above it; beyond, none is
# assumed
MAX_LEVELS = 20
ARRAYS = ("boards", "above", "site", "sites", "importance", "prior", "raw")


@dataclass(slots=True)
class PlanState:
    """A plan with the adaptive policy (`loop`), and what the policy's board numbers stand for.

    Arrays by board number, constant during a day: `boards`, ids; `above`, number of the parent
    board (-1: none); `site`, position of the board's site in `sites` (ids); `importance`, W;
    `prior`, whether the board has other boards' rates for lack of history; `raw`, mean number of
    posts per weighted event.

    `told_until`: ended visits up to this time have been reported to the policy. `sources`: its
    overview sources, in its order. `open_sites`: ids of the sites that may be visited according to
    the last ranking.
    """

    plan: Plan
    boards: Ints
    above: Ints
    site: Ints
    sites: Ints
    importance: Floats
    prior: Bools
    raw: Floats
    told_until: datetime
    sources: list[OverviewSource]
    loop: AdaptiveLoop = field(init=False)
    open_sites: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, plan: Plan, found: Rhythm, now: datetime) -> PlanState:
        """Creates the state of a plan without its policy from the rates of its boards."""
        return cls(
            plan,
            np.array([board.pk for board in found.boards]),
            _parents(found.boards),
            found.site,
            np.array(found.sites),
            found.importance,
            found.prior,
            posts_per_weight(found, plan.theta),
            now,
            _sources(found.sites),
        )

    @classmethod
    def restored(cls, plan: Plan, fixed: Mapping[str, Any], told_until: datetime) -> PlanState:
        """Restores the state of a plan without its policy from the arrays stored with it."""
        count = len(fixed["boards"])
        arrays = {"importance": np.ones(count), "above": np.full(count, -1), **fixed}
        sources = _sources(fixed["sites"].tolist())
        kept = {name: arrays[name] for name in ARRAYS}
        return cls(plan, **kept, told_until=told_until, sources=sources)

    def arrays(self) -> dict[str, Any]:
        """Returns the arrays that are constant during a day, by name."""
        return {name: getattr(self, name) for name in ARRAYS}

    def number(self) -> dict[int, int]:
        """Returns the number of each board in the adaptive policy, by the board's id."""
        return {int(pk): index for index, pk in enumerate(self.boards.tolist())}

    def members(self, source: int) -> list[int]:
        """Returns the ids of the boards that the rows of a source, named by its number, show."""
        assert self.loop.overview is not None  # noqa: S101 - only called with sources it has
        return self.boards[self.loop.overview.board[self.loop.overview.rows(source)]].tolist()


def _sources(site_ids: Sequence[int]) -> list[OverviewSource]:
    """Returns the enabled overview sources of these sites, ordered by id, so that a source keeps
    its number in the adaptive policy."""
    rows = OverviewSource.objects.filter(enabled=True)
    rows = rows.filter(site_id__in=list(site_ids)) if len(site_ids) <= 500 else rows
    wanted = set(site_ids)
    return [one for one in rows.order_by("pk") if one.site_id in wanted]


def for_loop(state: PlanState) -> LoopSources | None:
    """Returns the overview sources as input of the adaptive policy; None if there are none. A
    source has the boards that it has shown (all of its site before its first reading). An index
    page may also count sub-boards without a row, each in the row of the nearest board above."""
    place, importance = state.number(), state.importance
    number = {int(pk): index for index, pk in enumerate(state.sites.tolist())}
    found = []
    for one in state.sources:
        named = one.boards if one.names_threads else [int(pk) for pk in one.shown] or one.boards
        shown = sorted(place[pk] for pk in named if pk in place)
        own = np.flatnonzero(state.site == number[one.site_id])
        members = np.array(shown, dtype=np.int64) if shown else own
        hidden, row = (NONE, NONE) if one.names_threads else _below(members, own, state.above)
        lag = one.lag_seconds / 3600.0
        found.append(Source(members, one.names_threads, one.cost, one.doubt, lag, hidden, row))
    return (
        LoopSources(found, importance, weighted(0.0 * importance, importance, state.plan.theta))
        if found
        else None
    )


def _below(shown: Ints, own: Ints, above: Ints) -> tuple[Ints, Ints]:
    """Returns the boards of a site that an index page does not show but may count, and the position
    in `shown` of the nearest ancestor of each, as parallel arrays. own: the site's boards; above:
    each board's parent, -1 for none. Boards without a shown ancestor are left out."""
    place = {board: index for index, board in enumerate(shown.tolist())}
    hidden, row = [], []
    for board in own.tolist():
        up, steps = board, 0
        while up >= 0 and up not in place and steps < MAX_LEVELS:
            up, steps = int(above[up]), steps + 1
        if board not in place and up in place:
            hidden.append(board)
            row.append(place[up])
    return np.array(hidden, dtype=np.int64), np.array(row, dtype=np.int64)


def _parents(found: Sequence[Board]) -> Ints:
    """Returns the position in `found` of each board's parent board, -1 if the parent is not in
    `found`; one entry per board."""
    place = {board.pk: index for index, board in enumerate(found)}
    return np.array([place.get(board.parent_id or 0, -1) for board in found], dtype=np.int64)


def figures(source: OverviewSource, shown: Mapping[str, Any], members: Sequence[int]) -> Figures:
    """Converts the stored counts and times of an overview source (`shown`: threads, posts and last
    post by board id) to arrays for the adaptive policy, with one entry for each board id in
    `members`, in this order."""
    rows = [shown.get(str(pk)) or (None, None, None) for pk in members]
    values = np.array(
        [[NEVER if one is None else float(one) for one in row] for row in rows], dtype=float
    ).reshape(-1, 3)
    return Figures(values[:, 0], values[:, 1], values[:, 2])


def pairs(state: PlanState) -> dict[str, Ints]:
    """Returns the ids that belong to the adaptive policy's arrays about overview sources: each
    source's id ("source_ids") and, for each pair of a source's row and a board, the board's id
    ("pair_ids") and the row's number ("pair_rows"). Empty without sources."""
    if state.loop.overview is None:
        return {}
    coverage = state.loop.overview.coverage
    return {
        "source_ids": np.array([one.pk for one in state.sources], dtype=np.int64),
        "pair_ids": state.boards[coverage.board],
        "pair_rows": coverage.row,
    }


def same(stored: Mapping[str, Any], state: PlanState) -> bool:
    """Tells whether stored arrays about overview sources belong to the adaptive policy's present
    sources and boards, so that they may be restored."""
    now = pairs(state)
    return all(np.array_equal(stored.get(name, np.zeros(0)), value) for name, value in now.items())


def calibrate(state: PlanState) -> None:
    """Passes the figures that each overview source showed last to a newly built adaptive policy, as
    a reference for the next reading. If one of the boards that a row of the source covers was
    visited since, the row's numbers of threads and posts are left out, because posts that this
    visit fetched would count as new; the row's time of the last post is still used."""
    overview, last_visit = state.loop.overview, state.loop.last_visit
    if overview is None:
        return
    for number, source in enumerate(state.sources):
        if source.read_at is None:
            continue
        at = source.read_at.timestamp()
        seen = figures(source, source.shown, state.members(number))
        # whether one of the row's boards was visited after the reading
        late = overview.coverage.earliest(overview.rows(number), -last_visit) < -at
        threads, posts = (np.where(late, np.nan, one) for one in (seen.threads, seen.posts))
        overview.calibrate(number, Figures(threads, posts, seen.last_post), at)


def remember(state: PlanState) -> None:
    """Stores what the adaptive policy learned about each source (lag, doubt, number of trusted
    boards), for display and for the next time that it is built."""
    overview = state.loop.overview
    if overview is None:
        return
    for number, source in enumerate(state.sources):
        values = {
            "lag_seconds": round(float(overview.lag_hours[number]) * 3600.0, 1),
            "doubt": round(float(overview.doubt[number]), 4),
            "believed": int(overview.trusted()[overview.rows(number)].sum()),
        }
        if any(getattr(source, name) != value for name, value in values.items()):
            OverviewSource.objects.filter(pk=source.pk).update(**values)


def readable(state: PlanState) -> Bools | None:
    """Returns a mask of the sources that may be read now: the source's site is in `open_sites`
    (ids), and no reading of it is under way. None if the adaptive policy uses no sources."""
    if state.loop.overview is None:
        return None
    asked = Look.objects.filter(state=Look.State.ASKED, source__in=state.sources, run__isnull=False)
    busy = set(asked.values_list("source_id", flat=True))
    return np.array(
        [one.site_id in state.open_sites and one.pk not in busy for one in state.sources],
        dtype=bool,
    )


def ended(sources: Sequence[OverviewSource], since: datetime, now: datetime) -> list[Look]:
    """Returns the readings of these sources done between `since` and `now`. If the source is a list
    of newest threads, a reading is left out until all threads that it named have been fetched."""
    if not sources:
        return []
    rows = Look.objects.filter(
        state=Look.State.DONE, read_at__gte=since, read_at__lte=now, source__in=list(sources)
    )
    return [one for one in rows.order_by("read_at") if not _unfinished(one)]


def _unfinished(look: Look) -> bool:
    return Visit.objects.filter(
        run_id=look.run_id, kind=Visit.Kind.TARGETED, finished__isnull=True
    ).exists()


def report(state: PlanState, look: Look) -> int:
    """Reports the reading `look` of an overview source to the adaptive policy: the figures of an
    index page, or the posts fetched after a list of newest threads was read. Returns 1; 0 if the
    policy knows the reading already."""
    number = next(index for index, one in enumerate(state.sources) if one.pk == look.source_id)
    loop, overview = state.loop, state.loop.overview
    if (
        overview is None
        or look.read_at is None
        or look.read_at.timestamp() <= overview.read_at[number]
    ):
        return 0
    at, source = look.read_at.timestamp(), state.sources[number]
    if not source.names_threads:
        loop.record_figures(number, figures(source, look.shown, state.members(number)), at)
        return 1
    place = state.number()
    found = [
        (place[visit.board_id], min(float(posted), at), bool(opener))
        for visit in Visit.objects.filter(run_id=look.run_id, kind=Visit.Kind.TARGETED).only(
            "board_id", "arrivals"
        )
        for posted, opener, _delay in (visit.arrivals if visit.board_id in place else ())
    ]
    owner = np.array([one[0] for one in found], dtype=np.int64)
    times, opener = np.array([one[1] for one in found]), np.array([one[2] for one in found], bool)
    weights = event_weights(
        opener, state.plan.theta, state.importance[owner] if len(owner) else 1.0
    )
    kept = np.isin(owner, overview.board[overview.rows(number)])
    shown = [place[int(pk)] for pk in look.shown if int(pk) in place]
    overview.trust_shown(number, np.array(shown, dtype=np.int64), at)
    if look.reason == Look.CUT:
        overview.record_gap(number, at)
        return 1
    kept &= np.isin(owner, overview.trusted_boards(number))
    loop.record_threads_fetched(number, owner[kept], times[kept], weights[kept], at)
    return 1


def report_pauses(state: PlanState) -> None:
    """Passes the times until which boards and sources are paused after failures to the adaptive
    policy."""
    state.loop.resting_until = _until(Board, state.boards.tolist())
    if state.loop.overview is not None:
        state.loop.sources_resting_until = _until(OverviewSource, [one.pk for one in state.sources])


def _until(model: type[Model], ids: Sequence[int]) -> Floats:
    rows = model._default_manager.filter(rests_until__isnull=False).values_list("pk", "rests_until")
    until = dict(rows)
    return np.array([until[pk].timestamp() if pk in until else 0.0 for pk in ids])
