"""The closed loop `adaptive`: every few minutes visits the boards whose waiting posts weigh most, by a forecast that each
visit corrects. With overview sources (index pages, newest lists) it may read one instead; a reading is charged to the budget
of visits."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from forums.events import Bools, Floats, Ints, Sites
from forums.forecast import Arrays, Forecast, Seen
from forums.law import HOUR_SECONDS
from forums.loop_values import Choice, Looks, LoopOptions, Outlook, Reason
from forums.overview import Overview
from forums.overview_values import Sight, Source
from forums.pacing import Budget, Pace, Spending

__all__ = ("AdaptiveLoop", "Choice", "LoopOptions", "Looks", "Outlook", "Reason", "Seen", "Source")


class AdaptiveLoop:
    """Decides which boards to visit now, with exactly `visits_per_day` visits between two midnights.

    Life: created from rates and past events; then, every minute or every few, `due(now)` names the boards to visit, which then
    count as being visited until `observe` (or `missed`, for a failure) reports the result. It is created again when rates change
    (once a day), with the same `Budget`. The desk, the simulator and the tests use the same code.

    Board i has index_i = N_i(x) x / 2: N_i(x), the weighted events expected in the x hours since its last visit, times half that
    time. Equal indices are the optimality condition (square-root law). A visit is made if the day's plan (the cumulated sum over
    the boards of sqrt f_i, f_i a board's rate) allows it and the index is above the price.

    With `looks`, `choose` also names at most one overview source to read, charged at its cost in visits; `told` passes in what an
    index page showed, `swept` the events of the threads that a newest list named. Then index_i is the sum of w (t - t_e) over
    posts known to wait (w the weight, t now, t_e when posted), plus F_i(y) y / 2, F_i(y) the forecast for the y hours since the
    board was last shown by a visit or a source.
    """

    def __init__(
        self,
        rates: Floats,
        sites: Sites,
        seen: Seen,
        last_visit: Floats,
        since: float,
        budget: Budget,
        options: LoopOptions | None = None,
        looks: Looks | None = None,
        deadline_hours: Floats | None = None,
    ) -> None:
        """rates: (n, bins), weighted events per hour by local time of day; last_visit: (n,), epoch seconds up to which a board's
        events are known; since: start of the history in `seen`, epoch seconds; deadline_hours: (n,), longest allowed wait of a
        board's posts, inf for none."""
        self.options = options or LoopOptions()
        self.budget = budget
        self._of(Forecast(rates, sites, seen, np.asarray(last_visit, dtype=float), since, self.options.forecast))
        self.last_visit = np.asarray(last_visit, dtype=float).copy()
        self.visiting: Bools = np.zeros(self.count, dtype=bool)
        self.deadline_hours = np.full(self.count, np.inf) if deadline_hours is None else deadline_hours
        self.overview = self._overview(looks)
        self._pace = self._paced()
        if math.isnan(budget.price):
            budget.price = self._pace.first_price()

    def _of(self, forecast: Forecast) -> None:
        self.forecast, self.sites, self.count, self._all = forecast, forecast.sites, len(forecast.all), forecast.all
        # epoch seconds before which boards that could not be read are not visited again
        self.resting_until: Floats = np.zeros(self.count)
        self._taken = np.zeros(self.count)  # per board: forecast events fetched by the visits simulated so far

    def _overview(self, looks: Looks | None) -> Overview | None:
        self.sources_resting_until: Floats = np.zeros(len(looks.sources) if looks is not None else 0)
        if looks is None or not looks.sources:
            return None
        return Overview(looks.sources, self.last_visit, looks.new_weight, looks.reply_weight)

    def _paced(self) -> Pace:
        """The pacing of the day's visits by the boards' rates; boards covered by one newest list count as one board."""
        given, rates, site = self.options, self.forecast.rates, self.sites.site
        group = self._all if self.overview is None else self.overview.together()
        _names, first, number = np.unique(group, return_index=True, return_inverse=True)
        merged = np.zeros((len(first), rates.shape[1]))
        np.add.at(merged, number, rates)
        sites = Sites(site[first], self.sites.clocks, self.sites.openings)
        return Pace(
            merged, sites, self.budget, tick_seconds=given.tick_seconds, band=given.band, closing_hours=given.closing_hours
        )

    def packed(self) -> tuple[Arrays, Arrays]:
        """The loop's state as two sets of arrays for `unpacked`: those that stay constant during a day (rates, kernels,
        deadlines), and those that every visit changes."""
        fixed, moving = self.forecast.packed()
        fixed["deadline_hours"] = self.deadline_hours
        moving |= {
            "last_visit": self.last_visit,
            "visiting": self.visiting,
            "plan": self._pace.plan,
            "budget": self.budget.packed(),
        }
        if self.overview is not None:
            moving |= self.overview.packed()
        return fixed, moving

    @classmethod
    def unpacked(
        cls,
        fixed: Mapping[str, Floats | Bools | Ints],
        moving: Mapping[str, Floats | Bools | Ints],
        sites: Sites,
        options: LoopOptions | None = None,
        looks: Looks | None = None,
    ) -> AdaptiveLoop:
        """Restores a loop from the two sets of arrays of `packed`; boards, sites and sources must be those of the packed loop."""
        loop = cls.__new__(cls)
        loop.options = options or LoopOptions()
        loop.budget = Budget.unpacked(np.asarray(moving["budget"], dtype=float))
        loop._of(Forecast.unpacked(fixed, moving, sites, loop.options.forecast))
        loop.last_visit, loop.visiting = np.array(moving["last_visit"], dtype=float), np.array(moving["visiting"], dtype=bool)
        loop.deadline_hours = np.asarray(fixed.get("deadline_hours", np.full(loop.count, np.inf)), dtype=float)
        loop.overview = loop._overview(looks)
        if loop.overview is not None:
            loop.overview.restore(moving)
        loop._pace = loop._paced()
        loop._pace.plan = np.array(moving["plan"], dtype=float)
        return loop

    # --- what is known -------------------------------------------------------------------------------------------------

    def observe(self, boards: Ints, board: Ints, times: Floats, weights: Floats, now: float) -> None:
        """Records that `boards` were visited at `now`; board, times (epoch seconds), weights: one entry per event found."""
        boards = np.asarray(boards, dtype=np.int64)
        if self.overview is not None:
            self.forecast.rewind(boards)
        self.forecast.learn(boards, board, times, weights, np.full(len(boards), now))
        self.forecast.settle(boards)
        self.last_visit[boards] = now
        self.visiting[boards] = False
        self._taken[boards] = 0.0
        if self.overview is not None:
            lost = self.overview.visited(boards, board, times, weights, now)
            self.forecast.rewind(lost)
            self.overview.clear(lost, self.last_visit[lost])

    def told(self, source: int, sight: Sight, now: float) -> None:
        """Records the figures that a source other than a newest list showed when it was read at `now`; `source` is its number."""
        if self.overview is None:
            raise ValueError("a loop without sources is told nothing")
        waiting = self.expected_events(now) - self.overview.known
        new = self.overview.read(source, sight, now, waiting)
        self.forecast.learn(new.boards, new.board, new.times, new.weights, new.until)

    def swept(self, source: int, board: Ints, times: Floats, weights: Floats, now: float) -> None:
        """Records that newest list number `source` was read at `now` and the changed threads fetched. board, times (epoch
        seconds) and weights: one entry per event found in these threads."""
        if self.overview is None:
            raise ValueError("a loop without sources is told nothing")
        boards = self.overview.believed_boards(source)
        self.forecast.rewind(boards)
        self.forecast.learn(boards, board, times, weights, np.full(len(boards), now))
        self.forecast.settle(boards)
        self.overview.swept(source, boards, board, times, weights, now)

    def fetched_until(self) -> Floats:
        """The time up to which each board's posts have been fetched, by a visit or through a newest list, (n,) epoch seconds."""
        return self.last_visit if self.overview is None else self.overview.fetched_until(self.last_visit)

    def take_over(self, before: AdaptiveLoop) -> None:
        """Copies the last visits, the visits in progress and what sources showed from the older loop `before`, of the same
        boards."""
        self.last_visit, self.visiting, overview = before.last_visit, before.visiting, before.overview
        if overview is None or self.overview is None:
            return
        self.overview.restore(overview.packed())
        self._told_again()

    def recall_looks(self, moving: Mapping[str, Floats | Bools | Ints]) -> None:
        """Restores what sources had shown to a stored loop of the same boards and sources; `moving` is the second set of
        `packed`."""
        if self.overview is not None:
            self.overview.restore(moving)
            np.maximum(self.overview.look, self.last_visit, out=self.overview.look)
            self._told_again()

    def forget_looks(self, looks: Looks | None) -> None:
        """Replaces the overview sources by `looks` and forgets what the old ones showed: boards are known up to their last
        visits."""
        if self.overview is not None:
            self.forecast.rewind(self._all)
        self.overview = self._overview(looks)

    def _told_again(self) -> None:
        """Repeats to the forecast, for boards that a source has shown since they were fetched, the reported posts that still
        wait."""
        assert self.overview is not None  # noqa: S101 - only called for loops with sources
        looked = np.flatnonzero(self.overview.look > self.fetched_until())
        board, times, weights = self.overview.waiting(looked)
        self.forecast.learn(looked, board, times, weights, self.overview.look[looked])

    def missed(self, boards: Ints) -> None:
        """Records that the visits of these boards failed: the boards can be chosen again at once, with their waiting posts."""
        self.visiting[boards] = False

    def expected_events(self, now: float, boards: Ints | None = None) -> Floats:
        """N_i: the weighted events expected to wait on each board now. With sources: the posts that sources have reported, plus
        those forecast since a source or a visit last showed the board; without: those forecast since its last visit."""
        rows = self._all if boards is None else boards
        waiting = np.maximum(self.forecast.expected(now, rows) - self._taken[rows], 0.0)
        return waiting if self.overview is None else waiting + self.overview.known[rows]

    def index(self, now: float) -> Floats:
        """The index of each board in weighted event-hours, (n,): N_i(x) x / 2 without sources. With sources: the waits of
        reported posts plus F_i(y) y / 2, but at least the share `Overview.doubts` of the index that the board would have without
        sources."""
        if self.overview is None:
            return self.expected_events(now) * (np.maximum(now - self.last_visit, 0.0) / HOUR_SECONDS) / 2.0
        own = self.forecast.expected_by_visits(now) * (np.maximum(now - self.fetched_until(), 0.0) / HOUR_SECONDS) / 2.0
        return np.maximum(self.overview.known_hours(now) + self._unseen(now), self.overview.doubts() * own)

    def _unseen(self, now: float) -> Floats:
        """F_i(y) y / 2: expected weighted event-hours of posts made in the y hours since each board was last shown, (n,)."""
        assert self.overview is not None  # noqa: S101 - only called for loops with sources
        waiting = np.maximum(self.forecast.expected(now, self._all) - self._taken, 0.0)
        return waiting * self.overview.hours_since_look(now) / 2.0

    def pressing(self, now: float) -> Bools:
        """A mask of the boards that must be visited now whatever their index, (n,), see `hours_left_to_wait`."""
        left = self.hours_left_to_wait(now)
        return left <= self.options.tick_seconds / HOUR_SECONDS

    def hours_left_to_wait(self, now: float) -> Floats:
        """Hours until each board must be visited whatever its index, (n,): until its deadline, which counts from the last fetch
        of its posts, or until sources have replaced visits of its own list for too long, whichever is sooner."""
        left = self.deadline_hours - (now - self.fetched_until()) / HOUR_SECONDS
        if self.overview is not None:
            most = max(self.options.longest_wait_hours, 96.0 * self.count / self.budget.visits_per_day)
            left = np.minimum(left, most - (now - self.last_visit) / HOUR_SECONDS)
        return left

    # --- what to visit and read now ------------------------------------------------------------------------------------

    def due(self, now: float, allowed: Bools | None = None) -> Ints:
        """Boards to visit now, most urgent first; charged to the budget. `allowed`: (n,), false for boards not to be visited."""
        return self.choose(now, allowed, None).boards

    def choose(self, now: float, allowed: Bools | None, readable: Bools | None) -> Choice:
        """The boards to visit now and at most one source to read; their cost is charged to the budget. `allowed`, (n,), and
        `readable`, one entry per source, are false for what may not be requested; with `readable` None no source is read."""
        self._pace.turn(now)
        target, band = self._pace.target(now)
        index = self.index(now)
        open_now = ~self.visiting & (self.resting_until <= now)
        open_now = open_now if allowed is None else allowed & open_now
        readable = None if readable is None else readable & (self.sources_resting_until <= now)
        if (within := self.sites.open_boards(now)) is not None:
            open_now, readable = open_now & within, self._readable_within(readable, within)
        rank = np.where(self.pressing(now), np.inf, index)
        budget = self.budget
        # visits that have to be made now, because the remaining rankings of the day cannot make that many
        late = budget.visits_per_day - self.count * self._pace.rankings_left(now)
        steer, step = self._steer(), self.options.price_step / self._pace.units
        spend = Spending(budget, max(target - band, late), max(target + band, late), target, steer, step)
        room = spend.room()
        look = self._look(now, index, open_now, readable, room)
        ranked = _largest(np.where(open_now, rank, -1.0), room)
        chosen: list[int] = []
        for board, value, place in zip(ranked.tolist(), index[ranked].tolist(), rank[ranked].tolist(), strict=True):
            if look.comes_before(board, place) and budget.used + look.cost >= spend.least:
                # Boards covered by the chosen source are not visited in this ranking, because they are ranked again after it
                # was read; unless fewer visits than the required minimum would then be made.
                continue
            if not open_now[board] or not spend.takes(value, 1, forced=place == np.inf):
                break
            chosen.append(board)
            look.without(board)
        source = look.source if look.source >= 0 and spend.takes(look.gain, look.cost, forced=look.probe) else -1
        self.visiting[chosen] = True
        return Choice(np.array(chosen, dtype=np.int64), source)

    def _steer(self) -> float:
        reads_index = self.overview is not None and not self.overview.newest.all()
        return self.options.index_steer if reads_index else self.options.steer

    def _readable_within(self, readable: Bools | None, within: Bools) -> Bools | None:
        """`readable` without the sources all of whose boards belong to sites closed now; `within`: (n,), true if open."""
        if readable is None or self.overview is None:
            return readable
        covers = self.overview.covers
        boards = [covers.board[covers.of(self.overview.rows(number))] for number in range(len(self.overview))]
        left: Bools = readable & np.array([bool(within[one].any()) for one in boards], dtype=bool)
        return left

    def _look(self, now: float, index: Floats, open_now: Bools, readable: Bools | None, room: int) -> _Look:
        """The source that is due for a test reading (probe), otherwise the one with the largest gain per visit charged. An empty
        `_Look` if none is readable, none gains anything, or `room` (visits) does not cover the cost."""
        overview = self.overview
        if overview is None or readable is None or not (readable & (overview.cost <= room)).any():
            return _Look()
        readable = readable & (overview.cost <= room)
        gains, part = overview.gains(self._unseen(now), index, now, open_now, self.options.eta)
        probes = [number for number in overview.to_probe(now).tolist() if readable[number]]
        best = probes[0] if probes else int(np.where(readable, gains / overview.cost, -1.0).argmax())
        if not readable[best] or (not probes and gains[best] <= 0.0):
            return _Look()
        pairs, cost = overview.covers.of(overview.rows(best)), int(overview.cost[best])
        parts = dict(zip(overview.covers.board[pairs].tolist(), (part[pairs] / cost).tolist(), strict=True))
        return _Look(best, np.inf if probes else float(gains[best]) / cost, cost, bool(probes), parts)

    def change_budget(self, visits_per_day: int, now: float) -> None:
        """Changes the number of visits per day from now on: the rest of today gets its share of the new number."""
        self._pace.change(visits_per_day, now)

    def outlook(self, now: float, until: float, step_seconds: float = 900.0) -> Outlook:
        """The visits expected until `until` if every board brings what is forecast, ranked every `step_seconds`."""
        return self.ahead(now, until, step_seconds)[0]

    def ahead(self, now: float, until: float, step_seconds: float = 900.0) -> tuple[Outlook, Floats]:
        """Like `outlook`, with the expected times of source readings (epoch seconds) as second result."""
        ahead = copy.copy(self)
        ahead._pace = self._pace.ahead(step_seconds)
        ahead.budget = ahead._pace.budget
        ahead.last_visit, ahead._taken = self.last_visit.copy(), self._taken.copy()
        ahead.visiting = np.zeros(self.count, dtype=bool)
        ahead.overview = copy.deepcopy(self.overview)
        readable = None if ahead.overview is None else np.ones(len(ahead.overview), dtype=bool)
        moments = [now + step * step_seconds for step in range(1, int((until - now) / step_seconds) + 1)]
        ahead.forecast = self.forecast.foreseen(np.array(moments))
        parts, looks = [Outlook(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), np.zeros(0))], []
        for moment in moments:
            due, source = ahead.choose(moment, None, readable)
            if not len(due) and source < 0:
                continue
            waiting = ahead.expected_events(moment, due)
            delay = ahead.index(moment)[due]
            parts.append(Outlook(due, np.full(len(due), moment), waiting, delay))
            ahead._pretend(due, source, moment)
            if source >= 0:
                looks.append(moment)
        return Outlook(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True))), np.array(looks)

    def _pretend(self, due: Ints, source: int, moment: float) -> None:
        """One step of an outlook: the boards `due` are visited and source number `source` (-1: none) is read, as forecast."""
        forecast = np.maximum(self.forecast.expected(moment, self._all) - self._taken, 0.0)
        if self.overview is not None and source >= 0:
            seen = self.overview.believed_boards(source)
            self.overview.pretend(source, seen, forecast[seen], moment)
            self._taken[seen] += forecast[seen]
            forecast[seen] = 0.0
        self._taken[due] += forecast[due]
        self.last_visit[due] = moment
        self.visiting[due] = False
        if self.overview is not None:
            self.overview.clear(due, moment)

    def explain(self, board: int, now: float) -> Reason:
        """The figures that explain the board's present rank."""
        return Reason(
            waiting=float(self.expected_events(now, np.array([board]))[0]),
            hours_since_visit=(now - float(self.last_visit[board])) / HOUR_SECONDS,
            usual_per_hour=self.forecast.usual_per_hour(now, board),
            rank=float(self.index(now)[board]),
            price=float(self.budget.price),
            known=float(self.overview.known[board]) if self.overview is not None else 0.0,
        )


@dataclass(slots=True)
class _Look:
    """A source to read in this ranking (-1: none). gain: weighted event-hours per visit charged; parts: each board's part of
    it."""

    source: int = -1
    gain: float = 0.0
    cost: int = 1
    probe: bool = False
    parts: Mapping[int, float] | None = None

    def comes_before(self, board: int, rank: float) -> bool:
        """Tells whether reading the source gains more than visiting `board`, which the source covers; rank: the board's index."""
        return self.source >= 0 and self.gain >= rank and self.parts is not None and board in self.parts

    def without(self, board: int) -> None:
        """Subtracts the board's part from the gain, because the board is visited now anyway."""
        if self.parts is not None:
            self.gain -= self.parts.get(board, 0.0)


def _largest(values: Floats, count: int) -> Ints:
    """The positions of the `count` largest values, largest first; of equal values the lower position first."""
    count = min(count, len(values))
    if count <= 0:
        return np.zeros(0, dtype=np.int64)
    if count < len(values) // 4:
        part = np.sort(np.argpartition(-values, count - 1)[:count])
        return np.asarray(part[np.argsort(-values[part], kind="stable")])
    return np.argsort(-values, kind="stable")[:count]
