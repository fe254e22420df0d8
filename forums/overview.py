"""Looks before visits: what overview sources tell of many boards at once, and how far each is believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from forums.events import DAY_SECONDS, HOUR_SECONDS, Bools, Floats, Ints

Arrays = dict[str, "Floats | Bools | Ints"]

DOUBTED_AT = 2  # contradictions running after which a board's figures on a source are passed over
SOURCE_DOUBTED_AT = 3  # the same of a source as a whole, over all its boards
MOST_WRONG = 8
FIRST_DOUBT, LEAST_DOUBT = 0.3, 0.02  # share of its own forecast that counts in a board's index
LONGEST_LAG_HOURS = 1.0  # a page that is older than that tells too little
FLAG_WEIGHT = 0.65  # mean weight of an event where a page only shows that there is something new
MOST_TOLD = 500  # events of one board that one look is spread over
PROBE_DAYS, LONGEST_PROBE_DAYS = 2.0, 8.0


@dataclass(frozen=True, slots=True)
class Source:
    """A page that tells about `boards`. newest: it names the changed threads, so that reading it is a visit of its boards.
    cost: visits of the budget that reading it is charged as. doubt, lag_hours: what was learned of it before."""

    boards: Ints
    newest: bool = False
    cost: int = 1
    doubt: float = FIRST_DOUBT
    lag_hours: float = 0.0


class Sight(NamedTuple):
    """What a source showed, one entry a board of it, in its order: threads and posts in all, time of the last post (epoch
    seconds); nan where it shows none. posts: openers counted too, or left out, always in the same way."""

    threads: Floats
    posts: Floats
    last_post: Floats


class Told(NamedTuple):
    """Events that a look has told, one entry an event: board, epoch seconds, weight; `boards` are known up to `until`."""

    boards: Ints
    until: Floats
    board: Ints
    times: Floats
    weights: Floats


class Overview:
    """What looks have told of n boards since their last visits, and what is believed of S sources.

    Boards: `look` the moment up to which a board's counts are known, `known` its waiting weight, and the sum of weight times
    time (hours) over it. Sources: the lag of their figures, learned. Pairs of source and board, sorted by source: the figures
    shown and the moment they hold for, the posts told since the board's last visit (`guessed`: only that there are some was
    told), and contradictions running. A visit sees the truth: where it finds other than was told, that is a contradiction; a
    lag up to LONGEST_LAG_HOURS explains missing ones. A pair, or a source as a whole, that contradicts too often is not
    believed until it agrees again, which probes find out.
    """

    def __init__(self, sources: Sequence[Source], last_visit: Floats, new_weight: Floats, reply_weight: Floats) -> None:
        """last_visit: (n,) epoch seconds; new_weight, reply_weight: (n,), what a new thread and a reply weigh on each board."""
        count = len(last_visit)
        self.new_weight, self.reply_weight = new_weight, reply_weight
        self.cost = np.array([source.cost for source in sources], dtype=np.int64)
        self.newest = np.array([source.newest for source in sources], dtype=bool)
        sizes = [len(source.boards) for source in sources]
        self.bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.board = np.concatenate([source.boards for source in sources] or [np.zeros(0)]).astype(np.int64)
        self._source = np.repeat(np.arange(len(sources)), sizes)
        pairs = len(self.board)
        self.threads, self.posts = np.full(pairs, np.nan), np.full(pairs, np.nan)
        self.as_of, self.told = np.full(pairs, np.nan), np.zeros(pairs)
        self.guessed = np.zeros(pairs, dtype=bool)
        self.wrong = np.zeros(pairs, dtype=np.int64)
        self.lag_hours = np.array([source.lag_hours for source in sources], dtype=float)
        self.source_wrong, self.read_at = np.zeros(len(sources), dtype=np.int64), np.zeros(len(sources))
        self.doubt = np.array([source.doubt for source in sources], dtype=float)
        self.probe_at, self.probe_days = np.zeros(len(sources)), np.full(len(sources), PROBE_DAYS)
        self.look, self.known, self._moment = last_visit.copy(), np.zeros(count), np.zeros(count)

    _MOVING = (
        "threads", "posts", "as_of", "told", "guessed", "wrong", "lag_hours", "source_wrong", "doubt", "probe_at", "probe_days",
        "read_at", "look", "known", "_moment",
    )  # fmt: skip

    def packed(self) -> Arrays:
        """What looks and visits move, by names that `restore` knows."""
        return {f"overview_{name}": getattr(self, name) for name in self._MOVING}

    def restore(self, arrays: Mapping[str, Floats | Bools | Ints]) -> None:
        """Takes over what `packed` gave, of the same boards and sources; nothing where it does not fit."""
        given = {name: arrays.get(f"overview_{name}") for name in self._MOVING}
        if all(one is not None and len(one) == len(getattr(self, name)) for name, one in given.items()):
            for name, one in given.items():
                setattr(self, name, np.array(one))

    def __len__(self) -> int:
        return len(self.cost)

    # --- what is believed ---------------------------------------------------------------------------------------------

    def believed(self) -> Bools:
        """Pairs whose figures count, (pairs,): shown when the source was last read, and not contradicted too often."""
        trusted = (self.wrong < DOUBTED_AT) & (self.source_wrong[self._source] < SOURCE_DOUBTED_AT)
        return trusted & np.isfinite(self.as_of)

    def doubts(self) -> Floats:
        """Share of a board's own forecast, from visits alone, that counts in its index whatever looks tell, (n,)."""
        found = np.ones(len(self.known))
        rows = self.believed()
        np.minimum.at(found, self.board[rows], self.doubt[self._source[rows]])
        return found

    def known_hours(self, now: float) -> Floats:
        """Weighted event-hours that known waiting posts have waited by now, (n,): sum of w (t - t_e)."""
        return np.maximum(self.known * (now / HOUR_SECONDS) - self._moment, 0.0)

    def hours_since_look(self, now: float, boards: Ints | None = None) -> Floats:
        """y = t - look_i in hours."""
        look = self.look if boards is None else self.look[boards]
        return np.maximum(now - look, 0.0) / HOUR_SECONDS

    def fetched_until(self, last_visit: Floats) -> Floats:
        """Up to when each board's posts were fetched: by its last visit, or by way of a newest list, (n,) epoch seconds."""
        until = last_visit.copy()
        rows = self.newest[self._source] & np.isfinite(self.as_of) & self.believed()
        np.maximum.at(until, self.board[rows], self.as_of[rows])
        return until

    def waiting(self, boards: Ints) -> tuple[Ints, Floats, Floats]:
        """What is known to wait on these boards as one event each at its mean time: board, epoch seconds, weight."""
        held = boards[self.known[boards] > 0]
        return held, self._moment[held] / self.known[held] * HOUR_SECONDS, self.known[held]

    def gains(self, forecast: Floats, index: Floats, now: float, open_now: Bools, eta: float) -> tuple[Floats, Floats]:
        """What reading each source is worth, (S,), and the part of each pair in it, (pairs,): weighted event-hours.

        forecast: (n,) F_i(y) y / 2; index: (n,) of visits. An index page is worth eta times the forecasts of its boards, less
        what its lag leaves out; a newest list is worth the visits that it stands for; both less what they are doubted. Boards
        under visit do not count.
        """
        y = self.hours_since_look(now)[self.board]
        fresh = np.divide(np.maximum(y - self.lag_hours[self._source], 0.0), y, out=np.zeros(len(y)), where=y > 0) ** 2
        part = np.where(self.newest[self._source], index[self.board], eta * forecast[self.board]) * fresh
        part *= self.believed() & open_now[self.board]
        part *= 1.0 - self.doubt[self._source]
        return np.bincount(self._source, part, len(self)), part

    def to_probe(self, now: float) -> Ints:
        """Sources that nobody believes and whose turn it is to show whether they agree again."""
        believed = np.bincount(self._source, self.believed(), len(self)) > 0
        return np.flatnonzero(~believed & (now >= self.probe_at) & (self.bounds[1:] > self.bounds[:-1]))

    # --- looks --------------------------------------------------------------------------------------------------------

    def pairs(self, source: int) -> slice:
        """The pairs of a source."""
        return slice(int(self.bounds[source]), int(self.bounds[source + 1]))

    def calibrate(self, source: int, sight: Sight, now: float) -> None:
        """The figures that a source shows while all boards are known (a first crawl): what later looks are compared with."""
        rows = self.pairs(source)
        self.threads[rows], self.posts[rows] = sight.threads, sight.posts
        self.as_of[rows] = np.where(np.isfinite(np.fmax(np.fmax(sight.threads, sight.posts), sight.last_post)), now, np.nan)

    def read(self, source: int, sight: Sight, now: float, waiting: Floats) -> Told:
        """A source's figures, taken over; returns what is new of the boards that are believed, for the forecast.

        waiting: (n,) forecast F_i(y), by which a mere sign of something new is weighed. Posts that were told are placed evenly
        between the look before and the last post.
        """
        rows = self.pairs(source)
        self.read_at[source] = now
        self._after_probe(source, now)
        board, until = self.board[rows], now - self.lag_hours[source] * HOUR_SECONDS
        new, posts, weight = self._deltas(rows, sight, waiting[board])
        shown = np.isfinite(posts)
        self.told[rows] += np.where(shown, posts, 0.0)
        counted = np.isfinite(np.fmax(sight.threads - self.threads[rows], sight.posts - self.posts[rows]))
        self.guessed[rows] |= shown & ~counted  # a page without counts, or read for the first time
        for name, figures in (("threads", sight.threads), ("posts", sight.posts)):
            kept = getattr(self, name)
            kept[rows] = np.where(np.isfinite(figures), figures, kept[rows])
        self.as_of[rows] = np.where(shown, np.fmax(until, self.as_of[rows]), np.nan)
        taken = shown & self.believed()[rows] & (until > self.look[board])
        members, count = board[taken], np.minimum(np.ceil(posts[taken]), MOST_TOLD).astype(np.int64)
        before = self.look[members]
        last = sight.last_post[taken]
        last = np.where(np.isfinite(last) & (last > before) & (last <= now), last, until)
        self._others(source, members, new[taken], posts[taken])
        owner = np.repeat(np.arange(len(members)), count)
        step = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count) + 1
        times = before[owner] + (last - before)[owner] * step / np.maximum(count, 1)[owner]
        weights = (weight[taken] / np.maximum(count, 1))[owner]
        self.known += np.bincount(members[owner], weights, len(self.known))
        self._moment += np.bincount(members[owner], weights * times / HOUR_SECONDS, len(self.known))
        self.look[members] = until
        return Told(members, np.full(len(members), until), members[owner], times, weights)

    def _deltas(self, rows: slice, sight: Sight, waiting: Floats) -> tuple[Floats, Floats, Floats]:
        """New threads, new posts and their weight of each pair since its figures; nan posts where the page tells nothing."""
        board = self.board[rows]
        threads = np.maximum(sight.threads - self.threads[rows], 0.0)
        posts = np.maximum(sight.posts - self.posts[rows], 0.0)
        posts = np.fmax(posts, threads)  # nan where the page shows neither, or nothing was shown before
        new = np.where(np.isfinite(threads), threads, 0.0)
        weight = self.new_weight[board] * new + self.reply_weight[board] * np.maximum(np.nan_to_num(posts) - new, 0.0)
        flag = ~np.isfinite(posts) & np.isfinite(sight.last_post)
        fresh = flag & (sight.last_post > self.look[board])
        mean = FLAG_WEIGHT * self.new_weight[board]
        chance = np.maximum(-np.expm1(-np.maximum(waiting, 1e-9) / mean), 1e-9)
        weight = np.where(fresh, np.maximum(mean, waiting / chance), np.where(flag, 0.0, weight))
        posts = np.where(flag, np.where(fresh, np.maximum(1.0, np.round(weight / mean)), 0.0), posts)
        return np.where(flag, 0.0, new), posts, weight

    def _others(self, source: int, members: Ints, new: Floats, posts: Floats) -> None:
        """What one source has told of a board, the others' figures are expected to show too."""
        if len(self) < 2 or not len(members):
            return
        count = len(self.known)
        rows = np.flatnonzero(self._source != source)
        touched = np.bincount(members, minlength=count)[self.board[rows]] > 0
        rows = rows[touched]
        self.threads[rows] += np.bincount(members, new, count)[self.board[rows]]
        self.posts[rows] += np.bincount(members, posts, count)[self.board[rows]]

    def _after_probe(self, source: int, now: float) -> None:
        if now >= self.probe_at[source]:
            self.probe_at[source] = now + self.probe_days[source] * DAY_SECONDS
            self.probe_days[source] = min(self.probe_days[source] * 2.0, LONGEST_PROBE_DAYS)

    # --- visits -------------------------------------------------------------------------------------------------------

    def visited(self, boards: Ints, board: Ints, times: Floats, weights: Floats, now: float) -> Ints:
        """`boards` were visited and brought these events (board, epoch seconds, weight). Returns other boards whose looks
        are to be forgotten, because a source that told of them is not believed any more."""
        believed = self.believed()
        place = np.full(len(self.known), -1)
        place[boards] = np.arange(len(boards))
        for pair in np.flatnonzero(place[self.board] >= 0).tolist():
            mine = board == self.board[pair]
            self._compare(pair, times[mine], weights[mine], now)
        self.known[boards] = self._moment[boards] = 0.0
        self.look[boards] = now
        lost = np.unique(self.board[believed & ~self.believed()])
        lost = lost[place[lost] < 0]
        self.known[lost] = self._moment[lost] = 0.0
        return lost

    def believe_shown(self, source: int, boards: Ints, now: float) -> None:
        """Boards of a newest list that it has named for the first time: from now on reading it counts for them."""
        rows = np.flatnonzero(np.isin(self.board[self.pairs(source)], boards)) + int(self.bounds[source])
        fresh = rows[np.isnan(self.as_of[rows])]
        self.as_of[fresh] = now

    def left_out(self, source: int, now: float) -> None:
        """A newest list was read that does not go back to the look before: what it left out waits for the boards' own visits,
        which go by their own forecasts the more, the more often that happens."""
        self.read_at[source] = now
        self.doubt[source] = min(self.doubt[source] * 2.0, 1.0)
        self._after_probe(source, now)

    def swept(self, source: int, boards: Ints, board: Ints, times: Floats, weights: Floats, now: float) -> None:
        """A newest list was read and its threads fetched, which brought these events of `boards`: nothing known waits there."""
        self.known[boards] = self._moment[boards] = 0.0
        self.look[boards] = now
        self.read_at[source] = now
        chosen = np.zeros(len(self.known), dtype=bool)
        chosen[boards] = True
        for pair in np.flatnonzero(chosen[self.board]).tolist():
            mine = board == self.board[pair]
            if self._source[pair] == source:
                self.told[pair] += float(mine.sum())
                self.as_of[pair] = now
            elif np.isfinite(self.as_of[pair]):
                self._go_on(pair, times[mine], weights[mine])
                self.as_of[pair], self.told[pair], self.guessed[pair] = now, 0.0, False
        self._after_probe(source, now)

    def together(self) -> Ints:
        """A number a board, (n,): boards of one newest list share that of the first of them."""
        group = np.arange(len(self.known))
        for source in np.flatnonzero(self.newest).tolist():
            rows = self.board[self.pairs(source)]
            group[rows] = rows.min() if len(rows) else 0
        return group

    def believed_boards(self, source: int) -> Ints:
        """The boards of a source whose figures count."""
        rows = self.pairs(source)
        return self.board[rows][self.believed()[rows]]

    def pretend(self, source: int, boards: Ints, waiting: Floats, now: float) -> None:
        """In an outlook: reading this source tells of what is forecast (a newest list fetches it)."""
        if self.newest[source]:
            self.clear(boards, now)
            return
        middle = (self.look[boards] + now) / 2.0 / HOUR_SECONDS
        self.known[boards] += waiting
        self._moment[boards] += waiting * middle
        self.look[boards] = now
        self._after_probe(source, now)

    def clear(self, boards: Ints, now: float) -> None:
        """Nothing waits on these boards any more."""
        self.known[boards] = self._moment[boards] = 0.0
        self.look[boards] = now

    def forget(self, boards: Ints, last_visit: Floats) -> None:
        """These boards are known up to their last visits only."""
        self.look[boards] = last_visit[boards]

    def _compare(self, pair: int, times: Floats, weights: Floats, now: float) -> None:
        """Compares a source's figures for a board with what a visit found, and takes the visit's figures as the new base."""
        source, as_of, told = int(self._source[pair]), float(self.as_of[pair]), float(self.told[pair])
        if np.isfinite(as_of):
            self._go_on(pair, times, weights)
            earlier = np.sort(times[times <= as_of])
            if told or len(earlier):
                self._judge(pair, source, told, earlier, as_of)
        self.as_of[pair], self.told[pair], self.guessed[pair] = now, 0.0, False

    def _go_on(self, pair: int, times: Floats, weights: Floats) -> None:
        """The figures of a pair as they should be now that these events are known."""
        late = times > self.as_of[pair]
        opener = weights >= self.new_weight[self.board[pair]] * (1.0 - 1e-9)
        self.threads[pair] += float((late & opener).sum())
        self.posts[pair] += float(late.sum())

    def _judge(self, pair: int, source: int, told: float, found: Floats, as_of: float) -> None:
        """One comparison with something in it: agreement, a longer lag, or a contradiction."""
        missing = len(found) - int(round(told))
        lag = self.lag_hours[source]
        if self.newest[source]:  # its threads were fetched: a visit must not find more
            right = not len(found)
        elif self.guessed[pair] and told:  # how many was not told
            right = len(found) > 0
        elif missing > 0:
            needed = lag + (as_of - float(found[len(found) - missing])) / HOUR_SECONDS
            right = needed <= LONGEST_LAG_HOURS
            if right:
                self.lag_hours[source] = max(lag, needed)
        else:
            right = abs(missing) <= 0.2 * max(told, len(found))
            if right:
                self.lag_hours[source] = lag * 0.9 if lag > 0.02 else 0.0
        self.doubt[source] = max(self.doubt[source] * 0.7, LEAST_DOUBT) if right else min(self.doubt[source] * 2.0, 1.0)
        if right:
            self.wrong[pair] //= 2
            self.source_wrong[source] = 0
            self.probe_days[source] = PROBE_DAYS
        else:
            self.wrong[pair] = min(self.wrong[pair] + 1, MOST_WRONG)
            self.source_wrong[source] = min(self.source_wrong[source] + 1, MOST_WRONG)
