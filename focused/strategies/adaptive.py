"""The strategy `adaptive`: ranks all open links by a linear model of link features that is trained
during the crawl, starting from weights trained on other webs (the prior). It learns the credit of
fetched pages: a page's own reward, plus a share of the mean credit of the pages that were fetched
through its links."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from focused.graph import Node, State
from focused.judge.probability import Feedback
from focused.pages import Page
from focused.parameters import gettext_noop, parameter
from focused.strategies.base import Strategy
from focused.strategies.link_features import FEATURES, Found, LinkFeatures, Rows

Vector = NDArray[np.float64]


class Credit:
    """Computes the credit of pages, G = y + share * mean(G of the pages fetched through the page's
    links), where y is the page's reward. Pages are numbered from 0 in the order of arrival, so that
    a page has a greater number than the one it was fetched from.
    """

    def __init__(self) -> None:
        self._own: list[float] = []
        self._whole = np.zeros(256)
        self._parents: list[int] = []
        self._sums: list[float] = []
        self._counts: list[int] = []

    def add(self, reward: float, parent: int, share: float) -> None:
        """Adds a page with this `reward` that was fetched from page `parent` (-1: none), and
        updates the credit of the pages on the path to it. `share`: weight of the mean credit of the
        pages that a page's links led to.
        """
        page = len(self._own)
        if page == len(self._whole):
            self._whole = np.concatenate([self._whole, np.zeros(page)])
        self._whole[page] = reward
        self._own.append(reward)
        self._sums.append(0.0)
        self._parents.append(parent)
        self._counts.append(0)
        gain = reward
        first = True
        while parent >= 0 and (first or gain):
            self._counts[parent] += first
            self._sums[parent] += gain
            before = float(self._whole[parent])
            self._whole[parent] = whole = (
                self._own[parent] + share * self._sums[parent] / self._counts[parent]
            )
            gain, first = whole - before, False
            parent = self._parents[parent]

    def revise(self, reward: Vector, share: float) -> None:
        """Replaces the rewards of all pages by `reward`, indexed by page number, and computes the
        credit of all pages again; `share` is the factor in the formula of the class."""
        self._own = reward.tolist()
        whole = list(self._own)
        self._sums = [0.0] * len(self._own)
        for page in range(len(self._own) - 1, -1, -1):
            if self._counts[page]:
                whole[page] += share * self._sums[page] / self._counts[page]
            if self._parents[page] >= 0:
                self._sums[self._parents[page]] += whole[page]
        self._whole[: len(whole)] = whole

    def of(self, pages: NDArray[np.intp]) -> Vector:
        """Returns the credit of the pages with the numbers `pages`, in the same order: their own
        reward plus a share of the mean credit of the pages fetched through their links."""
        return self._whole[pages]


class Examples:
    """Stores training examples: for each fetched link a row of `width` features, and the number of
    the page that it led to. Only the newest `window` examples are used.

    The sums needed for scaling and fitting are updated only by the rows added and removed since
    they were last used, so that the cost does not grow with the length of the crawl.
    """

    def __init__(self, width: int, window: int) -> None:
        self._window = window
        self._rows = np.zeros((2 * window, width))
        self._pages = np.zeros(2 * window, dtype=np.intp)
        self._end = 0
        self._clear()

    def _clear(self) -> None:
        width = self._rows.shape[1]
        self._sum = np.zeros(width)
        self._products = np.zeros((width, width))
        self._summed = range(0)
        """Range of the rows that the stored sums cover."""

    def __len__(self) -> int:
        return min(self._end, self._window)

    @property
    def rows(self) -> Vector:
        """The features of the newest `window` examples, as a matrix with a row for each, oldest
        first."""
        return self._rows[self._end - len(self) : self._end]

    @property
    def pages(self) -> Rows:
        """For each row of `rows`, the number of the page that the link led to."""
        return self._pages[self._end - len(self) : self._end]

    def add(self, row: Vector, page: int) -> None:
        """Adds an example: the features of a link (`row`), and the number of the page it led to.
        From then on only the newest `window` examples count.
        """
        if self._end == len(self._rows):
            self._rows[: self._window], self._pages[: self._window] = (
                self.rows.copy(),
                self.pages.copy(),
            )
            self._end = self._window
            self._clear()
        self._rows[self._end], self._pages[self._end] = row, page
        self._end += 1

    def _sum_up(self) -> None:
        """Updates the sums over the examples by those added and dropped since the last call."""
        now, before = range(self._end - len(self), self._end), self._summed
        if now.start >= before.stop:
            self._clear()
            before = range(now.start, now.start)
        new, old = self._rows[before.stop : now.stop], self._rows[before.start : now.start]
        self._sum += new.sum(axis=0)
        self._products += new.T @ new
        if len(old):
            self._sum -= old.sum(axis=0)
            self._products -= old.T @ old
        self._summed = now

    def scale(self, mean: Vector, spread: Vector, weight: float) -> tuple[Vector, Vector]:
        """Returns the mean and the standard deviation of each feature (two arrays) over the
        examples and `weight` imaginary further examples with the given mean and standard deviation
        (`spread`).
        """
        if not len(self):
            return mean, spread
        self._sum_up()
        whole = len(self) + weight
        own = (self._sum + weight * mean) / whole
        squares = np.diagonal(self._products) - 2 * own * self._sum + len(self) * own**2
        squares = np.maximum(squares, 0.0) + weight * (spread**2 + (mean - own) ** 2)
        return own, np.sqrt(squares / whole) + 1e-9

    def ridge(
        self,
        mean: Vector,
        spread: Vector,
        goals: Callable[[Rows], Vector],
        centre: Vector,
        trust: float,
    ) -> Vector:
        """Returns the weights w of a ridge regression, w = (X'X + trust I)^-1 (X'G + trust centre),
        an array indexed by feature. The rows of X are the examples, minus `mean` and divided by
        `spread`. G are the values to predict: what `goals` returns for the page numbers of the
        examples, minus their mean. The greater `trust`, the nearer w stays to the weights `centre`.
        """
        self._sum_up()
        wanted = goals(self.pages)
        wanted = wanted - wanted.mean()
        crossed = np.outer(self._sum, mean)
        square = (
            self._products - crossed - crossed.T + len(self) * np.outer(mean, mean)
        ) / np.outer(spread, spread)
        square[np.diag_indices(len(mean))] += trust
        found: Vector = np.linalg.solve(square, self.rows.T @ wanted / spread + trust * centre)
        return found


PRIOR_FILE = Path(__file__).with_name("adaptive_prior.json")
LINKS_A_FETCH = 2000
"""When n links have been found, n / LINKS_A_FETCH of them are chosen at once (or the parameter
`together`, if greater) before all open links are scored again, so that the cost per page does not
grow with the frontier."""
PRIOR_PAGES = 30.0
"""Weight of the prior's feature means and standard deviations against those of the run's own pages,
as a number of pages."""
FEWEST = 5
"""Number of training examples before the weights are first updated."""
ENOUGH = 60
"""Number of relevant pages from which the learning judge (`focused.judge.probability.Feedback`)
scores the pages: with fewer, the pages that it takes as typical are themselves off topic."""
REFITS = 25
"""The weights are updated when the number of examples has grown by 1 / REFITS of itself."""
WINDOW = 2000
"""Number of newest examples that are used for updating the weights."""
NOWHERE: frozenset[int] = frozenset()
SHARPEN_EVERY = 25
"""Number of pages between two changes of the exponent of the rewards; beyond 500 pages a twentieth
of the pages, so that the cost per page stays constant."""
HALF_SHARP = 20.0
"""Amount of evidence at which the exponent is half way between 1 and `sharpness` (see `exponent`).
"""
FIXED_SHARE = 0.75
"""Weight of the page's probability in its reward once the learning judge scores pages;
the judge's score has the rest of the weight."""


