"""Calls functions of benchmarks in processes of their own: `python -m tests.benches.child`."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

ROOT = Path(__file__).resolve().parents[2]


def command(part: Callable[..., Any], *arguments: Any, bare: bool = False) -> list[str]:
    """Returns the command that calls `part`, a function at the top of its module, with arguments
    that JSON can hold, and prints what it returns as a line of JSON. The process sets Django up
    before it imports the module, unless it is `bare`."""
    place = f"{part.__module__}:{part.__name__}"
    way = "bare" if bare else "django"
    return [sys.executable, "-m", "tests.benches.child", way, place, json.dumps(arguments)]


def environment(folder: Path | str, **more: str) -> dict[str, str]:
    """Returns the environment of a process with the data folder `folder`, on SQLite unless `more`
    says DATABASE_URL."""
    own = {**os.environ, "CRAWLMGR_DATA": str(folder), "PYTHONPATH": str(ROOT)}
    own.pop("DATABASE_URL", None)
    return {**own, **more}


def call(
    part: Callable[..., Any],
    *arguments: Any,
    environment: Mapping[str, str],
    bare: bool = False,
    quiet: bool = True,
) -> Any:
    """Calls `part` in a process (see `command`) and returns what it returned. Raises CommandError
    if the process fails, with the last line of its error output; unless `quiet`, that output is
    shown instead."""
    done = subprocess.run(
        command(part, *arguments, bare=bare),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if quiet else None,
        text=True,
        env=environment,
        cwd=ROOT,
        check=False,
    )
    if done.returncode:
        told = (done.stderr or "").strip() or f"exit status {done.returncode}"
        raise CommandError(f"{part.__module__} failed: {told.splitlines()[-1]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def answer_of(part: Callable[..., Any], *arguments: Any, bare: bool = False, **more: str) -> Any:
    """Calls `part` as `call` does, with an empty data folder; `more` are further variables of its
    environment."""
    with tempfile.TemporaryDirectory() as folder:
        return call(part, *arguments, environment=environment(folder, **more), bare=bare)


def main(way: str, place: str, arguments: str) -> None:
    """Calls the function at `place` ("module:name"); see `command`."""
    if way == "django":
        import django  # Scrapy's processes run without

        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crawlmgr.settings")
        django.setup()
    module, _, name = place.partition(":")
    answer = getattr(importlib.import_module(module), name)(*json.loads(arguments))
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
