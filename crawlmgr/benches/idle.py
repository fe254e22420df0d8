"""`bench idle`: what an installation costs while it waits, and what a command costs that only prints."""

from __future__ import annotations

import argparse
import os
import resource
import subprocess  # noqa: S404 - starting the installation is what this is for
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import requests
from django.conf import settings

from crawlmgr.benches.soak_place import TIMES, Place
from crawlmgr.management.base import table as text_table
from crawlmgr.supervisor import memory_bytes

HELP = "processes, memory and CPU of an installation that waits; CPU of commands that only print"
COMMANDS = (("node", "list"), ("forum", "--help"), ("topic", "strategies"), ("export", "--help"))
START_SECONDS = 180.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How long it is watched."""
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="watched for so long, default 60")
    parser.add_argument(
        "--requests", type=int, default=0, metavar="N", help="requests to the desk, before and after which memory is taken"
    )


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Starts `serve` on an empty folder with its default workers, waits until it is quiet, and looks."""
    with tempfile.TemporaryDirectory(prefix="crawlmgr-idle-") as folder:
        (Path(folder) / "data").mkdir()
        place = Place(Path(folder), "sqlite")
        for name in TIMES:
            place.environment.pop(name)
        place.start()
        try:
            _wait(place)
            found = _watched(place, options["seconds"])
            if options["requests"]:
                found |= _asked(place, options["requests"])
        finally:
            place.stop()
        return {**found, "commands": _commands(place.environment)}


def _wait(place: Place) -> None:
    end = time.monotonic() + START_SECONDS
    while not place.healthy():
        if time.monotonic() > end:
            raise RuntimeError(f"the installation was not healthy within {START_SECONDS:.0f} s")
        time.sleep(0.5)
    time.sleep(5)


def _family(pid: int) -> list[int]:
    """A process and all below it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for one in found:
        found += parents.get(one, [])
    return found


def _ticks(pids: list[int]) -> float:
    """CPU-seconds so far."""
    total = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def _watched(place: Place, seconds: float) -> dict[str, Any]:
    assert place.process is not None  # noqa: S101 - it was started
    family = _family(place.process.pid)
    before, began = _ticks(family), time.monotonic()
    time.sleep(seconds)
    share = (_ticks(family) - before) / (time.monotonic() - began)
    return {"processes": len(family), "pss_bytes": memory_bytes(family), "cpu_share": round(share, 4)}


def _asked(place: Place, number: int) -> dict[str, Any]:
    """Memory of all processes before and after so many requests to the login page and the health page."""
    assert place.process is not None  # noqa: S101 - it was started
    before = memory_bytes(_family(place.process.pid))
    with requests.Session() as session:
        for turn in range(number):
            session.get(place.url + ("/healthz" if turn % 2 else "/admin/login/"), timeout=30).close()
    after = memory_bytes(_family(place.process.pid))
    return {"requests": number, "pss_bytes_before_requests": before, "pss_bytes_after_requests": after}


def _commands(environment: dict[str, str]) -> list[dict[str, Any]]:
    """CPU-seconds of each command: the least of three."""
    found = []
    for words in COMMANDS:
        costs = []
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(  # noqa: S603 - our own program
                [sys.executable, "manage.py", *words], cwd=settings.BASE_DIR, env=environment, capture_output=True, check=False
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            costs.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        found.append({"command": " ".join(words), "cpu_seconds": round(min(costs), 2)})
    return found


def table(result: dict[str, Any]) -> str:
    """For a person."""
    rows: list[tuple[str, Any]] = [
        ("processes", result["processes"]), ("memory (PSS, MB)", round(result["pss_bytes"] / 1e6)),
        ("share of a core", result["cpu_share"]),
    ]
    if "requests" in result:
        rows.append((f"memory after {result['requests']} requests (MB)", round(result["pss_bytes_after_requests"] / 1e6)))
    rows += [(f"CPU-seconds of `{one['command']}`", one["cpu_seconds"]) for one in result["commands"]]
    return text_table(("what", "figure"), rows)
