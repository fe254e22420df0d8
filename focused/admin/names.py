"""Display names of strategies, and of the entries of comparisons and sweeps, in the user's
language."""

from __future__ import annotations

import re
from collections.abc import Iterable

from django.utils.translation import gettext as _

from focused.admin import titles
from focused.models import Comparison
from focused.services import comparisons as comparison_services
from focused.services.tuning import NOW, TYPED
from focused.sweeps import SWEEPS, TAU, Sweep

SYMBOL = re.compile(r"[(（](\w{1,2})[)）]$")
"""Pattern for the symbol at the end of a parameter's name, such as β in "Weight of closeness (β)".
"""


def shown(entry: str) -> str:
    """Returns the display name of a comparison's entry (such as "dolphin links"): the strategy's,
    followed by the parameters or the label after the first word, which distinguish entries of one
    strategy."""
    strategy, _sign, rest = entry.partition(" ")
    entered = {NOW: _("saved parameters"), TYPED: _("entered parameters")}.get(rest)
    told = entered or (titles.preset(rest) if rest in titles.PRESETS else _point(strategy, rest))
    return " · ".join(part for part in (titles.strategy(strategy), told) if part)


def _point(strategy: str, label: str) -> str:
    """Returns the part `label` of an entry's name for display: parameters at one point of a sweep,
    such as "alpha=0.25 beta=0.5", get their symbols or display names; any other label is returned
    unchanged."""
    values = [part.partition("=") for part in label.split()]
    if not all(name and value for name, _sign, value in values):
        return label
    return ", ".join(f"{_symbol(name, strategy)} = {value}" for name, _sign, value in values)


def _symbol(name: str, strategy: str) -> str:
    title = "τ" if name == TAU else titles.parameter(name, strategy)
    symbol = SYMBOL.search(title)
    return symbol.group(1) if symbol else title


def axes(sweep: Sweep) -> dict[str, str]:
    """Returns the display names of the parameters of a sweep: of the two that it varies (keys "x",
    "y"), and of the third, which is 1 minus these two (key "rest"), if there is one."""
    places = {"x": sweep.x, "y": sweep.y, "rest": sweep.rest}
    return {
        place: "τ" if name == TAU else titles.parameter(name, sweep.strategy)
        for place, name in places.items()
        if name
    }


def sweep_title(name: str) -> str:
    """Returns the display title of a parameter sweep, which names the two parameters that are
    varied."""
    titles = {
        "weights": _("Dolphin: three weights with sum 1"),
        "tunnels": _(
            "Dynamic tunnels: length of tunnels (k) against threshold (τ, as a multiple of the"
            " topic's)"
        ),
        "ants": _("Ant colony: number of ants against evaporation (ρ)"),
    }
    return titles[name]


def named(comparisons: Iterable[Comparison]) -> list[dict[str, object]]:
    """Returns for each comparison a dictionary with `comparison` and `names`, the display names of
    its entries; for the entries of a sweep there is one name, the sweep's title with their number.
    """
    rows = []
    for one in comparisons:
        sweep = SWEEPS.get(one.setup.get("sweep", ""))
        inside = sweep.entries() if sweep is not None else {}
        names = [shown(name) for name in comparison_services.entries(one) if name not in inside]
        if sweep is not None:
            names.append(f"{sweep_title(one.setup['sweep'])} ({len(inside)})")
        rows.append({"comparison": one, "names": names})
    return rows
