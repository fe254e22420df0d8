"""The strategies by name, found by their files. Further ones are added in the settings by the dotted name of their class."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from pathlib import Path

from focused.strategies.base import Strategy

_CLASS = re.compile(r"class (\w+)\(")
_NAME = re.compile(r' {4}name = "(\w+)"$')


def find(folder: Path, package: str) -> dict[str, str]:
    """The strategies in the files of a folder: names, sorted, with the dotted names of their classes.

    A strategy is a class with a line `name = "..."`. The files are read, not imported, so that listing the names loads none of
    the libraries that strategies compute with. ValueError for a name that two classes have.
    """
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.py")):
        owner = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if started := _CLASS.match(line):
                owner = f"{package}.{path.stem}.{started[1]}"
            elif owner and (named := _NAME.match(line)):
                if named[1] in found:
                    raise ValueError(f"two strategies are named {named[1]}: {found[named[1]]} and {owner}")
                found[named[1]] = owner
    return dict(sorted(found.items()))


BUILT_IN: Mapping[str, str] = find(Path(__file__).parent, __name__)

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
