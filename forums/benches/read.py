"""`bench read`: CPU milliseconds that reading one page of a forum takes."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser
from pathlib import Path
from statistics import median
from typing import Any

from crawlmgr.clock import SYSTEM
from crawlmgr.management.base import table as plain_table
from forums.reading import read_page

HELP = "CPU time of reading saved forum pages (list.jsonl with file and base_url a line)."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=3, help="times that every page is read; the fastest counts")


def run(options: dict[str, Any]) -> dict[str, Any]:
    folder, at = Path(options["data"] or "."), SYSTEM.now()
    entries = [json.loads(line) for line in (folder / "list.jsonl").read_text(encoding="utf-8").splitlines() if line.strip()]
    pages = [((folder / entry["file"]).read_bytes(), entry["base_url"]) for entry in entries]
    milliseconds = []
    for html, url in pages:
        taken = []
        for _ in range(max(1, options["rounds"])):
            start = time.process_time()
            read_page(html, url, at)
            taken.append(1000 * (time.process_time() - start))
        milliseconds.append(min(taken))
    size = sum(len(html) for html, _ in pages)
    return {
        "pages": len(pages),
        "median_cpu_ms": round(median(milliseconds), 1),
        "highest_cpu_ms": round(max(milliseconds), 1),
        "mean_bytes": size // max(1, len(pages)),
    }


def table(result: dict[str, Any]) -> str:
    """The figures as one row."""
    return plain_table(list(result), [list(result.values())])
