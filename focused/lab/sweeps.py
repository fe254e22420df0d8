"""Parameter sweeps: runs of one strategy over a grid of two of its parameters, and the heat map of
the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from focused.parameters import Value

TAU = "tau"
"""Name by which a sweep varies the threshold of relevance, as a multiple of the topic's own; not a
parameter of the strategy."""
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


class Sweep(NamedTuple):
    """A strategy and two of its parameters (names `x` and `y`), with the values of each to compare
    (`xs` and `ys`). With `rest`, the name of a third parameter, that parameter is 1 minus the two
    others, and pairs with a sum above 1 are left out.
    """

    strategy: str
    x: str
    xs: tuple[float, ...]
    y: str
    ys: tuple[float, ...]
    rest: str = ""

    def entries(self) -> dict[str, dict[str, Value]]:
        """Returns the runs of the sweep as entries of a comparison: parameters by the entry's name,
        such as "dolphin alpha=0.25 beta=0.5".
        """
        found: dict[str, dict[str, Value]] = {}
        for y in self.ys:
            for x in self.xs:
                if self.rest and x + y > 1:
                    continue
                values: dict[str, Value] = {self.x: x, self.y: y}
                if self.rest:
                    values[self.rest] = round(1 - x - y, 6)
                found[self.label(x, y)] = values
        return found

    def label(self, x: float, y: float) -> str:
        """Returns the name of the entry with these values of the two parameters."""
        return f"{self.strategy} {self.x}={x:g} {self.y}={y:g}"


SWEEPS: Mapping[str, Sweep] = {
    "weights": Sweep("dolphin", "alpha", QUARTERS, "beta", QUARTERS, rest="gamma"),
    "tunnels": Sweep("dynamic_tunnel", "depth", (1, 2, 4, 6, 12), TAU, (0.25, 0.5, 1.0, 2.0)),
    "ants": Sweep("ant_colony", "ants", (2, 5, 10, 20), "rho", (0.05, 0.2, 0.5, 1.0)),
}
"""The sweeps by name. `depth` of `dynamic_tunnel` is the tunnelling paper's k."""


class Square(NamedTuple):
    """One cell of a heat map. `name` is the name of its entry. `area`: mean area under the recall
    curve (None if the entry is not part of the sweep, or has no result yet). `share`: the area
    scaled so that the least of the map is 0 and the greatest 1 (1 for all if all are equal, 0
    without an area). `interval`: the confidence interval of the mean area; None for a single draw.
    `best` marks the cell with the largest area."""

    name: str
    area: float | None
    share: float
    interval: tuple[float, float] | None
    best: bool


class Heat(NamedTuple):
    """A heat map. `rows` are pairs of a value of y, in descending order, and the cells of that row,
    one for every value of x."""

    sweep: Sweep
    rows: list[tuple[float, list[Square]]]


def heat(sweep: Sweep, results: Sequence[Mapping[str, Any]]) -> Heat | None:
    """Makes the heat map of a sweep from a comparison's results; returns None if they contain none
    of its entries."""
    known = {row["strategy"]: row for row in results if row["strategy"] in sweep.entries()}
    if not known:
        return None
    areas = [row["area"] for row in known.values()]
    least, most = min(areas), max(areas)
    best = max(known, key=lambda name: known[name]["area"])

    def square(name: str) -> Square:
        row = known.get(name)
        if row is None:
            return Square(name, None, 0.0, None, False)
        share = (row["area"] - least) / (most - least) if most > least else 1.0
        return Square(name, row["area"], share, row.get("area_interval"), name == best)

    rows = [(y, [square(sweep.label(x, y)) for x in sweep.xs]) for y in reversed(sweep.ys)]
    return Heat(sweep, rows)
