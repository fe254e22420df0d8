"""`bench laboratory`: runs a comparison of all strategies over several draws of a recorded web,
like one started in the web interface. Measures time and memory, and whether a comparison that is
killed and continued has the same results.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from crawlmgr.management.base import say
from crawlmgr.management.base import table as text_table
from focused import packs

HELP = (
    "every strategy over several draws of a recorded web: seconds, memory, and the figures after a"
    " kill (--data: packs)"
)
SIDE = "focused.benches.laboratory_side"


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--pages", type=int, default=2000, help="fetches of each run (default 2000)"
    )
    parser.add_argument(
        "--draws", type=int, default=5, help="draws of the random numbers (default 5)"
    )
    parser.add_argument(
        "--killed-pages",
        type=int,
        default=150,
        help="the same for the comparison that is killed (default 150)",
    )


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Runs the whole comparison in a process of its own; then a small one twice: undisturbed, and
    killed with SIGKILL when half of its runs are stored, then continued. Returns the measurements,
    and whether the two results are the same.
    """
    if not options["data"]:
        raise CommandError(
            "bench laboratory needs --data: a folder with packs (pages.warc.gz, topics,"
            " baselines.json)"
        )
    try:
        pack = max(
            packs.folders(Path(options["data"])),
            key=lambda one: (one / "pages.warc.gz").stat().st_size,
        )
    except ValueError as error:
        raise CommandError(str(error)) from None
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "CRAWLMGR_DATA": folder, "PYTHONPATH": str(settings.BASE_DIR)}
        environment.pop("DATABASE_URL", None)
        _side(environment, "prepare", str(pack))
        say(f"{pack.name}: the whole comparison")
        whole = _side(environment, "compare", str(options["pages"]), str(options["draws"]))
        say("a small one, then the same killed half way")
        small = _side(environment, "compare", str(options["killed_pages"]), "1")
        killed = _killed(environment, options["killed_pages"], small["runs"] // 2)
        resumed = _side(environment, "resume", str(killed))
    return {
        "pack": pack.name,
        "runs": whole["runs"],
        "pages": options["pages"],
        "fetches": whole["fetches"],
        "wall_seconds": whole["wall_seconds"],
        "cpu_seconds": whole["cpu_seconds"],
        "peak_bytes": whole["peak_bytes"],
        "kept_after_kill": small["runs"] // 2,
        "equal_after_kill": resumed["digest"] == small["digest"],
    }


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", SIDE, *arguments]


def _side(environment: dict[str, str], *arguments: str) -> dict[str, Any]:
    command, root = _command(*arguments), settings.BASE_DIR
    done = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, env=environment, cwd=root, check=False
    )
    if done.returncode:
        raise CommandError(
            f"{arguments[0]} failed: {(done.stderr.strip() or '?').splitlines()[-1]}"
        )
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def _killed(environment: dict[str, str], pages: int, after: int) -> int:
    """Starts a comparison in a process and kills it once `after` of its runs are stored. Returns
    the comparison's id."""
    command = _command("compare", str(pages), "1")
    child = subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, text=True, env=environment, cwd=settings.BASE_DIR
    )
    assert child.stdout is not None  # noqa: S101 - a pipe was requested
    number = 0
    for line in child.stdout:
        step = json.loads(line)
        number = step.get("comparison", number)
        if step.get("done", 0) >= after:
            break
    child.kill()
    child.communicate()
    return number


def table(result: dict[str, Any]) -> str:
    header = ("runs", "fetches", "wall seconds", "CPU seconds", "peak MB", "equal after a kill")
    row = (
        *(
            result["runs"],
            result["fetches"],
            round(result["wall_seconds"], 1),
            round(result["cpu_seconds"], 1),
        ),
        *(round(result["peak_bytes"] / 1e6), "yes" if result["equal_after_kill"] else "no"),
    )
    return text_table(header, [row])
