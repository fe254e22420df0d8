"""`bench frontier`: measures pages per CPU second of the whole crawl loop with 10,000 to 1,000,000
waiting URLs, with the URL graph in memory and in the database.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import transaction

from crawlmgr.clock import SYSTEM
from crawlmgr.database import sql
from crawlmgr.management.base import say
from crawlmgr.management.base import table as text_table
from crawlmgr.runs import runs
from crawlmgr.text.tokens import Tokenizer
from focused.graph import MemoryGraph
from focused.judge.relevance import Relevance, Topic
from focused.pages import Content
from focused.run.loop import Walk
from focused.run.parse import Parser
from focused.run.stored_graph import DatabaseGraph
from focused.strategies.best_first import BestFirst
from tests.benches.child import answer_of
from tests.benches.local_server import WORDS

GRAPHS = ("memory", "database")
LINKS = 40
PARAGRAPH_WORDS = 20
WARM_UP = 100


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--sizes", default="10000,100000,1000000", help="numbers of URLs waiting, by comma"
    )
    parser.add_argument(
        "--pages",
        type=int,
        default=1000,
        help="pages fetched with that many waiting (default 1000)",
    )
    parser.add_argument(
        "--graphs", default="memory,database", help="memory, database or both, by comma"
    )
    parser.add_argument(
        "--rounds", type=int, default=1, help="rounds, the median counts (default 1)"
    )


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Measures every size and kind of graph in a process of its own, one size after another in each
    round, and returns the medians over the rounds. `ratio` in a row is the speed relative to the
    smallest size of the same kind of graph.
    """
    sizes = [int(size) for size in options["sizes"].split(",")]
    rows = []
    for graph in options["graphs"].split(","):
        if graph not in GRAPHS:
            raise CommandError(f"a graph is one of {', '.join(GRAPHS)}, not {graph}")
        measured: dict[int, list[dict[str, float]]] = {size: [] for size in sizes}
        for _ in range(options["rounds"]):
            for size in sizes:
                measured[size].append(answer_of(measurement, graph, size, options["pages"]))
                say(
                    f"{graph}, {size} waiting: {measured[size][-1]['pages_per_second']:.0f} pages a"
                    " CPU-second"
                )
        first = _median([one["pages_per_second"] for one in measured[sizes[0]]])
        for size in sizes:
            row = {
                name: _median([one[name] for one in measured[size]]) for name in measured[size][0]
            }
            rows.append(
                {"graph": graph, "waiting": size, **row, "ratio": row["pages_per_second"] / first}
            )
    return {"pages": options["pages"], "rows": rows}


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def table(result: dict[str, Any]) -> str:
    """Formats the result as a text table with a row for each kind of graph and size."""
    rows = [
        (
            *(r["graph"], r["waiting"], round(r["pages_per_second"], 1), round(r["ratio"], 3)),
            *(round(1000 * r["graph_seconds_per_page"], 2), round(r["bytes_per_url"])),
        )
        for r in result["rows"]
    ]
    return text_table(
        ("graph", "waiting", "pages/CPU-s", "ratio", "ms/page without parsing", "bytes/URL"), rows
    )


def address(number: int) -> str:
    """Returns the URL of the page with this number: about 60 characters, on one of a thousand
    hosts."""
    return f"http://host{number % 1000}.example/section/{number // 7919}/page-{number}.html"


class MadeUp:
    """A source of generated pages of some 8 KB with 40 links: half lead to waiting URLs (numbers
    below `size`), half to new ones.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._next = size
        self._draw = random.Random(1)
        self._parse = Parser(Tokenizer())

    def get(self, url: str) -> Content:
        """Generates and parses a page for a URL; every URL has a page."""
        parts = [f"<html><head><title>{url}</title></head><body>"]
        for number in range(LINKS):
            target = self._draw.randrange(self._size) if number % 2 else self._next
            self._next += 1 - number % 2
            words = self._draw.choices(WORDS, k=PARAGRAPH_WORDS)
            parts.append(
                f'<p>{" ".join(words)} <a href="{address(target)}">{" ".join(words[:3])}</a></p>'
            )
        return self._parse("".join(parts).encode(), "text/html; charset=utf-8", url)


def resident() -> int:
    """Returns the memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def fill(graph: MemoryGraph | DatabaseGraph, size: int) -> None:
    """Adds `size` URLs to the graph's queue with random priorities."""
    draw = random.Random(2)
    for start in range(0, size, 10_000):
        numbers = range(start, min(size, start + 10_000))
        with transaction.atomic():
            if isinstance(graph, DatabaseGraph):
                graph.prepare(map(address, numbers))
            for number in numbers:
                node = graph.add(address(number), 1, None)
                graph.push(node, draw.random() * 0.3)
            if isinstance(graph, DatabaseGraph):
                graph.settle()


class Loop:
    """Runs the crawl loop, with one transaction per page if the graph is in the database. Measures
    the CPU seconds in total (`seconds`), and those spent on generating and parsing pages
    (`source_seconds`)."""

    def __init__(self, walk: Walk, source: MadeUp) -> None:
        self._walk, self._source = walk, source
        self.seconds = self.source_seconds = 0.0

    def run(self, pages: int) -> None:
        """Fetches `pages` pages; sets `seconds` and `source_seconds`, the CPU time in total and for
        generating the pages."""
        self.seconds = self.source_seconds = 0.0
        began = time.process_time()
        for _ in range(pages):
            if isinstance(self._walk.graph, DatabaseGraph):
                with transaction.atomic():
                    self._page(self._walk.graph)
            else:
                self._page(None)
        self.seconds = time.process_time() - began

    def _page(self, graph: DatabaseGraph | None) -> None:
        node = self._walk.strategy.select()
        assert node is not None
        began = time.process_time()
        content = self._source.get(node.url)
        self.source_seconds += time.process_time() - began
        if graph is not None:
            graph.prepare(link.url for link in content.links)
        judged = self._walk.judge(node, content)
        if judged is not None:
            self._walk.expand(node, *judged)
        if graph is not None:
            graph.settle()


def measurement(kind: str, size: int, pages: int) -> dict[str, float]:
    """Fills a graph of the given kind ("memory" or "database") with `size` URLs in this process,
    fetches some pages that do not count, then `pages` pages; returns the measurements."""
    call_command("migrate", verbosity=0, interactive=False)
    run = runs.create("topic", "bench", parameters={}, now=SYSTEM.now(), start=False)
    topic = Relevance(Topic("bench", (), (" ".join(WORDS[:8]), " ".join(WORDS[4:12]))))
    graph: MemoryGraph | DatabaseGraph = (
        MemoryGraph() if kind == "memory" else DatabaseGraph(run.pk, cached=0)
    )
    loop = Loop(Walk(BestFirst(topic, graph), graph), MadeUp(size))
    before = used(kind)
    fill(graph, size)
    grown = used(kind) - before
    loop.run(WARM_UP)
    loop.run(pages)
    return {
        "pages_per_second": pages / loop.seconds,
        "graph_seconds_per_page": (loop.seconds - loop.source_seconds) / pages,
        "bytes_per_url": grown / size,
    }


def used(kind: str) -> int:
    """Returns the bytes in use: by this process's memory for the kind "memory", by the database
    file for "database"."""
    if kind == "memory":
        return resident()
    sql.fetch("PRAGMA wal_checkpoint(TRUNCATE)", ())
    return Path(settings.DATABASES["default"]["NAME"]).stat().st_size
