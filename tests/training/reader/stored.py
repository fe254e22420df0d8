"""Stores scores of the first stage (links and texts) in a file, which is valid as long as the
pages, their candidates and the settings of the models stay the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np

from tests.training.reader.fit import Sample, first_stage, recipe

_MARK = "made_of"


def digest_of(samples: Sequence[Sample]) -> str:
    """Returns a digest of all inputs of the scores: features, labels, weights and folds of the
    candidates, and the settings of the models."""
    digest = sha256(recipe().encode())
    for sample in samples:
        digest.update(
            f"{sample.saved.file.name} {sample.fold} {sample.weight!r} "
            f"{sample.saved.measured}".encode()
        )
        for values in (
            sample.links,
            sample.second.links.features,
            sample.bodies,
            sample.second.bodies.features,
        ):
            digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()


def load_scores(samples: Sequence[Sample], file: Path) -> bool:
    """Sets the samples' scores from a file. Returns False, and sets nothing, if the file is absent
    or belongs to other samples."""
    if not file.exists():
        return False
    with np.load(file) as stored:
        arrays: Mapping[str, np.ndarray] = dict(stored)
    if _MARK not in arrays or str(arrays[_MARK]) != digest_of(samples):
        return False
    for name in ("links", "bodies"):
        ends = np.cumsum([len(getattr(sample, name)) for sample in samples])
        for sample, scores in zip(samples, np.split(arrays[name], ends[:-1]), strict=True):
            sample.given[name] = scores
    return True


def store(samples: Sequence[Sample], file: Path) -> None:
    """Saves the samples' scores to a file: writes a temporary file beside it and renames that."""
    arrays = {
        name: np.concatenate([sample.given[name] for sample in samples])
        for name in ("links", "bodies")
    }
    beside = file.with_suffix(".part.npz")
    arrays[_MARK] = np.asarray(digest_of(samples))
    # as in weights.py
    np.savez_compressed(beside, **arrays)  # type: ignore[arg-type]
    beside.replace(file)


def scored(samples: Sequence[Sample], workers: int, file: Path | None) -> bool:
    """Sets the samples' scores of the first stage: loads them from the file if it fits these
    samples, otherwise computes them with `workers` processes and saves them. Returns whether they
    came from the file. With `file` None nothing is stored.
    """
    if file is not None and load_scores(samples, file):
        return True
    first_stage(samples, workers)
    if file is not None:
        store(samples, file)
    return False
