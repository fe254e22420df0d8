"""Trains the prior of the strategy `adaptive`: the weights of link features with which a run
begins, learned from recorded webs with labelled topics."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawlmgr.text.tokens import Tokenizer
from focused.graph import MemoryGraph
from focused.judge.probability import reward
from focused.judge.relevance import Relevance, Topic
from focused.lab.evaluate import Label
from focused.pages import Page
from focused.run.loop import Outside, Source, crawl
from focused.run.parse import Parser
from focused.strategies.adaptive import Adaptive, Prior
from focused.strategies.link_features import FEATURES
from tests.training import packs

Vector = NDArray[np.float64]

SAMPLE_EVERY = 5
"""Number of pages between two samples of the frontier."""
SAMPLES = 20
"""Number of open links in a sample of the frontier: half those with the highest scores, half
random."""
BEST_LINKS = 5
"""Number of a page's best links whose value is credited to it."""
RIDGE = 300.0
OTHER_SAMPLES = 4
"""Number of further lessons made of each topic, with other samples drawn from its relevant pages.
"""
ROUNDS = 3
"""Number of training rounds; each crawls with the weights of the one before."""


class Lesson(NamedTuple):
    """One topic of one recorded web for training: the name of the web, the topic, the source of
    pages, the relevance labels by URL, and the number of pages to fetch.
    """

    web: str
    topic: Topic
    source: Source
    labels: Mapping[str, Label]
    pages: int


@dataclass(slots=True)
class FrontierSamples:
    """Training data of one crawl, from samples of the frontier. `features` and `values` are
    parallel lists over the sampled links: an array of the link's features, scaled as `adaptive`
    scaled them at that point of the crawl, and the true value of its target (see `value_of`).
    `fetched` is a matrix of the unscaled features of the fetched links, one row per link.
    """

    features: list[Vector]
    values: list[float]
    fetched: Vector


def value_of(lesson: Lesson) -> Callable[[str], float | None]:
    """Returns a function from a URL to the true value of its page; None if the recorded web of
    `lesson` does not contain it. A page's own value is the mean of its label (1 if relevant, else
    0) and its reward min(1, Sim / 2 tau) (see `judge.reward`). The true value is this plus half
    the mean of the five best own values of linked pages (0 if missing).
    """
    relevance = Relevance(lesson.topic)
    own: dict[str, float | None] = {}
    whole: dict[str, float | None] = {}

    def alone(url: str) -> float | None:
        if url not in own:
            try:
                page = lesson.source.get(url)
            except Outside:
                page = None
            if page is None:
                own[url] = None
            else:
                label = lesson.labels.get(page.url)
                own_value = reward(relevance.page(page.words), relevance.threshold)
                own[url] = 0.5 * bool(label and label.relevant) + 0.5 * own_value
        return own[url]

    def value(url: str) -> float | None:
        if url not in whole:
            first = alone(url)
            if first is not None:
                page = lesson.source.get(url)
                linked = page.links if page is not None else ()
                links = [own_value for link in linked if (own_value := alone(link.url)) is not None]
                best = sorted(links, reverse=True)[:BEST_LINKS]
                first += 0.5 * sum(best) / BEST_LINKS
            whole[url] = first
        return whole[url]

    return value


