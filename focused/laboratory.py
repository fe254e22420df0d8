"""Comparisons of strategies over several random draws: the results of all draws combined, with
confidence intervals, and the conclusion about the best strategy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any, NamedTuple

import numpy as np

from focused.archive import Archive
from focused.comparison import Entry, Outcome, compare, sample_draws, without
from focused.evaluate import Label, bootstrap_difference
from focused.topics import Topic

MAX_DRAWS = 20
PATENT_WEIGHTS: Mapping[str, Mapping[str, float]] = {
    "similarity": {"alpha": 1.0, "beta": 0.0, "gamma": 0.0},
    "depth": {"alpha": 0.0, "beta": 1.0, "gamma": 0.0},
    "links": {"alpha": 0.0, "beta": 0.0, "gamma": 1.0},
    "mixed": {"alpha": 0.4, "beta": 0.3, "gamma": 0.3},
}
"""Parameters of the Dolphin patent's four runs: each criterion alone, and all three mixed."""


class Cell(NamedTuple):
    """One run of a comparison: the name of its entry (a strategy with its parameters), and the
    number of its draw, counted from
    1. A draw is one random choice of the topic's samples and of random numbers, in which every
      entry is run once.
    """

    entry: str
    draw: int

    @property
    def key(self) -> str:
        """Text that identifies the run within a comparison."""
        return f"{self.entry}#{self.draw}"


class Verdict(NamedTuple):
    """The conclusion of a comparison: the entry with the largest mean area under the recall curve
    (`best`), and the next one (`second`).

    A draw is a repetition with other random samples and numbers. `gap` is the difference between
    the mean areas of the two entries, each over all its draws. `difference` is (mean, lower bound,
    upper bound): the mean difference over the `draws` draws that both have, and its 95 % interval
    by a paired bootstrap; None for a single draw, which says nothing about chance. `real` is True
    if the whole interval is above zero."""

    best: str
    second: str
    difference: tuple[float, float, float] | None
    gap: float
    draws: int

    @property
    def real(self) -> bool:
        return self.difference is not None and self.difference[1] > 0


def cells(entries: Sequence[str], draws: int) -> list[Cell]:
    """Returns all runs of a comparison: every entry with the first draw of random samples, then
    with the second, and so on."""
    return [Cell(entry, draw) for draw in range(1, draws + 1) for entry in entries]


def area(outcome: Outcome, pages: int, wanted: int) -> float:
    """Returns the area under a run's recall curve, in [0, 1]: the share of the `wanted` pages
    (number of relevant pages to find) found so far, averaged over `pages` fetches. A run that ends
    early keeps its last value.
    """
    if not wanted or not outcome.curve:
        return 0.0
    fetched = np.array([0, *(mark for mark, _ in outcome.curve), max(pages, outcome.curve[-1][0])])
    found = np.array([0, *(hits for _, hits in outcome.curve), outcome.curve[-1][1]])
    return float(np.trapezoid(found, fetched) / fetched[-1] / wanted)


def gathered(outcomes: Sequence[tuple[Cell, Outcome]], pages: int) -> list[dict[str, Any]]:
    """Returns one dictionary per entry, with the keys of `Outcome.as_json`; their values are means
    over its draws (see `_mean_of`). Further keys: `draws`, their number; `areas`, the areas under
    their recall curves; `area`, the mean of these. `area_interval` and `harvest_interval` are 95 %
    intervals of the mean area and harvest rate, None for a single draw. `pages` is the number of
    fetches of a run."""
    rows = []
    for entry in dict.fromkeys(cell.entry for cell, _ in outcomes):
        own = [outcome for cell, outcome in outcomes if cell.entry == entry]
        parts = [one.as_json() for one in own]
        areas = [area(one, pages, one.wanted) for one in own]
        row = _mean_of(parts)
        row |= {
            "strategy": entry,
            "draws": len(own),
            "areas": areas,
            "area": mean(areas),
            "area_interval": interval(areas),
        }
        row["harvest_interval"] = interval([one.harvest_rate for one in own])
        rows.append(row)
    return rows


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Returns the bounds of the 95 % bootstrap interval of the mean of `values`; None for fewer
    than two values."""
    if len(values) < 2:
        return None
    _, low, high = bootstrap_difference(
        values, [0.0] * len(values), np.random.default_rng(1), draws=2000
    )
    return low, high


def verdict(rows: Sequence[Mapping[str, Any]]) -> Verdict | None:
    """Compares the two entries with the largest mean areas under the recall curve. `rows` are the
    results that `gathered` returns; of entries with equal areas the first one wins. None for fewer
    than two entries."""
    if len(rows) < 2:
        return None
    best, second = sorted(rows, key=lambda row: -row["area"])[:2]
    draws = min(len(best["areas"]), len(second["areas"]))
    difference = None
    if draws > 1:
        difference = bootstrap_difference(
            best["areas"][:draws], second["areas"][:draws], np.random.default_rng(1)
        )
    return Verdict(
        best["strategy"], second["strategy"], difference, best["area"] - second["area"], draws
    )


def run_entries(
    topic: Topic,
    archive: Archive,
    entries: Sequence[Entry],
    pages: int,
    *,
    labels: Mapping[str, Label] | None,
    draws: int,
    repeats: int,
    random_seed: int = 1,
    **how: Any,
) -> list[tuple[Cell, Outcome]]:
    """Runs every entry on `draws` selections of sample pages and, for each selection, with
    `repeats` random seeds from `random_seed` on. `pages` is the page limit of a run. Returns pairs
    of a run (entry and number) and its outcome.

    The first selection is the topic's own samples; the others are drawn from the pages that
    `labels` marks as relevant. A run's own sample pages are not counted in its results. The runs of
    an entry are numbered from 1, selection by selection. `how` are further arguments of
    `comparison.compare`. Raises ValueError if `draws` is greater than 1 and there are no `labels`.
    """
    if draws > 1 and labels is None:
        raise ValueError("several draws of samples need labels to draw from")
    drawn = (
        sample_draws(topic, archive, labels, draws - 1)
        if labels is not None
        else [(topic, frozenset[str]())]
    )
    found: list[tuple[Cell, Outcome]] = []
    for number, (about, left_out) in enumerate(drawn):
        judged = without(labels, left_out) if labels is not None else None
        for repeat in range(repeats):
            seed = random_seed + repeat
            outcomes = compare(
                about, archive, entries, pages, labels=judged, random_seed=seed, **how
            )
            found += [
                (Cell(one.entry.name, number * repeats + repeat + 1), one) for one in outcomes
            ]
    return found


def _mean_of(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Combines the results (`Outcome.as_json`) of several draws of an entry: means of numbers (None
    if one of them is None); point-by-point means of curves, up to the end of the shortest; sums of
    the numbers of tunnels by length; all different reasons for the end."""
    found: dict[str, Any] = dict(parts[0])
    for name, value in parts[0].items():
        values = [part[name] for part in parts]
        if name == "tunnel_lengths":
            lengths = sorted({length for one in values for length in one}, key=int)
            found[name] = {length: sum(one.get(length, 0) for one in values) for length in lengths}
        elif isinstance(value, list):
            points = min(len(one) for one in values)
            found[name] = (
                np.mean([one[:points] for one in values], axis=0).tolist() if points else []
            )
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[name] = None if None in values else mean(values)
    found["stopped_by"] = ", ".join(dict.fromkeys(part["stopped_by"] for part in parts))
    return found
