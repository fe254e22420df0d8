"""The adaptive policy (closed loop): decides every few minutes which boards of which forums to
visit. It visits the boards whose unfetched posts are expected to have waited longest, weighted by
importance. The expectation is a forecast that each visit corrects. Where a forum has overview
sources (index pages, newest lists), the policy may read one of them instead of visiting boards;
such a reading is charged to the same daily budget of visits."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping

import numpy as np

from forums.schedule.equations import HOUR_SECONDS
from forums.schedule.events import Bools, Floats, Ints, Sites
from forums.schedule.forecast import Arrays, Forecast, Seen
from forums.schedule.loop_values import (
    Choice,
    Figures,
    LoopOptions,
    LoopSources,
    Outlook,
    Reason,
    Source,
    SourceChoice,
    largest,
)
from forums.schedule.overview import Overview
from forums.schedule.pacing import Budget, Pace, Spending

__all__ = (
    "AdaptiveLoop",
    "Choice",
    "LoopOptions",
    "LoopSources",
    "Outlook",
    "Reason",
    "Seen",
    "Source",
)


class AdaptiveLoop:
    """The adaptive policy: decides which boards to visit now, with exactly `visits_per_day` visits
    between two midnights.

    When the rates change (once a day), it is created again with the same `Budget`. `due(now)` (or
    `choose`) is called every few minutes and returns the boards to visit. A board counts as being
    visited until `observe` (or `missed`, for a failure) reports the result.

    A board is visited if the day's plan allows another visit and its index is above the price. The
    plan spreads the visits over the day in proportion to the sum over the boards of sqrt f_i (f_i:
    rate of board i). index_i = N_i(x) x / 2: the weighted events N_i expected in the x hours since
    the last visit, times their mean wait. The delay is least if all boards are visited at equal
    indices (square-root law).

    With overview sources, `choose` also returns at most one source to read, charged at its cost in
    visits. `record_figures` then records what an index page showed, `record_threads_fetched` the
    events of the threads that a newest list named. The index is then a sum: w (t - t_e) over the
    reported posts not fetched yet (w: weight, t: now, t_e: time of the post), and F_i(y) y / 2,
    F_i(y) being the forecast for the y hours since a visit or a source last showed the board."""

    def __init__(
        self,
        rates: Floats,
        sites: Sites,
        seen: Seen,
        last_visit: Floats,
        since: float,
        budget: Budget,
        options: LoopOptions | None = None,
        overview_sources: LoopSources | None = None,
        deadline_hours: Floats | None = None,
    ) -> None:
        """Creates the loop for n boards. rates: (n, bins), weighted events per hour by local time
        of day. sites: the site, time zone and working hours of each board. seen: the events found
        by past visits. last_visit: (n,), epoch seconds up to which a board's events are known.
        since: start of the history in `seen`, epoch seconds. budget: shared state of the day's
        budget, changed by the loop. options: constants of the policy. overview_sources: None for
        none. deadline_hours: (n,), longest allowed wait of a board's posts, inf for none."""
        self.options = options or LoopOptions()
        self.budget = budget
        self._of(
            Forecast(
                rates,
                sites,
                seen,
                np.asarray(last_visit, dtype=float),
                since,
                self.options.forecast,
            )
        )
        self.last_visit = np.asarray(last_visit, dtype=float).copy()
        self.visiting: Bools = np.zeros(self.count, dtype=bool)
        self.deadline_hours = (
            np.full(self.count, np.inf) if deadline_hours is None else deadline_hours
        )
        self.overview = self._overview(overview_sources)
        self._pace = self._paced()
        if math.isnan(budget.price):
            budget.price = self._pace.first_price()

    def _of(self, forecast: Forecast) -> None:
        self.forecast, self.sites, self.count, self._all = (
            forecast,
            forecast.sites,
            len(forecast.all),
            forecast.all,
        )
        # epoch seconds before which boards that could not be read are not visited again
        self.resting_until: Floats = np.zeros(self.count)
        self._taken = np.zeros(
            self.count
        )  # per board: expected events already fetched by simulated visits (see `Outlook`)

    def _overview(self, overview_sources: LoopSources | None) -> Overview | None:
        self.sources_resting_until: Floats = np.zeros(
            len(overview_sources.sources) if overview_sources is not None else 0
        )
        if overview_sources is None or not overview_sources.sources:
            return None
        return Overview(
            overview_sources.sources,
            self.last_visit,
            overview_sources.new_weight,
            overview_sources.reply_weight,
        )

    def _paced(self) -> Pace:
        """Returns the object that spreads visits over the day. Boards that share a list of newest
        threads count as one board."""
        given, rates, site = self.options, self.forecast.rates, self.sites.site
        group = self._all if self.overview is None else self.overview.groups()
        _names, first, number = np.unique(group, return_index=True, return_inverse=True)
        merged = np.zeros((len(first), rates.shape[1]))
        np.add.at(merged, number, rates)
        sites = Sites(site[first], self.sites.clocks, self.sites.openings)
        return Pace(
            merged,
            sites,
            self.budget,
            tick_seconds=given.tick_seconds,
            band=given.band,
            closing_hours=given.closing_hours,
        )

    def packed(self) -> tuple[Arrays, Arrays]:
        """Returns the loop's state as two dicts of arrays by name, to be stored and passed to
        `unpacked`: first those that stay constant during a day (rates, kernels, deadlines), then
        those that every visit changes."""
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
        overview_sources: LoopSources | None = None,
    ) -> AdaptiveLoop:
        """Restores a loop from the two dicts that `packed` returned; boards, sites and sources must
        be the same."""
        loop = cls.__new__(cls)
        loop.options = options or LoopOptions()
        loop.budget = Budget.unpacked(np.asarray(moving["budget"], dtype=float))
        loop._of(Forecast.unpacked(fixed, moving, sites, loop.options.forecast))
        loop.last_visit, loop.visiting = (
            np.array(moving["last_visit"], dtype=float),
            np.array(moving["visiting"], dtype=bool),
        )
        loop.deadline_hours = np.asarray(
            fixed.get("deadline_hours", np.full(loop.count, np.inf)), dtype=float
        )
        loop.overview = loop._overview(overview_sources)
        if loop.overview is not None:
            loop.overview.restore(moving)
        loop._pace = loop._paced()
        loop._pace.plan = np.array(moving["plan"], dtype=float)
        return loop

    # --- results of visits and readings
    # --------------------------------------------------------------------------------

    def observe(
        self, boards: Ints, board: Ints, times: Floats, weights: Floats, now: float
    ) -> None:
        """Records that `boards` were visited at `now` (epoch seconds), and the events found there.
        board, times (epoch seconds) and weights have one entry per event found; `board` holds board
        numbers."""
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

    def record_figures(self, source: int, figures: Figures, now: float) -> None:
        """Records the figures that overview source number `source` showed when it was read at `now`
        (epoch seconds). For lists of the newest threads use `record_threads_fetched` instead.
        Raises ValueError if the policy has no overview sources.
        """
        if self.overview is None:
            raise ValueError("a loop without sources has no readings to record")
        waiting = self.expected_events(now) - self.overview.known
        new = self.overview.read(source, figures, now, waiting)
        self.forecast.learn(new.boards, new.board, new.times, new.weights, new.until)

    def record_threads_fetched(
        self, source: int, board: Ints, times: Floats, weights: Floats, now: float
    ) -> None:
        """Records that overview source number `source`, a list of the forum's newest threads, was
        read at `now`, and that the changed threads in it were fetched. board, times (epoch seconds)
        and weights: one entry per event found in these threads. ValueError for a loop without
        sources."""
        if self.overview is None:
            raise ValueError("a loop without sources has no readings to record")
        boards = self.overview.trusted_boards(source)
        self.forecast.rewind(boards)
        self.forecast.learn(boards, board, times, weights, np.full(len(boards), now))
        self.forecast.settle(boards)
        self.overview.record_threads_fetched(source, boards, board, times, weights, now)

    def fetched_until(self) -> Floats:
        """Returns the time (epoch seconds, (n,)) up to which each board's posts are fetched by
        visits or from a list of newest threads."""
        return (
            self.last_visit
            if self.overview is None
            else self.overview.fetched_until(self.last_visit)
        )

    def take_over(self, before: AdaptiveLoop) -> None:
        """Copies last visits, visits in progress and what overview sources showed from an older
        loop of the same boards."""
        self.last_visit, self.visiting, overview = (
            before.last_visit,
            before.visiting,
            before.overview,
        )
        if overview is None or self.overview is None:
            return
        self.overview.restore(overview.packed())
        self._replay_reports()

    def restore_sources(self, moving: Mapping[str, Floats | Bools | Ints]) -> None:
        """Restores what overview sources had shown from `moving`, the second result of `packed` of
        a loop with these sources."""
        if self.overview is not None:
            self.overview.restore(moving)
            np.maximum(self.overview.look, self.last_visit, out=self.overview.look)
            self._replay_reports()

    def replace_sources(self, overview_sources: LoopSources | None) -> None:
        """Replaces the overview sources by these, and drops what the old ones showed since the
        boards' last visits."""
        if self.overview is not None:
            self.forecast.rewind(self._all)
        self.overview = self._overview(overview_sources)

    def _replay_reports(self) -> None:
        """Passes the reported posts that are not fetched yet to the forecast again, after it was
        rebuilt from visits alone."""
        assert self.overview is not None  # noqa: S101 - only called for loops with sources
        looked = np.flatnonzero(self.overview.look > self.fetched_until())
        board, times, weights = self.overview.waiting(looked)
        self.forecast.learn(looked, board, times, weights, self.overview.look[looked])

    def missed(self, boards: Ints) -> None:
        """Records that visits of these boards failed or are not made. A board can be chosen again
        after its `resting_until`."""
        self.visiting[boards] = False

    def expected_events(self, now: float, boards: Ints | None = None) -> Floats:
        """Returns N_i: the weighted events expected to wait on each of `boards` (None: all) at
        `now`, one per board. Without overview sources: those forecast since the last visit. With
        sources: the reported posts that are not fetched yet, plus those forecast since a source or
        a visit last showed the board."""
        rows = self._all if boards is None else boards
        waiting = np.maximum(self.forecast.expected(now, rows) - self._taken[rows], 0.0)
        return waiting if self.overview is None else waiting + self.overview.known[rows]

    def index(self, now: float) -> Floats:
        """Returns each board's priority (index), (n,): the total time that its unfetched posts are
        expected to have waited, in weighted event-hours. This is N_i(x) x / 2 for N_i(x) events
        expected in the x hours since the last visit. If sources show the board, reported posts
        count too, and the result is at least `Overview.doubts` times the index without sources.
        """
        if self.overview is None:
            return (
                self.expected_events(now)
                * (np.maximum(now - self.last_visit, 0.0) / HOUR_SECONDS)
                / 2.0
            )
        own = (
            self.forecast.expected_by_visits(now)
            * (np.maximum(now - self.fetched_until(), 0.0) / HOUR_SECONDS)
            / 2.0
        )
        return np.maximum(
            self.overview.known_hours(now) + self._unseen(now), self.overview.doubts() * own
        )

    def _unseen(self, now: float) -> Floats:
        """Returns for each board the expected waiting of its unseen posts, (n,): the weighted posts
        that the forecast expects since the board was last visited or shown by a source, times half
        the hours since then."""
        assert self.overview is not None  # noqa: S101 - only called for loops with sources
        waiting = np.maximum(self.forecast.expected(now, self._all) - self._taken, 0.0)
        return waiting * self.overview.hours_since_look(now) / 2.0

    def overdue(self, now: float) -> Bools:
        """Returns a mask, (n,), of the boards that must be visited now because their longest
        permitted wait ends before the next ranking (see `hours_left_to_wait`)."""
        left = self.hours_left_to_wait(now)
        return left <= self.options.tick_seconds / HOUR_SECONDS

    def hours_left_to_wait(self, now: float) -> Floats:
        """Returns the hours until each board must be visited whatever its index, (n,); 0 or less if
        overdue, inf without a limit. A board must be visited within its deadline after its posts
        were last fetched. With overview sources it must also be visited within `longest_wait_hours`
        of its last visit, or within four mean intervals between visits if that is longer."""
        left = self.deadline_hours - (now - self.fetched_until()) / HOUR_SECONDS
        if self.overview is not None:
            most = max(
                self.options.longest_wait_hours, 96.0 * self.count / self.budget.visits_per_day
            )
            left = np.minimum(left, most - (now - self.last_visit) / HOUR_SECONDS)
        return left

    # --- what to visit and read now
    # ------------------------------------------------------------------------------------

    def due(self, now: float, allowed: Bools | None = None) -> Ints:
        """Returns the numbers of the boards to visit now, as `choose` does, without reading a
        source."""
        return self.choose(now, allowed, None).boards

    def choose(self, now: float, allowed: Bools | None, readable: Bools | None) -> Choice:
        """Returns the boards to visit now and at most one overview source to read, and charges
        their cost to the budget. allowed, (n,), and readable, one entry per source, are false for
        what may not be requested now; with `allowed` None every board may be visited, with
        `readable` None no source is read."""
        self._pace.start_ranking(now)
        target, band = self._pace.target(now)
        index = self.index(now)
        open_now = ~self.visiting & (self.resting_until <= now)
        open_now = open_now if allowed is None else allowed & open_now
        readable = None if readable is None else readable & (self.sources_resting_until <= now)
        if (within := self.sites.open_boards(now)) is not None:
            open_now, readable = open_now & within, self._readable_within(readable, within)
        rank = np.where(self.overdue(now), np.inf, index)
        budget = self.budget
        # visits of the day that must be made by the end of this ranking: the later rankings can
        # make at most count * rankings_left, since each can visit every board at most once
        late = budget.visits_per_day - self.count * self._pace.rankings_left(now)
        steer, step = self._steer(), self.options.price_step / self._pace.units
        spend = Spending(
            budget, max(target - band, late), max(target + band, late), target, steer, step
        )
        visits_left = spend.visits_left()
        look = self._look(now, index, open_now, readable, visits_left)
        ranked = largest(np.where(open_now, rank, -1.0), visits_left)
        chosen: list[int] = []
        for board, value, place in zip(
            ranked.tolist(), index[ranked].tolist(), rank[ranked].tolist(), strict=True
        ):
            if look.comes_before(board, place) and budget.used + look.cost >= spend.least:
                # skipped: reading the overview page covers this board, and with its cost the day's
                # spending is not too low
                continue
            if not open_now[board] or not spend.accept(value, 1, forced=place == np.inf):
                break
            chosen.append(board)
            look.without(board)
        source = (
            look.source
            if look.source >= 0 and spend.accept(look.gain, look.cost, forced=look.probe)
            else -1
        )
        self.visiting[chosen] = True
        return Choice(np.array(chosen, dtype=np.int64), source)

    def _steer(self) -> float:
        reads_index = self.overview is not None and not self.overview.newest.all()
        return self.options.index_steer if reads_index else self.options.steer

    def _readable_within(self, readable: Bools | None, within: Bools) -> Bools | None:
        """Returns `readable` without the sources all of whose boards belong to sites that are
        closed now. readable: mask of sources (None: no source is to be read, returned as it is);
        within: (n,), true for boards of open sites.
        """
        if readable is None or self.overview is None:
            return readable
        coverage = self.overview.coverage
        boards = [
            coverage.board[coverage.of(self.overview.rows(number))]
            for number in range(len(self.overview))
        ]
        left: Bools = readable & np.array([bool(within[one].any()) for one in boards], dtype=bool)
        return left

    def _look(
        self, now: float, index: Floats, open_now: Bools, readable: Bools | None, visits_left: int
    ) -> SourceChoice:
        """Returns the source that is due for a test reading (probe), otherwise the one with the
        largest gain per visit charged. An empty `SourceChoice` if none is readable, none gains
        anything, or `visits_left` (number of visits left in this ranking) does not cover the cost.
        index: (n,), priorities of the boards' visits; open_now: (n,), true for boards that may be
        visited."""
        overview = self.overview
        if (
            overview is None
            or readable is None
            or not (readable & (overview.cost <= visits_left)).any()
        ):
            return SourceChoice()
        readable = readable & (overview.cost <= visits_left)
        gains, part = overview.gains(self._unseen(now), index, now, open_now, self.options.eta)
        probes = [number for number in overview.to_probe(now).tolist() if readable[number]]
        best = (
            probes[0] if probes else int(np.where(readable, gains / overview.cost, -1.0).argmax())
        )
        if not readable[best] or (not probes and gains[best] <= 0.0):
            return SourceChoice()
        pairs, cost = overview.coverage.of(overview.rows(best)), int(overview.cost[best])
        parts = dict(
            zip(overview.coverage.board[pairs].tolist(), (part[pairs] / cost).tolist(), strict=True)
        )
        return SourceChoice(
            best, np.inf if probes else float(gains[best]) / cost, cost, bool(probes), parts
        )

    def change_budget(self, visits_per_day: int, now: float) -> None:
        """Changes the number of visits per day from now on: the rest of today gets its share of the
        new number."""
        self._pace.change(visits_per_day, now)

    def outlook(self, now: float, until: float, step_seconds: float = 900.0) -> Outlook:
        """Forecasts the visits until `until`, as if each found the events expected, with a ranking
        every `step_seconds`."""
        return self.ahead(now, until, step_seconds)[0]

    def ahead(
        self, now: float, until: float, step_seconds: float = 900.0
    ) -> tuple[Outlook, Floats]:
        """Returns the forecast visits, as `outlook` does, and the expected times (epoch seconds) at
        which overview sources are read. Does not change this object."""
        ahead = copy.copy(self)
        ahead._pace = self._pace.ahead(step_seconds)
        ahead.budget = ahead._pace.budget
        ahead.last_visit, ahead._taken = self.last_visit.copy(), self._taken.copy()
        ahead.visiting = np.zeros(self.count, dtype=bool)
        ahead.overview = copy.deepcopy(self.overview)
        readable = None if ahead.overview is None else np.ones(len(ahead.overview), dtype=bool)
        moments = [
            now + step * step_seconds for step in range(1, int((until - now) / step_seconds) + 1)
        ]
        ahead.forecast = self.forecast.foreseen(np.array(moments))
        parts, readings = (
            [Outlook(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), np.zeros(0))],
            [],
        )
        for moment in moments:
            due, source = ahead.choose(moment, None, readable)
            if not len(due) and source < 0:
                continue
            waiting = ahead.expected_events(moment, due)
            delay = ahead.index(moment)[due]
            parts.append(Outlook(due, np.full(len(due), moment), waiting, delay))
            ahead._pretend(due, source, moment)
            if source >= 0:
                readings.append(moment)
        return Outlook(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True))), np.array(
            readings
        )

    def _pretend(self, due: Ints, source: int, moment: float) -> None:
        """Simulates one step at `moment` of an outlook: the visits of boards `due` and the reading
        of the overview page `source` (-1: none) are assumed to find as many posts as forecast."""
        forecast = np.maximum(self.forecast.expected(moment, self._all) - self._taken, 0.0)
        if self.overview is not None and source >= 0:
            seen = self.overview.trusted_boards(source)
            self.overview.simulate_reading(source, seen, forecast[seen], moment)
            self._taken[seen] += forecast[seen]
            forecast[seen] = 0.0
        self._taken[due] += forecast[due]
        self.last_visit[due] = moment
        self.visiting[due] = False
        if self.overview is not None:
            self.overview.clear(due, moment)

    def explain(self, board: int, now: float) -> Reason:
        """Returns the figures that determine the board's present rank, for display."""
        return Reason(
            waiting=float(self.expected_events(now, np.array([board]))[0]),
            hours_since_visit=(now - float(self.last_visit[board])) / HOUR_SECONDS,
            usual_per_hour=self.forecast.usual_per_hour(now, board),
            rank=float(self.index(now)[board]),
            price=float(self.budget.price),
            known=float(self.overview.known[board]) if self.overview is not None else 0.0,
        )
