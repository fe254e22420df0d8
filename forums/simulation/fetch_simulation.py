"""The forum paper's first experiment (fig. 5): how many changed threads each policy finds in cycles
of a few hours, by reading list pages (bic, board-based incremental crawling) or by predicting
changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np

from forums.schedule.delay_report import event_delays
from forums.schedule.equations import HOUR_SECONDS
from forums.schedule.events import DAY_SECONDS, Events, Floats, Ints, LocalClock
from forums.schedule.reply_hazard import (
    AREA_POWER,
    Facts,
    HazardModel,
    ThreadHistory,
    board_gaps,
    facts,
    overdue,
    rate_times_elapsed,
    site_activity,
    train,
)
from forums.simulation.simulated_lists import ListStyle, SimulatedForum
from forums.visits.incremental import BoardFacts, Row, Visit, signature, watermark

POLICIES = ("bic", "eic", "rate", "hazard", "oracle")
MAX_LIST_PAGES = 50
SLACK_SECONDS = 120.0
REDELIVERY_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class FetchSetup:
    """The settings of one experiment: `days` from `start` (epoch seconds) in cycles of
    `cycle_hours`.

    fetches: threads per cycle that each policy except bic fetches. If it is None, eic fetches all
    that are due, and the others fetch as many as changed in a mean cycle of the history.
    interrupted_share: share of bic's visits that are interrupted and continued ten minutes later.
    history_days: length of the history before `start` that predictions are fitted on.
    """

    start: float
    days: int = 31
    cycle_hours: float = 6.0
    fetches: int | None = None
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    style: ListStyle = field(default_factory=ListStyle)
    interrupted_share: float = 0.05
    history_days: float = 90.0
    seed: int = 1

    @property
    def stop(self) -> float:
        return self.start + self.days * DAY_SECONDS

    def cycles(self) -> Iterator[float]:
        """Yields the start times of the cycles (epoch seconds), the first one cycle after the
        start."""
        count = int(self.days * 24 / self.cycle_hours)
        return (
            self.start + (number + 1) * self.cycle_hours * HOUR_SECONDS for number in range(count)
        )


@dataclass(frozen=True, slots=True)
class DayFigures:
    """A policy's results on one day.

    precision (share of fetched threads that had changed) and recall (share of changed threads that
    were fetched) are means over the day's cycles; None if nothing was fetched, or nothing changed.
    mean_delay_hours: mean time of the posts made on this day until the fetch that found them; posts
    never fetched wait until the end of the experiment. fetched, changed: threads, summed over
    cycles; list_pages: list pages read.
    """

    day: int
    precision: float | None
    recall: float | None
    mean_delay_hours: float | None
    fetched: int
    changed: int
    list_pages: int


@dataclass(slots=True)
class _Cycle:
    """Counts of one cycle.

    `hits` of the `fetched` threads differed from their stored copy, by new or deleted posts.
    `changed` threads had posts newer than their copy when the cycle began (the forum paper's new
    and newly answered threads), `found` of them were fetched.
    """

    began: float
    fetched: int = 0
    hits: int = 0
    changed: int = 0
    found: int = 0
    list_pages: int = 0


class _Store:
    """The crawler's copy of the simulated forum: the last fetched version of each thread, and a
    record of every fetch."""

    def __init__(self, forum: SimulatedForum) -> None:
        self.forum = forum
        self.version = forum.version.copy()
        self.fetched_at = np.full(len(self.version), forum.now)
        self.threads: list[int] = []
        self.moments: list[float] = []
        self.cycles: list[_Cycle] = []
        self._changed: set[int] = set()

    def begin(self, moment: float) -> None:
        """Starts a cycle: determines the threads that have changed by now, which the cycle should
        find."""
        self.forum.advance(moment)
        alive = self.forum.exists()
        self._changed = set(alive[self.forum.last[alive] > self.fetched_at[alive]].tolist())
        self.cycles.append(_Cycle(moment, changed=len(self._changed)))

    def fetch(self, thread: int) -> None:
        """Stores a copy of one thread at the simulated time `forum.now`, and counts the fetch in
        the current cycle."""
        cycle, forum = self.cycles[-1], self.forum
        cycle.fetched += 1
        cycle.hits += int(forum.version[thread] != self.version[thread])
        cycle.found += int(thread in self._changed)
        self._changed.discard(thread)
        self.version[thread] = forum.version[thread]
        self.fetched_at[thread] = forum.now
        self.threads.append(thread)
        self.moments.append(forum.now)

    def known(self) -> Ints:
        """Returns the numbers of the threads of which the store has a copy."""
        return np.flatnonzero(self.version > 0)

    def unknown(self) -> Ints:
        """Returns the numbers of the threads that exist and were never fetched."""
        alive = self.forum.exists()
        unknown: Ints = alive[self.version[alive] == 0]
        return unknown


class ListVisits:
    """Policy bic, the forum paper's incremental crawl: reads every board's list from the top until
    the crawler's stop test ends the visit, and fetches what changed.

    Visits use the crawler's code (`forums.visits.incremental`), on lists with rounded times, pinned
    and shifted rows and deleted posts. Some are interrupted and continued later.
    """

    def __init__(self, store: _Store, setup: FetchSetup, rng: np.random.Generator) -> None:
        self.store, self.setup, self.rng = store, setup, rng
        self.boards = range(len(store.forum.events.boards))
        began = datetime.fromtimestamp(setup.start, UTC)
        self._watermark = dict.fromkeys(self.boards, began)
        self._unfinished: dict[int, tuple[str, int]] = {}
        self._owed: dict[int, list[int]] = {board: [] for board in self.boards}
        self._signatures = {
            row.key: signature(row) for board in self.boards for row in self._all_rows(board)
        }

    def _all_rows(self, board: int) -> Iterator[Row]:
        number, more = 1, True
        while more:
            rows, more = self.store.forum.page(board, number)
            yield from rows
            number += 1

    def cycle(self) -> None:
        """Visits every board, one after the other; interrupted visits are continued a little
        later."""
        broken = [board for board in self.boards if not self._visit(board)]
        while broken:
            self.store.forum.advance(self.store.forum.now + REDELIVERY_SECONDS)
            broken = [board for board in broken if not self._visit(board)]

    def _visit(self, board: int) -> bool:
        """Makes one visit of a board; returns False if it was interrupted."""
        forum = self.store.forum
        started = datetime.fromtimestamp(forum.now, UTC)
        url, page = self._unfinished.get(board, ("", 0))
        visit = Visit(
            BoardFacts(self._watermark[board], None, MAX_LIST_PAGES, SLACK_SECONDS, url, page),
            started,
        )
        breaks_after = (
            int(self.rng.integers(1, 4))
            if self.rng.random() < self.setup.interrupted_share
            else MAX_LIST_PAGES + 1
        )
        for thread in self._owed[board]:
            self.store.fetch(thread)
        self._owed[board] = []
        number = 1
        while number:
            rows, more = forum.page(board, number)
            self.store.cycles[-1].list_pages += 1
            decision = visit.read(
                str(number), rows, str(number + 1) if more else None, self._signatures
            )
            self._signatures.update((row.key, signature(row)) for row in rows)
            threads = [int(row.key) for row in decision.changed]
            if visit.state.pages_read >= breaks_after:
                self._owed[board] = threads
                self._end(board, visit, started)
                return False
            for thread in threads:
                self.store.fetch(thread)
            forum.advance(forum.now + self.setup.style.page_seconds)
            number = int(decision.next_url) if decision.next_url else 0
        self._end(board, visit, started)
        return True

    def _end(self, board: int, visit: Visit, started: datetime) -> None:
        """Stores what the next visit of the board needs: after a complete visit the time up to
        which posts are processed (watermark), after an interrupted one the position in the list."""
        if visit.state.complete:
            self._watermark[board] = watermark(visit.state, started)
            self._unfinished.pop(board, None)
        elif visit.state.last_url:
            self._unfinished[board] = (visit.state.last_url, visit.state.page)


Rank = Callable[[Facts, Floats, float, Ints], Floats]


class Predictions:
    """Fetch policies for boards whose lists show no last-reply times: each cycle fetches the new
    threads of the list, then the known threads that `rank` puts highest.

    Lists are sorted by creation time. Reading a list costs nothing, fetching a thread costs one of
    the `fetches` of a cycle. If `fetches` is None, all known threads with a rank of at least 0 are
    fetched, and a board's list is read only when its mean gap between new threads (`new_gaps`) has
    passed since the last reading; this is the policy "eic" of the forum paper.
    """

    def __init__(
        self,
        store: _Store,
        history: ThreadHistory,
        rank: Rank,
        fetches: int | None,
        new_gaps: Floats,
    ) -> None:
        self.store, self.history, self.rank, self.fetches, self.new_gaps = (
            store,
            history,
            rank,
            fetches,
            new_gaps,
        )
        self._list_read = np.full(len(new_gaps), store.forum.now)

    def cycle(self) -> None:
        """Fetches the new threads, and the known threads that the prediction selects, within the
        budget of one cycle."""
        store, now = self.store, self.store.forum.now
        fresh = self._new_threads(now)
        known = store.known()
        fetched = store.fetched_at[known]
        elapsed = self.history.active_hours(np.full(len(known), now)) - self.history.active_hours(
            fetched
        )
        scores = self.rank(facts(self.history, known, fetched), elapsed, now, known)
        if self.fetches is None:
            chosen = known[scores >= 0.0]
        else:
            room = max(self.fetches - len(fresh), 0)
            chosen = known[np.argsort(-scores, kind="stable")[:room]]
            fresh = fresh[: self.fetches]
        for thread in [*fresh.tolist(), *chosen.tolist()]:
            store.fetch(thread)

    def _new_threads(self, now: float) -> Ints:
        """Reads the lists that are due in this cycle; returns the numbers (ids) of threads not seen
        in a list before."""
        store = self.store
        unknown = store.unknown()
        due = np.ones(len(self.new_gaps), dtype=bool)
        if self.fetches is None:
            due = now - self._list_read >= np.minimum(self.new_gaps * HOUR_SECONDS, DAY_SECONDS * 7)
        self._list_read[due] = now
        store.cycles[-1].list_pages += int(due.sum())
        return unknown[due[store.forum.board_of[unknown]]]


def simulate_fetch(
    events: Events,
    setup: FetchSetup,
    policy: str,
    model: HazardModel | None = None,
    pulse: Callable[[], None] = lambda: None,
) -> list[DayFigures]:
    """Runs one policy over the experiment and returns its results by day. Equal seeds give equal
    deletions and boards with relative times.

    `model` is a fitted hazard model (None: fitted if needed). `pulse` is called before each cycle
    and may end the simulation by an exception. Raises ValueError for an unknown policy.
    """
    if policy not in POLICIES:
        raise ValueError(f"unknown policy {policy!r}")
    forum = SimulatedForum(events, setup.start, setup.style, np.random.default_rng(setup.seed))
    store = _Store(forum)
    if policy == "bic":
        worker: ListVisits | Predictions = ListVisits(
            store, setup, np.random.default_rng(setup.seed + 1)
        )
    else:
        worker = _predictions(store, setup, policy, model)
    for moment in setup.cycles():
        pulse()
        store.begin(moment)
        worker.cycle()
    return _figures(events, setup, store)


def _predictions(
    store: _Store, setup: FetchSetup, policy: str, model: HazardModel | None
) -> Predictions:
    events = store.forum.events
    history = thread_history(events, setup)
    since = setup.start - setup.history_days * DAY_SECONDS
    post_gaps, new_gaps = board_gaps(events, since, setup.start)
    fetches = setup.fetches
    if fetches is None and policy != "eic":
        fetches = usual_changes(events, setup)
    if policy == "hazard" and model is None:
        model = fit_hazard(events, setup)

    def rank(known: Facts, elapsed: Floats, now: float, threads: Ints) -> Floats:
        if policy == "eic":
            return overdue(known, now, post_gaps[history.board[threads]])
        if policy == "rate":
            return rate_times_elapsed(known, elapsed)
        if policy == "hazard" and model is not None:
            return model.score(known, elapsed, AREA_POWER)
        waiting = store.forum.version[threads] - store.version[threads]
        return waiting * (now - store.fetched_at[threads])

    return Predictions(store, history, rank, fetches, new_gaps)


def thread_history(events: Events, setup: FetchSetup) -> ThreadHistory:
    """Returns the experiment's log in the form that the predictions need, with the site's activity
    measured on the history before the start."""
    since = setup.start - setup.history_days * DAY_SECONDS
    clock = LocalClock(setup.zone, float(events.times[0]), float(events.times[-1]))
    return ThreadHistory(events, clock, site_activity(events, clock, since, setup.start))


def fit_hazard(events: Events, setup: FetchSetup) -> HazardModel:
    """Fits the hazard model to the experiment's history only."""
    since = setup.start - setup.history_days * DAY_SECONDS
    return train(
        thread_history(events, setup), since, setup.start, np.random.default_rng(setup.seed)
    )


