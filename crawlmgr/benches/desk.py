"""`bench desk`: CPU of the server for every page of the desk, on a database of years beside a hundredth of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from crawlmgr.benches.bulk import BIG, SHARE
from crawlmgr.management.base import say
from crawlmgr.management.base import table as plain_table

HELP = "CPU of every page of the desk with years of data beside a hundredth of it (SQLite; makes and keeps its data)"
ROOT = Path(__file__).resolve().parents[2]
FLOOR_MS = 10.0  # less than this counts as this in a ratio


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--share", type=int, default=1, metavar="N", help="one Nth of the full sizes (default 1)")
    parser.add_argument("--rounds", type=int, default=5, help="times that each page is asked for; the median counts (default 5)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only rooms whose name or query holds this")


def run(options: Mapping[str, Any]) -> dict[str, Any]:
    """A row a room and query: milliseconds of CPU on either database, and their ratio; rooms that give a file, and what nobody
    may see, are named in `left_out`."""
    folder = Path(options["data"] or settings.DATA_DIR / "bench-desk")
    found = {}
    for name, share in (("small", SHARE * options["share"]), ("big", options["share"])):
        sizes = {what: max(1, number // share) for what, number in BIG.items()}
        found[name] = _side(folder / f"{name}-{share}", sizes, options)
    pages = []
    for room, small in found["small"]["pages"].items():
        big = found["big"]["pages"][room]
        ratio = max(big, FLOOR_MS) / max(small, FLOOR_MS)
        pages.append({"room": room, "small_ms": round(small, 1), "big_ms": round(big, 1), "ratio": round(ratio, 2)})
    return {"pages": sorted(pages, key=lambda row: -row["ratio"]), "left_out": found["big"]["left_out"]}


def _side(folder: Path, sizes: Mapping[str, int], options: Mapping[str, Any]) -> dict[str, Any]:
    """One database, measured in a process of its own."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    say(f"{folder.name}: {', '.join(f'{number:,} {what}' for what, number in sizes.items())}")
    environment = {**os.environ, "CRAWLMGR_DATA": str(folder), "PYTHONPATH": str(ROOT)}
    environment.pop("DATABASE_URL", None)
    task = json.dumps({"sizes": sizes, "rounds": options["rounds"], "only": options["only"]})
    command = [sys.executable, "-m", "crawlmgr.benches.desk_side", task]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT, check=False)  # noqa: S603
    if done.returncode:
        raise CommandError(f"the side over {folder.name} failed")
    return dict(json.loads(done.stdout))


def table(result: dict[str, Any]) -> str:
    """A row a page, the steepest first."""
    rows = [(row["room"], row["small_ms"], row["big_ms"], row["ratio"]) for row in result["pages"]]
    return plain_table(("room", "small ms", "big ms", "ratio"), rows)
