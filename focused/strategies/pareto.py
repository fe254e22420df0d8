"""Selection by several objectives: Pareto fronts as in NSGA-II's fast non-dominated sort, and
selection of candidates that are far apart (nearest-farthest candidates).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Objectives = NDArray[np.float64]
"""Matrix of n rows, one for each candidate, and m columns, one for each objective that is to be
maximised."""


def fronts(objectives: Objectives) -> Iterator[NDArray[np.intp]]:
    """Yields the row numbers of each Pareto front: no row of the first front is dominated by
    another; rows of later fronts are dominated only by rows of earlier fronts.

    Row a dominates row b if it is smaller in no objective and greater in at least one. The fronts
    equal those of the fast non-dominated sort of NSGA-II. They are computed one after the other on
    demand, in O(n m) time for each distinct row of a front (n rows, m objectives).
    """
    left = np.arange(len(objectives))
    while len(left):
        front: list[NDArray[np.intp]] = []
        candidates = left[np.lexsort(-objectives[left].T[::-1])]
        while len(candidates):
            best = objectives[
                candidates[0]
            ]  # the first in descending lexicographic order: no other candidate dominates it
            no_greater = (objectives[candidates] <= best).all(axis=1)
            equal = no_greater & (objectives[candidates] == best).all(axis=1)
            front.append(candidates[equal])
            candidates = candidates[~no_greater]
        members = np.sort(np.concatenate(front))
        yield members
        left = np.setdiff1d(left, members, assume_unique=True)


def normalised(objectives: Objectives) -> Objectives:
    """Returns the matrix with each column scaled to [0, 1] by its minimum and maximum; a column of
    equal values becomes 0."""
    low = objectives.min(axis=0)
    spread = objectives.max(axis=0) - low
    scaled: Objectives = np.divide(
        objectives - low, spread, out=np.zeros_like(objectives), where=spread > 0
    )
    return scaled


def nearest_farthest(objectives: Objectives, number: int) -> list[int]:
    """Selects `number` rows far apart and returns their numbers: the best row of each objective,
    then repeatedly the row whose nearest selected row is farthest away.

    Distance is Euclidean over normalised columns, eq. (5) of the ant colony paper; of equal
    distances the lower row number wins. This is greedy k-centre selection, whose radius is at most
    twice the best possible. If there are no more than `number` rows, all are selected.
    """
    if len(objectives) == 0 or number <= 0:
        return []
    points = normalised(objectives)
    chosen = list(dict.fromkeys(int(row) for row in objectives.argmax(axis=0)))[:number]
    nearest = np.min([np.linalg.norm(points - points[row], axis=1) for row in chosen], axis=0)
    nearest[chosen] = -1.0
    while len(chosen) < min(number, len(points)):
        row = int(nearest.argmax())
        chosen.append(row)
        nearest = np.minimum(nearest, np.linalg.norm(points - points[row], axis=1))
        nearest[chosen] = -1.0
    return chosen


def best_spread(objectives: Objectives, number: int) -> list[int]:
    """Selects `number` rows and returns their numbers: whole Pareto fronts, best first. Of the last
    front needed, if it has too many rows, those are selected that are far apart
    (`nearest_farthest`).
    """
    chosen: list[int] = []
    for front in fronts(objectives):
        room = number - len(chosen)
        if room <= 0:
            break
        if len(front) <= room:
            chosen.extend(int(row) for row in front)
        else:
            chosen.extend(int(front[i]) for i in nearest_farthest(objectives[front], room))
    return chosen
