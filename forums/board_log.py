"""An event log as a forum displays it: what an incremental visit of a board finds, and what an overview page shows of all
boards."""

from __future__ import annotations

import numpy as np

from forums.events import Events, Floats, Ints
from forums.overview_values import Sight


class BoardLog:
    """Gives out each event of a log once, at the first visit of its board after it, as an incremental visit would find it."""

    def __init__(self, events: Events, weights: Floats, start: float) -> None:
        order = np.lexsort((events.times, events.board))
        self._board, self._times, self._weights = events.board[order], events.times[order], weights[order]
        bounds = np.searchsorted(self._board, np.arange(len(events.boards) + 1))
        self._origin = float(events.times.min()) if len(events) else start
        self._span = float(events.times.max()) - self._origin + 1.0 if len(events) else 1.0
        self._keys = self._board * self._span + (self._times - self._origin)
        self._first, self._stop = bounds[:-1], bounds[1:]
        self._openers = np.concatenate([[0], np.cumsum(events.opener[order])])
        self._next = self._place(np.arange(len(events.boards)), start)

    def _place(self, boards: Ints, moment: float) -> Ints:
        """For each board, the index after its last event at or before a time."""
        offset = np.clip(moment - self._origin, -0.5, self._span - 0.5)
        places: Ints = np.minimum(np.searchsorted(self._keys, boards * self._span + offset, side="right"), self._stop[boards])
        return places

    def take(self, boards: Ints, now: float) -> tuple[Ints, Floats, Floats]:
        """The events of these boards up to `now` that were not taken before, parallel: board number, epoch seconds, weight."""
        first, last = self._next[boards], self._place(boards, now)
        self._next[boards] = last
        counts = last - first
        rows = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        return self._board[rows], self._times[rows], self._weights[rows]

    def sight(self, boards: Ints, now: float) -> Sight:
        """What an index page shows of these boards: number of threads and posts, time of the last post."""
        last = self._place(boards, now)
        threads = self._openers[last] - self._openers[self._first[boards]]
        before = np.maximum(last - 1, 0)
        shown = last > self._first[boards]
        times = np.where(shown, self._times[before], np.nan) if len(self._times) else np.full(len(boards), np.nan)
        return Sight(threads.astype(float), (last - self._first[boards]).astype(float), times)
