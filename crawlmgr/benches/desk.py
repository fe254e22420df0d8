"""`bench desk`: measures the server's CPU time for every page of the web interface, on a database
with years of data and on one with a hundredth of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from crawlmgr.benches.bulk import BIG, SHARE
from crawlmgr.management.base import say
from crawlmgr.management.base import table as plain_table

HELP = (
    "CPU time of every page of the desk with years of data, compared with 1/100 of the data"
    " (SQLite; generates and keeps the data)"
)
ROOT = Path(__file__).resolve().parents[2]
FLOOR_MS = 10.0  # when the ratio of two times is taken, shorter times are replaced by this one
LIMITS = {"palette": 100.0, "lists": 300.0, "searches": 500.0}
"""Targets in CPU milliseconds for a palette search, a sorted, filtered or paged list, and a search
in the text of pages. The table shows each beside the slowest such request; exceeding it is no
error."""
SEARCHES = ("topic-search", "topic-pages")  # views whose `q` asks the full-text index
LISTS = (
    "runs",
    "hosts",
    "events",
    "forums",
    "boards",
    "threads",
    "posts",
    "board",
    "topic-pages",
    "records",
    "harvests",
    "topics",
    "sources",
    "archive",
)
ASKED = ("sort=", "show=", "q=", "site=", "kind=", "from=", "last")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--share",
        type=int,
        default=1,
        metavar="N",
        help="divide the full data sizes by N (default 1)",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=5,
        help="requests per page, of which the median counts (default 5)",
    )
    parser.add_argument(
        "--only",
        default="",
        metavar="TEXT",
        help="only views whose name or query contains this text",
    )


def run(options: Mapping[str, Any]) -> dict[str, Any]:
    """Measures all pages (views and queries) on both databases in turns, so that other load on the
    machine affects both. Returns `pages` (median CPU milliseconds on each database and their ratio,
    the largest ratio first), `left_out` (reason by address that cannot be measured), `rows`
    (numbers of rows of the large database) and `limits` (see `dearest`).
    """
    folder = Path(options["data"] or settings.DATA_DIR / "bench-desk")
    sides: dict[str, _Side] = {}
    with ExitStack() as stack:
        for name, share in (("small", SHARE * options["share"]), ("big", options["share"])):
            sizes = {what: max(1, number // share) for what, number in BIG.items()}
            sides[name] = stack.enter_context(
                _Side(folder / f"{name}-{share}", sizes, options["only"])
            )
        small, big = sides["small"], sides["big"]
        pages = []
        for page in big.pages:
            pairs = [(small.cost(page), big.cost(page)) for _ in range(options["rounds"])]
            low, high = (median(column) for column in zip(*pairs, strict=True))
            ratio = max(high, FLOOR_MS) / max(low, FLOOR_MS)
            pages.append(
                {
                    "room": page,
                    "small_ms": round(low, 1),
                    "big_ms": round(high, 1),
                    "ratio": round(ratio, 2),
                }
            )
    told = [dearest(what, pages) for what in LIMITS]
    rows = {
        what: number for what, number in big.sizes.items() if what in ("forums", "posts", "runs")
    }
    return {
        "pages": sorted(pages, key=lambda row: -row["ratio"]),
        "left_out": big.left_out,
        "rows": rows,
        "limits": [one for one in told if one is not None],
    }


def dearest(what: str, pages: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Returns the request of the kind `what` ("palette", "lists", "searches") that is slowest on
    the large database, as a dictionary: `what`, `asked` (number of such requests), `dearest` (the
    view with its query), `ms` (its CPU milliseconds) and `limit_ms`. None if none was measured."""
    asked = [(one["big_ms"], one["room"]) for one in pages if is_of(what, one["room"])]
    if not asked:
        return None
    cost, page = max(asked)
    return {
        "what": what,
        "asked": len(asked),
        "dearest": page,
        "ms": cost,
        "limit_ms": LIMITS[what],
    }


def is_of(what: str, label: str) -> bool:
    """Tells whether a view with its query is of the kind `what`: "palette", a search in the command
    palette; "searches", a full-text search of pages; "lists", a sorted, filtered or paged list.

    >>> is_of("palette", "palette?q=forum"), is_of("lists", "threads?sort=first_seen"), \
is_of("lists", "threads")
    (True, True, False)
    >>> is_of("searches", "topic-pages?q=frontier"), is_of("lists", "topic-pages?q=frontier")
    (True, False)
    """
    name, _sign, query = label.partition("?")
    if what == "palette":
        return name == "palette" and bool(query)
    searches = name in SEARCHES and any(one.startswith("q=") for one in query.split("&"))
    if what == "searches" or searches:
        return what == "searches" and searches
    return name in LISTS and any(one.startswith(ASKED) for one in query.split("&"))


class _Side:
    """One database, served by a process of its own. A context manager; on entry it waits until the
    rows have been inserted."""

    def __init__(self, folder: Path, sizes: Mapping[str, int], only: str) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder, self.sizes = folder, sizes
        say(f"{folder.name}: {', '.join(f'{number:,} {what}' for what, number in sizes.items())}")
        environment = {**os.environ, "CRAWLMGR_DATA": str(folder), "PYTHONPATH": str(ROOT)}
        environment.pop("DATABASE_URL", None)
        command = [
            sys.executable,
            "-m",
            "crawlmgr.benches.desk_side",
            json.dumps({"sizes": sizes, "only": only}),
        ]
        self.process = subprocess.Popen(  # noqa: S603 - our own program
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=ROOT,
        )

    def __enter__(self) -> _Side:
        told = self._answer()
        self.pages: list[str] = told["rooms"]
        self.left_out: dict[str, str] = told["left_out"]
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def cost(self, page: str) -> float:
        """Requests the page named `page` and returns the CPU milliseconds that the server needed
        for it."""
        assert self.process.stdin is not None  # noqa: S101 - opened above
        self.process.stdin.write(page + "\n")
        self.process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> Any:
        assert self.process.stdout is not None  # noqa: S101 - opened above
        line = self.process.stdout.readline()
        if not line:
            raise CommandError(f"the side over {self.folder.name} failed")
        return json.loads(line)


def table(result: dict[str, Any]) -> str:
    """Formats the result as a text table with a row for each page (CPU times on the small and the
    big database, and their ratio), followed by the time limits and the pages not measured."""
    rows = [(row["room"], row["small_ms"], row["big_ms"], row["ratio"]) for row in result["pages"]]
    limits = "".join(
        f"\n{one['what']}: {one['asked']} ways to ask, the dearest {one['dearest']}: {one['ms']} ms"
        f" of {one['limit_ms']:.0f}"
        for one in result["limits"]
    )
    left = "".join(f"\nnot measured: {page}: {why}" for page, why in result["left_out"].items())
    return plain_table(("room", "small ms", "big ms", "ratio"), rows) + limits + left
