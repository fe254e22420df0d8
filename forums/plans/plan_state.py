"""The overview sources of the adaptive policy in operation: which of them it may read, which
figures are stored of them, and what each reading of a source (`Look`) showed.

A board is identified in three ways here: by its database id; by its index in the policy's arrays
(`boards` maps indices to ids); by the row of a source that shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from django.db.models import Model

from forums.models import Board, Look, OverviewSource, Visit
from forums.schedule.adaptive import AdaptiveLoop, LoopSources, Source
from forums.schedule.equations import event_weights, weighted
from forums.schedule.events import Bools, Floats, Ints
from forums.schedule.loop_values import Figures

NEVER = float("nan")
NONE = np.zeros(0, dtype=np.int64)
# the index row that may count a board is searched up to this many levels above it; beyond, none is
# assumed
MAX_LEVELS = 20


def of(site_ids: Sequence[int]) -> list[OverviewSource]:
    """Returns the enabled overview sources of these sites, ordered by id, so that a source keeps
    its number in the adaptive policy."""
    rows = OverviewSource.objects.filter(enabled=True)
    rows = rows.filter(site_id__in=list(site_ids)) if len(site_ids) <= 500 else rows
    wanted = set(site_ids)
    return [one for one in rows.order_by("pk") if one.site_id in wanted]


def for_loop(
    sources: Sequence[OverviewSource],
    boards: Ints,
    above: Ints,
    site: Ints,
    sites: Ints,
    importance: Floats,
    theta: float,
) -> LoopSources | None:
    """Returns the overview sources as input of the adaptive policy; None if there are none. A
    source has the boards that it has shown (all of its site before its first reading). An index
    page may also count sub-boards without a row, each in the row of the nearest board above.

    boards: ids by board number. Parallel to it: above, number of the parent board (-1: none); site,
    position of the board's site in `sites` (ids); importance, W. theta: weight of a reply."""
    place = {int(pk): index for index, pk in enumerate(boards.tolist())}
    number = {int(pk): index for index, pk in enumerate(sites.tolist())}
    found = []
    for one in sources:
        named = one.boards if one.names_threads else [int(pk) for pk in one.shown] or one.boards
        shown = sorted(place[pk] for pk in named if pk in place)
        own = np.flatnonzero(site == number[one.site_id])
        members = np.array(shown, dtype=np.int64) if shown else own
        hidden, row = (NONE, NONE) if one.names_threads else _below(members, own, above)
        lag = one.lag_seconds / 3600.0
        found.append(Source(members, one.names_threads, one.cost, one.doubt, lag, hidden, row))
    return (
        LoopSources(found, importance, weighted(0.0 * importance, importance, theta))
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


def parents(found: Sequence[Board]) -> Ints:
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


def _members(loop: AdaptiveLoop, boards: Ints, number: int) -> list[int]:
    assert loop.overview is not None  # noqa: S101 - only called with sources that the loop has
    return boards[loop.overview.board[loop.overview.rows(number)]].tolist()


def pairs(loop: AdaptiveLoop, sources: Sequence[OverviewSource], boards: Ints) -> dict[str, Ints]:
    """Returns the ids that belong to the adaptive policy's arrays about overview sources: each
    source's id ("source_ids") and, for each pair of a source's row and a board, the board's id
    ("pair_ids") and the row's number ("pair_rows"). Empty without sources. `boards`: each board's
    database id, by its number in the policy."""
    if loop.overview is None:
        return {}
    covers = loop.overview.covers
    return {
        "source_ids": np.array([one.pk for one in sources], dtype=np.int64),
        "pair_ids": boards[covers.board],
        "pair_rows": covers.row,
    }


def same(
    stored: Mapping[str, Any], loop: AdaptiveLoop, sources: Sequence[OverviewSource], boards: Ints
) -> bool:
    """Tells whether stored arrays about overview sources belong to the adaptive policy's present
    sources and boards, so that they may be restored."""
    now = pairs(loop, sources, boards)
    return all(np.array_equal(stored.get(name, np.zeros(0)), value) for name, value in now.items())


def calibrate(loop: AdaptiveLoop, sources: Sequence[OverviewSource], boards: Ints) -> None:
    """Passes the figures that each overview source showed last to a newly built adaptive policy, as
    a reference for the next reading. If one of the boards that a row of the source covers was
    visited since, the row's numbers of threads and posts are left out, because posts that this
    visit fetched would count as new; the row's time of the last post is still used. `boards`: ids
    of the policy's boards, in its order."""
    if loop.overview is None:
        return
    for number, source in enumerate(sources):
        if source.read_at is None:
            continue
        at = source.read_at.timestamp()
        members = _members(loop, boards, number)
        seen = figures(source, source.shown, members)
        # whether one of the row's boards was visited after the reading
        late = loop.overview.covers.earliest(loop.overview.rows(number), -loop.last_visit) < -at
        loop.overview.calibrate(
            number,
            Figures(
                np.where(late, np.nan, seen.threads),
                np.where(late, np.nan, seen.posts),
                seen.last_post,
            ),
            at,
        )


def remember(loop: AdaptiveLoop, sources: Sequence[OverviewSource]) -> None:
    """Stores what the adaptive policy learned about each source (lag, doubt, number of trusted
    boards), for display and for the next time that it is built."""
    if loop.overview is None:
        return
    for number, source in enumerate(sources):
        values = {
            "lag_seconds": round(float(loop.overview.lag_hours[number]) * 3600.0, 1),
            "doubt": round(float(loop.overview.doubt[number]), 4),
            "believed": int(loop.overview.trusted()[loop.overview.rows(number)].sum()),
        }
        if any(getattr(source, name) != value for name, value in values.items()):
            OverviewSource.objects.filter(pk=source.pk).update(**values)


def readable(
    loop: AdaptiveLoop, sources: Sequence[OverviewSource], open_sites: set[int]
) -> Bools | None:
    """Returns a mask of the sources that may be read now: the source's site is in `open_sites`
    (ids), and no reading of it is under way. None if the adaptive policy uses no sources."""
    if loop.overview is None:
        return None
    asked = Look.objects.filter(state=Look.State.ASKED, source__in=list(sources), run__isnull=False)
    busy = set(asked.values_list("source_id", flat=True))
    return np.array(
        [one.site_id in open_sites and one.pk not in busy for one in sources], dtype=bool
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


def report(
    loop: AdaptiveLoop,
    sources: Sequence[OverviewSource],
    boards: Ints,
    importance: Floats,
    theta: float,
    look: Look,
) -> int:
    """Reports the reading `look` of an overview source to the adaptive policy `loop`: the figures
    of an index page, or the posts fetched after a list of newest threads was read. Returns 1; 0 if
    the policy knows the reading already. boards: ids by number. importance: W of each board. theta:
    weight of a reply relative to a new thread."""
    number = next(index for index, one in enumerate(sources) if one.pk == look.source_id)
    if (
        loop.overview is None
        or look.read_at is None
        or look.read_at.timestamp() <= loop.overview.read_at[number]
    ):
        return 0
    at = look.read_at.timestamp()
    if not sources[number].names_threads:
        loop.record_figures(
            number, figures(sources[number], look.shown, _members(loop, boards, number)), at
        )
        return 1
    place = {int(pk): index for index, pk in enumerate(boards.tolist())}
    board, times, opener = [], [], []
    for visit in Visit.objects.filter(run_id=look.run_id, kind=Visit.Kind.TARGETED).only(
        "board_id", "arrivals"
    ):
        for posted, is_opener, _delay in visit.arrivals if visit.board_id in place else ():
            board.append(place[visit.board_id])
            times.append(min(float(posted), at))
            opener.append(bool(is_opener))
    owner = np.array(board, dtype=np.int64)
    weights = event_weights(
        np.array(opener, dtype=bool), theta, importance[owner] if len(owner) else 1.0
    )
    kept = np.isin(owner, loop.overview.board[loop.overview.rows(number)])
    loop.overview.trust_shown(
        number,
        np.array([place[int(pk)] for pk in look.shown if int(pk) in place], dtype=np.int64),
        at,
    )
    if look.reason == Look.CUT:
        loop.overview.record_gap(number, at)
        return 1
    kept &= np.isin(owner, loop.overview.trusted_boards(number))
    loop.record_threads_fetched(number, owner[kept], np.array(times)[kept], weights[kept], at)
    return 1


def report_pauses(loop: AdaptiveLoop, boards: Ints, sources: Sequence[OverviewSource]) -> None:
    """Passes the times until which boards (ids) and sources are paused after failures to the
    adaptive policy."""
    loop.resting_until = _until(Board, boards.tolist())
    if loop.overview is not None:
        loop.sources_resting_until = _until(OverviewSource, [one.pk for one in sources])


def _until(model: type[Model], ids: Sequence[int]) -> Floats:
    rows = model._default_manager.filter(rests_until__isnull=False).values_list("pk", "rests_until")
    until = dict(rows)
    return np.array([until[pk].timestamp() if pk in until else 0.0 for pk in ids])
