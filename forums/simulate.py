"""The forum paper's second experiment: what each schedule costs on an event log, history before, test after (fig. 6, table 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from forums.adaptive import AdaptiveLoop, LoopOptions, Seen
from forums.clairvoyant import bound
from forums.delay import Delays, DelaySummary, daily_totals, event_delays, summarise
from forums.events import DAY_SECONDS, Bools, Events, Floats, Ints, LocalClock, Sites
from forums.pacing import Budget
from forums.profile import BoardEvents, ProfileOptions, Settling, estimate, settling
from forums.schedule import Demand, assert_budget, bra, bra_literal, bra_method1, era, lra, with_midnight, wra
from forums.schedule_optimal import OptimalPlanner
from forums.timetable import Timetable

POLICIES = ("era", "wra", "lra", "bra", "bra_literal", "bra_method1", "optimal", "adaptive", "clairvoyant")
READINGS = ("cyclic", "midnight")
KNOWN_DAYS = 160
LONGEST_WAIT_DAYS = 5

PAPER_PROFILE = ProfileOptions(kappa_factor=0.0)  # eq. (5) and (7) as they stand
OPTIMAL_PROFILE = ProfileOptions(prior_days=1.0, prior_per_day=1.0)  # a silent board is not a dead one; tuned on other windows
LOOP_PROFILE = ProfileOptions()


class SetupError(ValueError):
    """An experiment that its log cannot feed, told in one sentence."""


@dataclass(frozen=True, slots=True)
class Setup:
    """One experiment: the test's first local day, lengths in days, weights, and which boards take part.

    min_events: weighted events a board must have in the history; 0 keeps every board with any event in the 160 days
    before the test. importance: W_i by board name, 1 where absent. bins: parts of a day for profiles.
    """

    start: date
    history_days: int = 20
    test_days: int = 10
    theta: float = 0.5
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    reading: str = "cyclic"
    min_events: float = 0.0
    bins: int = 24
    importance: dict[str, float] = field(default_factory=dict)
    target_hours: float = 1.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """One policy at one budget. `daily` is the weighted event-hours by day of arrival, None for the bound."""

    policy: str
    visits_per_board: int
    visits_per_day: int
    visits_used_per_day: float
    delay: DelaySummary
    daily: Floats | None

    def columns(self) -> dict[str, Any]:
        """The figures of one row of a table, by the names that documents and stored results give them."""
        delay = self.delay
        return {
            "policy": self.policy,
            "visits_per_board": self.visits_per_board,
            "visits_per_day": self.visits_per_day,
            "visits_used_per_day": self.visits_used_per_day,
            "total_delay_per_day": delay.total_per_day,
            "mean_delay_hours": delay.mean_hours,
            "median_delay_hours": delay.median_hours,
            "p90_delay_hours": delay.p90_hours,
            "share_within_target": delay.share_within_target,
            "not_found": delay.not_found,
        }


class Simulation:
    """The boards, history and test of one experiment; each policy runs on the same events."""

    def __init__(self, events: Events, setup: Setup, pulse: Callable[[], None] = lambda: None) -> None:
        """`pulse` is called many times a second of work and may raise. Raises SetupError when no board of the log takes part."""
        self.setup = setup
        self.pulse = pulse
        self.start = _midnight(setup.start, setup.zone)
        self.stop = _midnight(setup.start + timedelta(days=setup.test_days), setup.zone)
        self.since = _midnight(setup.start - timedelta(days=setup.history_days), setup.zone)
        self.events = events.only(self._kept(events))
        self.boards = len(self.events.boards)
        if not self.boards:
            raise SetupError(f"no board has enough events before {setup.start.isoformat()}")
        self.clock = LocalClock(setup.zone, self.since - DAY_SECONDS, self.stop + (LONGEST_WAIT_DAYS + 1) * DAY_SECONDS)
        self.importance = np.array([setup.importance.get(name, 1.0) for name in self.events.boards])
        self.weights = self.events.weights(setup.theta) * self.importance[self.events.board]
        rows = slice(*np.searchsorted(self.events.times, [self.start, self.stop], side="left").tolist())
        self.test_board, self.test_times = self.events.board[rows], self.events.times[rows]
        self.test_weights = self.weights[rows]
        self._planner: OptimalPlanner | None = None

    def _kept(self, events: Events) -> Bools:
        setup, count = self.setup, len(events.boards)
        if setup.min_events > 0:
            history = events.between(self.since, self.start)
            return np.bincount(history.board, history.weights(setup.theta), count) >= setup.min_events
        known = events.between(min(self.since, self.start - KNOWN_DAYS * DAY_SECONDS), self.start)
        return np.bincount(known.board, minlength=count) > 0

    def demand(self, options: ProfileOptions, known_until: Floats | None = None, now: float | None = None) -> Demand:
        """Rates from the history before `now` (default: the test's start); `known_until`: what visits have seen, by board."""
        moment = self.start if now is None else now
        limit = np.full(self.boards, self.start) if known_until is None else known_until
        rows = (self.events.times >= moment - (options.window_days + 1.0) * DAY_SECONDS) & (
            self.events.times < limit[self.events.board]
        )
        known = BoardEvents(
            self.events.board[rows], self.clock.local_hours(self.events.times[rows]), self.events.opener[rows]
        )
        end = float(self.clock.local_hours(np.array([moment]))[0])
        return Demand(estimate(known, self.boards, end, options, self.setup.theta, self.importance).rates)

    def profile(self, options: ProfileOptions) -> ProfileOptions:
        """These options over the experiment's history and granularity."""
        from_setup = {"window_days": float(self.setup.history_days), "bins": self.setup.bins}
        values = {name: getattr(options, name) for name in options.__slots__} | from_setup
        return ProfileOptions(**values)

    def settling(self, days: Sequence[float]) -> list[Settling]:
        """How the estimates of the history before the test settle as it grows; only lengths within the history count."""
        rows = (self.events.times >= self.since - DAY_SECONDS) & (self.events.times < self.start)
        hours = self.clock.local_hours(self.events.times[rows])
        known = BoardEvents(self.events.board[rows], hours, self.events.opener[rows])
        end = float(self.clock.local_hours(np.array([self.start]))[0])
        return settling(known, self.boards, end, self.profile(PAPER_PROFILE), days, self.setup.theta)

    def planner(self) -> OptimalPlanner:
        """The optimal planner of this history, solved once for all budgets."""
        if self._planner is None:
            self._planner = OptimalPlanner(self.demand(self.profile(OPTIMAL_PROFILE)), pulse=self.pulse)
        return self._planner

    def run(self, policy: str, visits_per_board: int) -> Outcome:
        """One policy with boards * visits_per_board visits a day."""
        return self.run_budget(policy, self.boards * visits_per_board, visits_per_board)

    def run_budget(self, policy: str, budget: int, visits_per_board: int) -> Outcome:
        """One policy with `budget` visits a day in all; `visits_per_board` only names the outcome."""
        if policy == "clairvoyant":
            return self._bound(visits_per_board, budget)
        if policy == "adaptive":
            board, moments = self.run_loop(budget)
        else:
            board, moments = self._expanded(self.timetable(policy, budget))
        horizon = max(self.stop, float(moments.max()) if len(moments) else self.stop)
        delays = event_delays(self.test_board, self.test_times, board, moments, horizon)
        used = float(((moments >= self.start) & (moments < self.stop)).sum()) / self.setup.test_days
        return self._outcome(policy, visits_per_board, budget, used, delays)

    def timetable(self, policy: str, visits_per_day: int) -> Timetable:
        """The daily plan of a policy that has one."""
        if policy == "optimal":
            return self.planner().plan(visits_per_day)
        demand = self.demand(self.profile(PAPER_PROFILE))
        if policy == "bra" and self.setup.reading == "midnight":
            return with_midnight(bra(demand, visits_per_day, blocks_more=1))
        rules: dict[str, Callable[[Demand, int], Timetable]] = {
            "era": era, "wra": wra, "lra": lra, "bra": bra, "bra_literal": bra_literal, "bra_method1": bra_method1,
        }  # fmt: skip
        table = rules[policy](demand, visits_per_day)
        if policy != "bra_literal":
            assert_budget(table, visits_per_day)
        return table

    def _expanded(self, table: Timetable) -> tuple[Ints, Floats]:
        """Visits of the test and of the cycle after it, which finds what the last day left."""
        return table.moments(self.setup.start, self.setup.test_days + table.days + 1, self.setup.zone)

    def _outcome(self, policy: str, per_board: int, budget: int, used: float, delays: Delays) -> Outcome:
        days = self.setup.test_days
        summary = summarise(delays, self.test_weights, days, self.setup.target_hours)
        daily = daily_totals(delays, self.test_times, self.test_weights, self.start, days)
        return Outcome(policy, per_board, budget, used, summary, daily)

    def _bound(self, per_board: int, budget: int) -> Outcome:
        days = self.setup.test_days
        best = bound(self.test_board, self.test_times, self.test_weights, budget * days)
        weight = float(self.test_weights.sum())
        summary = DelaySummary(
            len(self.test_times), best.bound / days, best.bound / weight if weight > 0 else None, None, None, None, 0
        )
        return Outcome("clairvoyant", per_board, budget, best.visits / days, summary, None)

    def run_loop(self, visits_per_day: int, options: LoopOptions | None = None) -> tuple[Ints, Floats]:
        """The closed loop over the test and on until every board was visited after it; exactly the budget on every day."""
        options = options or LoopOptions()
        log = BoardLog(self.events, self.weights, self.start)
        sites = Sites(np.zeros(self.boards, dtype=np.int64), [self.clock])
        budget, last = Budget(visits_per_day), np.full(self.boards, self.start)
        loop = self._loop(self.start, last, sites, budget, options)
        boards, moments = [], []
        end = self.stop + LONGEST_WAIT_DAYS * DAY_SECONDS
        steps = int((end - self.start) / options.tick_seconds)
        tomorrow = self.setup.start + timedelta(days=1)
        for step in range(steps):
            self.pulse()
            now = self.start + step * options.tick_seconds
            if now >= self.stop and (loop.last_visit >= self.stop).all():
                break
            if now >= _midnight(tomorrow, self.setup.zone):
                loop = self._loop(now, loop.last_visit, sites, budget, options)
                tomorrow += timedelta(days=1)
            due = loop.due(now)
            if len(due):
                loop.observe(due, *log.take(due, now), now)
                boards.append(due)
                moments.append(np.full(len(due), now))
        board, moment = np.concatenate(boards), np.concatenate(moments)
        self._assert_exact(moment, visits_per_day)
        return board, moment

    def _loop(self, now: float, last: Floats, sites: Sites, budget: Budget, options: LoopOptions) -> AdaptiveLoop:
        """The loop for a new day, knowing only what visits have seen."""
        since = now - self.setup.history_days * DAY_SECONDS
        events = self.events
        rows = (events.times >= since) & (events.times <= last[events.board])
        seen = Seen(events.board[rows], events.times[rows], self.weights[rows])
        rates = self.demand(self.profile(LOOP_PROFILE), last, now).rates
        return AdaptiveLoop(rates, sites, seen, last, since, budget, options)

    def _assert_exact(self, moments: Floats, visits_per_day: int) -> None:
        inside = moments[(moments >= self.start) & (moments < self.stop)]
        day = np.floor(self.clock.local_hours(inside) / 24.0).astype(np.int64)
        counts = np.bincount(day - int(day.min()), minlength=self.setup.test_days)
        if (counts != visits_per_day).any():
            raise AssertionError(f"the loop made {counts.tolist()} visits a day instead of {visits_per_day}")


class BoardLog:
    """Hands out each board's events once, up to the moment of a visit: what an incremental visit finds."""

    def __init__(self, events: Events, weights: Floats, start: float) -> None:
        order = np.lexsort((events.times, events.board))
        self._board, self._times, self._weights = events.board[order], events.times[order], weights[order]
        bounds = np.searchsorted(self._board, np.arange(len(events.boards) + 1))
        self._origin = float(events.times.min()) if len(events) else start
        self._span = float(events.times.max()) - self._origin + 1.0 if len(events) else 1.0
        self._keys = self._board * self._span + (self._times - self._origin)
        self._stop = bounds[1:]
        self._next = self._place(np.arange(len(events.boards)), start)

    def _place(self, boards: Ints, moment: float) -> Ints:
        """Index behind the last event of each board at or before a moment."""
        offset = np.clip(moment - self._origin, -0.5, self._span - 0.5)
        return np.minimum(np.searchsorted(self._keys, boards * self._span + offset, side="right"), self._stop[boards])

    def take(self, boards: Ints, now: float) -> tuple[Ints, Floats, Floats]:
        """Board, time and weight of all events that these boards gained since they were last taken."""
        first, last = self._next[boards], self._place(boards, now)
        self._next[boards] = last
        counts = last - first
        rows = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        return self._board[rows], self._times[rows], self._weights[rows]


def _midnight(day: date, zone: ZoneInfo) -> float:
    return datetime.combine(day, time(), zone).timestamp()


def latest_start(events: Events, setup_days: int, zone: ZoneInfo) -> date:
    """The first day of the last whole test window of a log."""
    last = datetime.fromtimestamp(float(events.times[-1]), zone).date()
    return last - timedelta(days=setup_days)


def run_all(
    simulation: Simulation, policies: Sequence[str], visits_per_board: Sequence[int]
) -> Iterator[tuple[Outcome, float | None]]:
    """Every policy at every budget with its ratio to era, budgets outside, in the order asked; None where era's delay is 0."""
    for number in visits_per_board:
        base = simulation.run("era", number)
        for policy in policies:
            outcome = base if policy == "era" else simulation.run(policy, number)
            total = base.delay.total_per_day
            yield outcome, outcome.delay.total_per_day / total if total > 0 else None


def bootstrap_ratio(
    first: Floats, second: Floats, rng: np.random.Generator, draws: int = 2000
) -> tuple[float, float, float]:
    """sum(first) / sum(second) and its 95 % interval by resampling paired days with replacement.

    first, second: (days,), delay of two policies on the same days.
    """
    rows = rng.integers(0, len(first), size=(draws, len(first)))
    ratios = first[rows].sum(axis=1) / second[rows].sum(axis=1)
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(first.sum() / second.sum()), float(low), float(high)

