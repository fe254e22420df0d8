"""Keeps what readings (looks) of overview sources (index pages, newest lists, feeds) reported, and
how far each is trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from forums.schedule import loop_values as values
from forums.schedule.equations import HOUR_SECONDS
from forums.schedule.events import DAY_SECONDS, Bools, Floats, Ints
from forums.schedule.loop_values import Figures, ReportedEvents, RowCoverage, Source

Arrays = dict[str, "Floats | Bools | Ints"]


class Overview:
    """What S overview sources have reported about n boards since the boards' last visits, and
    whether the sources are trusted.

    A row is a pair of a source and a board that it shows; rows are sorted by source. Reported posts
    of a row are divided among the boards that it counts (`coverage`: its own, and sub-boards
    without a row) by forecast.
    - Per board: `look`, the time up to which its counts are known; `known`, the weight of its
      reported but unfetched posts; `_moment`, the sum of their weights times posting times (hours).
    - Per row: the figures shown last (`threads`, `posts`, `latest`); posts reported
    (`reported_posts`;
      `guessed` without a number) and found by visits (`found`) since the last comparison;
      contradictions (`wrong`), unless a lag of up to LONGEST_LAG_HOURS explains them. A row or
      source with many is ignored until test readings (probes) agree.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        last_visit: Floats,
        new_weight: Floats,
        reply_weight: Floats,
    ) -> None:
        """Creates the state before any reading. last_visit: (n,), epoch seconds; new_weight,
        reply_weight: (n,), weight of a new thread and of a reply on a board."""
        count = len(last_visit)
        self.new_weight, self.reply_weight = new_weight, reply_weight
        self.cost = np.array([source.cost for source in sources], dtype=np.int64)
        self.newest = np.array([source.newest for source in sources], dtype=bool)
        sizes = [len(source.boards) for source in sources]
        self.bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.board = np.concatenate(
            [source.boards for source in sources] or [np.zeros(0, dtype=np.int64)]
        ).astype(np.int64)
        self._source = np.repeat(np.arange(len(sources)), sizes)
        self.coverage = RowCoverage(sources)
        rows = len(self.board)
        self.threads, self.posts, self.latest = (
            np.full(rows, np.nan),
            np.full(rows, np.nan),
            np.full(rows, -np.inf),
        )
        self.reported_posts, self.weight, self.found = (
            np.zeros(rows),
            np.zeros(rows),
            np.zeros(rows),
        )
        self.guessed, self.wrong = np.zeros(rows, dtype=bool), np.zeros(rows, dtype=np.int64)
        self.lag_hours = np.array([source.lag_hours for source in sources], dtype=float)
        self.source_wrong, self.read_at = (
            np.zeros(len(sources), dtype=np.int64),
            np.zeros(len(sources)),
        )
        self.doubt = np.array([source.doubt for source in sources], dtype=float)
        self.probe_at, self.probe_days = (
            np.zeros(len(sources)),
            np.full(len(sources), values.PROBE_DAYS),
        )
        self.look, self.known, self._moment = last_visit.copy(), np.zeros(count), np.zeros(count)

    _MOVING = (
        "threads posts latest weight found guessed wrong lag_hours source_wrong doubt probe_at"
        " probe_days read_at look known _moment"
    ).split()

    def _places(self) -> dict[str, tuple[object, str]]:
        """Maps the stored name of each array that readings and visits change to its object and
        attribute."""
        own: dict[str, tuple[object, str]] = {
            f"overview_{name}": (self, name) for name in self._MOVING
        }
        own["overview_told"] = (self, "reported_posts")
        return own | {f"covers_{name}": (self.coverage, name) for name in RowCoverage.MOVING}

    def packed(self) -> Arrays:
        """Returns the arrays that readings and visits change, by the names under which `restore`
        expects them."""
        return {key: getattr(owner, name) for key, (owner, name) in self._places().items()}

    def restore(self, arrays: Mapping[str, Floats | Bools | Ints]) -> None:
        """Loads the arrays that `packed` returned; does nothing if their lengths do not fit these
        boards and sources."""
        if all(
            key in arrays and len(arrays[key]) == len(mine) for key, mine in self.packed().items()
        ):
            for key, (owner, name) in self._places().items():
                setattr(owner, name, np.array(arrays[key]))

    def __len__(self) -> int:
        return len(self.cost)

    # --- current knowledge about boards and sources
    # ----------------------------------------------------------------------------------------------

    def trusted(self) -> Bools:
        """Returns a mask of the sources' rows, (rows,): True for rows with figures that visits have
        rarely contradicted."""
        shown: Bools = np.isfinite(self.coverage.as_of[self.coverage.own])
        return (
            shown
            & (self.wrong < values.DOUBTED_AT)
            & (self.source_wrong[self._source] < values.SOURCE_DOUBTED_AT)
        )

    def _trusted_pairs(self) -> Bools:
        """Returns a mask of the pairs (row, board), (pairs,): True if the row is trusted and counts
        the board's posts."""
        return self.trusted()[self.coverage.row] & self.coverage.counted()

    def doubts(self) -> Floats:
        """Returns for each board, (n,), the smallest `doubt` of the trusted sources that count its
        posts; 1 without such a source. A board's index is at least this fraction of its index
        without sources."""
        found = np.ones(len(self.known))
        pairs = self._trusted_pairs()
        np.minimum.at(
            found, self.coverage.board[pairs], self.doubt[self._source[self.coverage.row[pairs]]]
        )
        return found

    def known_hours(self, now: float) -> Floats:
        """Returns for each board the weighted event-hours that its reported but unfetched posts
        have waited by `now`, (n,)."""
        return np.maximum(self.known * (now / HOUR_SECONDS) - self._moment, 0.0)

    def hours_since_look(self, now: float, boards: Ints | None = None) -> Floats:
        """Returns y: for each of `boards` (None: all), the hours since it was last visited or its
        counts were last read from an overview source."""
        look = self.look if boards is None else self.look[boards]
        return np.maximum(now - look, 0.0) / HOUR_SECONDS

    def fetched_until(self, last_visit: Floats) -> Floats:
        """Returns the time (epoch seconds) up to which all posts of each board are fetched, (n,):
        that of its last visit or, if later, of the last reading of a trusted list of newest threads
        that covers the board."""
        until = last_visit.copy()
        rows = self.newest[self._source] & self.trusted()
        np.maximum.at(until, self.board[rows], self.coverage.as_of[self.coverage.own[rows]])
        return until

    def waiting(self, boards: Ints) -> tuple[Ints, Floats, Floats]:
        """Returns posts reported but not fetched yet, one event per board at their mean time:
        boards, epoch seconds, weights."""
        held = boards[self.known[boards] > 0]
        return held, self._moment[held] / self.known[held] * HOUR_SECONDS, self.known[held]

    def gains(
        self, forecast: Floats, index: Floats, now: float, open_now: Bools, eta: float
    ) -> tuple[Floats, Floats]:
        """Returns the weighted event-hours gained by reading each source now, (sources,), and the
        part of each (row, board) pair, (pairs,). A part is eta * forecast of the board for an index
        page, its index for a newest list, times ((y - lag) / y)^2 (0 for y below the source's lag)
        and 1 - `doubt`; 0 for untrusted pairs and boards that are false in `open_now`, (n,). y:
        hours since the board was last shown. forecast: (n,), F_i(y) y / 2, F_i(y) being the
        weighted events expected on board i in y hours. index: (n,), priorities for visits."""
        board, source = self.coverage.board, self._source[self.coverage.row]
        y = self.hours_since_look(now)[board]
        fresh = (
            np.divide(
                np.maximum(y - self.lag_hours[source], 0.0), y, out=np.zeros(len(y)), where=y > 0
            )
            ** 2
        )
        part: Floats = np.where(self.newest[source], index[board], eta * forecast[board]) * fresh
        part *= self._trusted_pairs() & open_now[board]
        part *= 1.0 - self.doubt[source]
        return np.asarray(np.bincount(source, part, len(self)), dtype=np.float64), part

    def to_probe(self, now: float) -> Ints:
        """Returns the numbers of the sources that are due for a test reading (probe): those with
        rows, none of which is trusted yet to report new posts correctly."""
        trusted = np.bincount(self._source, self.trusted(), len(self)) > 0
        return np.flatnonzero(
            ~trusted & (now >= self.probe_at) & (self.bounds[1:] > self.bounds[:-1])
        )

    # --- readings of overview sources
    # ----------------------------------------------------------------------------------------------

    def rows(self, source: int) -> slice:
        """Returns the slice of the per-row arrays that belongs to source number `source`; it has
        one row per board it shows."""
        return slice(int(self.bounds[source]), int(self.bounds[source + 1]))

    def calibrate(self, source: int, figures: Figures, now: float) -> None:
        """Stores a source's figures at a time when all posts of its boards are fetched, to compare
        later readings with them."""
        rows = self.rows(source)
        self.threads[rows], self.posts[rows] = figures.threads, figures.posts
        self.latest[rows] = np.fmax(self.latest[rows], figures.last_post)
        shown = np.isfinite(np.fmax(np.fmax(figures.threads, figures.posts), figures.last_post))
        pairs = self.coverage.of(rows)
        self.coverage.as_of[pairs] = np.where(shown, now, np.nan)[
            self.coverage.row[pairs] - rows.start
        ]

    def read(self, source: int, figures: Figures, now: float, waiting: Floats) -> ReportedEvents:
        """Processes the figures that source number `source` showed at `now`. Returns the new posts
        of boards whose figures are trusted, as events for the forecast. They are spread evenly from
        the time up to which a board's posts were known to its last post. waiting: (n,), expected
        weight of each board's posts since then. In proportion to it, a row's posts are divided
        among its boards; their weight is `waiting` itself if the row shows only that there are new
        posts.
        """
        rows, coverage = self.rows(source), self.coverage
        pairs = coverage.of(rows)
        self.read_at[source] = now
        self._after_probe(source, now)
        until = now - self.lag_hours[source] * HOUR_SECONDS
        new, posts, weight = self._deltas(rows, figures, coverage.total(rows, waiting))
        shown, own = np.isfinite(posts), coverage.row[pairs] - rows.start
        self._take_figures(rows, figures, posts)
        coverage.as_of[pairs] = np.where(shown[own], np.fmax(until, coverage.as_of[pairs]), np.nan)
        coverage.open[pairs] |= (np.nan_to_num(posts) > 0)[own]
        taken = (
            np.flatnonzero(
                shown[own]
                & self._trusted_pairs()[pairs]
                & (until > self.look[coverage.board[pairs]])
            )
            + pairs.start
        )
        members, row = coverage.board[taken], coverage.row[taken] - rows.start
        count = np.minimum(np.ceil(posts[row]), values.MAX_EVENTS).astype(np.int64)
        before, last = self.look[members], figures.last_post[row]
        last = np.where(np.isfinite(last) & (last > before) & (last <= now), last, until)
        self._others(source, taken, new, posts)
        owner = np.repeat(np.arange(len(members)), count)
        step = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count) + 1
        times = before[owner] + (last - before)[owner] * step / np.maximum(count, 1)[owner]
        likely = waiting.copy()
        likely[members[figures.last_post[row] + values.FINENESS_SECONDS <= before]] = (
            0.0  # no post since the last visit
        )
        part = (
            coverage.shares(taken, likely)
            * self.new_weight[members]
            / self.new_weight[self.board[rows]][row]
        )
        weights = (weight[row] * part / np.maximum(count, 1))[owner]
        self.known += np.bincount(members[owner], weights, len(self.known))
        self._moment += np.bincount(members[owner], weights * times / HOUR_SECONDS, len(self.known))
        self.weight[rows] += np.bincount(row[owner], weights, len(new))
        self.look[members] = until
        return ReportedEvents(members, np.full(len(members), until), members[owner], times, weights)

    def _take_figures(self, rows: slice, figures: Figures, posts: Floats) -> None:
        """Stores the figures of a source's rows for later comparison; posts: new posts per row, nan
        if not shown."""
        shown = np.isfinite(posts)
        self.reported_posts[rows] += np.where(shown, posts, 0.0)
        counted = np.isfinite(
            np.fmax(figures.threads - self.threads[rows], figures.posts - self.posts[rows])
        )
        self.guessed[rows] |= (
            shown & ~counted
        )  # the page shows no counts, or is read for the first time
        for name, shown_now in (("threads", figures.threads), ("posts", figures.posts)):
            kept = getattr(self, name)
            kept[rows] = np.where(np.isfinite(shown_now), shown_now, kept[rows])
        self.latest[rows] = np.fmax(self.latest[rows], figures.last_post)

    def _deltas(
        self, rows: slice, figures: Figures, waiting: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Compares `figures` with those shown last. Returns per row the numbers of new threads and
        new posts (nan if not shown), and the weight of the posts. waiting: forecast weight per row,
        used if only the time of the last post is shown.
        """
        board = self.board[rows]
        threads = np.maximum(figures.threads - self.threads[rows], 0.0)
        posts = np.maximum(figures.posts - self.posts[rows], 0.0)
        posts = np.fmax(posts, threads)  # nan only if neither number was shown in both readings
        new = np.where(np.isfinite(threads), threads, 0.0)
        weight = self.new_weight[board] * new + self.reply_weight[board] * np.maximum(
            np.nan_to_num(posts) - new, 0.0
        )
        flag = ~np.isfinite(posts) & np.isfinite(figures.last_post)
        fresh = flag & (
            figures.last_post
            > np.maximum(self.coverage.earliest(rows, self.look), self.latest[rows])
        )
        mean = values.FLAG_WEIGHT * self.new_weight[board]
        chance = np.maximum(-np.expm1(-np.maximum(waiting, 1e-9) / mean), 1e-9)
        weight = np.where(fresh, np.maximum(mean, waiting / chance), np.where(flag, 0.0, weight))
        posts = np.where(
            flag, np.where(fresh, np.maximum(1.0, np.round(weight / mean)), 0.0), posts
        )
        return np.where(flag, 0.0, new), posts, weight

    def _others(self, source: int, taken: Ints, new: Floats, posts: Floats) -> None:
        """Adds new threads and posts that a source reported to what other sources showed last of
        the same boards, so that these sources do not report them again. taken: indices into
        `coverage` of the pairs (row, board) that reported something, ignored if the row covers
        several boards. new, posts: numbers of new threads and posts for each row of `source`.
        """
        if len(self) < 2 or not len(taken):
            return
        coverage, count = self.coverage, len(self.known)
        alone = taken[
            np.bincount(coverage.row, minlength=len(self.board))[coverage.row[taken]] == 1
        ]
        place, row = coverage.board[alone], coverage.row[alone] - self.rows(source).start
        mine = self.coverage.of(self.rows(source))
        others = np.flatnonzero(
            (np.bincount(place, minlength=count)[coverage.board] > 0) & coverage.counted()
        )
        others = others[(others < mine.start) | (others >= mine.stop)]
        np.add.at(
            self.threads,
            coverage.row[others],
            np.bincount(place, new[row], count)[coverage.board[others]],
        )
        np.add.at(
            self.posts,
            coverage.row[others],
            np.bincount(place, posts[row], count)[coverage.board[others]],
        )

    def _after_probe(self, source: int, now: float) -> None:
        if now >= self.probe_at[source]:
            self.probe_at[source] = now + self.probe_days[source] * DAY_SECONDS
            self.probe_days[source] = min(self.probe_days[source] * 2.0, values.LONGEST_PROBE_DAYS)

    # --- visits
    # ----------------------------------------------------------------------------------------------

    def visited(
        self, boards: Ints, board: Ints, times: Floats, weights: Floats, now: float
    ) -> Ints:
        """Compares the events that a visit of `boards` found with those that sources had reported,
        and marks all reported posts of these boards as fetched. board, times (epoch seconds),
        weights: parallel, one entry per event found. Returns the other boards for which a source
        ceased to be trusted by this comparison: what it reported of them must be dropped.
        """
        trusted = self._trusted_pairs()
        chosen = np.zeros(len(self.known), dtype=bool)
        chosen[boards] = True
        for pair in np.flatnonzero(chosen[self.coverage.board]).tolist():
            mine = board == self.coverage.board[pair]
            self._compare(pair, times[mine], weights[mine], now)
        self.clear(boards, now)
        lost = np.unique(self.coverage.board[trusted & ~self._trusted_pairs()])
        return lost[~chosen[lost]]

    def trust_shown(self, source: int, boards: Ints, now: float) -> None:
        """Marks the list of newest threads with index `source` as trusted from `now` on for those
        of `boards` not yet trusted."""
        pairs = self.coverage.of(self.rows(source))
        own = np.arange(pairs.start, pairs.stop)[np.isin(self.coverage.board[pairs], boards)]
        self.coverage.as_of[own[np.isnan(self.coverage.as_of[own])]] = now

    def record_gap(self, source: int, now: float) -> None:
        """Records that a newest list does not reach back to its last reading: its `doubt` doubles,
        so it saves fewer visits."""
        self.read_at[source] = now
        self.doubt[source] = min(self.doubt[source] * 2.0, 1.0)
        self._after_probe(source, now)

    def record_threads_fetched(
        self, source: int, boards: Ints, board: Ints, times: Floats, weights: Floats, now: float
    ) -> None:
        """Records that newest list number `source` was read and the threads it named were fetched,
        so that no reported post of `boards` is left to fetch. board, times (epoch seconds),
        weights: parallel, one entry per event found.
        """
        self.clear(boards, now)
        self.read_at[source] = now
        chosen = np.zeros(len(self.known), dtype=bool)
        chosen[boards] = True
        for pair in np.flatnonzero(chosen[self.coverage.board]).tolist():
            mine, row = board == self.coverage.board[pair], int(self.coverage.row[pair])
            if self._source[row] == source:
                self.reported_posts[row] += float(mine.sum())
                self.coverage.as_of[pair] = now
            elif np.isfinite(self.coverage.as_of[pair]):
                found = self._update_figures(pair, times[mine], weights[mine], now)
                self.found[row] = min(self.found[row] + found, self.reported_posts[row])
                self.weight[row] *= (
                    1.0 - self.found[row] / self.reported_posts[row]
                    if self.reported_posts[row]
                    else 0.0
                )
                if not len(self.coverage.other_candidates(pair)):
                    self._reset_comparison(row)
        self._after_probe(source, now)

    def groups(self) -> Ints:
        """Returns each board's group, (n,): boards on one list of newest threads form a group,
        named by its lowest number."""
        group = np.arange(len(self.known))
        for source in np.flatnonzero(self.newest).tolist():
            rows = self.board[self.rows(source)]
            group[rows] = rows.min() if len(rows) else 0
        return group

    def trusted_boards(self, source: int) -> Ints:
        """Returns the numbers of the boards that a source's trusted rows count, including boards
        without a row of their own."""
        pairs = self.coverage.of(self.rows(source))
        return self.coverage.board[pairs][self._trusted_pairs()[pairs]]

    def simulate_reading(self, source: int, boards: Ints, waiting: Floats, now: float) -> None:
        """Simulates that a source reports posts of weights `waiting`; if it is a list of newest
        threads, they are fetched."""
        if self.newest[source]:
            self.clear(boards, now)
            return
        middle = (self.look[boards] + now) / 2.0 / HOUR_SECONDS
        self.known[boards] += waiting
        self._moment[boards] += waiting * middle
        self.look[boards] = now
        self._after_probe(source, now)

    def clear(self, boards: Ints, until: float | Floats) -> None:
        """Records that no reported post of these boards is left to fetch, and their counts are
        known up to `until`."""
        self.known[boards] = self._moment[boards] = 0.0
        self.look[boards] = until

    def _compare(self, pair: int, times: Floats, weights: Floats, now: float) -> None:
        """Compares the posts reported for a pair (source's row, board), by its index in `coverage`,
        with those found by a visit."""
        row, as_of = int(self.coverage.row[pair]), float(self.coverage.as_of[pair])
        if not np.isfinite(as_of):
            self.coverage.as_of[pair] = now
            self._reset_comparison(row)
            return
        earlier = times <= as_of
        elsewhere = self.coverage.other_candidates(pair)
        found = self._update_figures(pair, times, weights, now)
        if (not found and not self.reported_posts[row]) or not self.coverage.counted()[pair]:
            return
        if (
            self.coverage.hidden[pair]
            and self.reported_posts[row] - self.found[row] < found
            and not self.guessed[row]
        ):
            self.coverage.apart[pair] += (
                1  # perhaps the row is not out of date, but never counts this hidden board
            )
            if not len(elsewhere):
                self._reset_comparison(row)
            return
        if found:
            self.coverage.apart[pair] = 0
        self.found[row] += found
        rest = (
            self.reported_posts[row] - self.found[row] if not (self.guessed[row] and found) else 0.0
        )
        if len(elsewhere) and rest >= 0:
            board, outstanding = int(self.coverage.board[pair]), float(self.weight[row])
            self.weight[row] = (
                max(outstanding - float(weights[earlier].sum()), 0.0) if rest > 0 else 0.0
            )
            share = min(float(self.known[board]), outstanding)
            self._reassign(
                board,
                self.coverage.board[elsewhere],
                float(self.weight[row]) - (outstanding - share),
            )
            if rest > 0:
                return
        if rest > 0 and self.coverage.recount_hidden(row):
            self._reset_comparison(row)
            return
        self._judge(row, np.sort(times[earlier]), as_of)
        self._reset_comparison(row)

    def _update_figures(self, pair: int, times: Floats, weights: Floats, now: float) -> int:
        """Raises the counts of the pair's row by the posts of its board (`times`) that are newer
        than the row, so that they are valid at `now`. Returns how many of the posts are older,
        which the row should have reported.
        """
        row, late = int(self.coverage.row[pair]), times > self.coverage.as_of[pair]
        if self.coverage.counted()[pair]:
            opener = weights >= self.new_weight[self.coverage.board[pair]] * (1.0 - 1e-9)
            self.threads[row] += float((late & opener).sum())
            self.posts[row] += float(late.sum())
        self.latest[row] = (
            max(self.latest[row], float(times.max())) if len(times) else self.latest[row]
        )
        self.coverage.as_of[pair], self.coverage.open[pair] = now, False
        return int((~late).sum())

    def _reset_comparison(self, row: int) -> None:
        """Sets both sides of a row's comparison to 0: the posts that the source reported in this
        row, and those that visits of the row's boards found."""
        self.reported_posts[row], self.weight[row], self.found[row], self.guessed[row] = (
            0.0,
            0.0,
            0.0,
            False,
        )

    def _reassign(self, board: int, others: Ints, more: float) -> None:
        """Called after a visit of `board`: attributes the row's reported posts that the visit did
        not find to `others`, the other boards that the row counts. more: change of their total
        weight, negative if the visit found more posts than assumed.
        """
        held = float(self.known[others].sum())
        if held > 0:
            factor = max(0.0, 1.0 + more / held)
            self.known[others] *= factor
            self._moment[others] *= factor
        elif more > 0:
            self.known[others] += more / len(others)
            self._moment[others] += (
                self._moment[board] * more / float(self.known[board]) / len(others)
            )
        self.known[board] = self._moment[board] = 0.0

    def _judge(self, row: int, earlier: Floats, as_of: float) -> None:
        """Compares the new posts that a source reported in a row with those that visits found, and
        adjusts the trust in row and source. Unreported posts only raise the lag of the source if at
        most LONGEST_LAG_HOURS explain them. earlier: sorted times of the posts that the last visit
        found and the row should have shown; as_of: the time of the row's numbers.
        """
        source, told, found = (
            int(self._source[row]),
            float(self.reported_posts[row]),
            float(self.found[row]),
        )
        missing = int(round(found - told))
        lag = self.lag_hours[source]
        if self.newest[
            source
        ]:  # the threads shown were fetched with the list: an older post found since contradicts it
            right = not found
        elif self.guessed[row] and told:  # the source did not say how many posts are new
            right = found > 0
        elif missing > 0:
            needed = lag + (as_of - float(earlier[max(len(earlier) - missing, 0)])) / HOUR_SECONDS
            right = needed <= values.LONGEST_LAG_HOURS
            if right:
                self.lag_hours[source] = max(lag, needed)
        else:
            right = abs(missing) <= 0.2 * max(told, found)
            if right:
                self.lag_hours[source] = lag * 0.9 if lag > 0.02 else 0.0
        self.doubt[source] = (
            max(self.doubt[source] * 0.7, values.MIN_DOUBT)
            if right
            else min(self.doubt[source] * 2.0, 1.0)
        )
        if right:
            self.wrong[row] //= 2
            self.source_wrong[source] = 0
            self.probe_days[source] = values.PROBE_DAYS
        else:
            self.wrong[row] = min(self.wrong[row] + 1, values.MAX_WRONG)
            self.source_wrong[source] = min(self.source_wrong[source] + 1, values.MAX_WRONG)
