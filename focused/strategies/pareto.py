"""Choosing by several objectives at once: fast non-dominated sort (NSGA-II) and nearest-farthest candidate selection."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Objectives = NDArray[np.float64]
"""n x m: a row a candidate, a column an objective to be maximised."""


def fronts(objectives: Objectives) -> Iterator[NDArray[np.intp]]:
    """Row numbers in fronts: nobody in the first is dominated, nobody in the next but by earlier fronts.

    a dominates b where it is nowhere less and somewhere greater. The fronts are those of the fast non-dominated sort
    of NSGA-II, found one after the other, as many as are asked for: O(n m) time for each different vector of a front.
    """
    left = np.arange(len(objectives))
    while len(left):
        front: list[NDArray[np.intp]] = []
        candidates = left[np.lexsort(-objectives[left].T[::-1])]
        while len(candidates):
            best = objectives[candidates[0]]  # first by the first column, then by the next …: nobody left dominates it
            no_greater = (objectives[candidates] <= best).all(axis=1)
            equal = no_greater & (objectives[candidates] == best).all(axis=1)
            front.append(candidates[equal])
            candidates = candidates[~no_greater]
        members = np.sort(np.concatenate(front))
        yield members
        left = np.setdiff1d(left, members, assume_unique=True)


def normalised(objectives: Objectives) -> Objectives:
    """Each column brought into [0, 1] by its least and greatest value; a constant column becomes 0."""
    low = objectives.min(axis=0)
    spread = objectives.max(axis=0) - low
    return np.divide(objectives - low, spread, out=np.zeros_like(objectives), where=spread > 0)


def nearest_farthest(objectives: Objectives, number: int) -> list[int]:
    """`number` rows that lie far apart: the best of each objective, then the row farthest from its nearest chosen, and so on.

    Distance is Euclidean over normalised columns, eq. (5) of the ant colony paper; ties go to the lower row.
    Greedy k-centre, within twice the best possible radius. Fewer rows than asked for: all of them.
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
    """`number` rows from the first fronts, the last one thinned out by `nearest_farthest`: what steers the next cycle."""
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
