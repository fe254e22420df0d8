"""Runs parts of a benchmark in separate processes, each with a data folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError


def answer_of(module: str, *words: object, environment: Mapping[str, str] | None = None) -> Any:
    """Runs the module `module` in a process with an empty data folder on SQLite, with the arguments
    `words`, and returns the JSON of the last line that it prints. Raises CommandError with the last
    line of its error output if it fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        own = {**os.environ, "CRAWLMGR_DATA": folder, "PYTHONPATH": str(settings.BASE_DIR)}
        own.pop("DATABASE_URL", None)
        done = subprocess.run(  # noqa: S603 - our own module
            [sys.executable, "-m", module, *map(str, words)],
            capture_output=True,
            text=True,
            env={**own, **(environment or {})},
            cwd=settings.BASE_DIR,
            check=False,
        )
    if done.returncode:
        raise CommandError(f"{module} failed: {(done.stderr.strip() or '?').splitlines()[-1]}")
    return json.loads(done.stdout.strip().splitlines()[-1])
