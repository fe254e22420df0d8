"""The closed loop `adaptive`: forecasts after every visit, and every few minutes visits the boards whose waiting posts weigh
most.

With overview sources (index pages, newest lists) it can also read one of these, which is charged to the same budget as visits.
"""

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

    index_i = N_i(x) x / 2: expected weighted events since the board's last visit x hours ago, times half that time; equal indices
    are the optimality condition (square-root law). A visit is made if the plan (cumulated sum of sqrt f over the day) allows it
    and the index is above the price.

    With `looks`, `choose` also names an overview source to read, at most one, charged at its cost in visits; `told` passes in
    the figures that an index page showed, `swept` the events of the threads that a newest list named. Then index_i = sum of w
    (t - t_e) over posts known to wait, plus F_i(y) y / 2 for those that may have been posted in the y hours since the board was
    last seen.
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
        """Arguments: rates: (n, bins), weighted events per hour by local time; last_visit: (n,), epoch seconds up to which a
        board's events are known; since: start of the history in `seen`; deadline_hours: (n,), longest allowed wait of
        a board's posts, inf for none."""
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
        """The day's plan of visits and the price of a visit; boards covered by one newest list count as one board."""
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
        """The loop's state as arrays for `unpacked`: what stays constant during a day (rates, kernels, deadlines), and what every
        visit changes."""
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
        """Restores a loop from `packed`, over the same boards, sites and sources."""
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
        """Records that `boards` were visited at `now` and brought these events, one entry per event: board, epoch seconds,
        weight."""
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
        """Records the figures that a source other than a newest list showed when it was read at `now`."""
        if self.overview is None:
            raise ValueError("a loop without sources is told nothing")
        waiting = self.expected_events(now) - self.overview.known
        new = self.overview.read(source, sight, now, waiting)
        self.forecast.learn(new.boards, new.board, new.times, new.weights, new.until)

    def swept(self, source: int, board: Ints, times: Floats, weights: Floats, now: float) -> None:
        """Records that a newest list was read at `now` and its changed threads fetched, with their events."""
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
        """Takes over last visits, visits in progress and what sources showed from an older loop over the same boards."""
        self.last_visit, self.visiting, overview = before.last_visit, before.visiting, before.overview
        if overview is None or self.overview is None:
            return
        self.overview.restore(overview.packed())
        self._told_again()

    def recall_looks(self, moving: Mapping[str, Floats | Bools | Ints]) -> None:
        """Takes over what sources showed to a stored loop over the same boards and sources (`moving` of `packed`)."""
        if self.overview is not None:
            self.overview.restore(moving)
            np.maximum(self.overview.look, self.last_visit, out=self.overview.look)
            self._told_again()

    def forget_looks(self, looks: Looks | None) -> None:
        """Replaces the overview sources: all boards are then known up to their last visits only."""
        if self.overview is not None:
            self.forecast.rewind(self._all)
        self.overview = self._overview(looks)

    def _told_again(self) -> None:
        """Updates the forecast of boards that a source has shown since they were fetched, from their waiting posts."""
        assert self.overview is not None  # noqa: S101 - only called for loops with sources
        looked = np.flatnonzero(self.overview.look > self.fetched_until())
        board, times, weights = self.overview.waiting(looked)
        self.forecast.learn(looked, board, times, weights, self.overview.look[looked])

    def missed(self, boards: Ints) -> None:
        """Records that the visits of these boards failed: they rank again with their waiting posts."""
        self.visiting[boards] = False

    def expected_events(self, now: float, boards: Ints | None = None) -> Floats:
        """N_i: the expected weighted events waiting on each board now: those forecast since its last visit, or since a source
        last showed it, plus those that sources have shown."""
        rows = self._all if boards is None else boards
        waiting = np.maximum(self.forecast.expected(now, rows) - self._taken[rows], 0.0)
        return waiting if self.overview is None else waiting + self.overview.known[rows]

    def index(self, now: float) -> Floats:
        """The index of each board in weighted event-hours, (n,): N_i(x) x / 2 without sources. With sources: the waits of known
        posts plus F_i(y) y / 2, but at least the share `doubts` of the index that the board would have without sources."""
        if self.overview is None:
            return self.expected_events(now) * (np.maximum(now - self.last_visit, 0.0) / HOUR_SECONDS) / 2.0
        own = self.forecast.expected_by_visits(now) * (np.maximum(now - self.fetched_until(), 0.0) / HOUR_SECONDS) / 2.0
        return np.maximum(self.overview.known_hours(now) + self._unseen(now), self.overview.doubts() * own)

    def _unseen(self, now: float) -> Floats:
        """F_i(y) y / 2: event-hours of posts that may have been made since each board was last seen, (n,)."""
        assert self.overview is not None  # noqa: S101 - only called for loops with sources
        waiting = np.maximum(self.forecast.expected(now, self._all) - self._taken, 0.0)
        return waiting * self.overview.hours_since_look(now) / 2.0

    def pressing(self, now: float) -> Bools:
        """Boards that must be visited now, (n,): by their deadline, or because sources have replaced visits for
        longest_wait_hours."""
        left = self.hours_left_to_wait(now)
        return left <= self.options.tick_seconds / HOUR_SECONDS

    def hours_left_to_wait(self, now: float) -> Floats:
        """Hours until each board is visited whatever its index, (n,): by its deadline, which counts from the last fetch of its
        posts, or because sources have replaced visits of its own list for too long."""
        left = self.deadline_hours - (now - self.fetched_until()) / HOUR_SECONDS
        if self.overview is not None:
            most = max(self.options.longest_wait_hours, 96.0 * self.count / self.budget.visits_per_day)
            left = np.minimum(left, most - (now - self.last_visit) / HOUR_SECONDS)
        return left

    # --- what to visit and read now ------------------------------------------------------------------------------------

    def due(self, now: float, allowed: Bools | None = None) -> Ints:
        """Boards to visit now, most urgent first; charged to the budget. `allowed` excludes boards that may not be visited."""
        return self.choose(now, allowed, None).boards

    def choose(self, now: float, allowed: Bools | None, readable: Bools | None) -> Choice:
        """Boards to visit now and at most one source to read (among those `readable`, (S,)); their cost is charged to the
        budget."""
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
        """The readable sources, without those that cover no board of a site that may be visited now (`within`)."""
        if readable is None or self.overview is None:
            return readable
        covers = self.overview.covers
        boards = [covers.board[covers.of(self.overview.rows(number))] for number in range(len(self.overview))]
        left: Bools = readable & np.array([bool(within[one].any()) for one in boards], dtype=bool)
        return left

    def _look(self, now: float, index: Floats, open_now: Bools, readable: Bools | None, room: int) -> _Look:
        """The source with the largest gain per visit of its cost, or one due for a probe; none if none is readable or `room` does
        not cover its cost."""
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
        """The visits to come if every board brings what is forecast."""
        return self.ahead(now, until, step_seconds)[0]

    def ahead(self, now: float, until: float, step_seconds: float = 900.0) -> tuple[Outlook, Floats]:
        """The visits to come, and the times of source readings, if every board brings what is forecast."""
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
        """One step of a forecast: boards in `due` are visited and the source is read, each bringing what is expected."""
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
        """The reason for a board's present rank, in numbers."""
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
    """A source that could be read in this ranking: its gain per visit of its cost, and each board's part in that gain."""

    source: int = -1
    gain: float = 0.0
    cost: int = 1
    probe: bool = False
    parts: Mapping[int, float] | None = None

    def comes_before(self, board: int, rank: float) -> bool:
        """Tells whether reading the source is worth more than visiting this board, which it covers."""
        return self.source >= 0 and self.gain >= rank and self.parts is not None and board in self.parts

    def without(self, board: int) -> None:
        """Takes a board's part out of the gain, because the board is visited now anyway."""
        if self.parts is not None:
            self.gain -= self.parts.get(board, 0.0)


def _largest(values: Floats, count: int) -> Ints:
    """The numbers of the `count` largest values, largest first; ties by number."""
    count = min(count, len(values))
    if count <= 0:
        return np.zeros(0, dtype=np.int64)
    if count < len(values) // 4:
        part = np.sort(np.argpartition(-values, count - 1)[:count])
        return np.asarray(part[np.argsort(-values[part], kind="stable")])
    return np.argsort(-values, kind="stable")[:count]
