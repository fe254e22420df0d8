"""`bench read`: CPU milliseconds of reading one page of a forum, or the accuracy of readings on
forum software or sites excluded from training."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser
from pathlib import Path
from statistics import median
from typing import Any

from crawlmgr.clock import SYSTEM
from crawlmgr.management.base import say
from crawlmgr.management.base import table as plain_table
from forums.reading import read_page
from tests.training.reader.fit import FOLDS, judge, samples_of
from tests.training.reader.pages import READ_AT, saved_pages
from tests.training.reader.report import figures, reliability_rows, reliability_words, table_rows
from tests.training.reader.scoring import FIGURES
from tests.training.reader.stored import scored

RELIABILITY = ("confidence from", "pages", "said", "perfect")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--rounds", type=int, default=3, help="times that every page is read; the fastest counts"
    )
    parser.add_argument(
        "--leave-out",
        choices=("engine", "site"),
        help="train without each and measure on it, pages with truth",
    )
    parser.add_argument(
        "--other", default="", metavar="DIR", help="with --leave-out: pages that are no forum's"
    )
    parser.add_argument(
        "--workers", type=int, default=1, help="with --leave-out: processes that train at once"
    )
    parser.add_argument(
        "--more", default="", metavar="DIR", help="with --leave-out: further pages to train on"
    )
    parser.add_argument(
        "--keep",
        default="",
        metavar="FILE",
        help="with --leave-out: keeps the first stage's scores",
    )


def run(options: dict[str, Any]) -> dict[str, Any]:
    folder = Path(options["data"] or ".")
    return (
        _left_out(folder, options)
        if options.get("leave_out")
        else _costs(folder, options["rounds"])
    )


def _left_out(folder: Path, options: dict[str, Any]) -> dict[str, Any]:
    pages = list(saved_pages(folder))
    for name in ("other", "more"):
        if options[name]:
            pages += saved_pages(Path(options[name]), measured=name == "other")
    began = time.monotonic(), time.process_time()
    say(f"{len(pages)} pages")
    samples = samples_of(pages, READ_AT, options["leave_out"])
    is_stored = scored(
        samples, options["workers"], Path(options["keep"]) if options.get("keep") else None
    )
    say(
        "first stage: stored scores"
        if is_stored
        else f"first stage: {FOLDS} trainings of links, {FOLDS} of texts"
    )
    found = figures(samples, judge(samples).outcomes)
    took = {
        "seconds": round(time.monotonic() - began[0], 1),
        "cpu_seconds": round(time.process_time() - began[1], 1),
    }
    return {"leave_out": options["leave_out"], **found, "stored_scores": is_stored, **took}


def _costs(folder: Path, rounds: int) -> dict[str, Any]:
    at = SYSTEM.now()
    entries = [
        json.loads(line)
        for line in (folder / "list.jsonl").read_text(encoding="utf-8").splitlines()
        if line.strip()
    ]
    pages = [((folder / entry["file"]).read_bytes(), entry["base_url"]) for entry in entries]
    milliseconds = []
    for html, url in pages:
        taken = []
        for _ in range(max(1, rounds)):
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
    """Formats the figures as text tables: costs in one row; or accuracy in total, by kind and by
    engine, then the calibration of the confidence and the time taken."""
    if "macro" in result:
        figures_table = plain_table(["", *FIGURES], table_rows(result))
        took = f"{result['seconds']} s" + (
            ", scores of the first stage from the file" if result["stored_scores"] else ""
        )
        return "\n\n".join(
            (
                figures_table,
                plain_table(RELIABILITY, reliability_rows(result)),
                *reliability_words(result),
                took,
            )
        )
    return plain_table(list(result), [list(result.values())])
