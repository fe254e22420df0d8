"""Evaluation of crawl runs: curves of pages found, mean similarity over all runs' pages, important
pages by HITS and PageRank, lengths of tunnels (off-topic pages between relevant ones), and
confidence intervals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import log, sqrt
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from crawlmgr.web.url import host_key
from focused.run.loop import Step

if TYPE_CHECKING:
    from scipy import sparse

IMPORTANT_PAGES = 100
MANY_HOSTS = 5
"""If the pages of a graph are on at least this many hosts, HITS and PageRank ignore links inside
one host; if they are on fewer, all links count."""
DAMPING = 0.85
Item = TypeVar("Item")


class Label(NamedTuple):
    """The relevance label of a page. `scored` is false for samples, seeds and unreachable pages:
    they may be fetched, but are not counted.
    """

    relevant: bool
    scored: bool


def with_heartbeat(items: Iterable[Item], pulse: Callable[[], None] | None) -> Iterator[Item]:
    """Yields the items, with a call of `pulse` before each, so that a lease can be renewed during
    long measurements."""
    for item in items:
        if pulse is not None:
            pulse()
        yield item


def targets(labels: Mapping[str, Label]) -> frozenset[str]:
    """Returns the URLs of the pages that count when found: relevant and scored."""
    return frozenset(url for url, label in labels.items() if label.relevant and label.scored)


def curve(steps: Sequence[Step], wanted: frozenset[str], checkpoints: int) -> list[tuple[int, int]]:
    """Returns pairs (number of pages fetched, number of `wanted` pages among them) after each of
    `checkpoints` equal parts of a run; fewer if the run has fewer pages."""
    found = np.cumsum([step.url in wanted for step in steps]) if steps else np.zeros(0)
    return [(mark, int(found[mark - 1])) for mark in marks(len(steps), checkpoints)]


def marks(pages: int, checkpoints: int) -> list[int]:
    """Returns the sizes at which a run of `pages` pages is measured: the ends of `checkpoints`
    equal parts, ascending, the last one being `pages`; fewer if there are fewer pages, [] for none.
    """
    return sorted({round(pages * i / checkpoints) for i in range(1, checkpoints + 1)} - {0})


def tunnel_lengths(steps: Sequence[Step], on_topic: frozenset[str]) -> Counter[int]:
    """Counts tunnels by length. The tunnel of a relevant page consists of the off-topic pages
    between it and the nearest relevant page before it on the path by which it was reached; tunnels
    of length 0 are not counted.

    If there is no earlier relevant page on the path, all pages from its seed on are counted. Figure
    5 of the tunnelling paper.
    """
    run: dict[str, int] = {}
    lengths: Counter[int] = Counter()
    for step in steps:
        before = run.get(step.parent, 0) if step.parent is not None else 0
        if step.url in on_topic:
            run[step.url] = 0
            if before:
                lengths[before] += 1
        else:
            run[step.url] = before + 1
    return lengths


class SimilarityJudge:
    """Computes the Dolphin patent's measure of a run: the cosine similarity of pages to the topic.

    The weight of word k in page d is w_kd = f_kd (1 + ln(|S| / n_k)): f_kd is its number of
    occurrences, S the set `pages`, n_k the number of pages of S with the word (at least 1). In
    variant E1 of ALGORITHMS, S are the pages of all compared runs together. `topic` maps words to
    counts, `pages` URLs to such mappings. `pulse` is called for every page.
    """

    def __init__(
        self,
        topic: Mapping[str, float],
        pages: Mapping[str, Mapping[str, int]],
        pulse: Callable[[], None] | None = None,
    ) -> None:
        frequencies: Counter[str] = Counter()
        for counts in with_heartbeat(pages.values(), pulse):
            frequencies.update(counts.keys())
        size = len(pages)
        self._idf = {word: 1 + log(size / n) for word, n in frequencies.items()}
        unseen = 1 + log(size) if size else 1.0
        self._topic = {word: f * self._idf.get(word, unseen) for word, f in topic.items()}
        self._length = sqrt(sum(w * w for w in self._topic.values()))
        self._scores = {
            url: self._score(counts) for url, counts in with_heartbeat(pages.items(), pulse)
        }

    def page(self, url: str) -> float:
        """Returns the cosine similarity of the page `url` to the topic, in [0, 1]. Raises KeyError
        for a page that was not given when the judge was made.
        """
        return self._scores[url]

    def mean(self, urls: Sequence[str]) -> float:
        """Returns the mean similarity of the pages `urls` to the topic: sim(q, S(t)) of the Dolphin
        patent; 0 without any."""
        return sum(self._scores[url] for url in urls) / len(urls) if urls else 0.0

    def curve(self, urls: Sequence[str], checkpoints: int) -> list[float]:
        """Returns mean similarities of the first pages of a run, whose pages are `urls` in order:
        one for each size in `marks(len(urls), checkpoints)`."""
        sums = np.cumsum([self._scores[url] for url in urls])
        return [float(sums[mark - 1] / mark) for mark in marks(len(urls), checkpoints)]

    def _score(self, counts: Mapping[str, int]) -> float:
        weights = {word: count * self._idf[word] for word, count in counts.items()}
        squares = sum(w * w for w in weights.values())
        product = sum(weights[word] * w for word, w in self._topic.items() if word in weights)
        return product / (self._length * sqrt(squares)) if product else 0.0


def growing_similarity(
    topic: Mapping[str, float], pages: Sequence[Mapping[str, int]], checkpoints: int
) -> list[float]:
    """Returns the mean similarity of a run's first pages at each size in `marks(len(pages),
    checkpoints)`. As the Dolphin patent defines it, word weights (see `SimilarityJudge`) are
    computed from these first pages only (variant E2 of ALGORITHMS). `pages` are the word counts of
    the pages in order."""
    values = []
    for size in marks(len(pages), checkpoints):
        part = {str(n): counts for n, counts in enumerate(pages[:size])}
        values.append(SimilarityJudge(topic, part).mean(list(part)))
    return values


def _matrix(links: Mapping[str, Iterable[str]]) -> tuple[list[str], sparse.csr_matrix]:
    """Returns the URLs of the pages, and the sparse matrix of the links between them: row i, column
    j is 1 if page i links to page j. Links of a page to itself are left out, and links inside a
    host if the pages are on at least `MANY_HOSTS` hosts.
    """
    # imported here because it takes a tenth of a second, which commands that do not need it save
    from scipy import sparse

    urls = list(links)
    numbers = {url: i for i, url in enumerate(urls)}
    hosts = [host_key(url) for url in urls]
    inside = len(set(hosts)) < MANY_HOSTS
    pairs = {
        (numbers[url], numbers[target])
        for url, found in links.items()
        for target in found
        if target in numbers
        and target != url
        and (inside or hosts[numbers[url]] != hosts[numbers[target]])
    }
    start, end = np.array(sorted(pairs), dtype=np.intp).reshape(-1, 2).T
    return urls, sparse.csr_matrix(
        (np.ones(len(start)), (start, end)), shape=(len(urls), len(urls))
    )


def _top(urls: Sequence[str], scores: np.ndarray, number: int) -> list[str]:
    order = np.argsort(-scores, kind="stable")[:number]
    return [urls[i] for i in order if scores[i] > 0]


def hits_authorities(
    links: Mapping[str, Iterable[str]], number: int = IMPORTANT_PAGES
) -> list[str]:
    """Returns the URLs of the `number` best authorities of a graph by HITS, best first; [] without
    links. HITS: x = A'y, y = Ax, with A the matrix of links, x the authority and y the hub scores,
    normalised, until x changes by less than 1e-8 or for 50 rounds. `links` maps each page to the
    pages it links to; `_matrix` tells which links count."""
    urls, matrix = _matrix(links)
    if matrix.nnz == 0:
        return []
    hubs = np.ones(len(urls))
    authorities = np.zeros(len(urls))
    for _ in range(50):
        before = authorities
        authorities = matrix.T @ hubs
        authorities /= np.linalg.norm(authorities)
        hubs = matrix @ authorities
        hubs /= np.linalg.norm(hubs)
        if np.abs(authorities - before).max() < 1e-8:
            break
    return _top(urls, authorities, number)


def pagerank_pages(links: Mapping[str, Iterable[str]], number: int = IMPORTANT_PAGES) -> list[str]:
    """Returns the URLs of the `number` best pages of a graph by PageRank, best first; [] without
    links. The damping is 0.85, and the rank of pages without links is spread evenly over all pages.
    `links` maps each page to the pages it links to; `_matrix` tells which links count."""
    urls, matrix = _matrix(links)
    if matrix.nnz == 0:
        return []
    size = len(urls)
    out = np.asarray(matrix.sum(axis=1)).ravel()
    share = np.divide(1.0, out, out=np.zeros(size), where=out > 0)
    rank = np.full(size, 1 / size)
    for _ in range(100):
        new = (1 - DAMPING) / size + DAMPING * (
            matrix.T @ (rank * share) + rank[out == 0].sum() / size
        )
        moved = np.abs(new - rank).sum()
        rank = new
        if moved < 1e-10:
            break
    return _top(urls, rank, number)


def bootstrap_difference(
    first: Sequence[float],
    second: Sequence[float],
    rng: np.random.Generator,
    draws: int = 10_000,
    level: float = 0.95,
) -> tuple[float, float, float]:
    """Compares the values of two paired samples by the paired bootstrap with `draws` resamplings.
    Returns the mean of first - second, and the lower and upper bound of the confidence interval of
    that mean at the given level.
    """
    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    means = differences[rng.integers(0, len(differences), (draws, len(differences)))].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(differences.mean()), float(low), float(high)
