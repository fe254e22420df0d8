"""`bench fetch`: compares this program with Scrapy in fetching pages, extracting links and text,
and storing them (Scrapy writes JSON lines). The measure is pages per CPU second."""

from __future__ import annotations

import sys
import time
from typing import Any

from tests.benches import beside_scrapy

table = beside_scrapy.table


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--pages",
        type=int,
        default=600,
        help="pages fetched by each side in each round (default 600)",
    )
    parser.add_argument("--rounds", type=int, default=3, help="alternating rounds (default 3)")
    parser.add_argument("--links", type=int, default=100, help="links per page (default 100)")
    parser.add_argument(
        "--size", type=int, default=38_000, metavar="BYTES", help="bytes per page (default 38000)"
    )


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Runs this program and Scrapy in turn against one server. Returns the figures of each round
    and the ratio of the medians."""
    sizes = {"pages": options["pages"], "links": options["links"], "size_bytes": options["size"]}
    return beside_scrapy.compare(ours, theirs, **sizes, rounds=options["rounds"])


def ours(address: str, pages: int, _items: str) -> dict[str, float]:
    """Crawls all pages of the local web with the engine as in production, in this process; returns
    the number of pages and the CPU seconds."""
    from django.conf import settings  # what Scrapy's process does not load
    from django.core.management import call_command

    from crawlmgr import engine
    from crawlmgr.clock import SYSTEM
    from crawlmgr.models import Page
    from crawlmgr.runs import runs
    from tests.benches.fetching.following import FollowAll

    call_command("migrate", verbosity=0, interactive=False)
    settings.CRAWLERS = {"bench": f"{FollowAll.__module__}.{FollowAll.__name__}"}
    parameters = {
        "delay_seconds": 0.0,
        "connections": 8,
        "allow_private": "127.0.0.1",
        "seeds": [address],
    }
    run = runs.create("bench", address, parameters=parameters, now=SYSTEM.now(), start=False)
    began = time.process_time()
    engine.run_slice(run.pk, seconds=None)
    cpu = time.process_time() - began
    stored = Page.objects.filter(run=run, status=200).count()
    if stored < pages:
        sys.exit(f"only {stored} of {pages} pages were stored")
    return {"pages": stored, "cpu_seconds": cpu}


def theirs(address: str, _pages: int, items: str) -> dict[str, float]:
    """Crawls the same pages with Scrapy, in this process; returns the same figures."""
    return beside_scrapy.scrapy_side(beside_scrapy.following_spider(), address, items)