class Prior(NamedTuple):
    """Weights of link features that result from training on other webs: three arrays indexed by
    feature (in the order of FEATURES) with the mean and the standard deviation (`spread`) of each
    feature, and the weights of the features scaled by these.
    """

    mean: Vector
    spread: Vector
    weights: Vector


@cache
def shipped_prior() -> Prior:
    """Returns the feature weights, with means and spreads of the features, by which links are
    scored before the crawl has learned its own; they are part of the package (see
    adaptive_prior.md)."""
    return read_prior(PRIOR_FILE)


def read_prior(path: Path) -> Prior:
    """Reads prior weights of link features from a JSON file. Raises ValueError if its features are
    not FEATURES."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    if tuple(stored["features"]) != FEATURES:
        raise ValueError(f"{path.name} was trained on other features")
    return Prior(*(np.array(stored[name], dtype=float) for name in Prior._fields))


def exponent(relevant: int, pages: int, sharpness: float) -> float:
    """Returns the exponent to which rewards are raised, from 1 to `sharpness`. It is 1 at first, so
    that pages of low similarity count as long as nothing relevant is found. With the evidence e =
    relevant * (pages - relevant) / pages it rises towards `sharpness` as e / (e + 20), because low
    similarities mislead once relevant pages are known.
    """
    evidence = relevant * (pages - relevant) / max(1, pages)
    return 1.0 + (sharpness - 1.0) * evidence / (evidence + HALF_SHARP)


def greatest(scores: Vector, number: int) -> Rows:
    """Returns the indices of the `number` highest scores, highest first; of equal scores the
    first."""
    if number < len(scores) // 8:
        least = np.partition(scores, len(scores) - number)[len(scores) - number]
        among = np.flatnonzero(scores >= least)
        return among[np.argsort(-scores[among], kind="stable")[:number]]
    return np.argsort(-scores, kind="stable")[:number]


class Adaptive(Strategy):
    """Orders links by score = w . (features - mean) / spread. After every few fetches all open
    links are scored and the best few are chosen. The weights w are fitted to the fetched pages by
    ridge regression, which keeps them near those of the prior (weights trained on other webs).

    The regression predicts the credit of a link's page, G = y + tunnel * mean(G of the pages
    fetched from it). The page's own reward y is a power (`exponent`) of r, the probability that the
    page is on topic (see `focused.judge.probability`). After 60 relevant pages (with the
    parameter `feedback`), or marks by the operator, y is 3/4 r plus 1/4 of the learning judge's
    score. Mean and spread (standard deviation) are those of the fetched links' features; the prior
    counts as 30 pages in them.

    A run is resumed by passing its stored pages to a new object.
    """

    name = "adaptive"
    title = gettext_noop("Adaptive learning")
    summary = gettext_noop(
        "Learns during the crawl which links lead to pages on topic, starting from weights trained"
        " on other sites."
    )

    @dataclass(frozen=True, slots=True)
    class Settings:
        trust: float = parameter(
            60.0,
            gettext_noop("Number of pages that the pre-trained weights count as"),
            0.1,
            100_000,
            title=gettext_noop("Trust in pre-trained weights"),
        )
        tunnel: float = parameter(
            0.5,
            gettext_noop(
                "Share of the mean value of the pages reached through a page's links that is added"
                " to the page's own value"
            ),
            0,
            1,
            title=gettext_noop("Credit for pages reached"),
        )
        together: int = parameter(
            3,
            gettext_noop("Number of pages chosen at once before all links are scored again"),
            1,
            1000,
            title=gettext_noop("Pages chosen at once"),
        )
        sharpness: float = parameter(
            2.0,
            gettext_noop(
                "Exponent of rewards (the values of pages, by their similarity): rises from 1 to"
                " this value as relevant pages are found, and applies until the learning judge"
                " scores pages; 1: no change"
            ),
            1,
            8,
            title=gettext_noop("Largest exponent of rewards"),
        )
        feedback: bool = parameter(
            True,
            gettext_noop(
                "Score pages also by what the pages most similar to the topic have in common"
            ),
            title=gettext_noop("Learning judge"),
        )
        learn: bool = parameter(
            True,
            gettext_noop("Adjust the weights using the pages of the run"),
            title=gettext_noop("Learn during the run"),
        )

    settings: Settings

    def __init__(self, *args: Any, prior: Prior | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._prior = prior or shipped_prior()
        self.links = LinkFeatures()
        self._judge = Feedback(self.topic.samples, self.topic.marked)
        self._credit = Credit()
        self._chosen: list[int] = []
        self._asked: set[int] = set()
        """Numbers of the selected targets whose pages have not arrived."""
        self._at_choice: dict[int, Vector] = {}
        """Features of the selected targets at the time of selection, by target number."""
        self._examples = Examples(len(FEATURES), WINDOW)
        self._fixed: list[float] = []
        self._mean, self._spread, self._weights = self._prior
        self._exponent = 1.0
        self._sharpened = 0
        """Number of pages when the exponent was last computed."""
        self._relevant = 0
        """Number of relevant pages so far."""
        self._unfitted = 0
        """Number of examples since the last update of the weights."""

    def select(self) -> Node | None:
        seed = self.graph.pop()
        if seed is not None:
            return seed
        while (target := self._next()) is not None:
            url = self.links.urls[target]
            node = self.graph.node(url)
            if (
                node is None or node.state >= State.FETCHED
            ):  # already fetched through another address
                self.links.close(url)
                continue
            node.parent = self.links.names[self.links.parent(target)]
            self._asked.add(target)
            return node
        return None

    def _next(self) -> int | None:
        """Returns the number of the next target to fetch, None if there is none. Takes the first
        target of the current batch whose host can be requested now (is not in `graph.resting`),
        otherwise the best open target on any such host. A batch holds the best targets at the time
        when it is chosen; the next one is chosen when it is used up.
        """
        links, chosen = self.links, self._chosen
        while chosen and not links.is_open(chosen[0]):
            chosen.pop(0)
        if not chosen:
            chosen = self._chosen = self._best(
                max(self.settings.together, links.count // LINKS_A_FETCH)
            )
        if not self.graph.resting:
            return chosen.pop(0) if chosen else None
        resting = links.of_hosts(self.graph.resting)
        for place, target in enumerate(chosen):
            if links.is_open(target) and links.host(target) not in resting:
                return chosen.pop(place)
        return next(iter(self._best(1, resting)), None) if chosen else None

    def expand(self, node: Node, page: Page) -> None:
        links, number = self.links, len(self.links)
        target = links.number(node.url)
        parent = -1 if node.parent is None or target is None else links.parent(target)
        self._judge.add(page.content.hashed)
        self._fixed.append(page.probability)
        credited = self._reward(parent)
        self._credit.add(credited, parent, self.settings.tunnel)
        found, topic = [], self.topic
        for url, _, words, context in page.links:
            if self.open(node, url) is not None:
                around = topic.page(context) if links.number(url) is None else 0.0
                found.append(Found(url, topic.text(words), around, words))
        links.add(node.url, node.depth, credited, found, parent, page.relevant)
        links.close(node.url, number)
        if page.content.url != node.url:
            links.close(page.content.url, number)
        if target is not None:
            self._asked.discard(target)
            if (row := self._at_choice.pop(target, None)) is not None:
                self._examples.add(row, number)
                self._unfitted += 1
        self._relevant += page.relevant
        if self.settings.feedback and self._relevant >= ENOUGH and self._judge.due():
            self._judge_anew()
        elif not self._judge.ranked and len(links) - self._sharpened >= max(
            SHARPEN_EVERY, self._sharpened // 20
        ):
            self._sharpen()

    def fail(self, node: Node) -> None:
        self.links.close(node.url)
        target = self.links.number(node.url)
        if target is not None:
            self._asked.discard(target)
            self._at_choice.pop(target, None)

    def mark(self, url: str, on_topic: bool | None) -> None:
        number = self.links.page_of(url)
        if number is not None:
            self._judge.mark(number, on_topic)
            self._judge_anew()

    def explain(self, node: Node) -> Mapping[str, float]:
        target = self.links.number(node.url)
        if target is None or not self.links.is_open(target):
            return {}
        row = self._at_choice.get(target)
        if row is None:
            row = self.links.all_features()[:, self.links.table.column(target)]
        parts = (self.scaled(row) * self._weights).tolist()
        return {"score": sum(parts), **dict(zip(FEATURES, parts, strict=True))}

    def weigh(self) -> tuple[Vector, Vector]:
        """Returns the features and the scores of the n open targets. The features are a matrix with
        a row for each target, in ascending order of target numbers, and 14 columns in the order of
        FEATURES; the scores are an array in the same order.
        """
        features, scores = self._score()
        is_open = self.links.table.is_open
        return features[:, is_open].T, scores[is_open]

    def _score(self) -> tuple[Vector, Vector]:
        """Returns the features of the targets in `links.table`, closed ones included, as a matrix
        with 14 rows and a column for each target, and an array with the score of each column, -inf
        for closed targets. Fits the weights again first if enough examples have arrived."""
        features = self.links.all_features()
        if self._unfitted >= max(1, len(self._examples) // REFITS):
            self._fit()
        weights = self._weights / self._spread
        scores = weights @ features - self._mean @ weights
        scores[~self.links.table.is_open] = -np.inf
        return features, scores

    def _fit(self) -> None:
        """Computes the means and standard deviations of the features again from the examples so
        far, and fits the weights again if the parameter `learn` is on and there are enough
        examples."""
        self._unfitted = 0
        self._mean, self._spread = self._examples.scale(
            self._prior.mean, self._prior.spread, PRIOR_PAGES
        )
        if self.settings.learn and len(self._examples) >= FEWEST:
            goals, trust = self._credit.of, self.settings.trust
            self._weights = self._examples.ridge(
                self._mean, self._spread, goals, self._prior.weights, trust
            )

    def scaled(self, features: Vector) -> Vector:
        """Returns the features of a link, or of several links as rows of a matrix, minus the
        current means and divided by the current standard deviations.
        """
        return (features - self._mean) / self._spread

    @property
    def fetched_features(self) -> Vector:
        """The features that the most recently fetched links had when they were chosen: a matrix
        with a row for each link, oldest first.
        """
        return self._examples.rows

    def _best(self, number: int, resting: frozenset[int] = NOWHERE) -> list[int]:
        """Returns the numbers of the `number` open targets with the highest scores, without those
        that are already selected (`select`) or on the hosts with the numbers `resting`; of equal
        scores the first found. Stores their present features for training.
        """
        table = self.links.table
        _, scores = self._score()
        scores[
            [column for target in self._asked if (column := table.column(target)) >= 0]
        ] = -np.inf
        if resting:
            scores[np.isin(table.hosts, list(resting))] = -np.inf
        best = [column for column in greatest(scores, number).tolist() if scores[column] > -np.inf]
        chosen: list[int] = table.targets[best].tolist()
        self._at_choice.update(zip(chosen, map(table.vector, best), strict=True))
        return chosen

    def _reward(self, parent: int) -> float:
        """Returns the reward in [0, 1] of the newest page, which was fetched through a link of page
        number `parent` (-1: none). Once relevance feedback has ranked the pages, its score makes up
        the share 1 - FIXED_SHARE of the reward.
        """
        fixed = self._fixed[-1]
        if not self._judge.ranked:
            return float(fixed**self._exponent)
        learned = self._judge.scaled_score(self._judge.score(len(self._judge) - 1, parent))
        return FIXED_SHARE * fixed + (1 - FIXED_SHARE) * learned

    def _judge_anew(self) -> None:
        """Computes the rewards of all pages again, in part from new scores of the relevance
        feedback, which learns from the crawled pages. A page that the operator marked has the
        reward 1 (on topic) or 0.
        """
        learned = self._judge.scaled(self._judge.rank(*self.links.between_pages()))
        rewards = FIXED_SHARE * np.array(self._fixed) + (1 - FIXED_SHARE) * learned
        for number, on_topic in self._judge.marks.items():
            rewards[number] = float(on_topic)
        self._revise(rewards)

    def _sharpen(self) -> None:
        """Computes the exponent of the rewards from the number of relevant pages (see `exponent`);
        if it has changed, computes all rewards again. The exponent is 1 if the parameter `learn` is
        off, or once ENOUGH relevant pages are known: relevance feedback then sets the rewards.
        """
        self._sharpened = len(self.links)
        plain = not self.settings.learn or self._relevant >= ENOUGH
        power = 1.0 if plain else exponent(self._relevant, len(self.links), self.settings.sharpness)
        if power != self._exponent:
            self._exponent = power
            self._revise(np.array(self._fixed) ** power)

    def _revise(self, rewards: Vector) -> None:
        """Replaces the rewards of all pages by `rewards`, indexed by page number; the weights are
        fitted again at the next scoring.
        """
        self._credit.revise(rewards, self.settings.tunnel)
        self._unfitted = len(self._examples) + 1
        self.links.revise(rewards)
