"""Benchmarks and training are in `tests`, which only a checkout of the project has: an installed
program says so."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from django.core.management.base import CommandError

from crawlmgr.installation import files


def load(dotted: str) -> ModuleType:
    """Imports a module of `tests`. Raises CommandError in an installed program."""
    if not (files.BASE / "tests" / "benches").is_dir():
        raise CommandError(
            "This needs a checkout of the project: benches and training are not installed."
        )
    if str(files.BASE) not in sys.path:  # the program was started by its entry point
        sys.path.insert(0, str(files.BASE))
    return importlib.import_module(dotted)
