"""The report of a training: accuracy figures in which each forum software has the same weight,
calibration of the confidence, and the model card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.training.reader.fit import FOLDS, LINKS, ROUNDS, Outcome, Sample, counts, measured
from tests.training.reader.scoring import FIGURES, by_group

_BINS = 10
SURE = 0.9
Figures = dict[str, Any]


def _rounded(row: dict[str, float | None]) -> dict[str, float | None]:
    return {name: None if value is None else round(value, 4) for name, value in row.items()}


def reliability(sure: np.ndarray, perfect: np.ndarray) -> Figures:
    """Returns how often readings are perfect, by tenths of their confidence, and the expected
    calibration error: the mean difference between confidence and share of perfect readings,
    weighted by the number of readings per tenth. sure: confidence of each reading; perfect: 1 or 0
    for each."""
    places = np.minimum((sure * _BINS).astype(int), _BINS - 1)
    rows = []
    for at in range(_BINS):
        inside = places == at
        if inside.any():
            said, were = float(sure[inside].mean()), float(perfect[inside].mean())
            rows.append(
                {
                    "from": at / _BINS,
                    "pages": int(inside.sum()),
                    "said": round(said, 3),
                    "perfect": round(were, 3),
                }
            )
    error = sum(row["pages"] * abs(row["said"] - row["perfect"]) for row in rows) / max(
        1, len(sure)
    )
    high = sure >= SURE
    return {
        "bins": rows,
        "expected_calibration_error": round(error, 4),
        "sure_pages": int(high.sum()),
        "sure_perfect": round(float(perfect[high].mean()), 4) if high.any() else None,
    }


def figures(samples: Sequence[Sample], outcomes: Sequence[Outcome]) -> Figures:
    """Returns the figures of the report: means over forum software in total and by kind of page,
    figures of each software, the calibration, and the number of pages that belong to no forum but
    were read as forum pages."""
    pairs = [
        (sample, outcome)
        for sample, outcome in zip(measured(samples), outcomes, strict=True)
        if counts(sample)
    ]
    groups = by_group((sample.saved.engine, outcome.tally) for sample, outcome in pairs)
    kinds = {}
    for kind in ("threadlist", "index", "thread"):
        asked = [(s.saved.engine, o.tally) for s, o in pairs if s.saved.truth["kind"] == kind]
        if asked:
            kinds[kind] = {"pages": len(asked), **_rounded(by_group(asked)["macro"])}
    others = [
        outcome
        for sample, outcome in zip(measured(samples), outcomes, strict=True)
        if not sample.saved.is_forum
    ]
    sure = np.asarray([outcome.sure for _, outcome in pairs])
    perfect = np.asarray([float(outcome.tally.is_perfect) for _, outcome in pairs])
    doubted = sum(not o.document["complete"] and o.tally.is_perfect for _, o in pairs)
    return {
        "pages": len(pairs),
        "macro": _rounded(groups.pop("macro")),
        "kinds": kinds,
        "engines": {engine: _rounded(row) for engine, row in groups.items()},
        "reliability": reliability(sure, perfect),
        "perfect_but_doubted": round(doubted / max(1, int(perfect.sum())), 4),
        "no_forum": {
            "pages": len(others),
            "read_as_forum": sum(o.document["kind"] != "other" for o in others),
        },
    }


def card(samples: Sequence[Sample], leave_out: str, found: Figures) -> Figures:
    """Returns the model card, a JSON document with training data, method, and accuracy (`found`,
    from `figures`) on forum software or sites (`leave_out`) left out of the training."""
    engines = Counter(sample.saved.engine for sample in samples if counts(sample))
    others = sum(not sample.saved.is_forum for sample in samples)
    return {
        "what": "Models of the forum page reader: links, texts of posts, kind of page, doubt",
        "pages": {
            "forum": sum(engines.values()),
            "other": others,
            "drawn": sum(
                not (sample.saved.measured or sample.saved.is_variant) for sample in samples
            ),
            "variants": sum(sample.saved.is_variant for sample in samples),
        },
        "engines": dict(sorted(engines.items())),
        "records": sum(len(sample.saved.truth["records"]) for sample in samples),
        "how": {
            "first": (
                f"{LINKS.trees} extremely randomised trees and {ROUNDS} rounds of gradient"
                " boosting, averaged"
            ),
            "weights": "a page counts 1 / sqrt(pages of its engine)",
            "folds": FOLDS,
            "left_out": leave_out,
            "stages": "each stage is trained on scores of models that never saw the page's group",
        },
        "figures": {name: value for name, value in found.items() if name != "engines"},
    }


def table_rows(found: Figures) -> list[list[Any]]:
    """Returns the rows of the printed table: total, kinds of pages, each forum software. A row is
    its name and the values of `FIGURES`."""
    rows = [["macro", *(found["macro"][name] for name in FIGURES)]]
    rows += [
        [f"macro {kind}", *(row[name] for name in FIGURES)] for kind, row in found["kinds"].items()
    ]
    return rows + [
        [engine, *(row[name] for name in FIGURES)] for engine, row in found["engines"].items()
    ]


def reliability_rows(found: Figures) -> list[list[Any]]:
    """Returns the rows of the printed table of calibration: tenth of confidence, number of pages,
    mean confidence, share of perfect readings."""
    return [
        [row[name] for name in ("from", "pages", "said", "perfect")]
        for row in found["reliability"]["bins"]
    ]


def reliability_words(found: Figures) -> list[str]:
    """Returns one or two lines of text: the calibration error with the share of perfect readings
    among those of high confidence, and, if there are pages of no forum, how many of these were read
    as a forum's."""
    told = found["reliability"]
    sure = f"{told['sure_perfect']:.3f} of {told['sure_pages']}" if told["sure_pages"] else "none"
    made = [
        f"expected calibration error {told['expected_calibration_error']:.3f}; perfect of those"
        f" said with {SURE} or more: {sure}"
    ]
    if found["no_forum"]["pages"]:
        made.append(
            f"of {found['no_forum']['pages']} pages of no forum read as a forum's:"
            f" {found['no_forum']['read_as_forum']}"
        )
    return made
