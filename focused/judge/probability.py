"""The probability that a page of a run is on topic, by its place among the run's pages in a ranking
by contrast with the samples; the ranking learns from the pages of the crawl, with or without the
operator's marks, what pages on topic have in common (relevance feedback)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from focused.judge.relevance import Relevance
from focused.pages import WORD_BITS, Columns, Content, HashedWords, hashed

if TYPE_CHECKING:
    from scipy import sparse

Vector = NDArray[np.float64]
Number = TypeVar("Number", float, Vector)
Rows = NDArray[np.intp]
NONE: Rows = np.zeros(0, dtype=np.intp)
Row = tuple[NDArray[np.int32], NDArray[np.float32]]

VERSION = 4
"""Version of the judge, raised when the same pages would be scored differently. 1: samples and the
most similar pages; 2: marks, also of earlier runs; 3: pages linked from the same page count; 4:
words by number."""
MAX_SIMILAR = 20
"""Number of pages most similar to the samples whose centroid represents the topic; at most a fifth
of all pages."""
EVERY = 50
"""Number of pages that arrive between two rankings (computations of all pages' scores); beyond a
thousand pages a twentieth of the pages, so that the cost per page stays constant."""
FIRST = 10
"""Number of pages before the first ranking (computation of all pages' scores), and between rankings
until there are fifty pages."""
SAMPLES_SHARE = 0.5
"""Weight of the topic's own samples in the vector that represents the topic; the pages most similar
to the samples have the rest."""
OFF_TOPIC_SHARE = 0.5
"""Factor with which the centroid of pages marked off topic is subtracted from the vector that
represents the topic; that of pages marked on topic is added with factor 1."""

SIBLINGS = 0.6
"""Weight of the score of sibling pages (linked from the same page) relative to the score of a
page's own words, both standardised."""
SHRINKAGE = 3.0
"""Strength with which the mean score of sibling pages is drawn towards the mean of all pages: the
number of pages that the latter counts as."""


def otsu_means(scores: Vector) -> tuple[float, float]:
    """Divides scores into two groups by the threshold that separates them best (Otsu's method).

    Parameters
    ----------
    scores : (n,), at least two.

    Returns
    -------
    low, high : the mean of the lower group (taken for off-topic pages) and of the higher one
        (relevant pages).
    """
    ordered = np.sort(scores)
    size = len(ordered)
    sums = np.cumsum(ordered)
    below = np.arange(1, size)
    low = sums[:-1] / below
    high = (sums[-1] - sums[:-1]) / (size - below)
    between = below * (size - below) * (high - low) ** 2
    cut = int(np.argmax(between))
    return float(low[cut]), float(high[cut])


class Feedback:
    """Scores pages by Rocchio's method with pseudo relevance feedback: by the words that the pages
    most similar to the topic have and others do not. Pages are numbered in the order of their
    arrival; `rank` computes the scores of all pages again.

    Texts are vectors of (1 + ln f) * idf weights by word, scaled to length 1 (f: number of
    occurrences). A page's own score is its inner product with v, the sum of two terms:
    - half the centroid of the samples + half that of the up to 20 pages nearest to the samples -
      that of all pages;
    - the centroid of pages marked on topic - half that of pages marked off topic, the centroid of
      all pages subtracted from each.
    The final score also has a part from the page's siblings (`_with_siblings`). `samples` are word
    counts. `marked` are pages that the operator marked in earlier runs, as pairs of word counts and
    whether the page is on topic.
    """

    def __init__(
        self,
        samples: Sequence[Mapping[str, float]],
        marked: Sequence[tuple[Mapping[str, float], bool]] = (),
    ) -> None:
        self.ranked = 0
        """Number of pages in the last ranking (computation of all pages' scores)."""
        self._columns = np.full(1 << WORD_BITS, -1, dtype=np.int32)
        """By word number (hash value), the column of the word in the page-word matrix; -1 for an
        unknown word."""
        self._width = 0
        self._waiting: list[HashedWords] = []
        self._starts = [0]
        self._words = Columns(index=np.int32, weight=np.float32)
        self._frequencies = np.zeros(4096)
        self.marks: dict[int, bool] = {}
        """The operator's marks, by page number."""
        self._samples = [self._row(hashed(counts)) for counts in samples if counts]
        self._marked = [
            (self._row(hashed(counts)), on_topic) for counts, on_topic in marked if counts
        ]
        self._direction = np.zeros(0)
        self._idf = np.zeros(0)
        """Inverse document frequency by column, with one more value at the end for words unknown to
        the last ranking. These are weighted as if they occurred on no page, and contribute nothing
        to scores."""
        self._levels = (0.0, 1.0)
        self._scales = ((0.0, 1.0), (0.0, 1.0))
        """Mean and standard deviation of the pages' own scores, and of their siblings' scores, in
        the last ranking."""
        self._sibling_means = np.zeros(0)
        """By page number, the mean own score of the pages that the page links to."""

    def __len__(self) -> int:
        return len(self._starts) - 1 + len(self._waiting)

    def add(self, words: HashedWords) -> None:
        """Adds a fetched page, which gets the next number. Its words are added to the page-word
        matrix at the next ranking."""
        self._waiting.append(words)

    def _take(self) -> None:
        """Adds the words of the pages that arrived since the last ranking to the page-word matrix;
        each new word gets a new column."""
        numbers = np.concatenate([words.numbers for words in self._waiting])
        self._name(np.unique(numbers[self._columns.take(numbers) < 0]))
        place = self._words.extend(len(numbers))
        self._words.index[place] = self._columns.take(numbers)
        self._words.weight[place] = np.concatenate([words.weights for words in self._waiting])
        for words in self._waiting:
            first = self._starts[-1]
            self._starts.append(first + len(words.numbers))
            self._frequencies[self._words.index[first : self._starts[-1]]] += 1
        self._waiting.clear()

    def _name(self, numbers: NDArray[np.uint32]) -> None:
        """Assigns the next free columns of the page-word matrix to the words with these numbers,
        which have no columns yet."""
        self._columns[numbers] = np.arange(self._width, self._width + len(numbers))
        self._width += len(numbers)
        if self._width > len(self._frequencies):
            self._frequencies = np.concatenate([self._frequencies, np.zeros(self._width)])

    def mark(self, number: int, on_topic: bool | None) -> None:
        """Stores the operator's mark of the page with this number: on topic, off topic, or None to
        remove the mark."""
        if on_topic is None:
            self.marks.pop(number, None)
        else:
            self.marks[number] = on_topic

    def due(self) -> bool:
        """Tells whether enough pages have arrived since the last ranking to make a new one: FIRST
        (10) as long as there are at most fifty pages, then EVERY (50) or, if that is more, a
        twentieth of the number of pages in the last ranking.
        """
        return len(self) - self.ranked >= (
            FIRST if len(self) <= EVERY else max(EVERY, self.ranked // 20)
        )

    def rank(self, parents: Rows = NONE, children: Rows = NONE) -> Vector:
        """Computes the scores of all pages and returns them indexed by page number; only scores of
        one ranking are comparable. `parents` and `children` are parallel arrays of page numbers:
        page `parents[i]` links to page `children[i]`.
        """
        if self._waiting:
            self._take()
        matrix, lengths = self._matrix()

        def centroid(pages: Rows) -> Vector:
            pages = np.sort(pages)
            rows = matrix if len(pages) == len(self) else matrix[pages]
            found: Vector = rows.T @ (1 / max(len(pages), 1) / lengths[pages])
            return found

        everything = centroid(np.arange(len(self)))
        samples = self._centroid(self._samples, len(everything))
        most = min(MAX_SIMILAR, max(3, len(self) // 5))
        nearest = np.argsort(-(matrix @ (samples - everything) / lengths), kind="stable")[:most]
        share = SAMPLES_SHARE if self._samples else 0.0
        self._direction = share * samples + (1 - share) * centroid(nearest) - everything
        for on_topic, factor in ((True, 1.0), (False, -OFF_TOPIC_SHARE)):
            marked = [number for number, word in self.marks.items() if word == on_topic]
            taught = [row for row, word in self._marked if word == on_topic]
            if marked or taught:
                share = len(taught) / (len(marked) + len(taught))
                mean = (1 - share) * centroid(
                    np.array(marked, dtype=np.intp)
                ) + share * self._centroid(taught, len(everything))
                self._direction += factor * (mean - everything)
        scores = self._with_siblings(matrix @ self._direction / lengths, parents, children)
        self.ranked = len(self)
        self._idf = np.append(self._idf, np.log(self.ranked + 1) + 1)
        self._direction = np.append(self._direction, 0.0)
        self._levels = otsu_means(scores)
        return scores

    def _with_siblings(self, own: Vector, parents: Rows, children: Rows) -> Vector:
        """Computes final scores, indexed by page number: z(own) + SIBLINGS * z(beside), where z
        standardises values over all pages. For each page that links to the scored one, the mean own
        score of its other targets is shrunk towards the overall mean; `beside` is the mean of
        these. `parents` and `children` are as in `rank`.
        """
        size, mean = len(own), float(own.mean())
        count, total = (
            np.bincount(parents, minlength=size),
            np.bincount(parents, weights=own[children], minlength=size),
        )
        others = (total[parents] - own[children] + SHRINKAGE * mean) / (
            count[parents] - 1 + SHRINKAGE
        )
        links = np.bincount(children, minlength=size)
        beside = np.where(
            links,
            np.bincount(children, weights=others, minlength=size) / np.maximum(links, 1),
            mean,
        )
        self._sibling_means = (total + SHRINKAGE * mean) / (count + SHRINKAGE)
        self._scales = (
            (mean, float(own.std()) + 1e-9),
            (
                float(beside.mean()),
                float(beside.std()) + 1e-9,
            ),
        )
        return self._both(own, beside) if len(parents) else self._both(own, np.full(size, mean))

    def _both(self, own: Number, beside: Number) -> Number:
        (mean, spread), (mean_beside, spread_beside) = self._scales
        return (own - mean) / spread + SIBLINGS * (beside - mean_beside) / spread_beside

    def scaled(self, scores: Vector) -> Vector:
        """Returns scores of the last ranking scaled to [0, 1]: 0 at the mean score of off-topic
        pages, 1 at that of relevant ones (`otsu_means`).
        """
        low, high = self._levels
        return np.clip((scores - low) / max(high - low, 1e-9), 0.0, 1.0)

    def scaled_score(self, score: float) -> float:
        """Returns one score scaled to [0, 1] (see `scaled`)."""
        low, high = self._levels
        return min(1.0, max(0.0, (score - low) / max(high - low, 1e-9)))

    def score(self, number: int, parent: int = -1) -> float:
        """Computes the score of page `number`, which is linked from page `parent` (-1: none), with
        the weights of the last ranking, so that it is comparable with that ranking's scores. Pages
        that arrived since then can be scored, too.
        """
        beside = (
            self._sibling_means.item(parent)
            if 0 <= parent < len(self._sibling_means)
            else self._scales[1][0]
        )
        return self._both(self._own(*self._page(number)), beside)

    def score_of(self, words: HashedWords) -> float:
        """Computes the score of a text that is no page of the run, with the weights of the last
        ranking."""
        return self._both(
            self._own(self._columns.take(words.numbers), words.weights), self._scales[1][0]
        )

    def _own(self, indices: NDArray[np.int32], weights: NDArray[np.float32]) -> float:
        values = weights * self._idf.take(indices)
        return float(values @ self._direction.take(indices)) / max(sqrt(values @ values), 1e-12)

    def _page(self, number: int) -> Row:
        """Returns the words of page `number` as a pair of arrays (columns of the page-word matrix,
        weights); the column is -1 for words without a column."""
        late = number - len(self._starts) + 1
        if late >= 0:
            return self._columns.take(self._waiting[late].numbers), self._waiting[late].weights
        place = slice(self._starts[number], self._starts[number + 1])
        return self._words.index[place], self._words.weight[place]

    def _row(self, words: HashedWords) -> Row:
        """Returns the words of a text as a pair of arrays (columns of the page-word matrix, weights
        1 + ln f), and assigns columns to new words. Words are hashed to 20 bits, so that of several
        hundred thousand words some share a column.
        """
        self._name(np.unique(words.numbers[self._columns.take(words.numbers) < 0]))
        return self._columns.take(words.numbers), words.weights

    def _weighed(
        self, indices: NDArray[np.int32], weights: NDArray[np.float32]
    ) -> tuple[NDArray[np.int32], Vector]:
        """Returns the words of a text as (column indices, weights); `weights`, given as 1 + ln f,
        are multiplied by the inverse document frequency and scaled to a vector of length 1."""
        values = weights * self._idf[indices]
        return indices, values / max(float(np.sqrt(values @ values)), 1e-12)

    def _centroid(self, rows: Sequence[Row], size: int) -> Vector:
        """Returns the mean of the weighted vectors of texts that are not pages of the run (samples,
        pages marked in earlier runs), given as (columns, weights); the result is an array of `size`
        columns.
        """
        found = np.zeros(size)
        for row in rows:
            indices, values = self._weighed(*row)
            found[indices] += values / len(rows)
        return found

    def _matrix(self) -> tuple[sparse.csr_matrix, Vector]:
        """Returns the matrix of pages (rows) and words (columns), with weights (1 + ln f) * (ln((N
        + 1) / (n + 1)) + 1), and the lengths of its rows. f is the number of occurrences in the
        page, N the number of pages, n the number of pages with the word.
        """
        # imported here because the import takes a tenth of a second, which commands that only list
        # strategies save
        from scipy import sparse

        end, shape = self._words.size, (len(self), self._width)
        self._idf = np.log((len(self) + 1) / (self._frequencies[: shape[1]] + 1)) + 1
        indices, starts = self._words.index[:end], np.array(self._starts, dtype=np.int32)
        data = self._words.weight[:end] * self._idf.take(indices)
        squares = sparse.csr_matrix((data * data, indices, starts), shape=shape) @ np.ones(shape[1])
        return sparse.csr_matrix((data, indices, starts), shape=shape), np.maximum(
            np.sqrt(squares), 1e-12
        )


PRIOR = (-1.5, 1.0)


"""Mean of a and b before any mark: a quarter of the pages, those ranked highest, is then more
probably on topic than not."""


PRECISION = 0.1


"""Inverse variance of a and of b before any mark."""


SPREAD = 3.0


"""Places in a ranking are scaled to [-SPREAD, SPREAD]."""


LEAST_MARKS = 10


"""Number of marks from which a share is stated (all pages, if there are fewer)."""


TAIL, NORMAL = 0.035, 1.81


"""Probability that the share is below its interval, and that it is above; the distance of that
bound from the mean of a normal distribution, in standard deviations."""


_A, _B = (
    grid.ravel() for grid in np.meshgrid(np.linspace(-12.0, 8.0, 61), np.linspace(0.0, 8.0, 33))
)


_PRIOR = -PRECISION / 2 * ((_A - PRIOR[0]) ** 2 + (_B - PRIOR[1]) ** 2)


def places(scores: Vector, ranked: Vector | None = None) -> Vector:
    """Returns the place of each score in a ranking.

    Parameters
    ----------
    scores : (n,).
    ranked : (m,), the scores among which the places are; None: among themselves.

    Returns
    -------
    places : (n,), in [-SPREAD, SPREAD]; the middle one for equal scores.

    Examples
    --------
    >>> places(np.array([0.1, 0.7, 0.4])).tolist()
    [-2.0, 2.0, 0.0]
    """
    ordered = np.sort(scores if ranked is None else ranked)
    below, upto = (np.searchsorted(ordered, scores, side) for side in ("left", "right"))
    found: Vector = SPREAD * ((below + upto) / max(1, len(ordered)) - 1)
    return found


class Posterior:
    """Posterior of p = 1 / (1 + exp(-(a + b place))), the probability that a page is on topic, with
    Gaussian priors of a and b and b >= 0, on a grid. `marked` are the places of the marked pages,
    `marks` tells whether they are on topic."""

    def __init__(self, marked: Sequence[float] = (), marks: Sequence[bool] = ()) -> None:
        self.calibration = PRIOR
        """The means of a and b."""
        if not len(marks):
            return
        z = _A[:, None] + _B[:, None] * np.asarray(marked, dtype=float)
        fit = _PRIOR - np.logaddexp(0, np.where(np.asarray(marks, dtype=bool), -z, z)).sum(axis=1)
        weights = np.exp(fit - fit.max())
        kept = weights > 1e-5
        self._a, self._b = _A[kept], _B[kept]
        self._weights = weights[kept] / weights[kept].sum()
        self.calibration = (float(self._weights @ self._a), float(self._weights @ self._b))

    def number(self, unmarked: Vector) -> tuple[float, float, float]:
        """Returns how many of the pages at the places `unmarked` are on topic: low, mean, high. The
        bounds join two uncertainties: of a and b, and of each page given its probability."""
        each = probability(unmarked, self._a[:, None], self._b[:, None])
        sums = each.sum(axis=1)
        order = np.argsort(sums)
        mass = np.cumsum(self._weights[order])
        mean = float(self._weights @ sums)
        chance = float(self._weights @ (each * (1 - each)).sum(axis=1)) * NORMAL**2
        bounds = []
        for tail, side in ((TAIL, -1), (1 - TAIL, 1)):
            at = min(len(order) - 1, int(np.searchsorted(mass, tail)))
            bounds.append(mean + side * sqrt((float(sums[order[at]]) - mean) ** 2 + chance))
        return max(0.0, bounds[0]), mean, min(float(len(unmarked)), bounds[1])


def probability(at: Vector, a: Vector | float, b: Vector | float) -> Vector:
    """Returns the probability that pages are on topic.

    Parameters
    ----------
    at : places of the pages in the ranking (see `places`), of any shape.
    a, b : constants of the logistic function, of a shape that fits.

    Returns
    -------
    p : 1 / (1 + exp(-(a + b at))), in [0, 1].
    """
    found: Vector = 1 / (1 + np.exp(-np.clip(a + b * at, -500, 500)))
    return found


def to_mark(scores: Vector, marked: Collection[int], number: int) -> list[int]:
    """Chooses the pages whose marks would tell most: one of each tenth of the ranking that has no
    marked page, highest first, then of each twentieth and so on.

    Parameters
    ----------
    scores : (n,), by which the pages are ranked.
    marked : indices of pages that are marked already.
    number : most pages to choose.

    Returns
    -------
    chosen : indices into `scores`.
    """
    order = np.argsort(-scores, kind="stable")
    chosen: dict[int, None] = {}
    parts, left = LEAST_MARKS, len(order) - len(marked)
    while len(chosen) < min(number, left):
        for part in np.array_split(order, parts):
            if len(part) and not any(int(page) in chosen or int(page) in marked for page in part):
                chosen[int(part[len(part) // 2])] = None
        parts *= 2
    return list(chosen)[:number]


FIRST = 10


"""Number of pages before the first ranking, and at least between two rankings."""


GROWTH = 1.25


"""The pages are ranked again when their number has grown by this factor."""


MAX_PAGES = 2000


"""Number of pages, the first ones, from which the ranking is learned; later pages are placed among
these."""


FEW_WORDS = 60


"""Pages with fewer words are not checked for being stuffed with words."""


WRITTEN, DRAWN = 1.2, 0.8


"""Number of different words relative to n ** 0.65, n being the number of words, from which a page
is certainly written, and up to which it is certainly drawn from a list of words."""


def reward(similarity: float, threshold: float) -> float:
    """Returns min(1, Sim / 2 tau), with Sim a page's `similarity` to the topic: one half at the
    `threshold` tau."""
    return 1.0 if similarity >= 2 * threshold else float(similarity / (2 * threshold))


def stuffed(words: HashedWords) -> float:
    """Returns in [0, 1] how surely a page is stuffed with words, by how few of its n words differ.
    Of pages written by people, in English as in Chinese, one in a hundred has fewer than 1.3
    n ** 0.65."""
    number = float(np.exp(words.weights - 1).sum())
    if number < FEW_WORDS:
        return 0.0
    ratio = len(words.numbers) / float(number**0.65)
    return min(1.0, max(0.0, (WRITTEN - ratio) / (WRITTEN - DRAWN)))


class Judge:
    """Judges the pages of a run one by one. If the topic has a threshold of its own, or before the
    first ranking, by `reward`; else by the page's place among the pages so far and by
    `calibration`, the constants a and b of `posterior`, which the operator's marks change. Without
    marks, this orders pages for strategies and measures nothing."""

    def __init__(self, topic: Relevance) -> None:
        self.topic = topic
        self.calibration = PRIOR
        own = topic.topic.threshold is not None
        self._contrast = None if own else Feedback(topic.samples, topic.marked)
        self._ranked = np.zeros(0)
        self._due = FIRST

    def see(self, words: HashedWords) -> None:
        """Learns from a page that is no copy, and ranks all pages again when that is due. Learns
        nothing from pages stuffed with words, which would pass for typical of the topic."""
        if self._contrast is None or stuffed(words) >= 0.5:
            return
        if len(self._contrast) < MAX_PAGES:
            self._contrast.add(words)
            if len(self._contrast) >= self._due:
                self._ranked = np.sort(self._contrast.rank())
                self._due = max(self._due + FIRST, int(GROWTH * self._due))

    def __call__(self, words: HashedWords, similarity: float) -> float:
        """Returns the probability that a page with these words is on topic; the doubt whether it is
        stuffed with words lowers it."""
        written = 1 - stuffed(words)
        if self._contrast is None or not len(self._ranked):
            return written * reward(similarity, self.topic.threshold)
        at = places(np.array([self._contrast.score_of(words)]), self._ranked)
        return written * float(probability(at, *self.calibration)[0])


def judged(topic: Relevance, pages: Iterable[Content]) -> Sequence[float]:
    """Returns the probability of each of several pages, which are ranked together."""
    contents = list(pages)
    judge = Judge(topic)
    for page in contents:
        judge.see(page.hashed)
    return [judge(page.hashed, topic.page(page.words)) for page in contents]