def usual_changes(events: Events, setup: FetchSetup) -> int:
    """Returns the mean number of changed threads per cycle (`setup.cycle_hours`) in the days before
    the test, at least 1."""
    part = events.between(setup.start - setup.history_days * DAY_SECONDS, setup.start)
    cycle = ((setup.start - part.times) // (setup.cycle_hours * HOUR_SECONDS)).astype(np.int64)
    pairs = len(np.unique(cycle * (len(events.threads) + 1) + part.thread))
    return max(1, round(pairs / (setup.history_days * 24 / setup.cycle_hours)))


def _figures(events: Events, setup: FetchSetup, store: _Store) -> list[DayFigures]:
    """Returns the results of each day, computed from the recorded cycles and fetches."""
    posts = events.between(setup.start, setup.stop)
    delays = event_delays(
        posts.thread,
        posts.times,
        np.array(store.threads, dtype=np.int64),
        np.array(store.moments),
        store.forum.now,
    ).hours
    post_day = ((posts.times - setup.start) // DAY_SECONDS).astype(np.int64)
    rows = []
    for day in range(setup.days):
        first = setup.start + day * DAY_SECONDS
        cycles = [cycle for cycle in store.cycles if first < cycle.began <= first + DAY_SECONDS]
        own = delays[post_day == day]
        rows.append(
            DayFigures(
                day=day,
                precision=_mean([cycle.hits / cycle.fetched for cycle in cycles if cycle.fetched]),
                recall=_mean([cycle.found / cycle.changed for cycle in cycles if cycle.changed]),
                mean_delay_hours=float(own.mean()) if len(own) else None,
                fetched=sum(cycle.fetched for cycle in cycles),
                changed=sum(cycle.changed for cycle in cycles),
                list_pages=sum(cycle.list_pages for cycle in cycles),
            )
        )
    return rows


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


@dataclass(frozen=True, slots=True)
class FetchSummary:
    """A policy's results over all days: mean precision and recall of the days that have them (None
    if none has), mean delay over all posts (None without any), and the numbers of threads fetched
    and changed and of list pages read.
    """

    precision: float | None
    recall: float | None
    mean_delay_hours: float | None
    fetched: int
    changed: int
    list_pages: int


def summary(days: list[DayFigures], posts_per_day: Floats) -> FetchSummary:
    """Summarises the days of one policy; posts_per_day, (days,), are the weights of the days' mean
    delays."""
    weighed = [
        (row.mean_delay_hours, posts_per_day[row.day])
        for row in days
        if row.mean_delay_hours is not None
    ]
    total = sum(float(weight) for _, weight in weighed)
    return FetchSummary(
        precision=_mean([row.precision for row in days if row.precision is not None]),
        recall=_mean([row.recall for row in days if row.recall is not None]),
        mean_delay_hours=(
            sum(value * float(weight) for value, weight in weighed) / total if total else None
        ),
        fetched=sum(row.fetched for row in days),
        changed=sum(row.changed for row in days),
        list_pages=sum(row.list_pages for row in days),
    )


def posts_per_day(events: Events, setup: FetchSetup) -> Floats:
    """Returns the number of posts on each day of the experiment, (days,)."""
    part = events.between(setup.start, setup.stop)
    return np.bincount(
        ((part.times - setup.start) // DAY_SECONDS).astype(np.int64), minlength=setup.days
    ).astype(float)
