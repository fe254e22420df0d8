"""Stores the pages, links and link targets (URLs that links lead to) of a crawl in arrays, from
which the strategy `adaptive` computes the features of all open targets at once.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawlmgr.web.url import host_key
from focused.judge.relevance import url_tokens, words_in
from focused.pages import Columns
from focused.strategies.link_table import file_template, folder_template
from focused.strategies.open_targets import FEATURES, FirstMet, Means, MetAgain, OpenTargets

MAX_FOLDERS = 20_000


"""Number of folders whose parts are cached; the cache is emptied when full."""


class Address(NamedTuple):
    """The parts of an address. `template` is its pattern: host, folder and file type with numbers
    replaced, as from `link_table.template`; `words` are those of path and query, as from
    `url_tokens`.
    """

    host: str
    template: str
    words: tuple[str, ...]


class Addresses:
    """Parses addresses. The result for a folder is cached, because most addresses differ from an
    earlier one only in the last path segment.
    """

    def __init__(self) -> None:
        self._folders: dict[str, Address] = {}

    def __call__(self, url: str) -> Address:
        """Returns the parts of a canonical address (without fragment)."""
        path, _, query = url.partition("?")
        folder, _, file = path.rpartition("/")
        known = self._folders.get(folder)
        if known is None:
            if len(self._folders) >= MAX_FOLDERS:
                self._folders.clear()
            host = host_key(url)
            known = self._folders[folder] = Address(
                host, folder_template(host, folder), tuple(url_tokens(f"{folder}/"))
            )
        words = (*known.words, *words_in(f"{file} {query}"))
        return Address(known.host, known.template + file_template(file, query), words)


__all__ = ["FEATURES", "Found", "LinkFeatures"]


Vector = NDArray[np.float64]


Rows = NDArray[np.intp]


SHRINKAGE_SIBLINGS = 5.0


SHRINKAGE_TEMPLATE = 5.0


SHRINKAGE_HOST = 20.0


SHRINKAGE_WORDS = 5.0


"""Strength with which mean rewards are drawn towards a prior value: the number of fetched links
that the prior value counts as."""


MAX_WORDS = 50_000


"""Number of words whose hash buckets are cached."""


MAX_ADDRESSES = 20_000


"""Number of addresses whose parts are cached, because several runs over one archive parse the same
addresses."""


BUCKETS = 4096


"""Number of hash buckets for the words of anchors and URLs."""


NO_WORD = BUCKETS


"""Hash bucket for targets without any word; nothing is learned about it."""


LONGEST_RUN = 10


class Found(NamedTuple):
    """A link as found on a page: the URL of its target, the similarities of its anchor and of its
    context (the words around it) to the topic, and the anchor's words."""

    url: str
    anchor: float
    context: float
    words: Sequence[str]


@lru_cache(maxsize=MAX_WORDS)
def anchor_bucket(word: str) -> int:
    """Returns the hash bucket of a word of an anchor, from 0 to BUCKETS - 1."""
    return zlib.crc32(word.encode()) % BUCKETS


@lru_cache(maxsize=MAX_WORDS)
def address_bucket(word: str) -> int:
    """Returns the hash bucket of a word of a URL, from 0 to BUCKETS - 1. The same word in an anchor
    usually has another bucket."""
    return zlib.crc32(b"/" + word.encode()) % BUCKETS


class Parts(NamedTuple):
    """The parts of a URL from which features are computed: its pattern (`template`: host, folder
    and file type with numbers replaced), its host, and the hash buckets of its words.
    """

    template: str
    host: str
    buckets: tuple[int, ...]


@lru_cache(maxsize=MAX_ADDRESSES)
def parts_of(url: str) -> Parts:
    """Returns a URL's pattern (folder and file type with numbers replaced), its host, and the hash
    buckets of its words."""
    address = _READ(url)
    return Parts(address.template, address.host, tuple(map(address_bucket, address.words)))


_READ = Addresses()


