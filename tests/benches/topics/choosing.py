"""`bench choosing`: measures the CPU time per page of each strategy relative to that of
`best_first`, for the whole crawl loop and for choosing links alone."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import mean
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.management.base import say
from crawlmgr.management.base import table as plain_table
from crawlmgr.text.tokens import Tokenizer
from focused.lab.comparison import Entry, run_entry
from focused.run.parse import Parser
from focused.strategies.base import BUILT_IN
from tests.training import packs

BASE = "best_first"
LEARNING = ("adaptive", "context_graph", "classifier_distiller")
LIMIT = 2.0
"""Target for the CPU time per page of strategies that learn, as a multiple of that of best_first.
The table shows it beside the measured values; exceeding it is no error."""


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--strategies", default=",".join(BUILT_IN), help="names by comma (default: all)"
    )
    parser.add_argument("--topics", default="", help="names by comma (default: all)")
    parser.add_argument(
        "--repeats", type=int, default=3, help="runs of each; the quickest counts (default 3)"
    )


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Crawls every topic of the packs (recorded webs) for half of its pages with every strategy,
    and measures CPU time per page in two crawls.

    `whole`: the first crawl of a newly opened archive, which includes taking pages from the
    archive, decoding, parsing, judging, scoring links and choosing the next one. `alone`: a second
    crawl of the same archive, whose pages are then already parsed and cached, so that mainly
    scoring and choosing remain. Network and database are left out; they cost every strategy the
    same. Returns a dictionary with `topics` (their number) and `rows`, one for each strategy (see
    `_row`).
    """
    if not options["data"]:
        raise CommandError(
            "bench choosing needs --data: a folder with packs (pages.warc.gz, topics,"
            " baselines.json)"
        )
    names = list(dict.fromkeys([BASE, *filter(None, options["strategies"].split(","))]))
    if unknown := [name for name in names if name not in BUILT_IN]:
        raise CommandError(f"no strategy {unknown[0]}")
    wanted = frozenset(filter(None, options["topics"].split(",")))
    try:
        found = packs.folders(Path(options["data"]))
    except ValueError as error:
        raise CommandError(str(error)) from None
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for pack in found:
        topics = [
            one.name
            for one in packs.topics(
                pack, packs.open_archive(pack, Parser(Tokenizer())), wanted=wanted
            )
        ]
        for topic in topics:
            say(f"{pack.name} {topic}")
            for name in names:
                costs[name].append(_cost(pack, topic, name, options["repeats"]))
    base = costs[BASE]
    return {"topics": len(base), "rows": [_row(name, own, base) for name, own in costs.items()]}


def _cost(pack: Path, topic: str, name: str, repeats: int) -> tuple[float, float]:
    """Returns the CPU seconds per page of crawling a topic with the strategy `name` for the first
    time (whole) and again, with all pages parsed and cached (alone); each is the least of `repeats`
    runs.
    """
    whole: list[float] = []
    alone: list[float] = []
    for _ in range(repeats):
        archive = packs.open_archive(pack, Parser(Tokenizer()))
        one = next(packs.topics(pack, archive, wanted=frozenset((topic,))))
        for figures in (whole, alone):
            began = time.process_time()
            trail = run_entry(one.topic, archive, Entry(name), one.budget("50"))
            figures.append((time.process_time() - began) / max(1, len(trail.steps)))
    return min(whole), min(alone)


def _row(
    name: str, own: list[tuple[float, float]], base: list[tuple[float, float]]
) -> dict[str, Any]:
    """Returns the row of the result for the strategy `name`: mean milliseconds per page over the
    topics, and the ratio of this mean to that of `best_first`, both for whole crawls and for
    choosing alone. `own` and `base` hold (whole, alone) in seconds for each topic, for this
    strategy and for `best_first`."""
    whole, alone = (mean(column) for column in zip(*own, strict=True))
    base_whole, base_alone = (mean(column) for column in zip(*base, strict=True))
    return {
        "strategy": name,
        "whole_milliseconds": 1000 * whole,
        "alone_milliseconds": 1000 * alone,
        "whole_ratio": whole / base_whole,
        "alone_ratio": alone / base_alone,
    }


def table(result: dict[str, Any]) -> str:
    header = (
        "strategy",
        "ms a page",
        "cost a page, times best first",
        "ms chosen alone",
        "times best first",
    )
    rows = [
        (
            row["strategy"],
            row["whole_milliseconds"],
            row["whole_ratio"],
            row["alone_milliseconds"],
            row["alone_ratio"],
        )
        for row in result["rows"]
    ]
    costs = [
        f"{row['strategy']} {row['whole_ratio']:.2f}"
        for row in result["rows"]
        if row["strategy"] in LEARNING
    ]
    told = (
        f"cost a page of the strategies that learn, in pages of {BASE} (at most {LIMIT:g}):"
        f" {', '.join(costs)}"
    )
    return plain_table(header, rows) + (f"\n\n{told}" if costs else "")