def sample_frontier(lesson: Lesson, prior: Prior, seed: str = "") -> FrontierSamples:
    """Crawls a recorded web for its topic (both in `lesson`) with the strategy `adaptive` and the
    given prior, and returns the training data sampled during the crawl. `seed` seeds the random
    numbers, which also order links of equal priority.
    """
    rng = random.Random(seed)
    graph = MemoryGraph(rng)
    strategy = Adaptive(Relevance(lesson.topic), graph, rng, {"sharpness": 1.0}, prior=prior)
    value = value_of(lesson)
    samples = FrontierSamples([], [], np.zeros((0, len(FEATURES))))

    def watch(page: Page) -> None:
        if len(strategy.links) % SAMPLE_EVERY or not len(strategy.links):
            return
        targets = strategy.links.open_targets()
        features, scores = strategy.weigh()
        scaled = strategy.scaled(features)
        order = np.argsort(-scores, kind="stable")
        chosen = [
            *order[: SAMPLES // 2].tolist(),
            *rng.sample(range(len(order)), min(SAMPLES // 2, len(order))),
        ]
        for i in chosen:
            true_value = value(strategy.links.urls[targets[i]])
            if true_value is not None:
                samples.features.append(scaled[i])
                samples.values.append(true_value)

    crawl(strategy, graph, lesson.source, lesson.topic.seeds, lesson.pages, watch)
    samples.fetched = strategy.fetched_features
    return samples


def fit(all_samples: Sequence[FrontierSamples]) -> Prior:
    """Trains a prior by ridge regression of the true values of links on their scaled features.
    Before that the mean over the crawl is subtracted, from the values as well as from each feature.
    All crawls have equal weight; those without samples are left out."""
    size = len(FEATURES)
    square, moment = RIDGE * np.eye(size), np.zeros(size)
    means, squares = [], []
    for samples in all_samples:
        if not samples.features or not len(samples.fetched):
            continue
        rows, values = np.array(samples.features), np.array(samples.values)
        rows, values = rows - rows.mean(axis=0), values - values.mean()
        share = 1000 / len(rows)
        square += share * rows.T @ rows
        moment += share * rows.T @ values
        means.append(samples.fetched.mean(axis=0))
        squares.append((samples.fetched**2).mean(axis=0))
    mean: Vector = np.mean(means, axis=0)
    spread: Vector = np.sqrt(np.maximum(np.mean(squares, axis=0) - mean**2, 1e-6))
    return Prior(mean, spread, np.asarray(np.linalg.solve(square, moment), dtype=np.float64))


def lessons(pack: Path, random_seed: int = 1) -> list[Lesson]:
    """Returns the lessons of a pack (a recorded web): for each topic one with its own samples, and
    `OTHER_SAMPLES` with samples drawn at random from its relevant pages."""
    archive = packs.open_archive(pack, Parser(Tokenizer()))
    return [
        Lesson(one.pack, topic, archive, one.labels, one.budget("25"))
        for one in packs.topics(pack, archive)
        for topic, _ in packs.draws(one, archive, OTHER_SAMPLES, random_seed)
    ]


def by_hand() -> Prior:
    """Returns the prior that the first training round starts with: features unscaled, weights set
    by hand."""
    guess = {
        "siblings_best": 0.15,
        "siblings_mean": 0.05,
        "anchor": 0.11,
        "context": 0.07,
        "template": 0.03,
        "words": 0.05,
    }
    size = len(FEATURES)
    return Prior(
        np.zeros(size), np.ones(size), np.array([guess.get(name, 0.0) for name in FEATURES])
    )


def as_json(prior: Prior, webs: Sequence[str]) -> dict[str, object]:
    """Returns a prior in the format of its file; `webs` are the names of the webs it was trained
    on."""
    columns = {
        name: [round(value, 6) for value in getattr(prior, name).tolist()] for name in Prior._fields
    }
    return {"webs": list(webs), "features": list(FEATURES), **columns}


def train(
    lessons: Iterable[Lesson],
    rounds: int = ROUNDS,
    say: Callable[[str], None] = lambda _: None,
    random_seed: int = 1,
) -> Prior:
    """Trains a prior on lessons, in rounds that each crawl with the weights of the round before.
    `say` is called with messages on the progress.
    """
    prior, known = by_hand(), list(lessons)
    for number in range(rounds):
        say(f"round {number + 1} of {rounds}")
        prior = fit(
            [
                sample_frontier(lesson, prior, f"{random_seed} {number} {place}")
                for place, lesson in enumerate(known)
            ]
        )
    return prior


def averaged(priors: Sequence[Prior]) -> Prior:
    """Returns the average of the priors of several trainings, since a single one depends on the
    order in which its crawls fetched the pages.

    The weights are averaged as weights of the unscaled features; mean and standard deviation
    (`spread`) are those of the pages of all trainings together. Raises ValueError if there is no
    prior."""
    if not priors:
        raise ValueError("no prior to average")
    means, spreads, weights = (
        np.array([getattr(one, name) for one in priors]) for name in Prior._fields
    )
    mean = means.mean(axis=0)
    spread = np.sqrt((spreads**2 + means**2).mean(axis=0) - mean**2)
    return Prior(mean, spread, (weights / spreads).mean(axis=0) * spread)


def train_several(
    folders: Sequence[Path],
    trainings: int,
    say: Callable[[str], None] = lambda _: None,
    random_seed: int = 1,
) -> tuple[Prior, int]:
    """Trains `trainings` priors on the recorded webs in `folders`, each with another random seed
    (`random_seed` and following). Returns their average, and the total number of lessons (see
    `lessons`). Raises ValueError if `trainings` is less than 1.
    """
    priors, number = [], 0
    for seed in range(random_seed, random_seed + trainings):
        drawn = [lesson for folder in folders for lesson in lessons(folder, seed)]
        number += len(drawn)
        say(f"training with seed {seed}")
        priors.append(train(drawn, say=say, random_seed=seed))
    return averaged(priors), number
