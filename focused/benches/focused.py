"""`bench focused`: compares a live topic crawl with Scrapy, which uses the same links and scoring,
in pages per CPU second."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from crawlmgr.benches import beside_scrapy

HELP = "pages per CPU-second of a live topic crawl, beside Scrapy with the same links and scoring"
table = beside_scrapy.table


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--pages",
        type=int,
        default=400,
        help="pages fetched by each side in each round (default 400)",
    )
    parser.add_argument("--rounds", type=int, default=3, help="alternating rounds (default 3)")
    parser.add_argument("--links", type=int, default=60, help="links on a page (default 60)")
    parser.add_argument(
        "--size", type=int, default=20_000, metavar="BYTES", help="size of a page (default 20000)"
    )


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Runs this program and Scrapy alternately against one local server, in several rounds. Returns
    the measurements of both sides and the ratio of the median rates (pages per CPU second)."""
    sides = ("focused.benches.focused_ours", "focused.benches.focused_scrapy")
    sizes = {"pages": options["pages"], "links": options["links"], "size_bytes": options["size"]}
    try:
        return beside_scrapy.compare(*sides, **sizes, rounds=options["rounds"])
    except beside_scrapy.SideFailed as error:
        raise CommandError(str(error)) from None
