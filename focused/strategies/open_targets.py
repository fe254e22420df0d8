"""The matrix from which the strategy `adaptive` takes the features of a crawl's open link targets:
a row for each feature and a column for each target, updated as pages arrive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from focused.pages import Columns

Vector = NDArray[np.float64]
Rows = NDArray[np.intp]

FEATURES = (
    "anchor",
    "context",
    "parent_best",
    "parent_mean",
    "siblings_best",
    "siblings_mean",
    "template",
    "host",
    "in_links",
    "depth",
    "off_topic_run",
    "rank",
    "age",
    "words",
)
"""In this order: similarity of the anchor to the topic (maximum over the pages with the link) and
of the words around it (on the first of these pages); reward of these pages (maximum, mean); mean
reward of their other links' targets (maximum, mean over the pages); mean reward of pages with the
same URL pattern, and of pages on the same host; log(1 + number of links to it); 1 / (1 + depth);
number of consecutive off-topic pages before it (minimum over the pages); sum of the rewards that
the pages pass on to their links in equal parts, as log(1 + 10 sum); share of the run's pages since
it was found; mean reward of links with the words of its anchor and URL, relative to the mean of all
pages."""
WIDTH = len(FEATURES)
ANCHOR, CONTEXT, OF_PAGES, TEMPLATE, HOST, IN_LINKS, DEPTH, RUN, RANK, AGE, WORDS = (
    0,
    1,
    2,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
    13,
)
LINKS, MIN_DEPTH, SHARE, SEEN = range(WIDTH, WIDTH + 4)
"""Indices of further rows of the matrix: number of links, least depth, sum of the rewards passed on
by pages, and number of pages fetched before the target was found."""
FEWEST_CLOSED = 64
MAX_CLOSED = 4
"""Closed targets are removed from the matrix once there are more than FEWEST_CLOSED (64) of them
and they are more than 1 / MAX_CLOSED (a quarter) of all columns."""


class Means(NamedTuple):
    """Mean rewards from which features are computed. `pages` is the number of pages fetched.
    `reward` (the page's own) and `siblings` (mean of the pages that its links led to) are indexed
    by page, `templates` and `hosts` by the number of the URL pattern or host, `words` (relative to
    the mean of all pages) by hash bucket. Because few values may lie behind them, all but `reward`
    are shrunk: `siblings` towards the average of the page's `reward` and the mean of all pages, the
    others towards the mean of all pages."""

    pages: int
    reward: Vector
    siblings: Vector
    templates: Vector
    hosts: Vector
    words: Vector


FirstMet = tuple[float, float, int, int, float, float, int, int, int, int, int]
"""A target when the first link to it is found: similarity of the anchor and of the words around it
to the topic, number of links (1), depth, consecutive off-topic pages before it, share of its page's
reward, number of pages fetched before; then the numbers of its page, URL pattern and host, and the
number of its words."""
MetAgain = tuple[int, float, float, int, float, float, int]
"""One more link to a target that has a column: number of the target, similarity of the link's
anchor and of the words around it, depth, consecutive off-topic pages before it, share of its page's
reward, and number of the page with the link."""


class OpenTargets:
    """The feature matrix of the link targets, one column per target, in ascending order of target
    numbers. Columns of closed targets (no longer candidates) stay until they are many, so that a
    fetched page changes only the columns of its own links. Scoring all targets takes a few passes
    over the matrix."""

    def __init__(self) -> None:
        self.size = 0
        self._closed = 0
        self._fewest_closed = FEWEST_CLOSED
        self._table = np.zeros((WIDTH + 4, 256))
        self._slot = Columns(
            target=np.intp, page=np.intp, template=np.intp, host=np.intp, words=np.intp, open=bool
        )
        """Values for each column of the matrix: numbers of its target, of the first page with a
        link to it, of its URL pattern and its host; the number of its words (`words`); and whether
        it is open."""
        self._column = Columns(number=np.intp)
        """By target number, the column of the target; -1 once it was removed."""
        self._bucket = Columns(number=np.intp)
        self._starts = np.zeros(0, dtype=np.intp)
        """The hash buckets of the words of all columns one after the other, and where those of each
        column begin."""
        self._more = Columns(column=np.intp, page=np.intp)
        """Column and page number of each link to a target besides its first."""

    @property
    def targets(self) -> Rows:
        """The target number of each column."""
        return self._slot.target[: self.size]

    @property
    def hosts(self) -> Rows:
        """The host number of the link target of each matrix column, in column order."""
        return self._slot.host[: self.size]

    @property
    def is_open(self) -> NDArray[np.bool_]:
        """Whether the link target of each matrix column still waits to be fetched, in column
        order."""
        return self._slot.open[: self.size]

    def column(self, target: int) -> int:
        """Returns the index of the column of target number `target`; -1 if the column was
        removed."""
        return int(self._column.number[target])

    def vector(self, column: int) -> Vector:
        """Returns a copy of the features in one column."""
        return self._table[:WIDTH, column].copy()

    def append(self, met: Sequence[FirstMet], buckets: Sequence[int]) -> None:
        """Adds columns for new targets, which get the numbers after the last known target.
        `buckets` are the hash buckets of the words of all these targets, one target after the
        other."""
        columns = np.array(met, dtype=float).T
        whole = columns[7:].astype(np.intp)
        place, words = self._slot.extend(len(met)), self._bucket.extend(len(buckets))
        self.size = place.stop
        if self.size > self._table.shape[1]:
            self._table = np.concatenate(
                [self._table, np.zeros((WIDTH + 4, max(self.size, self._table.shape[1])))], axis=1
            )
        table, slot = self._table, self._slot
        table[[ANCHOR, CONTEXT, LINKS, MIN_DEPTH, RUN, SHARE, SEEN], place] = columns[:7]
        self._derive(place)
        numbers = self._column.extend(len(met))
        slot.target[place] = np.arange(numbers.start, numbers.stop)
        self._column.number[numbers] = np.arange(place.start, place.stop)
        slot.page[place], slot.template[place], slot.host[place], slot.words[place] = whole
        slot.open[place] = True
        self._bucket.number[words] = buckets
        ends = words.start + np.cumsum(whole[3])
        self._starts = np.concatenate([self._starts, ends - whole[3]])

    def again(self, met: Sequence[MetAgain]) -> None:
        """Updates the columns of open targets to which further links were found."""
        target, anchor, context, depth, run, share, page = np.array(met, dtype=float).T
        columns, table = self._column.number[target.astype(np.intp)], self._table
        np.maximum.at(table[ANCHOR], columns, anchor)
        np.maximum.at(table[CONTEXT], columns, context)
        np.minimum.at(table[MIN_DEPTH], columns, depth)
        np.minimum.at(table[RUN], columns, run)
        np.add.at(table[SHARE], columns, share)
        np.add.at(table[LINKS], columns, 1.0)
        self._derive(columns)
        place = self._more.extend(len(met))
        self._more.column[place], self._more.page[place] = columns, page

    def _derive(self, columns: slice | Rows) -> None:
        """Computes, in the columns `columns`, the features that are functions of other rows of the
        matrix: IN_LINKS, DEPTH and RANK.
        """
        table = self._table
        table[IN_LINKS, columns] = np.log1p(table[LINKS, columns])
        table[DEPTH, columns] = 1.0 / (1.0 + table[MIN_DEPTH, columns])
        table[RANK, columns] = np.log1p(10 * table[SHARE, columns])

    def close(self, targets: Sequence[int]) -> None:
        """Marks the targets with these numbers, all of which must have columns, as closed; removes
        the columns of all closed targets if these have become many (see MAX_CLOSED)."""
        self._slot.open[self._column.number[np.array(targets, dtype=np.intp)]] = False
        self._closed += len(targets)
        if self._closed > self._fewest_closed and MAX_CLOSED * self._closed > self.size:
            self._remove_closed()

    def _remove_closed(self) -> None:
        slot, more, size = self._slot, self._more, self.size
        kept = slot.open[:size]
        columns = np.flatnonzero(kept)
        number = len(columns)
        words = np.repeat(kept, slot.words[:size])
        buckets = self._bucket.number[: self._bucket.size][words]
        self._bucket.number[: len(buckets)], self._bucket.size = buckets, len(buckets)
        self._column.number[slot.target[:size][~kept]] = -1
        new = np.cumsum(kept) - 1
        of = more.column[: more.size]
        rows = np.flatnonzero(kept[of])
        pages = more.page[rows]
        more.column[: len(rows)], more.page[: len(rows)], more.size = (
            new[of[rows]],
            pages,
            len(rows),
        )
        self._table[:, :number] = self._table[:, columns]
        for name in ("target", "page", "template", "host", "words"):
            values = getattr(slot, name)
            values[:number] = values[columns]
        slot.open[:number] = True
        self._column.number[slot.target[:number]] = np.arange(number)
        self._starts = np.cumsum(slot.words[:number]) - slot.words[:number]
        self.size = slot.size = number
        self._closed = 0

    def features(self, means: Means) -> Vector:
        """Computes the features that depend on mean rewards, and returns the matrix of features: 14
        rows in the order of FEATURES, one column for each target. It is a view that is valid until
        the next change; values in the columns of closed targets are meaningless.
        """
        size, table, slot = self.size, self._table, self._slot
        found = table[:WIDTH, :size]
        if not size:
            return found
        self._of_pages(found, means)
        means.templates.take(slot.template[:size], out=found[TEMPLATE], mode="clip")
        means.hosts.take(slot.host[:size], out=found[HOST], mode="clip")
        np.subtract(1.0, table[SEEN, :size] / max(1, means.pages), out=found[AGE])
        sums = np.add.reduceat(
            means.words.take(self._bucket.number[: self._bucket.size]), self._starts
        )
        np.divide(sums, slot.words[:size], out=found[WORDS])
        return found

    def _of_pages(self, found: Vector, means: Means) -> None:
        """Computes four rows of `found`, with a column per link target, from the pages that contain
        a link to it: maximum and mean of these pages' rewards, then maximum and mean of their
        values in `Means.siblings` (mean reward of the pages that their links led to). All are 0
        until a page has been fetched."""
        if not len(means.reward):
            found[OF_PAGES : OF_PAGES + 4] = 0.0
            return
        first = self._slot.page[: self.size]
        column, page = self._more.column[: self._more.size], self._more.page[: self._more.size]
        links = self._table[LINKS, : self.size]
        for place, values in ((OF_PAGES, means.reward), (OF_PAGES + 2, means.siblings)):
            best, mean = found[place], found[place + 1]
            values.take(first, out=best, mode="clip")
            mean[:] = best
            if len(column):
                further = values.take(page)
                np.maximum.at(best, column, further)
                np.add.at(mean, column, further)
                mean /= links
