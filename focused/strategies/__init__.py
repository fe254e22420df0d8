"""The crawl strategies by name, found by searching the files of this package. Further strategies
are named in the setting TOPIC_STRATEGIES by the dotted names of their classes.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from pathlib import Path

from focused.strategies.base import Strategy

_CLASS = re.compile(r"class (\w+)\(")
_NAME = re.compile(r' {4}name = "(\w+)"$')


def find(folder: Path, package: str) -> dict[str, str]:
    """Finds the strategies in the files of `folder`, which is the Python package named `package`.
    Returns a dictionary, sorted by name, from the strategy's name to the dotted name of its class.

    A strategy is a class with a line `name = "..."`. The files are read, not imported, so that
    listing the names loads none of the libraries that strategies compute with. Raises ValueError if
    two classes have the same name.
    """
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.py")):
        owner = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if started := _CLASS.match(line):
                owner = f"{package}.{path.stem}.{started[1]}"
            elif owner and (named := _NAME.match(line)):
                if named[1] in found:
                    raise ValueError(
                        f"two strategies are named {named[1]}: {found[named[1]]} and {owner}"
                    )
                found[named[1]] = owner
    return dict(sorted(found.items()))


BUILT_IN: Mapping[str, str] = find(Path(__file__).parent, __name__)

DEFAULT = "adaptive"
"""The strategy of topics that do not name one."""


def strategy_class(name: str, further: Mapping[str, str] | None = None) -> type[Strategy]:
    """Imports and returns the class of the strategy `name`. `further` maps the names of strategies
    outside this package to dotted class names. Raises ValueError if the name is unknown or does not
    belong to a subclass of Strategy.
    """
    known = {**BUILT_IN, **(further or {})}
    if name not in known:
        raise ValueError(f"no strategy {name}; there are: {', '.join(known)}")
    module, _, attribute = known[name].rpartition(".")
    found = getattr(importlib.import_module(module), attribute)
    if not (isinstance(found, type) and issubclass(found, Strategy)):
        raise ValueError(f"{known[name]} is no strategy")
    return found
