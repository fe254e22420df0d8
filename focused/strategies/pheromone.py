"""The pheromone of the strategy `ant_colony`, a value of each link, and the rule by which an ant
chooses its next link."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from focused.strategies.link_table import LinkTable, Rows, Vector

TAU_MIN = 0.01
TAU_MAX = 5.0
STILL = 1e-3
"""If the standard deviation of the pheromone on links is below this, it is treated as equal on all
of them: it no longer guides the ants, and the strategy's stopping rule may end the crawl."""


class Pheromone:
    """Stores the pheromone tau of links, an array indexed by row number of the link table (it may
    be longer than the table), with values in [TAU_MIN, TAU_MAX]; eq. (4) of the ant colony paper.

    `initial` is the tau of a new link, `rho` the share that evaporates in a cycle, and `cycle` the
    number of the present cycle, which the caller counts up. Where no ant passes, evaporation is not
    computed in each cycle but when the link is next used (`evaporate`)."""

    def __init__(self, links: LinkTable, initial: float, rho: float) -> None:
        self._links, self._initial, self._rho = links, initial, rho
        self.tau = np.zeros(256)
        self.cycle = 0
        self.stamps: dict[str, int] = {}
        """By page URL, the cycle up to which the evaporation of the page's links has been computed.
        """

    def lay(self, page: str, first: int) -> None:
        """Sets the pheromone of the links of a new page to its initial value. The links are the
        rows of the link table from number `first` to the end. Those laid before the first cycle,
        as the seeds' links, begin to evaporate with its end."""
        while len(self.tau) < len(self._links):
            self.tau = np.concatenate([self.tau, np.zeros_like(self.tau)])
        self.tau[first : len(self._links)] = self._initial
        self.stamps[page] = max(1, self.cycle)

    def draw_back(self, row: int, share: float) -> None:
        """Moves the pheromone of the link with row number `row` towards its initial value, by
        `share` of the difference."""
        self.tau[row] += share * (self._initial - self.tau[row])

    def evaporate(self, page: str) -> None:
        """Brings the pheromone of a page's links up to date: applies the evaporation of all cycles
        since the page was last brought up to date."""
        cycles = self.cycle - self.stamps[page]
        if cycles > 0:
            rows = self._links.rows(page)
            self.tau[rows] = np.clip(self.tau[rows] * (1 - self._rho) ** cycles, TAU_MIN, TAU_MAX)
            self.stamps[page] = self.cycle

    def deposit(self, paths: Sequence[Sequence[int]]) -> None:
        """Ends a cycle by eq. (4): the links of the pages on the ants' paths evaporate, and each
        link on a path gains the path's mean relevance. `paths` holds for each ant the row numbers
        of its links in the link table. The links of other pages evaporate when next used.
        """
        gains: dict[int, float] = {}
        for path in paths:
            if path:
                mean = float(self._links.objectives(np.array(path))[:, 2].mean())
                for row in path:
                    gains[row] = gains.get(row, 0.0) + mean
        for page in {self._links.page_of(row) for row in gains}:
            self.stamps[page] -= 1
            self.evaporate(page)
            self.stamps[page] = self.cycle + 1
        for row, gain in gains.items():
            self.tau[row] = min(TAU_MAX, self.tau[row] + gain)

    def flat(self, rows: Rows) -> bool:
        """Tells whether the pheromone is nearly equal on the links with these row numbers, or there
        are none, so that it favours none of them.
        """
        return bool(self.tau[rows].std() < STILL) if len(rows) else True


def transition(
    pheromone: Vector,
    promise: Vector,
    q0: float,
    alpha: float,
    beta: float,
    draw: float,
    pick: float,
) -> int:
    """Chooses a link by the pseudo-random proportional rule.

    If `draw` <= `q0`, it is the link with the greatest tau^alpha * eta^beta; otherwise a link is
    chosen with probability proportional to that product.

    Parameters
    ----------
    pheromone, promise : (links,), tau and eta (here the link's score), not negative.
    q0 : in [0, 1], probability of taking the best link.
    alpha, beta : exponents.
    draw, pick : random numbers in [0, 1); `pick` is only used if `draw` > `q0`.

    Returns
    -------
    index : of the chosen link.

    References
    ----------
    Eq. (3) of the ant colony paper.
    """
    weights = pheromone**alpha * promise**beta
    if draw <= q0:
        return int(weights.argmax())
    steps = weights.cumsum()
    return int(min(np.searchsorted(steps, pick * steps[-1], side="right"), len(steps) - 1))
