"""`bench fetch`: compares this program with Scrapy in fetching pages, extracting links and text,
and storing them (Scrapy writes JSON lines). The measure is pages per CPU second."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from crawlmgr.benches import beside_scrapy

HELP = "pages per CPU second (fetching, links, text, storage) compared with Scrapy"
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
    sides = ("crawlmgr.benches.fetch_ours", "crawlmgr.benches.fetch_scrapy")
    sizes = {"pages": options["pages"], "links": options["links"], "size_bytes": options["size"]}
    try:
        return beside_scrapy.compare(*sides, **sizes, rounds=options["rounds"])
    except beside_scrapy.SideFailed as error:
        raise CommandError(str(error)) from None
