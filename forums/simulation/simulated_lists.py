"""A forum's list pages rebuilt from an event log, with the faults of real ones: rounded times,
pinned and shifting rows, deleted posts."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from crawlmgr.text.dates import Moment
from forums.schedule.equations import HOUR_SECONDS
from forums.schedule.events import DAY_SECONDS, Events, Floats, Ints
from forums.visits.incremental import Row

MINUTE_SECONDS = 60
SOON_DELETED_HOURS = 48.0


@dataclass(frozen=True, slots=True)
class ListStyle:
    """Appearance and faults of the simulated list pages.

    pinned: number of old threads pinned to the top of page 1 and marked as such. unmarked_pins:
    number of pinned threads without the mark. relative_boards: share of boards that show "3 hours
    ago" instead of a time to the minute. counts: whether rows show the number of replies.
    deleted_share: share of replies that are deleted within two days. page_seconds: time between the
    requests of two pages, in which rows may move.
    """

    rows_per_page: int = 25
    pinned: int = 2
    unmarked_pins: int = 1
    relative_boards: float = 0.34
    counts: bool = True
    deleted_share: float = 0.01
    page_seconds: float = 20.0


class SimulatedForum:
    """A forum that replays an event log as time advances. `version` counts each thread's posts and
    deletions, `last` is the time of its newest post (-inf without posts)."""

    def __init__(
        self, events: Events, start: float, style: ListStyle, rng: np.random.Generator
    ) -> None:
        """Creates the forum and replays the log up to `start` (epoch seconds). Posts made before
        then are never deleted; of later replies, a random share is."""
        self.style = style
        self.events = events
        self.now = -np.inf
        self._next = 0
        count = len(events.threads)
        self.board_of = np.zeros(count, dtype=np.int64)
        self.board_of[events.thread] = events.board
        self._threads = [
            np.flatnonzero(self.board_of == board) for board in range(len(events.boards))
        ]
        self.version = np.zeros(count, dtype=np.int64)
        self._posts: list[list[float]] = [[] for _ in range(count)]
        self.last = np.full(count, -np.inf)
        deleted = (
            ~events.opener
            & (events.times >= start)
            & (rng.random(len(events)) < style.deleted_share)
        )
        self._delete_after: Floats = np.where(
            deleted, rng.uniform(0.1, SOON_DELETED_HOURS, len(events)) * HOUR_SECONDS, np.inf
        )
        self._deletions: list[tuple[float, int, float]] = []
        self._relative = rng.permutation(len(events.boards)) < style.relative_boards * len(
            events.boards
        )
        self._orders: dict[int, Ints] = {}
        self.advance(start)
        self._pins = [self._most_replied(threads) for threads in self._threads]

    def _most_replied(self, threads: Ints) -> list[int]:
        """Returns the threads that are always pinned in a board: those with most replies at the
        start; empty if the board has too few threads."""
        wanted = self.style.pinned + self.style.unmarked_pins
        alive = [thread for thread in threads.tolist() if self._posts[thread]]
        return (
            sorted(alive, key=lambda thread: (-len(self._posts[thread]), thread))[:wanted]
            if len(alive) > 3 * wanted
            else []
        )

    def advance(self, now: float) -> None:
        """Plays the log's posts and deletions up to `now` (epoch seconds)."""
        times = self.events.times
        while self._next < len(times) and times[self._next] <= now:
            self._delete_until(float(times[self._next]))
            moment, thread = float(times[self._next]), int(self.events.thread[self._next])
            self._posts[thread].append(moment)
            self._changed(thread)
            after = float(self._delete_after[self._next])
            if np.isfinite(after):
                heapq.heappush(self._deletions, (moment + after, thread, moment))
            self._next += 1
        self._delete_until(now)
        self.now = max(self.now, now)

    def _delete_until(self, now: float) -> None:
        while self._deletions and self._deletions[0][0] <= now:
            _, thread, moment = heapq.heappop(self._deletions)
            self._posts[thread].remove(moment)
            self._changed(thread)

    def _changed(self, thread: int) -> None:
        posts = self._posts[thread]
        self.last[thread] = max(posts) if posts else -np.inf
        self.version[thread] += 1
        self._orders.pop(int(self.board_of[thread]), None)

    def exists(self) -> Ints:
        """Returns the numbers of the threads that have a post now."""
        return np.flatnonzero(np.isfinite(self.last))

    def page(self, board: int, number: int) -> tuple[list[Row], bool]:
        """Returns the rows of list page `number` (from 1) as shown now, most recent reply first,
        and whether there is a next page."""
        order = self._orders.get(board)
        pins = self._pins[board]
        if order is None:
            threads = self._threads[board]
            threads = threads[np.isfinite(self.last[threads]) & ~np.isin(threads, pins)]
            order = threads[np.argsort(-self.last[threads], kind="stable")]
            self._orders[board] = order
        first = (number - 1) * self.style.rows_per_page
        rows = [
            self._row(thread, board)
            for thread in order[first : first + self.style.rows_per_page].tolist()
        ]
        if number == 1:
            marked = [
                self._row(thread, board, pinned=place < self.style.pinned)
                for place, thread in enumerate(pins)
            ]
            rows = marked + rows
        return rows, first + self.style.rows_per_page < len(order)

    def _row(self, thread: int, board: int, pinned: bool = False) -> Row:
        shown = self._shown(float(self.last[thread]), bool(self._relative[board]))
        replies = len(self._posts[thread]) - 1 if self.style.counts else None
        return Row(str(thread), f"thread:{thread}", shown, replies=replies, pinned=pinned)

    def _shown(self, last: float, relative: bool) -> Moment:
        """Returns a last-reply time as shown in the list: rounded to the minute, or relative, in
        minutes, hours or days."""
        if not relative:
            return Moment(
                datetime.fromtimestamp(last // MINUTE_SECONDS * MINUTE_SECONDS, UTC), MINUTE_SECONDS
            )
        age = max(self.now - last, 0.0)
        unit = (
            MINUTE_SECONDS
            if age < HOUR_SECONDS
            else int(HOUR_SECONDS)
            if age < DAY_SECONDS
            else int(DAY_SECONDS)
        )
        return Moment(
            datetime.fromtimestamp(self.now - age // unit * unit, UTC), unit, relative=True
        )
