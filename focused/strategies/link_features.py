"""What a crawl knows of its open links, in columns: the features by which `adaptive` weighs all of them at once."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawlmgr.web.url import host_key
from focused.relevance import url_tokens
from focused.strategies.link_table import template

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
"""Similarity of the anchor (greatest over the pages with the link) and of its context (on the first of them); worth of those
pages (greatest, mean); what their other links were worth (greatest, mean over pages); what pages of the same URL template and
host were worth; log(1 + in-links); 1 / (1 + depth); pages off topic in a row before it; rank that pages on topic hand on; share
of the run that it has waited; what links with the words of its anchor and URL have led to (mean over the words)."""
KIN_SIBLINGS = 5.0
KIN_TEMPLATE = 5.0
KIN_HOST = 20.0
KIN_WORDS = 5.0
"""How many closed links the value that a mean is drawn towards counts as."""
BUCKETS = 4096
"""Hashed words of anchors and URLs."""
LONGEST_RUN = 10


class Found(NamedTuple):
    """A link of a page: where to, the similarity of its anchor and of its context to the topic, and the anchor's words."""

    url: str
    anchor: float
    context: float
    words: Sequence[str]


class Columns:
    """Arrays that grow together by doubling; read them up to `size`."""

    def __init__(self, **kinds: Any) -> None:
        self.size = 0
        self._kinds = kinds
        for name, kind in kinds.items():
            setattr(self, name, np.zeros(256, dtype=kind))

    def __getattr__(self, name: str) -> NDArray[Any]:
        raise AttributeError(name)

    def extend(self, number: int) -> slice:
        """Room for further rows of zeros; their numbers."""
        first, self.size = self.size, self.size + number
        for name in self._kinds:
            array = getattr(self, name)
            while self.size > len(array):
                array = np.concatenate([array, np.zeros_like(array)])
            setattr(self, name, array)
        return slice(first, self.size)


