"""The pages, links and link targets of a crawl, stored so that `adaptive` can compute the features of all open targets at
once."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from focused.columns import Columns
from focused.strategies.addresses import Addresses
from focused.strategies.open_targets import FEATURES, FirstMet, Means, MetAgain, OpenTargets

__all__ = ["FEATURES", "Found", "LinkFeatures"]

Vector = NDArray[np.float64]
Rows = NDArray[np.intp]

KIN_SIBLINGS = 5.0
KIN_TEMPLATE = 5.0
KIN_HOST = 20.0
KIN_WORDS = 5.0
"""Number of closed links that the prior value of a shrunken mean counts as."""
MOST_WORDS = 50_000
"""Words whose hash buckets are cached."""
MOST_ADDRESSES = 20_000
"""Number of addresses whose parts are cached, because runs over one archive meet the same addresses."""
BUCKETS = 4096
"""Hash buckets for words of anchors and URLs."""
NO_WORD = BUCKETS
"""Bucket for targets without any word; nothing is learned about it."""
LONGEST_RUN = 10


class Found(NamedTuple):
    """A link of a page: its target, the similarity of its anchor and context to the topic, and the anchor's words."""

    url: str
    anchor: float
    context: float
    words: Sequence[str]


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

    A page's value ("worth") is its reward in [0, 1], which can be revised (`revise`) by a learning judge. What is stored by
    target and link is in compact arrays; changes to the features of open targets are collected and made before the features are
    read, so that their cost is shared by the pages fetched in between.
    """

    def __init__(self) -> None:
        self.urls: list[str] = []
        self.names: list[str] = []
        self._targets: dict[str, int] = {}
        self._groups: dict[str, int] = {}
        self._is_open = bytearray()
        self._page_of = array("q")
        self._last_link = array("q")
        self._first_word = array("q")
        """For each target its page, its newest link (-1 for none), and where its words begin in `_words`."""
        self._template = array("q")
        self._host = array("q")
        self._link_page = array("q")
        self._link_target = array("q")
        self._earlier = array("q")
        """For each link its page, its target, and the previous link to the same target (-1 for none)."""
        self._words = array("q")
        """The hash buckets of all targets' words."""
        self._page = Columns(worth=float, closed=float, sum=float, run=float, template=np.intp, host=np.intp)
        self._whole = 0.0
        """Sum of the pages' rewards."""
        self._group = Columns(count=float, sum=float)
        self._word_sums = np.zeros(BUCKETS + 1)
        self._word_counts = np.zeros(BUCKETS + 1)
        self._table = OpenTargets()
        self._met: list[FirstMet] = []
        self._again: list[MetAgain] = []
        self._closed: list[int] = []
        self._learned: tuple[list[int], list[float]] = ([], [])
        """Changes not yet made: new targets, further links, closed targets, and words with the reward that they led to."""

    def __len__(self) -> int:
        return len(self.names)

    @property
    def count(self) -> int:
        """Number of links met so far."""
        return len(self._link_page)

    def number(self, url: str) -> int | None:
        """The target number of a URL; None if unknown."""
        return self._targets.get(url)

    def is_open(self, target: int) -> bool:
        return bool(self._is_open[target])

    @property
    def table(self) -> OpenTargets:
        """The columns of the open targets, up to date."""
        self._settle()
        return self._table

    def open_targets(self) -> Rows:
        """All open targets in ascending order."""
        table = self.table
        return table.targets[table.is_open]

    def page_of(self, url: str) -> int | None:
        """The number of the page fetched from a URL; None if it was not fetched."""
        target = self._targets.get(url)
        return None if target is None or self._page_of[target] < 0 else self._page_of[target]

    def between_pages(self) -> tuple[Rows, Rows]:
        """The links between fetched pages, as arrays (from, to)."""
        pages = _array(self._page_of).take(_array(self._link_target))
        rows = np.flatnonzero(pages >= 0)
        return _array(self._link_page)[rows], pages[rows]

    def host(self, target: int) -> int:
        """The number of a target's host."""
        return self._host[target]

    def of_hosts(self, hosts: Iterable[str]) -> frozenset[int]:
        """The numbers of hosts, without unknown ones."""
        return frozenset(self._groups[host] for host in hosts if host in self._groups)

    def parent(self, target: int) -> int:
        """The page with the highest reward among those that link to the target; in ties the first."""
        link = self._last_link[target]
        best = self._link_page[link]
        most = self._page.worth.item(best)
        while (link := self._earlier[link]) >= 0:  # newest first
            page = self._link_page[link]
            if (worth := self._page.worth.item(page)) >= most:
                best, most = page, worth
        return best

    def add(self, url: str, depth: int, worth: float, found: Sequence[Found], parent: int, relevant: bool) -> int:
        """Adds a page fetched from page `parent` (-1: none), with its links. Returns its number."""
        number = len(self.names)
        self.names.append(url)
        place = self._page.extend(1).start
        page = self._page
        own = self._targets.get(url)
        groups = self._groups_of(url) if own is None else (self._template[own], self._host[own])
        page.worth[place] = worth
        page.template[place], page.host[place] = groups
        page.run[place] = 0 if relevant else min(LONGEST_RUN, (page.run[parent] if parent >= 0 else 0) + 1)
        self._whole += worth
        for group in groups:
            self._group.count[group] += 1
            self._group.sum[group] += worth
        if found:
            self._add_links(number, depth + 1, worth / len(found), {one.url: one for one in found}.values())
        return number

    def _add_links(self, page: int, depth: int, share: float, found: Iterable[Found]) -> None:
        run, known = self._page.run.item(page), self._targets
        met, again, is_open = self._met.append, self._again.append, self._is_open
        for url, anchor, context, words in found:
            target = known.get(url)
            if target is None:
                target = self._new(url, words)
                size = len(self._words) - self._first_word[target]
                met((anchor, context, 1, depth, run, share, page, page, self._template[target], self._host[target], size))
            elif is_open[target]:
                again((target, anchor, context, depth, run, share, page))
            else:
                self._page.closed[page] += 1
                self._page.sum[page] += self._worth_of(target)
            self._earlier.append(self._last_link[target])
            self._last_link[target] = len(self._link_page)
            self._link_page.append(page)
            self._link_target.append(target)

    def _new(self, url: str, words: Sequence[str]) -> int:
        """A target that was not known yet."""
        target = self._targets[url] = len(self.urls)
        self.urls.append(url)
        parts = parts_of(url)
        self._is_open.append(1)
        self._page_of.append(-1)
        self._last_link.append(-1)
        self._first_word.append(len(self._words))
        self._template.append(self._group_of(parts.template))
        self._host.append(self._group_of(parts.host))
        self._words.extend(dict.fromkeys([*map(anchor_bucket, words), *parts.buckets]) or (NO_WORD,))
        return target

    def close(self, url: str, page: int = -1) -> None:
        """Closes the links to a URL that was fetched as page `page`, or failed (-1), with its reward."""
        target = self._targets.get(url)
        if target is None:
            target = self._new(url, ())
            size = len(self._words) - self._first_word[target]
            self._met.append((0.0, 0.0, 1, 0, 0.0, 0.0, 0, 0, self._template[target], self._host[target], size))
        elif not self._is_open[target]:
            return
        self._is_open[target] = 0
        self._page_of[target] = page
        self._closed.append(target)
        worth = self._worth_of(target)
        link, pages = self._last_link[target], self._page
        while link >= 0:
            parent = self._link_page[link]
            pages.closed[parent] += 1
            pages.sum[parent] += worth
            link = self._earlier[link]
        last = self._first_word[target + 1] if target + 1 < len(self.urls) else len(self._words)
        buckets = self._words[self._first_word[target] : last]
        self._learned[0].extend(buckets)
        self._learned[1].extend([worth] * len(buckets))

    def revise(self, worth: Vector) -> None:
        """Replaces the rewards of all pages, given in the order of page numbers."""
        self._settle()
        size = self._page.size
        self._page.worth[:size] = worth
        self._whole = float(np.sum(worth))
        groups = self._group.size
        both = np.concatenate([self._page.template[:size], self._page.host[:size]])
        self._group.sum[:groups] = np.bincount(both, weights=np.concatenate([worth, worth]), minlength=groups)
        pages, words, to = _array(self._page_of), _array(self._words), _array(self._link_target)
        own = np.where(pages >= 0, worth[pages], 0.0)
        sizes = np.diff(_array(self._first_word), append=len(words))
        self._word_sums[:] = np.bincount(words, weights=np.repeat(own, sizes), minlength=BUCKETS + 1)
        self._word_sums[NO_WORD] = 0.0
        self._page.sum[:size] = np.bincount(_array(self._link_page), weights=own[to], minlength=size)

    def features(self) -> Vector:
        """The features of all open targets (ascending), n x 14, in the order of FEATURES."""
        table = self.table
        return self.columns()[:, table.is_open].T

    def columns(self) -> Vector:
        """The features of all columns of `table`, 14 x n; valid until the next change."""
        self._settle()
        number = len(self.names)
        mean = self._whole / number if number else 0.0
        page, group = self._page, self._group
        worth, sums, counts = page.worth[: page.size], group.sum[: group.size], group.count[: group.size]
        siblings = (page.sum[: page.size] + KIN_SIBLINGS / 2 * (mean + worth)) / (page.closed[: page.size] + KIN_SIBLINGS)
        templates = (sums + KIN_TEMPLATE * mean) / (counts + KIN_TEMPLATE)
        hosts = (sums + KIN_HOST * mean) / (counts + KIN_HOST)
        words = (self._word_sums + KIN_WORDS * mean) / (self._word_counts + KIN_WORDS) - mean
        return self._table.features(Means(number, worth, siblings, templates, hosts, words))

    def _settle(self) -> None:
        """Makes the changes collected since the last call."""
        if self._met:
            first = len(self.urls) - len(self._met)
            self._table.append(self._met, self._words[self._first_word[first] :])
            self._met.clear()
        if self._again:
            self._table.again(self._again)
            self._again.clear()
        if self._closed:
            self._table.close(self._closed)
            self._closed.clear()
            buckets, worth = self._learned
            self._word_sums += np.bincount(buckets, weights=worth, minlength=BUCKETS + 1)
            self._word_counts += np.bincount(buckets, minlength=BUCKETS + 1)
            self._word_sums[NO_WORD] = self._word_counts[NO_WORD] = 0.0
            buckets.clear()
            worth.clear()

    def _worth_of(self, target: int) -> float:
        """The reward of the page behind a closed target; 0 if its fetch failed."""
        page = self._page_of[target]
        return self._page.worth.item(page) if page >= 0 else 0.0

    def _groups_of(self, url: str) -> tuple[int, int]:
        parts = parts_of(url)
        return self._group_of(parts.template), self._group_of(parts.host)

    def _group_of(self, key: str) -> int:
        number = self._groups.get(key)
        if number is None:
            number = self._groups[key] = self._group.extend(1).start
        return number


def _array(numbers: array[int]) -> Rows:
    """The numbers as a numpy array that shares their memory; to be dropped before the next number is appended."""
    return np.frombuffer(numbers, dtype=np.intp)
