"""Features of a crawl's open links, in columns, from which `adaptive` scores all of them at once."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from focused.columns import Columns
from focused.strategies.addresses import Addresses

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
"""Similarity of the anchor (maximum over the pages with the link) and of its context (on the first of them); reward of those
pages (maximum, mean); reward of their other links' targets (maximum, mean over pages); reward of pages with the same URL
template and on the same host; log(1 + in-links); 1 / (1 + depth); number of consecutive off-topic pages before it; rank passed
on by relevant pages; share of the run that it has waited; mean reward of links with the words of its anchor and URL."""
KIN_SIBLINGS = 5.0
KIN_TEMPLATE = 5.0
KIN_HOST = 20.0
KIN_WORDS = 5.0
"""Number of closed links that the prior value of a shrunken mean counts as."""
MOST_WORDS = 50_000
"""Words whose hash buckets are cached."""
MOST_ADDRESSES = 20_000
"""Addresses whose parts are cached, since runs over one archive meet the same ones."""
BUCKETS = 4096
"""Hash buckets for words of anchors and URLs."""
NO_WORD = BUCKETS
"""Bucket for targets without any word; nothing is learned about it."""
LONGEST_RUN = 10
ANCHOR, CONTEXT, LINKS, DEPTH, RUN, RANK, SEEN = range(7)
"""Column indices of a target's stored values."""


class Found(NamedTuple):
    """A link of a page: its target, the similarity of its anchor and context to the topic, and the anchor's words."""

    url: str
    anchor: float
    context: float
    words: Sequence[str]


def beginnings(sorted_numbers: Rows) -> Rows:
    """The indices at which runs of equal numbers begin."""
    first = np.ones(len(sorted_numbers), dtype=bool)
    np.not_equal(sorted_numbers[1:], sorted_numbers[:-1], out=first[1:])
    return np.flatnonzero(first)


def sizes_of(starts: Rows, whole: int) -> Rows:
    """Lengths of the runs beginning at `starts`, out of `whole` numbers."""
    found = np.empty_like(starts)
    found[:-1] = starts[1:] - starts[:-1]
    found[-1:] = whole - starts[-1:]
    return found


@lru_cache(maxsize=MOST_WORDS)
def anchor_bucket(word: str) -> int:
    """The hash bucket of a word of an anchor."""
    return zlib.crc32(word.encode()) % BUCKETS


@lru_cache(maxsize=MOST_WORDS)
def address_bucket(word: str) -> int:
    """The hash bucket of a word of a URL."""
    return zlib.crc32(b"/" + word.encode()) % BUCKETS


class Parts(NamedTuple):
    """Template and host of an address, and the hash buckets of its words."""

    template: str
    host: str
    buckets: tuple[int, ...]


@lru_cache(maxsize=MOST_ADDRESSES)
def parts_of(url: str) -> Parts:
    """The parts of an address's spelling."""
    address = _READ(url)
    return Parts(address.template, address.host, tuple(map(address_bucket, address.words)))


_READ = Addresses()


