"""The weights of the learned reader's models, read once from `weights.npz` beside this file;
`card.json` describes training data, method and accuracy. The decision trees of a model are flat
arrays, which are evaluated for many candidates at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

# in this many levels from the root all candidates are moved, as selecting those not at a leaf is
# slower
_TOGETHER = 5


_LEVELS = 255  # number of steps into which class shares in averaged leaves are quantised


_PARTS = ("feature", "threshold", "skip", "values", "roots", "start")


class Tree(NamedTuple):
    """One decision tree, its nodes in preorder with the left child first: the feature number and
    threshold of each node, the index of its right child (-1 for a leaf), the values of the leaves
    (nodes x classes), and the depth of the tree.
    """

    feature: np.ndarray
    threshold: np.ndarray
    right: np.ndarray
    values: np.ndarray
    depth: int


@dataclass(frozen=True)
class Forest:
    """Several decision trees, their nodes one after the other in the same arrays.

    A node tests whether feature number `feature` of a candidate is at most `threshold`. If so, its
    left child is the next node, otherwise its right child is `skip` nodes further; `skip` is 0 for
    leaves. `roots` are the indices of the trees' first nodes.

    With an empty `start`, the leaves in `values` hold class shares in steps of 1/255, and the
    forest returns their mean over the trees. Otherwise they hold additions to the log odds of the
    classes, which begin at `start`, and tree number t adds to class t modulo the number of classes.
    """

    feature: np.ndarray
    threshold: np.ndarray
    skip: np.ndarray
    values: np.ndarray
    roots: np.ndarray
    start: np.ndarray
    depth: int

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Returns the probability of each class for each candidate. features: (candidates,
        features); result: (candidates, classes), rows sum to 1."""
        classes = len(self.start) or self.values.shape[1]
        if not len(features):
            return np.zeros((0, classes))
        reached = self.values[self._leaves(features)]
        if len(self.start):
            reached = reached.astype(np.float64)
            odds = (
                np.column_stack([reached[:, at::classes, 0].sum(axis=1) for at in range(classes)])
                + self.start
            )
            made = np.exp(odds - odds.max(axis=1, keepdims=True))
        else:
            made = reached.sum(axis=1, dtype=np.float64)
        shares: np.ndarray = made / np.maximum(made.sum(axis=1, keepdims=True), 1e-9)
        return shares

    def _leaves(self, features: np.ndarray) -> np.ndarray:
        """Returns the index of the leaf that each candidate reaches in each tree, (candidates,
        trees). Through the first `_TOGETHER` levels all candidates are moved (those at a leaf stay
        there), which is faster than selecting; after that only those not at a leaf yet."""
        width, trees = features.shape[1], len(self.roots)
        flat = np.ascontiguousarray(features, dtype=np.float32).ravel()
        asked, bounds, below, is_inner = self._walk
        at = np.tile(self.roots.astype(np.int32), len(features))
        rows = np.repeat(np.arange(len(features), dtype=np.int32) * width, trees)

        def step(here: np.ndarray, rows: np.ndarray) -> np.ndarray:
            right = flat.take(rows + asked.take(here)) > bounds.take(here)
            children: np.ndarray = below.take(2 * here + right)
            return children

        for _ in range(min(_TOGETHER, self.depth)):
            at = step(at, rows)
        going = np.flatnonzero(is_inner.take(at))
        here, rows = at.take(going), rows.take(going)
        while len(going):
            here = step(step(here, rows), rows)
            at[going] = here
            under_way = np.flatnonzero(is_inner.take(here))
            going, here, rows = going.take(under_way), here.take(under_way), rows.take(under_way)
        return at.reshape(len(features), trees)

    @cached_property
    def _walk(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Four arrays for evaluation, indexed by node: the feature tested, the threshold, the left
        and right child (two entries per node; for a leaf both are the node itself), and True for
        inner nodes, False for leaves.
        """
        steps = self.skip.astype(np.int32)
        below = (
            np.arange(len(steps), dtype=np.int32)[:, None]
            + np.column_stack([(steps > 0).astype(np.int32), steps])
        ).ravel()
        return self.feature.astype(np.int32), self.threshold.astype(np.float32), below, steps > 0

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """Returns the forest as arrays, with names that begin with `name`, from which `from_arrays`
        restores it."""
        return {f"{name}.{part}": getattr(self, part) for part in _PARTS} | {
            f"{name}.depth": np.asarray(self.depth)
        }

    @staticmethod
    def from_arrays(name: str, arrays: Mapping[str, np.ndarray]) -> Forest:
        """Restores a forest from the arrays that `Forest.arrays` returned for the same `name`;
        others in `arrays` are ignored."""
        feature, threshold, skip, values, roots, start = (
            arrays[f"{name}.{part}"] for part in _PARTS
        )
        return Forest(feature, threshold, skip, values, roots, start, int(arrays[f"{name}.depth"]))

    @staticmethod
    def of_trees(trees: Sequence[Tree], start: np.ndarray | None = None) -> Forest:
        """Makes a forest of trees. Their leaves hold class shares; if `start` is given (the initial
        log odds of each class), they hold additions to these log odds."""
        features, thresholds, skips, values, roots, first = [], [], [], [], [], 0
        for tree in trees:
            leaf = tree.right < 0
            kept = np.where(leaf[:, None], tree.values, 0.0)
            features.append(np.where(leaf, 0, tree.feature).astype(np.uint16))
            thresholds.append(np.where(leaf, 0.0, tree.threshold).astype(np.float32))
            skips.append(np.where(leaf, 0, tree.right - np.arange(len(leaf))).astype(np.uint16))
            values.append(
                np.rint(kept * _LEVELS).astype(np.uint8)
                if start is None
                else kept.astype(np.float32)
            )
            roots.append(first)
            first += len(leaf)
        return Forest(
            np.concatenate(features),
            np.concatenate(thresholds),
            np.concatenate(skips),
            np.concatenate(values),
            np.asarray(roots, dtype=np.uint32),
            np.zeros(0) if start is None else start,
            max(tree.depth for tree in trees),
        )


FILE = Path(__file__).with_name("weights.npz")


MODELS = ("links", "bodies", "kind", "worth", "doubt", "cut")


CARD = Path(__file__).with_name("card.json")


@dataclass(frozen=True)
class Model:
    """A model whose prediction is the mean of the predictions of its forests."""

    forests: tuple[Forest, ...]

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Returns the probability of each class, (candidates, classes); features: (candidates,
        features)."""
        found = [forest.predict(features) for forest in self.forests]
        made: np.ndarray = sum(found[1:], found[0]) / len(found)
        return made


@dataclass(frozen=True)
class Weights:
    """The models of the learned reader, with their classes in order.

    - `links`: what a link names (nothing, thread, board). `bodies`: whether an element is the text
      of a post (no, yes).
    - `kind`: the kind of the page (`KINDS`). `worth`: a list's quality in [0, 1], the probability
      of the second class.
    - `doubt`: whether a reading is perfect (no, yes). `cut`: whether it is incomplete (no, yes).
    - `whole`: the greatest probability of being incomplete at which a reading counts as complete.
    """

    links: Model
    bodies: Model
    kind: Model
    worth: Model
    doubt: Model
    cut: Model
    whole: float

    def save(self, path: Path) -> None:
        """Writes the weights to the file `path`: to a temporary file beside it, which is then
        renamed."""
        arrays: dict[str, np.ndarray] = {"whole": np.asarray(self.whole)}
        for name in MODELS:
            forests = getattr(self, name).forests
            arrays[f"{name}.forests"] = np.asarray(len(forests))
            for at, forest in enumerate(forests):
                arrays |= forest.arrays(f"{name}.{at}")
        beside = path.with_suffix(".part.npz")
        # no array is named allow_pickle
        np.savez_compressed(beside, **arrays)  # type: ignore[arg-type]
        beside.replace(path)


def _model(name: str, arrays: Mapping[str, np.ndarray]) -> Model:
    return Model(
        tuple(
            Forest.from_arrays(f"{name}.{at}", arrays)
            for at in range(int(arrays[f"{name}.forests"]))
        )
    )


def read_weights(path: Path) -> Weights:
    """Reads the weights of all models from a file that `Weights.save` wrote."""
    with np.load(path) as stored:
        arrays: Mapping[str, np.ndarray] = dict(stored)
    models = {name: _model(name, arrays) for name in MODELS}
    return Weights(**models, whole=float(arrays["whole"]))


@lru_cache(maxsize=1)
def shipped() -> Weights:
    """Returns the weights delivered with the program. They are read once."""
    return read_weights(FILE)
