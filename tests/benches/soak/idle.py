"""`bench idle`: memory and CPU of an idle installation, memory of its web server under requests,
and CPU of commands that only print."""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import requests
from django.conf import settings

from crawlmgr.management.base import table as text_table
from crawlmgr.workers.supervisor import memory_bytes
from tests.benches.soak.place import TIMES, Place

# number of requests before the first memory measurement, after which each process has loaded
# everything that it uses
WARM = 1000
PAGES = (
    "/admin/",
    "/admin/runs/",
    "/admin/workers/",
    "/admin/alarms/",
    "/admin/exports/",
    "/admin/hosts/",
    "/admin/help/",
    "/healthz",
)
COMMANDS = (
    ("node", "list"),
    ("forum", "--help"),
    ("topic", "strategies"),
    ("topic", "compare", "--help"),
    ("deepweb", "harvest", "--help"),
    ("export", "--help"),
    ("bench", "list"),
)
START_SECONDS = 180.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the benchmark."""
    parser.add_argument(
        "--seconds",
        type=float,
        default=60.0,
        metavar="S",
        help="how long the idle installation is observed (default 60)",
    )
    parser.add_argument(
        "--requests",
        type=int,
        default=0,
        metavar="N",
        help=(
            f"requests to the desk; the web server's memory is measured after {WARM} of them and at"
            " the end"
        ),
    )


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Starts `serve` on an empty folder with its default number of workers, waits until it is idle,
    and measures it. Returns the number of `processes`, their memory (`pss_bytes`), their CPU
    seconds per second (`cpu_share`), the results of `_asked` if requests were wanted, and
    `commands` (see `_commands`)."""
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
    """Returns the ids of a process and all its descendants."""
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
    """Returns the total CPU seconds that the processes have used so far."""
    total = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def _watched(place: Place, seconds: float) -> dict[str, Any]:
    assert place.process is not None
    family = _family(place.process.pid)
    before, began = _ticks(family), time.monotonic()
    time.sleep(seconds)
    share = (_ticks(family) - before) / (time.monotonic() - began)
    return {
        "processes": len(family),
        "pss_bytes": memory_bytes(family),
        "cpu_share": round(share, 4),
    }


def _asked(place: Place, number: int) -> dict[str, Any]:
    """Sends `number` requests, in turn for pages of the web interface, login pages with different
    redirect targets, and distinct addresses that do not exist. Returns the number, and the memory
    in bytes of the web server's processes at the end and after the first WARM requests (or half of
    all, if that is less)."""
    assert place.process is not None
    web = [
        pid
        for pid in _family(place.process.pid)
        if b"gunicorn" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    before = 0
    with requests.Session() as session:
        _log_in(place, session)
        for turn in range(number):
            asked = (
                PAGES[turn // 3 % len(PAGES)],
                f"/admin/login/?next=/{turn}",
                f"/nowhere/{turn}",
            )[turn % 3]
            session.get(place.url + asked, timeout=30).close()
            if turn == min(WARM, number // 2):
                before = memory_bytes(web)
    return {"requests": number, "web_bytes_before": before, "web_bytes_after": memory_bytes(web)}


def _log_in(place: Place, session: requests.Session) -> None:
    url = place.url + "/admin/login/"
    session.get(url, timeout=30)
    told = {
        "username": "admin",
        "password": place.environment["CRAWLMGR_ADMIN_PASSWORD"],
        "next": "/admin/",
        "csrfmiddlewaretoken": session.cookies["csrftoken"],
    }
    answer = session.post(url, told, headers={"Referer": url}, timeout=30)
    if "sessionid" not in session.cookies:
        raise RuntimeError(f"logging in to the desk failed: status {answer.status_code}")


def _commands(environment: dict[str, str]) -> list[dict[str, Any]]:
    """Returns the CPU seconds of each command in COMMANDS, the least of three runs."""
    found = []
    for words in COMMANDS:
        costs = []
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(
                [sys.executable, "manage.py", *words],
                cwd=settings.BASE_DIR,
                env=environment,
                capture_output=True,
                check=False,
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            costs.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        found.append({"command": " ".join(words), "cpu_seconds": round(min(costs), 2)})
    return found


def table(result: dict[str, Any]) -> str:
    """Formats the result as a text table."""
    rows: list[tuple[str, Any]] = [
        ("processes", result["processes"]),
        ("memory (PSS, MB)", round(result["pss_bytes"] / 1e6)),
        ("share of a core", result["cpu_share"]),
    ]
    if "requests" in result:
        rows.append(
            (
                f"web server's memory after {WARM} requests (MB)",
                round(result["web_bytes_before"] / 1e6),
            )
        )
        rows.append(
            (
                f"web server's memory after {result['requests']} (MB)",
                round(result["web_bytes_after"] / 1e6),
            )
        )
    rows += [
        (f"CPU-seconds of `{one['command']}`", one["cpu_seconds"]) for one in result["commands"]
    ]
    return text_table(("what", "figure"), rows)