class LinkFeatures:
    """Pages, links and their targets, numbered in order of arrival. A target is open until it is fetched or has failed.

    A page's worth is its reward in [0, 1], which can be revised (`revise`) by a learning judge. All data is in arrays; the links
    and words of open targets are also kept sorted by target, so that computing features costs in proportion to the frontier.
    """

    def __init__(self) -> None:
        self.urls: list[str] = []
        self.names: list[str] = []
        self._targets: dict[str, int] = {}
        self._groups: dict[str, int] = {}
        self._target = Columns(
            known=(float, 7), open=bool, page=np.intp, template=np.intp, host=np.intp, link=np.intp, word=np.intp, words=np.intp
        )
        """`link` is the target's newest link, -1 for none; `word` and `words` are the start and number of its words."""
        self._page = Columns(worth=float, closed=float, sum=float, run=float, template=np.intp, host=np.intp)
        self._whole = 0.0
        """Sum of the pages' rewards."""
        self._link = Columns(page=np.intp, target=np.intp, earlier=np.intp)
        """`earlier` is the link to the same target before this one, -1 for none."""
        self._group = Columns(count=float, sum=float)
        self._word = Columns(bucket=np.intp, target=np.intp)
        self._word_sums = np.zeros(BUCKETS + 1)
        self._word_counts = np.zeros(BUCKETS + 1)
        self._live = np.zeros(0, dtype=np.intp)
        self._live_words = np.zeros(0, dtype=np.intp)
        self._open = np.zeros(0, dtype=np.intp)
        self._starts = np.zeros(0, dtype=np.intp)
        self._sizes = np.zeros(0, dtype=np.intp)
        """Start and number of the live links of each open target."""
        self._word_starts = np.zeros(0, dtype=np.intp)
        self._word_sizes = np.zeros(0, dtype=np.intp)
        self._live_buckets = np.zeros(0, dtype=np.intp)
        """Start and number of the live words of each open target, and their buckets."""
        self._seen = (0, 0)
        """Number of links and words already included among the live ones."""
        self._moved = False

    def __len__(self) -> int:
        return len(self.names)

    @property
    def count(self) -> int:
        """Number of links met so far."""
        return self._link.size

    def number(self, url: str) -> int | None:
        """The target number of a URL; None if unknown."""
        return self._targets.get(url)

    def is_open(self, target: int) -> bool:
        return bool(self._target.open[target])

    def open_targets(self) -> Rows:
        """All open targets in ascending order."""
        self._settle()
        return self._open

    def page_of(self, url: str) -> int | None:
        """The number of the page fetched from a URL; None if it was not fetched."""
        target = self._targets.get(url)
        return None if target is None or self._target.page[target] < 0 else int(self._target.page[target])

    def between_pages(self) -> tuple[Rows, Rows]:
        """The links between fetched pages, as arrays (from, to)."""
        pages = self._target.page[self._link.target[: self._link.size]]
        rows = np.flatnonzero(pages >= 0)
        return self._link.page[rows], pages[rows]

    def host(self, target: int) -> int:
        """The number of a target's host."""
        return int(self._target.host[target])

    def hosts(self, targets: Rows) -> Rows:
        """The host numbers of targets."""
        return self._target.host[targets]

    def of_hosts(self, hosts: Iterable[str]) -> frozenset[int]:
        """The numbers of hosts, without unknown ones."""
        return frozenset(self._groups[host] for host in hosts if host in self._groups)

    def parent(self, target: int) -> int:
        """The page with the highest reward among those that link to the target; in ties the first."""
        pages = [int(self._link.page[row]) for row in self._links_to(target)]
        return max(reversed(pages), key=lambda page: self._page.worth[page])

    def add(self, url: str, depth: int, worth: float, found: Sequence[Found], parent: int, relevant: bool) -> int:
        """Adds a page fetched from page `parent` (-1: none), with its links. Returns its number."""
        number = len(self.names)
        self.names.append(url)
        place = self._page.extend(1).start
        page, target = self._page, self._target
        own = self._targets.get(url)
        groups = self._groups_of(url) if own is None else (target.template[own], target.host[own])
        page.worth[place] = worth
        page.template[place], page.host[place] = groups
        page.run[place] = 0 if relevant else min(LONGEST_RUN, (page.run[parent] if parent >= 0 else 0) + 1)
        self._whole += worth
        for group in groups:
            self._group.count[group] += 1
            self._group.sum[group] += worth
        if found:
            self._add_links(number, depth + 1, worth / len(found), list({one.url: one for one in found}.values()))
        return number

    def _add_links(self, page: int, depth: int, share: float, found: Sequence[Found]) -> None:
        numbers = [self._targets.get(one.url, -1) for one in found]
        if -1 in numbers:
            self._new([one for one, number in zip(found, numbers, strict=True) if number < 0])
            numbers = [self._targets[one.url] for one in found]
        to = np.array(numbers, dtype=np.intp)
        rows, target = self._link.extend(len(found)), self._target
        self._link.page[rows], self._link.target[rows] = page, to
        self._link.earlier[rows] = target.link[to]
        target.link[to] = np.arange(rows.start, rows.stop)
        known = target.known[to]
        known[:, : CONTEXT + 1] = np.maximum(known[:, : CONTEXT + 1], [(one.anchor, one.context) for one in found])
        known[:, LINKS] += 1
        known[:, DEPTH] = np.minimum(known[:, DEPTH], depth)
        known[:, RUN] = np.minimum(known[:, RUN], self._page.run[page])
        known[:, RANK] += share
        target.known[to] = known
        closed = to[~target.open[to]]
        if len(closed):
            self._page.closed[page] += len(closed)
            self._page.sum[page] += self._worth_of(closed).sum()
        self._moved = True

    def close(self, url: str, page: int = -1) -> None:
        """Closes the links to a URL that was fetched as page `page`, or failed (-1), with its reward."""
        target = self._targets.get(url)
        if target is None:
            self._new([Found(url, 0.0, 0.0, ())])
            target = self._targets[url]
        elif not self._target.open[target]:
            return
        self._target.open[target] = False
        self._target.page[target] = page
        self._moved = True
        worth = float(self._page.worth[page]) if page >= 0 else 0.0
        for row in self._links_to(target):
            parent = self._link.page[row]
            self._page.closed[parent] += 1
            self._page.sum[parent] += worth
        first, number = self._target.word[target], self._target.words[target]
        if number:
            buckets = self._word.bucket[first : first + number]
            self._word_sums[buckets] += worth
            self._word_counts[buckets] += 1

    def revise(self, worth: Vector) -> None:
        """Sets new rewards for all pages, in order."""
        size = self._page.size
        self._page.worth[:size] = worth
        self._whole = float(np.sum(worth))
        groups = self._group.size
        both = np.concatenate([self._page.template[:size], self._page.host[:size]])
        self._group.sum[:groups] = np.bincount(both, weights=np.concatenate([worth, worth]), minlength=groups)
        links, target, words = self._link, self._target, self._word
        pages = target.page[words.target[: words.size]]
        closed = np.flatnonzero(pages >= 0)
        self._word_sums[:] = np.bincount(words.bucket[closed], weights=worth[pages[closed]], minlength=BUCKETS + 1)
        self._word_sums[NO_WORD] = 0.0
        rows = np.flatnonzero(~target.open[links.target[: links.size]])
        self._page.sum[:size] = np.bincount(links.page[rows], weights=self._worth_of(links.target[rows]), minlength=size)

    def features(self) -> Vector:
        """The features of all open targets (ascending), n x 14, in the order of FEATURES."""
        self._settle()
        number = len(self.names)
        mean = self._whole / number if number else 0.0
        found = np.empty((len(FEATURES), len(self._open)))
        if not len(self._open):
            return found.T
        known = self._target.known.take(self._open, axis=0).T
        found[0:2] = known[: CONTEXT + 1]
        found[2:6] = self._of_pages(mean)
        group = self._group
        for place, groups, kin in ((6, self._target.template, KIN_TEMPLATE), (7, self._target.host, KIN_HOST)):
            means = (group.sum[: group.size] + kin * mean) / (group.count[: group.size] + kin)
            found[place] = means.take(groups.take(self._open))
        np.log1p(known[LINKS], out=found[8])
        np.divide(1.0, 1.0 + known[DEPTH], out=found[9])
        found[10] = known[RUN]
        np.log1p(10 * known[RANK], out=found[11])
        np.subtract(1.0, known[SEEN] / max(1, number), out=found[12])
        found[13] = self._words(mean)
        return found.T

    def _of_pages(self, mean: float) -> Vector:
        """4 x n: maximum and mean reward of the pages with a link to each open target, and the same of their other links."""
        page, size, of = self._page, self._page.size, self._link.page.take(self._live)
        own = page.worth[:size]
        siblings = (page.sum[:size] + KIN_SIBLINGS / 2 * (mean + own)) / (page.closed[:size] + KIN_SIBLINGS)
        found = np.empty((4, len(self._open)))
        for place, values in ((0, own.take(of)), (2, siblings.take(of))):
            np.maximum.reduceat(values, self._starts, out=found[place])
            np.add.reduceat(values, self._starts, out=found[place + 1])
            found[place + 1] /= self._sizes
        return found

    def _words(self, mean: float) -> Vector:
        """For each target, the mean over the words of its first anchor and its URL of the reward of closed targets with the
        word."""
        worth = (self._word_sums + KIN_WORDS * mean) / (self._word_counts + KIN_WORDS) - mean
        sums: Vector = np.add.reduceat(worth.take(self._live_buckets), self._word_starts)
        return sums / self._word_sizes

    def _settle(self) -> None:
        """Adds new links and words of open targets to the live ones and removes those of closed targets; sorted by target."""
        if not self._moved:
            return
        self._moved = False
        links, words, is_open = self._link, self._word, self._target.open
        first, first_word = self._seen
        self._seen = links.size, words.size
        rows = np.concatenate([self._live, np.arange(first, links.size)])
        to = links.target[rows]
        among = is_open[to]
        rows, to = rows[among], to[among]
        order = np.argsort(to, kind="stable")
        self._live, to = rows[order], to[order]
        self._starts = beginnings(to)
        self._sizes = sizes_of(self._starts, len(to))
        self._open = to[self._starts]
        live = np.concatenate([self._live_words, np.arange(first_word, words.size)])
        self._live_words = live[is_open[words.target[live]]]
        self._live_buckets = words.bucket[self._live_words]
        self._word_starts = beginnings(words.target[self._live_words])
        self._word_sizes = sizes_of(self._word_starts, len(self._live_words))

    def _new(self, found: Sequence[Found]) -> None:
        """Adds targets that are not known yet."""
        first = len(self.urls)
        groups, buckets, owners, sizes = [], [], [], []
        for target, one in enumerate(found, start=first):
            self._targets[one.url] = target
            self.urls.append(one.url)
            parts = parts_of(one.url)
            groups.append((self._group_of(parts.template), self._group_of(parts.host)))
            own = dict.fromkeys([*map(anchor_bucket, one.words), *parts.buckets])
            sizes.append(len(own))
            buckets += own or [NO_WORD]
            owners += [target] * max(1, len(own))
        place, words, target = self._target.extend(len(found)), self._word.extend(len(buckets)), self._target
        self._word.bucket[words], self._word.target[words] = buckets, owners
        target.template[place], target.host[place] = np.array(groups).T
        target.open[place], target.page[place], target.link[place] = True, -1, -1
        target.words[place] = sizes
        ends = np.cumsum(np.maximum(sizes, 1))
        target.word[place] = words.stop - ends[-1] + np.concatenate([[0], ends[:-1]])
        target.known[place, DEPTH] = np.inf
        target.known[place, RUN], target.known[place, SEEN] = LONGEST_RUN, len(self.names) - 1

    def _links_to(self, target: int) -> Iterator[int]:
        """The links to a target, newest first."""
        row = int(self._target.link[target])
        while row >= 0:
            yield row
            row = int(self._link.earlier[row])

    def _worth_of(self, targets: Rows) -> Vector:
        """The rewards of closed targets, 0 for failed ones."""
        pages = self._target.page[targets]
        worth: Vector = np.where(pages >= 0, self._page.worth[pages], 0.0)
        return worth

    def _groups_of(self, url: str) -> tuple[int, int]:
        parts = parts_of(url)
        return self._group_of(parts.template), self._group_of(parts.host)

    def _group_of(self, key: str) -> int:
        number = self._groups.get(key)
        if number is None:
            number = self._groups[key] = self._group.extend(1).start
        return number