class LinkFeatures:
    """Pages, links and their targets by number, in the order in which they came. A target is open until it is fetched or failed.

    A page's worth is its reward in [0, 1]; it may be revised (`revise`), for a judge that learns.
    """

    def __init__(self) -> None:
        self.urls: list[str] = []
        self.names: list[str] = []
        self._targets: dict[str, int] = {}
        self._links_to: list[list[int]] = []
        self._groups: dict[str, int] = {}
        self._target = Columns(
            open=bool, page=np.intp, anchor=float, context=float, links=float, depth=float, template=np.intp, host=np.intp,
            run=float, rank=float, seen=float, word=np.intp, words=np.intp,
        )  # fmt: skip
        self._page = Columns(worth=float, closed=float, sum=float, run=float, template=np.intp, host=np.intp)
        self._link = Columns(page=np.intp, target=np.intp)
        self._group = Columns(count=float, sum=float)
        self._word = Columns(bucket=np.intp)
        self._word_sums = np.zeros(BUCKETS)
        self._word_counts = np.zeros(BUCKETS)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def count(self) -> int:
        """Links met so far."""
        return self._link.size

    def number(self, url: str) -> int | None:
        """The target with a URL."""
        return self._targets.get(url)

    def is_open(self, target: int) -> bool:
        return bool(self._target.open[target])

    def open_targets(self, without: frozenset[int] = frozenset()) -> Rows:
        """All open targets, those of some hosts (by number) left out."""
        found = np.flatnonzero(self._target.open[: self._target.size])
        return found[~np.isin(self._target.host[found], list(without))] if without else found

    def host(self, target: int) -> int:
        """The number of a target's host."""
        return int(self._target.host[target])

    def of_hosts(self, hosts: Iterable[str]) -> frozenset[int]:
        """The numbers of hosts, those never met left out."""
        return frozenset(self._groups[host] for host in hosts if host in self._groups)

    def parent(self, target: int) -> int:
        """The page with a link to the target that is worth the most, the first of equals."""
        pages = [int(self._link.page[row]) for row in self._links_to[target]]
        return max(pages, key=lambda page: self._page.worth[page])

    def add(self, url: str, depth: int, worth: float, found: Sequence[Found], parent: int, relevant: bool) -> int:
        """A page was fetched from a page by number (-1: none), with the links that were found on it. Returns its number."""
        number = len(self.names)
        self.names.append(url)
        place = self._page.extend(1).start
        page = self._page
        page.worth[place] = worth
        page.template[place], page.host[place] = self._group_of(template(url)), self._group_of(host_key(url))
        page.run[place] = 0 if relevant else min(LONGEST_RUN, (page.run[parent] if parent >= 0 else 0) + 1)
        for group in (page.template[place], page.host[place]):
            self._group.count[group] += 1
            self._group.sum[group] += worth
        rows = self._link.extend(len(found))
        share = worth / max(1, len(found))
        for row, (to, anchor, context, words) in zip(range(rows.start, rows.stop), found, strict=True):
            target = self._targets.get(to)
            if target is None:
                target = self._new(to, depth + 1, words)
            self._link.page[row], self._link.target[row] = number, target
            self._links_to[target].append(row)
            known = self._target
            if not known.open[target]:
                self._closed(row, self._worth_of(target))
                continue
            known.anchor[target] = max(known.anchor[target], anchor)
            known.context[target] = max(known.context[target], context)
            known.links[target] += 1
            known.depth[target] = min(known.depth[target], depth + 1)
            known.run[target] = min(known.run[target], page.run[place])
            known.rank[target] += share
        return number

    def close(self, url: str, page: int = -1) -> None:
        """A URL was fetched as a page, or failed (-1): its links are closed with what it was worth."""
        target = self._targets.get(url)
        if target is None:
            target = self._new(url, 0, ())
        elif not self._target.open[target]:
            return
        self._target.open[target] = False
        self._target.page[target] = page
        worth = self._worth_of(target)
        for row in self._links_to[target]:
            self._closed(row, worth)
        buckets = self._buckets(target)
        self._word_sums[buckets] += worth
        self._word_counts[buckets] += 1

    def revise(self, worth: Vector) -> None:
        """Another worth for every page, in their order."""
        size = self._page.size
        self._page.worth[:size] = worth
        groups = self._group.size
        both = np.concatenate([self._page.template[:size], self._page.host[:size]])
        self._group.sum[:groups] = np.bincount(both, weights=np.concatenate([worth, worth]), minlength=groups)
        links, target = self._link, self._target
        self._word_sums[:] = 0.0
        for closed in np.flatnonzero(target.page[: target.size] >= 0).tolist():
            self._word_sums[self._buckets(closed)] += worth[target.page[closed]]
        rows = np.flatnonzero(~target.open[links.target[: links.size]])
        pages = target.page[links.target[rows]]
        values = np.where(pages >= 0, worth[pages], 0.0)
        self._page.sum[:size] = np.bincount(links.page[rows], weights=values, minlength=size)

    def features(self, targets: Rows) -> Vector:
        """n x 14: the features of open targets, in the order of FEATURES."""
        known, page, links = self._target, self._page, self._link
        size, number = known.size, page.size
        mean = float(page.worth[:number].mean()) if number else 0.0
        own = page.worth[:number]
        siblings = (page.sum[:number] + KIN_SIBLINGS * (mean + own) / 2) / (page.closed[:number] + KIN_SIBLINGS)
        rows = np.flatnonzero(known.open[links.target[: links.size]])
        to, of = links.target[rows], links.page[rows]
        count = np.maximum(np.bincount(to, minlength=size), 1)[targets]
        group = (self._group.sum[: self._group.size], self._group.count[: self._group.size])
        kin, host = known.template[targets], known.host[targets]
        return np.column_stack(
            [
                known.anchor[targets],
                known.context[targets],
                _greatest(to, own[of], size)[targets],
                np.bincount(to, weights=own[of], minlength=size)[targets] / count,
                _greatest(to, siblings[of], size)[targets],
                np.bincount(to, weights=siblings[of], minlength=size)[targets] / count,
                (group[0][kin] + KIN_TEMPLATE * mean) / (group[1][kin] + KIN_TEMPLATE),
                (group[0][host] + KIN_HOST * mean) / (group[1][host] + KIN_HOST),
                np.log1p(known.links[targets]),
                1.0 / (1.0 + known.depth[targets]),
                known.run[targets],
                np.log1p(10 * known.rank[targets]),
                1.0 - known.seen[targets] / max(1, number),
                self._words(targets, mean),
            ]
        )

    def _buckets(self, target: int) -> Rows:
        first = self._target.word[target]
        return self._word.bucket[first : first + self._target.words[target]]

    def _words(self, targets: Rows, mean: float) -> Vector:
        """Mean over the words of each target's first anchor and of its URL: what closed targets with the word were worth."""
        worth = (self._word_sums + KIN_WORDS * mean) / (self._word_counts + KIN_WORDS) - mean
        sums = np.concatenate([[0.0], np.cumsum(worth[self._word.bucket[: self._word.size]])])
        first, number = self._target.word[targets], self._target.words[targets]
        return (sums[first + number] - sums[first]) / np.maximum(number, 1)

    def _new(self, url: str, depth: int, words: Sequence[str]) -> int:
        number = self._targets[url] = len(self.urls)
        self.urls.append(url)
        self._links_to.append([])
        every = [*words, *(f"/{word}" for word in url_tokens(url))]
        buckets = list(dict.fromkeys(zlib.crc32(word.encode()) % BUCKETS for word in every))
        place = self._word.extend(len(buckets))
        self._word.bucket[place] = buckets
        self._target.extend(1)
        known = self._target
        known.open[number], known.page[number], known.depth[number] = True, -1, depth
        known.template[number], known.host[number] = self._group_of(template(url)), self._group_of(host_key(url))
        known.run[number], known.seen[number] = LONGEST_RUN, len(self.names) - 1
        known.word[number], known.words[number] = place.start, len(buckets)
        return number

    def _worth_of(self, target: int) -> float:
        page = int(self._target.page[target])
        return float(self._page.worth[page]) if page >= 0 else 0.0

    def _closed(self, row: int, worth: float) -> None:
        page = int(self._link.page[row])
        self._page.closed[page] += 1
        self._page.sum[page] += worth

    def _group_of(self, key: str) -> int:
        number = self._groups.setdefault(key, len(self._groups))
        if number == self._group.size:
            self._group.extend(1)
        return number


def _greatest(to: Rows, values: Vector, size: int) -> Vector:
    """The greatest value of each target, 0 where it has none."""
    found = np.zeros(size)
    np.maximum.at(found, to, values)
    return found
