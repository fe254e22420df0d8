"""Trains the tree models of the page reader and converts them to flat arrays: averaged trees,
boosted trees, several models in parallel."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from forums.reading.learned.weights import Forest, Model, Tree

_THREADS = (  # environment variable that limits the threads of a process; read when it starts
    "OMP_NUM_THREADS"
)


@dataclass(frozen=True)
class Shape:
    """Settings of averaged trees: number of trees, smallest number of examples in a leaf, and
    number (or share) of features tried per split."""

    trees: int
    leaf: int
    features: int | float


class Examples(NamedTuple):
    """Training examples of a model, one row per example: features, labels (integers from 0) and
    weights."""

    features: np.ndarray
    labels: np.ndarray
    weights: np.ndarray


def averaged(examples: Examples, classes: int, shape: Shape) -> Forest:
    """Trains extremely randomised trees with a fixed seed. classes: number of classes; shape:
    number and size of the trees."""
    model = ExtraTreesClassifier(
        shape.trees, min_samples_leaf=shape.leaf, max_features=shape.features, random_state=0
    )
    model.fit(examples.features, examples.labels, sample_weight=examples.weights)
    trees = []
    for estimator in model.estimators_:
        tree = estimator.tree_
        shares = np.zeros((tree.node_count, classes))
        shares[:, model.classes_.astype(int)] = tree.value[:, 0] / np.maximum(
            tree.value[:, 0].sum(axis=1, keepdims=True), 1e-12
        )
        trees.append(
            Tree(tree.feature, tree.threshold, tree.children_right, shares, int(tree.max_depth))
        )
    return Forest.of_trees(trees)


def boosted(examples: Examples, rounds: int, seed: int = 0) -> Forest:
    """Trains gradient boosting for three or more classes; the result is the same for the same
    `seed`. rounds: number of boosting rounds."""
    model = HistGradientBoostingClassifier(
        max_iter=rounds,
        learning_rate=0.12,
        max_leaf_nodes=20,
        min_samples_leaf=25,
        l2_regularization=5,
        max_bins=63,
        max_features=0.15,
        early_stopping=False,
        random_state=seed,
    )
    model.fit(examples.features, examples.labels, sample_weight=examples.weights)
    trees = []
    for turn in model._predictors:
        for predictor in turn:
            nodes = predictor.nodes
            right = np.where(nodes["is_leaf"], -1, nodes["right"].astype(np.int64))
            depth = int(nodes["depth"].max())
            trees.append(
                Tree(
                    nodes["feature_idx"],
                    nodes["num_threshold"],
                    right,
                    nodes["value"][:, None],
                    depth,
                )
            )
    return Forest.of_trees(trees, np.asarray(model._baseline_prediction).reshape(-1))


class Job(NamedTuple):
    """A model to train: averaged trees with the settings `shape` and, for each of `seeds` seeds,
    boosted trees with `rounds` rounds."""

    examples: Examples
    classes: int
    shape: Shape
    rounds: int
    seeds: int


def trained(job: Job) -> Model:
    """Trains the model that a job describes: it predicts the mean of a forest of random trees and
    of `seeds` boosted forests."""
    made = [averaged(job.examples, job.classes, job.shape)]
    made += [boosted(job.examples, job.rounds, seed) for seed in range(job.seeds)]
    return Model(tuple(made))


def all_trained(jobs: Sequence[Job], workers: int) -> list[Model]:
    """Trains the models of several jobs, in `workers` processes if these are two or more, and
    returns them in order. Each process uses one thread, since boosting would busy-wait for threads
    that other processes occupy.
    """
    if workers < 2:
        with threadpool_limits(1):
            return [trained(job) for job in jobs]
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = "1"
    try:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            return list(pool.map(trained, jobs))
    finally:
        os.environ.pop(_THREADS)
        if before is not None:
            os.environ[_THREADS] = before
