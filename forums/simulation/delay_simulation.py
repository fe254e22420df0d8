"""The forum paper's second experiment (fig. 6, table 2): the delay of each schedule on an event
log, planned from the history before a test period and measured in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from forums.schedule.adaptive import AdaptiveLoop, LoopOptions, LoopSources, Seen, Source
from forums.schedule.bounds import USUAL_THETA
from forums.schedule.delay_report import (
    Delays,
    DelaySummary,
    daily_totals,
    event_delays,
    summarise,
)
from forums.schedule.equations import event_weights, weighted
from forums.schedule.events import DAY_SECONDS, Bools, Events, Floats, Ints, LocalClock, Sites
from forums.schedule.loop_values import Figures
from forums.schedule.optimal import OptimalPlanner, bound
from forums.schedule.pacing import Budget
from forums.schedule.paper import Demand, assert_budget, bra, with_midnight
from forums.schedule.policies import POLICIES, rule_of
from forums.schedule.rhythm import (
    OPTIMAL_PROFILE,
    PAPER_PROFILE,
    BoardEvents,
    ProfileOptions,
    Settling,
    estimate,
    settling,
)
from forums.schedule.timetable import Timetable


class BoardLog:
    """The events of a log that simulated visits have not found yet: each is returned once, by the
    first `take` of its board after the event, as an incremental visit would find it."""

    def __init__(self, events: Events, weights: Floats, start: float) -> None:
        order = np.lexsort((events.times, events.board))
        self._board, self._times, self._weights = (
            events.board[order],
            events.times[order],
            weights[order],
        )
        bounds = np.searchsorted(self._board, np.arange(len(events.boards) + 1))
        self._origin = float(events.times.min()) if len(events) else start
        self._span = float(events.times.max()) - self._origin + 1.0 if len(events) else 1.0
        self._keys = self._board * self._span + (self._times - self._origin)
        self._first, self._stop = bounds[:-1], bounds[1:]
        self._openers = np.concatenate([[0], np.cumsum(events.opener[order])])
        self._next = self._place(np.arange(len(events.boards)), start)

    def _place(self, boards: Ints, moment: float) -> Ints:
        """Returns for each board the position after its last event at or before `moment` (epoch
        seconds)."""
        offset = np.clip(moment - self._origin, -0.5, self._span - 0.5)
        places: Ints = np.minimum(
            np.searchsorted(self._keys, boards * self._span + offset, side="right"),
            self._stop[boards],
        )
        return places

    def take(self, boards: Ints, now: float) -> tuple[Ints, Floats, Floats]:
        """Returns the events of these boards up to `now` that were not returned before, as parallel
        arrays: board number, epoch seconds, weight."""
        first, last = self._next[boards], self._place(boards, now)
        self._next[boards] = last
        counts = last - first
        rows = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        return self._board[rows], self._times[rows], self._weights[rows]

    def figures(self, boards: Ints, now: float) -> Figures:
        """Returns what an index page would show of these boards at `now`: number of threads and of
        posts, time of the last post (nan if none)."""
        last = self._place(boards, now)
        threads = self._openers[last] - self._openers[self._first[boards]]
        before = np.maximum(last - 1, 0)
        shown = last > self._first[boards]
        times = (
            np.where(shown, self._times[before], np.nan)
            if len(self._times)
            else np.full(len(boards), np.nan)
        )
        return Figures(threads.astype(float), (last - self._first[boards]).astype(float), times)


READINGS = ("cyclic", "midnight")


KNOWN_DAYS = 160


LONGEST_WAIT_DAYS = 5


NEWEST_ROWS = (
    40  # number of threads that a newest list (all boards' threads, latest reply first) shows
)


Shows = Callable[[BoardLog, Ints, float], Figures]


LOOP_PROFILE = ProfileOptions()


class SetupError(ValueError):
    """An experiment is impossible, because the log lacks its data or no policy can make so many
    visits; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Setup:
    """One experiment: the test's first local day, lengths in days, weights, and which boards take
    part.

    reading: which meaning of eq. (8) of the forum paper the policy bra uses, "cyclic" (visits
    around the clock) or "midnight" (an additional visit at the end of each day).

    min_events: weighted events that a board must have in the history; 0 keeps every board with any
    event in the 160 days before the test. importance: W_i by board name, 1 if absent. bins: parts
    of a day for profiles. glance_cost: number of visits charged to the budget for each reading of
    the index page (policy `glances`) or newest list (`newest`).
    """

    start: date
    history_days: int = 20
    test_days: int = 10
    theta: float = USUAL_THETA
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    reading: str = "cyclic"
    min_events: float = 0.0
    bins: int = 24
    importance: dict[str, float] = field(default_factory=dict)
    target_hours: float = 1.0
    glance_cost: int = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one policy at one budget. `daily`: delay in weighted event-hours by the day on
    which posts were made, (days,); None for the policy clairvoyant, which only gives a lower bound
    of the delay."""

    policy: str
    visits_per_board: int
    visits_per_day: int
    visits_used_per_day: float
    delay: DelaySummary
    daily: Floats | None

    def as_json(self) -> dict[str, Any]:
        """Returns the figures of one table row, by the column names used in documents and stored
        results."""
        delay = self.delay
        return {
            "policy": self.policy,
            "observes": POLICIES[self.policy].observes or "visits",
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
    """The boards, history and test period of one experiment; each policy runs on the same
    events."""

    def __init__(
        self, events: Events, setup: Setup, pulse: Callable[[], None] = lambda: None
    ) -> None:
        """Prepares the experiment; `pulse` is called many times per second during long work and may
        raise. Raises SetupError if no board of the log takes part."""
        self.setup = setup
        self.pulse = pulse
        self.start = _midnight(setup.start, setup.zone)
        self.stop = _midnight(setup.start + timedelta(days=setup.test_days), setup.zone)
        self.since = _midnight(setup.start - timedelta(days=setup.history_days), setup.zone)
        self.events = events.only(self._kept(events))
        self.boards = len(self.events.boards)
        if not self.boards:
            raise SetupError(f"no board has enough events before {setup.start.isoformat()}")
        self.clock = LocalClock(
            setup.zone, self.since - DAY_SECONDS, self.stop + (LONGEST_WAIT_DAYS + 1) * DAY_SECONDS
        )
        self.importance = np.array([setup.importance.get(name, 1.0) for name in self.events.boards])
        self.weights = event_weights(
            self.events.opener, setup.theta, self.importance[self.events.board]
        )
        rows = slice(
            *np.searchsorted(self.events.times, [self.start, self.stop], side="left").tolist()
        )
        self.test_board, self.test_times = self.events.board[rows], self.events.times[rows]
        self.test_weights = self.weights[rows]
        self._planner: OptimalPlanner | None = None

    def _kept(self, events: Events) -> Bools:
        setup, count = self.setup, len(events.boards)
        if setup.min_events > 0:
            history = events.between(self.since, self.start)
            return (
                np.bincount(history.board, history.weights(setup.theta), count) >= setup.min_events
            )
        known = events.between(min(self.since, self.start - KNOWN_DAYS * DAY_SECONDS), self.start)
        return np.bincount(known.board, minlength=count) > 0

    def demand(
        self, options: ProfileOptions, known_until: Floats | None = None, now: float | None = None
    ) -> Demand:
        """Returns rates estimated from the history before `now` (epoch seconds, default: the test's
        start). known_until: (n,), epoch seconds up to which visits have seen each board; later
        events are left out (default: the test's start).
        """
        moment = self.start if now is None else now
        limit = np.full(self.boards, self.start) if known_until is None else known_until
        rows = (self.events.times >= moment - (options.window_days + 1.0) * DAY_SECONDS) & (
            self.events.times < limit[self.events.board]
        )
        known = BoardEvents(
            self.events.board[rows],
            self.clock.local_hours(self.events.times[rows]),
            self.events.opener[rows],
        )
        end = float(self.clock.local_hours(np.array([moment]))[0])
        return Demand(
            estimate(known, self.boards, end, options, self.setup.theta, self.importance).rates
        )

    def profile(self, options: ProfileOptions) -> ProfileOptions:
        """Returns `options` with the experiment's history length and number of bins."""
        from_setup = {"window_days": float(self.setup.history_days), "bins": self.setup.bins}
        values = {name: getattr(options, name) for name in options.__slots__} | from_setup
        return ProfileOptions(**values)

    def settling(self, days: Sequence[float]) -> list[Settling]:
        """Returns how far the estimates from shorter histories differ from those of the longest.
        `days`: lengths of history to try; those beyond the experiment's are left out."""
        rows = (self.events.times >= self.since - DAY_SECONDS) & (self.events.times < self.start)
        hours = self.clock.local_hours(self.events.times[rows])
        known = BoardEvents(self.events.board[rows], hours, self.events.opener[rows])
        end = float(self.clock.local_hours(np.array([self.start]))[0])
        return settling(
            known, self.boards, end, self.profile(PAPER_PROFILE), days, self.setup.theta
        )

    def planner(self) -> OptimalPlanner:
        """Returns the planner of optimal timetables for this history; it is made on the first call
        and used for all budgets."""
        if self._planner is None:
            self._planner = OptimalPlanner(
                self.demand(self.profile(OPTIMAL_PROFILE)), pulse=self.pulse
            )
        return self._planner

    def run(self, policy: str, visits_per_board: int) -> Outcome:
        """Runs one policy with boards * visits_per_board visits per day."""
        return self.run_budget(policy, self.boards * visits_per_board, visits_per_board)

    def run_budget(self, policy: str, budget: int, visits_per_board: int) -> Outcome:
        """Runs one policy with `budget` visits per day in all; `visits_per_board` is only stored in
        the outcome."""
        if policy == "clairvoyant":
            return self._bound(visits_per_board, budget)
        if POLICIES[policy].loop:
            followed = self.follow(policy, budget)
            board, moments, spent, spent_at = (
                followed.board,
                followed.moments,
                followed.spent,
                followed.spent_at,
            )
        else:
            board, moments = self._expanded(self.timetable(policy, budget))
            spent, spent_at = np.ones(len(moments), dtype=np.int64), moments
        horizon = max(self.stop, float(moments.max()) if len(moments) else self.stop)
        delays = event_delays(self.test_board, self.test_times, board, moments, horizon)
        used = (
            float(spent[(spent_at >= self.start) & (spent_at < self.stop)].sum())
            / self.setup.test_days
        )
        return self._outcome(policy, visits_per_board, budget, used, delays)

    def timetable(self, policy: str, visits_per_day: int) -> Timetable:
        """Returns the daily timetable of a policy with `visits_per_day` visits: era, wra, lra, bra
        (see docs/glossary.md), bra_literal (bra as printed in the paper), bra_method1 (hours by eq.
        (9)) or optimal. KeyError for another policy.
        """
        if policy == "optimal":
            return self.planner().plan(visits_per_day)
        demand = self.demand(self.profile(PAPER_PROFILE))
        if policy == "bra" and self.setup.reading == "midnight":
            return with_midnight(bra(demand, visits_per_day, blocks_more=1))
        table = rule_of(policy)(demand, visits_per_day)
        if policy != "bra_literal":
            assert_budget(table, visits_per_day)
        return table

    def _expanded(self, table: Timetable) -> tuple[Ints, Floats]:
        """Returns board and epoch seconds of the visits during the test and during the timetable
        cycle after it, which finds the events of the last day that are still unfetched."""
        return table.moments(
            self.setup.start, self.setup.test_days + table.days + 1, self.setup.zone
        )

    def _outcome(
        self, policy: str, per_board: int, budget: int, used: float, delays: Delays
    ) -> Outcome:
        days = self.setup.test_days
        summary = summarise(delays, self.test_weights, days, self.setup.target_hours)
        daily = daily_totals(delays, self.test_times, self.test_weights, self.start, days)
        return Outcome(policy, per_board, budget, used, summary, daily)

    def _bound(self, per_board: int, budget: int) -> Outcome:
        days = self.setup.test_days
        best = bound(self.test_board, self.test_times, self.test_weights, budget * days)
        weight = float(self.test_weights.sum())
        summary = DelaySummary(
            len(self.test_times),
            best.bound / days,
            best.bound / weight if weight > 0 else None,
            None,
            None,
            None,
            0,
        )
        return Outcome("clairvoyant", per_board, budget, best.visits / days, summary, None)

    def run_loop(
        self, visits_per_day: int, options: LoopOptions | None = None
    ) -> tuple[Ints, Floats]:
        """Returns board and epoch seconds of every visit of the policy `adaptive` (see
        `follow`)."""
        followed = self.follow("adaptive", visits_per_day, options)
        return followed.board, followed.moments

    def follow(
        self,
        policy: str,
        visits_per_day: int,
        options: LoopOptions | None = None,
        shows: Shows = BoardLog.figures,
    ) -> Followed:
        """Simulates an adaptive policy through the test period and on until every board has been
        visited after its end; every day uses exactly the budget. `shows`: function that returns,
        for boards of the log and a time, the figures that an index page then shows of them (a test
        may pass wrong ones).
        """
        options = options or LoopOptions()
        log = BoardLog(self.events, self.weights, self.start)
        sites = Sites(np.zeros(self.boards, dtype=np.int64), [self.clock])
        every = np.arange(self.boards)
        overview_sources = self._overview_sources(policy, every)
        loop = self._loop(
            np.full(self.boards, self.start),
            self.start,
            sites,
            Budget(visits_per_day),
            options,
            overview_sources,
        )
        if loop.overview is not None and policy != "newest":
            loop.overview.calibrate(0, shows(log, every, self.start), self.start)
        trace = _Trace()
        end = self.stop + LONGEST_WAIT_DAYS * DAY_SECONDS
        tomorrow = self.setup.start + timedelta(days=1)
        for step in range(int((end - self.start) / options.tick_seconds)):
            self.pulse()
            now = self.start + step * options.tick_seconds
            if now >= self.stop and (loop.fetched_until() >= self.stop).all():
                break
            if now >= _midnight(tomorrow, self.setup.zone):
                before, loop = (
                    loop,
                    self._loop(
                        loop.fetched_until(), now, sites, loop.budget, options, overview_sources
                    ),
                )
                loop.take_over(before)
                tomorrow += timedelta(days=1)
            self._tick(loop, log, now, trace, shows)
        followed = trace.followed()
        self._assert_exact(followed, visits_per_day)
        return followed

    def _overview_sources(self, policy: str, every: Ints) -> LoopSources | None:
        """Returns the overview source that a policy reads, with a row for each of the boards
        `every`; None if it reads none."""
        if not POLICIES[policy].observes:
            return None
        source = Source(every, newest=policy == "newest", cost=self.setup.glance_cost)
        return LoopSources(
            [source],
            self.importance,
            weighted(0.0 * self.importance, self.importance, self.setup.theta),
        )

    def named(self, now: float) -> Ints:
        """Returns the boards, each once, of the NEWEST_ROWS threads with the newest posts at this
        time (epoch seconds; of all threads if there are fewer), which a list of the site's newest
        threads shows."""
        stop = int(np.searchsorted(self.events.times, now, side="right"))
        size = NEWEST_ROWS
        while True:
            size = min(8 * size, stop)
            rows = np.arange(stop - 1, stop - size - 1, -1)
            first = np.sort(np.unique(self.events.thread[rows], return_index=True)[1])[:NEWEST_ROWS]
            if len(first) == NEWEST_ROWS or size == stop:
                return np.unique(self.events.board[rows[first]])

    def _tick(
        self, loop: AdaptiveLoop, log: BoardLog, now: float, trace: _Trace, shows: Shows
    ) -> None:
        """Simulates one ranking of the boards by the policy `loop` at the time `now`. Visits the
        boards that it chooses and reads the overview source, if it chooses one: a newest list
        causes the threads that it names to be fetched, the figures of an index page (`shows`) a
        second ranking. The actions are added to `trace`."""
        readable = np.ones(1, dtype=bool) if loop.overview is not None else None
        due, source = loop.choose(now, None, readable)
        if len(due):
            loop.observe(due, *log.take(due, now), now)
            trace.fetched(due, now, len(due))
        if source < 0 or loop.overview is None:
            return
        cost = int(loop.overview.cost[source])
        if loop.overview.newest[source]:
            loop.overview.trust_shown(source, self.named(now), now)
            boards = loop.overview.trusted_boards(source)
            loop.record_threads_fetched(source, *log.take(boards, now), now)
            trace.fetched(boards, now, cost)
        else:
            loop.record_figures(
                source, shows(log, loop.overview.board[loop.overview.rows(source)], now), now
            )
            trace.fetched(np.zeros(0, dtype=np.int64), now, cost)
            due = loop.due(now)
            if len(due):
                loop.observe(due, *log.take(due, now), now)
                trace.fetched(due, now, len(due))

    def _loop(
        self,
        known_until: Floats,
        now: float,
        sites: Sites,
        budget: Budget,
        options: LoopOptions,
        overview_sources: LoopSources | None,
    ) -> AdaptiveLoop:
        """Creates the adaptive policy for a new day from the events found by visits, which are
        those up to `known_until` (n,). `overview_sources`: None for none."""
        since = now - self.setup.history_days * DAY_SECONDS
        events = self.events
        rows = (events.times >= since) & (events.times <= known_until[events.board])
        seen = Seen(events.board[rows], events.times[rows], self.weights[rows])
        rates = self.demand(self.profile(LOOP_PROFILE), known_until, now).rates
        return AdaptiveLoop(
            rates, sites, seen, known_until, since, budget, options, overview_sources
        )

    def _assert_exact(self, followed: Followed, visits_per_day: int) -> None:
        inside = (followed.spent_at >= self.start) & (followed.spent_at < self.stop)
        day = np.floor(self.clock.local_hours(followed.spent_at[inside]) / 24.0).astype(np.int64)
        counts = np.bincount(
            day - int(day.min()), followed.spent[inside], minlength=self.setup.test_days
        )
        if counts.max() < visits_per_day:
            most = int(counts.min()) // self.boards
            raise SetupError(f"a loop can make at most {most} visits a board and day")
        if (counts != visits_per_day).any():
            raise AssertionError(
                f"the loop used {counts.tolist()} visits a day instead of {visits_per_day}"
            )


@dataclass(frozen=True, slots=True)
class Followed:
    """The actions of a simulated adaptive policy. board, moments: number and time (epoch seconds)
    of each board fetched. spent, spent_at: cost (in visits) and time (epoch seconds) of each
    ranking's visits or reading of an overview source.
    """

    board: Ints
    moments: Floats
    spent: Ints
    spent_at: Floats


class _Trace:
    """Records the actions of a simulated adaptive policy."""

    def __init__(self) -> None:
        self.boards: list[Ints] = []
        self.moments: list[Floats] = []
        self.spent: list[tuple[int, float]] = []

    def fetched(self, boards: Ints, now: float, cost: int) -> None:
        """Records that these boards were fetched now; `cost` (in visits) is charged once for all of
        them."""
        self.boards.append(boards)
        self.moments.append(np.full(len(boards), now))
        self.spent.append((cost, now))

    def followed(self) -> Followed:
        """Returns the recorded visits of boards, and the charges to the visit budget, as arrays in
        the order of recording."""
        spent = np.array([cost for cost, _at in self.spent], dtype=np.int64)
        return Followed(
            np.concatenate(self.boards),
            np.concatenate(self.moments),
            spent,
            np.array([at for _c, at in self.spent]),
        )


def _midnight(day: date, zone: ZoneInfo) -> float:
    return datetime.combine(day, time(), zone).timestamp()


def latest_start(events: Events, setup_days: int, zone: ZoneInfo) -> date:
    """Returns the first day of the last test period of `setup_days` days that the log covers
    completely, that is, which ends with the day before its last event."""
    last = datetime.fromtimestamp(float(events.times[-1]), zone).date()
    return last - timedelta(days=setup_days)


def run_all(
    simulation: Simulation, policies: Sequence[str], visits_per_board: Sequence[int]
) -> Iterator[tuple[Outcome, float | None]]:
    """Yields the outcome of every policy for the first number of visits, then for the next, and so
    on; with each, the ratio of its delay to that of the policy `era` (None if that is 0)."""
    for number in visits_per_board:
        base = simulation.run("era", number)
        for policy in policies:
            outcome = base if policy == "era" else simulation.run(policy, number)
            total = base.delay.total_per_day
            yield outcome, outcome.delay.total_per_day / total if total > 0 else None


def bootstrap_ratio(
    first: Floats, second: Floats, rng: np.random.Generator, draws: int = 2000
) -> tuple[float, float, float]:
    """Returns sum(first) / sum(second) and the two ends of its 95 % interval, by resampling paired
    days with replacement. first, second: (days,), delay of two policies on the same days."""
    rows = rng.integers(0, len(first), size=(draws, len(first)))
    ratios = first[rows].sum(axis=1) / second[rows].sum(axis=1)
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(first.sum() / second.sum()), float(low), float(high)
