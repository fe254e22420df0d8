"""`bench focused`: a live topic crawl beside Scrapy with the same links and scoring plugged in, pages per CPU-second."""

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

HELP = "pages per CPU-second of a live topic crawl, beside Scrapy with the same links and scoring"


def add_arguments(parser: Any) -> None:
    parser.add_argument("--pages", type=int, default=400, help="pages fetched by each side in each round (default 400)")
    parser.add_argument("--rounds", type=int, default=3, help="alternating rounds (default 3)")
    parser.add_argument("--links", type=int, default=60, help="links on a page (default 60)")
    parser.add_argument("--size", type=int, default=20_000, metavar="BYTES", help="size of a page (default 20000)")


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Rounds of both sides in turn against one server; the ratio is of the medians."""
    pages, rounds = options["pages"], options["rounds"]
    command = [sys.executable, "-m", "crawlmgr.benches.local_server", str(pages), str(options["links"]), str(options["size"])]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=settings.BASE_DIR)  # noqa: S603 - our own module
    try:
        assert server.stdout is not None  # noqa: S101 - asked for a pipe
        address = f"http://127.0.0.1:{server.stdout.readline().strip()}/page/0.html"
        ours: list[dict[str, float]] = []
        theirs: list[dict[str, float]] = []
        for number in range(rounds):
            ours.append(_side("focused.benches.focused_ours", address, pages))
            theirs.append(_side("focused.benches.focused_scrapy", address, pages))
            say(f"round {number + 1} of {rounds}: {ours[-1]['rate']:.0f} and {theirs[-1]['rate']:.0f} pages per CPU-second")
    finally:
        server.terminate()
        server.wait()
    mine, other = _median([r["rate"] for r in ours]), _median([r["rate"] for r in theirs])
    rates = {"ours_per_cpu_second": mine, "scrapy_per_cpu_second": other, "ratio": mine / other}
    return {"pages": pages, "ours": ours, "scrapy": theirs, **rates}


def _side(module: str, address: str, pages: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "CRAWLMGR_DATA": folder, "PYTHONPATH": str(settings.BASE_DIR)}
        environment.pop("DATABASE_URL", None)
        command = [sys.executable, "-m", module, address, str(pages), str(Path(folder) / "items.jsonl")]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=settings.BASE_DIR, check=False)  # noqa: S603
    if done.returncode:
        raise CommandError(f"{module} failed: {(done.stderr.strip() or '?').splitlines()[-1]}")
    result: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    result["rate"] = result["pages"] / result["cpu_seconds"]
    return result


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def table(result: dict[str, Any]) -> str:
    """The rounds side by side and the ratio of the medians."""
    both = zip(result["ours"], result["scrapy"], strict=True)
    rows = [(i + 1, round(a["rate"], 1), round(b["rate"], 1)) for i, (a, b) in enumerate(both)]
    return text_table(("round", "ours", "Scrapy"), rows) + f"\nratio of the medians: {result['ratio']:.2f}"
