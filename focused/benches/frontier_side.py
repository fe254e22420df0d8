"""One measurement of `bench frontier`, run as a process of its own: fills a URL graph, runs the
crawl loop over generated pages, and prints the results as JSON.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "crawlmgr.settings")
django.setup()

from django.conf import settings as django_settings  # noqa: E402 - Django has to be set up first
from django.core.management import call_command  # noqa: E402
from django.db import transaction  # noqa: E402

from crawlmgr.benches.local_server import WORDS  # noqa: E402
from crawlmgr.clock import SYSTEM  # noqa: E402
from crawlmgr.services import runs, sql  # noqa: E402
from crawlmgr.text.tokens import Tokenizer  # noqa: E402
from focused.graph import MemoryGraph  # noqa: E402
from focused.loop import Walk  # noqa: E402
from focused.pages import Content  # noqa: E402
from focused.parse import Parser  # noqa: E402
from focused.relevance import Relevance  # noqa: E402
from focused.services.graph import DatabaseGraph  # noqa: E402
from focused.strategies.best_first import BestFirst  # noqa: E402
from focused.topics import Topic  # noqa: E402

LINKS = 40
PARAGRAPH_WORDS = 20
WARM_UP = 100


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
        self._draw = random.Random(1)  # noqa: S311 - generates test pages, no security
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
    draw = random.Random(2)  # noqa: S311 - generates test pages, no security
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
        assert node is not None  # noqa: S101 - enough URLs are waiting
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


def main(kind: str, size: int, pages: int) -> None:
    """Fills a graph of the given kind ("memory" or "database") with `size` URLs, fetches some pages
    that do not count, then `pages` pages, and prints the measurements as JSON."""
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
    result = {
        "pages_per_second": pages / loop.seconds,
        "graph_seconds_per_page": (loop.seconds - loop.source_seconds) / pages,
        "bytes_per_url": grown / size,
    }
    sys.stdout.write(json.dumps(result) + "\n")


def used(kind: str) -> int:
    """Returns the bytes in use: by this process's memory for the kind "memory", by the database
    file for "database"."""
    if kind == "memory":
        return resident()
    sql.fetch("PRAGMA wal_checkpoint(TRUNCATE)", ())
    return Path(django_settings.DATABASES["default"]["NAME"]).stat().st_size


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
