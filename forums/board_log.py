"""Plays an event log as a forum would display it: what an incremental visit of a board finds, and
what an index page shows of all boards. Used in simulations."""

from __future__ import annotations

import numpy as np

from forums.events import Events, Floats, Ints
from forums.overview_values import Figures


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
