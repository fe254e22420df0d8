"""The strategies by name. Further ones are added in the settings by the dotted name of their class."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from focused.strategies.base import Strategy

BUILT_IN: Mapping[str, str] = {
    "breadth_first": "focused.strategies.breadth_first.BreadthFirst",
    "depth_first": "focused.strategies.depth_first.DepthFirst",
    "best_first": "focused.strategies.best_first.BestFirst",
    "fish": "focused.strategies.fish.Fish",
    "shark": "focused.strategies.shark.Shark",
    "pagerank": "focused.strategies.pagerank.PageRank",
    "dolphin": "focused.strategies.dolphin.Dolphin",
    "static_tunnel": "focused.strategies.static_tunnel.StaticTunnel",
    "dynamic_tunnel": "focused.strategies.dynamic_tunnel.DynamicTunnel",
    "context_graph": "focused.strategies.context_graph.ContextGraph",
    "classifier_distiller": "focused.strategies.classifier_distiller.ClassifierDistiller",
    "adaptive": "focused.strategies.adaptive.Adaptive",
    "ant_colony": "focused.strategies.ant_colony.AntColony",
    "space_evolution": "focused.strategies.space_evolution.SpaceEvolution",
}

DEFAULT = "adaptive"
"""The strategy of topics that do not name one."""


def strategy_class(name: str, further: Mapping[str, str] | None = None) -> type[Strategy]:
    """The class of a strategy; `further` maps names to dotted class names. ValueError for an unknown name."""
    known = {**BUILT_IN, **(further or {})}
    if name not in known:
        raise ValueError(f"no strategy {name}; there are: {', '.join(known)}")
    module, _, attribute = known[name].rpartition(".")
    found = getattr(importlib.import_module(module), attribute)
    if not (isinstance(found, type) and issubclass(found, Strategy)):
        raise ValueError(f"{known[name]} is no strategy")
    return found