class LinkFeatures:
    """Stores the pages of a crawl, their links, and the targets of the links (the URLs they lead
    to); pages, links and targets are each numbered from 0 in the order of arrival. A target is open
    until it is fetched or its fetch fails.

    Each page has a reward in [0, 1], its relevance; a judge that learns during the crawl may change
    it later (`revise`). The data of targets and links are in compact arrays. Changes to the
    features of open targets are first collected and then made all together, before the features are
    read, which is cheaper than making them page by page."""

    def __init__(self) -> None:
        self.urls: list[str] = []
        self.names: list[str] = []
        self._targets: dict[str, int] = {}
        self._groups: dict[str, int] = {}
        self._is_open = bytearray()
        self._page_of = array("q")
        self._last_link = array("q")
        self._first_word = array("q")
        """These three arrays hold, by target number: the page fetched from it (-1 for none), its
        newest link (-1 for none), and the index in `_words` where its words begin."""
        self._template = array("q")
        self._host = array("q")
        self._link_page = array("q")
        self._link_target = array("q")
        self._earlier = array("q")
        """These three hold, by link number: its page, its target, and the previous link to the same
        target (-1 for none)."""
        self._words = array("q")
        """The hash buckets of the words of all targets, one target after the other."""
        self._page = Columns(
            reward=float, closed=float, sum=float, run=float, template=np.intp, host=np.intp
        )
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
        """Changes that are not yet made in the table of features: new targets, further links to
        open targets, closed targets, and hash buckets of words with the rewards of the pages that
        they led to."""

    def __len__(self) -> int:
        return len(self.names)

    @property
    def count(self) -> int:
        """Number of links found so far."""
        return len(self._link_page)

    def number(self, url: str) -> int | None:
        """Returns the number that a URL has as a link target; None if no link to it was found and
        no fetch of it was recorded."""
        return self._targets.get(url)

    def is_open(self, target: int) -> bool:
        return bool(self._is_open[target])

    @property
    def table(self) -> OpenTargets:
        """The features of all open targets, including all changes so far; may still contain targets
        that were closed before."""
        self._settle()
        return self._table

    def open_targets(self) -> Rows:
        """Returns the numbers of all open targets, in ascending order."""
        table = self.table
        return table.targets[table.is_open]

    def page_of(self, url: str) -> int | None:
        """Returns the number of the page fetched from a URL; None if it was not fetched."""
        target = self._targets.get(url)
        return None if target is None or self._page_of[target] < 0 else self._page_of[target]

    def between_pages(self) -> tuple[Rows, Rows]:
        """Returns the links between fetched pages as two parallel arrays: the numbers of the pages
        that contain them, and the numbers of the pages they lead to.
        """
        pages = _array(self._page_of).take(_array(self._link_target))
        rows = np.flatnonzero(pages >= 0)
        return _array(self._link_page)[rows], pages[rows]

    def host(self, target: int) -> int:
        """Returns the number of a target's host."""
        return self._host[target]

    def of_hosts(self, hosts: Iterable[str]) -> frozenset[int]:
        """Returns the numbers that stand for these hosts in the features; hosts of which neither a
        page nor a link was added have none and are left out."""
        return frozenset(self._groups[host] for host in hosts if host in self._groups)

    def parent(self, target: int) -> int:
        """Returns the number of the page with the highest reward among those that link to the
        target; of equal rewards the page that arrived first. The target must have been found
        through a link."""
        link = self._last_link[target]
        best = self._link_page[link]
        most = self._page.reward.item(best)
        while (link := self._earlier[link]) >= 0:  # newest first
            page = self._link_page[link]
            if (reward := self._page.reward.item(page)) >= most:
                best, most = page, reward
        return best

    def add(
        self,
        url: str,
        depth: int,
        reward: float,
        found: Sequence[Found],
        parent: int,
        relevant: bool,
    ) -> int:
        """Adds the page fetched from `url` at `depth` (clicks from the nearest seed) with its
        `reward` and its links `found`, and returns its number. `parent` is the number of the page
        through whose link it was fetched (-1: none). If `relevant` is true, the count of
        consecutive off-topic pages on the path restarts at 0."""
        number = len(self.names)
        self.names.append(url)
        place = self._page.extend(1).start
        page = self._page
        own = self._targets.get(url)
        groups = self._groups_of(url) if own is None else (self._template[own], self._host[own])
        page.reward[place] = reward
        page.template[place], page.host[place] = groups
        page.run[place] = (
            0 if relevant else min(LONGEST_RUN, (page.run[parent] if parent >= 0 else 0) + 1)
        )
        self._whole += reward
        for group in groups:
            self._group.count[group] += 1
            self._group.sum[group] += reward
        if found:
            self._add_links(
                number, depth + 1, reward / len(found), {one.url: one for one in found}.values()
            )
        return number

    def _add_links(self, page: int, depth: int, share: float, found: Iterable[Found]) -> None:
        run, known = self._page.run.item(page), self._targets
        met, again, is_open = self._met.append, self._again.append, self._is_open
        for url, anchor, context, words in found:
            target = known.get(url)
            if target is None:
                target = self._new(url, words)
                size = len(self._words) - self._first_word[target]
                met(
                    (
                        anchor,
                        context,
                        1,
                        depth,
                        run,
                        share,
                        page,
                        page,
                        self._template[target],
                        self._host[target],
                        size,
                    )
                )
            elif is_open[target]:
                again((target, anchor, context, depth, run, share, page))
            else:
                self._page.closed[page] += 1
                self._page.sum[page] += self._reward_of(target)
            self._earlier.append(self._last_link[target])
            self._last_link[target] = len(self._link_page)
            self._link_page.append(page)
            self._link_target.append(target)

    def _new(self, url: str, words: Sequence[str]) -> int:
        """Adds a target and returns its number; `words` are the words of the anchor of the first
        link to it."""
        target = self._targets[url] = len(self.urls)
        self.urls.append(url)
        parts = parts_of(url)
        self._is_open.append(1)
        self._page_of.append(-1)
        self._last_link.append(-1)
        self._first_word.append(len(self._words))
        self._template.append(self._group_of(parts.template))
        self._host.append(self._group_of(parts.host))
        self._words.extend(
            dict.fromkeys([*map(anchor_bucket, words), *parts.buckets]) or (NO_WORD,)
        )
        return target

    def close(self, url: str, page: int = -1) -> None:
        """Records that the link target `url` need not be fetched any more: it was fetched as page
        number `page`, or could not be fetched (-1). The page's reward (0 if not fetched) is counted
        for the pages that link to the target, and for the words of its URL and of the anchor text
        of the first link to it."""
        target = self._targets.get(url)
        if target is None:
            target = self._new(url, ())
            size = len(self._words) - self._first_word[target]
            self._met.append(
                (0.0, 0.0, 1, 0, 0.0, 0.0, 0, 0, self._template[target], self._host[target], size)
            )
        elif not self._is_open[target]:
            return
        self._is_open[target] = 0
        self._page_of[target] = page
        self._closed.append(target)
        reward = self._reward_of(target)
        link, pages = self._last_link[target], self._page
        while link >= 0:
            parent = self._link_page[link]
            pages.closed[parent] += 1
            pages.sum[parent] += reward
            link = self._earlier[link]
        last = self._first_word[target + 1] if target + 1 < len(self.urls) else len(self._words)
        buckets = self._words[self._first_word[target] : last]
        self._learned[0].extend(buckets)
        self._learned[1].extend([reward] * len(buckets))

    def revise(self, reward: Vector) -> None:
        """Replaces the rewards of all pages by `reward`, indexed by page number, and computes the
        sums of rewards by page, address pattern, host and word again."""
        self._settle()
        size = self._page.size
        self._page.reward[:size] = reward
        self._whole = float(np.sum(reward))
        groups = self._group.size
        both = np.concatenate([self._page.template[:size], self._page.host[:size]])
        self._group.sum[:groups] = np.bincount(
            both, weights=np.concatenate([reward, reward]), minlength=groups
        )
        pages, words, to = _array(self._page_of), _array(self._words), _array(self._link_target)
        own = np.where(pages >= 0, reward[pages], 0.0)
        sizes = np.diff(_array(self._first_word), append=len(words))
        self._word_sums[:] = np.bincount(
            words, weights=np.repeat(own, sizes), minlength=BUCKETS + 1
        )
        self._word_sums[NO_WORD] = 0.0
        self._page.sum[:size] = np.bincount(
            _array(self._link_page), weights=own[to], minlength=size
        )

    def features(self) -> Vector:
        """Returns the features of the open targets: a matrix with a row for each, in ascending
        order of target numbers, and 14 columns in the order of FEATURES.
        """
        table = self.table
        return self.all_features()[:, table.is_open].T

    def all_features(self) -> Vector:
        """Returns the features of all targets in `table`: a matrix with 14 rows in the order of
        FEATURES and a column for each target of `table`, including closed ones. It is valid until
        the next change.
        """
        self._settle()
        number = len(self.names)
        mean = self._whole / number if number else 0.0
        page, group = self._page, self._group
        reward, sums, counts = (
            page.reward[: page.size],
            group.sum[: group.size],
            group.count[: group.size],
        )
        prior = SHRINKAGE_SIBLINGS / 2 * (mean + reward)
        siblings = (page.sum[: page.size] + prior) / (page.closed[: page.size] + SHRINKAGE_SIBLINGS)
        templates = (sums + SHRINKAGE_TEMPLATE * mean) / (counts + SHRINKAGE_TEMPLATE)
        hosts = (sums + SHRINKAGE_HOST * mean) / (counts + SHRINKAGE_HOST)
        words = (self._word_sums + SHRINKAGE_WORDS * mean) / (
            self._word_counts + SHRINKAGE_WORDS
        ) - mean
        return self._table.features(Means(number, reward, siblings, templates, hosts, words))

    def _settle(self) -> None:
        """Applies the changes collected since the last call to the table of features: new link
        targets, further links to known targets, targets fetched or failed, and the rewards of
        words.
        """
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
            buckets, reward = self._learned
            self._word_sums += np.bincount(buckets, weights=reward, minlength=BUCKETS + 1)
            self._word_counts += np.bincount(buckets, minlength=BUCKETS + 1)
            self._word_sums[NO_WORD] = self._word_counts[NO_WORD] = 0.0
            buckets.clear()
            reward.clear()

    def _reward_of(self, target: int) -> float:
        """Returns the reward of the page that was fetched from a link target; 0 if fetching it
        failed."""
        page = self._page_of[target]
        return self._page.reward.item(page) if page >= 0 else 0.0

    def _groups_of(self, url: str) -> tuple[int, int]:
        parts = parts_of(url)
        return self._group_of(parts.template), self._group_of(parts.host)

    def _group_of(self, key: str) -> int:
        number = self._groups.get(key)
        if number is None:
            number = self._groups[key] = self._group.extend(1).start
        return number


def _array(numbers: array[int]) -> Rows:
    """Returns a numpy array that shares the memory of `numbers`. No reference to the result may be
    kept when the next number is appended to `numbers`, since an array whose memory is shared cannot
    grow."""
    return np.frombuffer(numbers, dtype=np.intp)
