"""The weights of the learned reader's models, read once from `weights.npz` beside this file;
`card.json` describes training data, method and accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from forums.reading.learned.forest import Forest

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
