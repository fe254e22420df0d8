"""`bench pages`: compares the seconds that a forum's pages in the web interface take with many
posts and with few."""

from __future__ import annotations

from typing import Any

from crawlmgr.benches.processes import answer_of
from crawlmgr.management.base import say
from crawlmgr.management.base import table as text_table

HELP = "opening a forum's pages with 2,000 and with 200,000 posts, as a ratio"


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--few", type=int, default=2_000, help="posts of the small installation (default 2000)"
    )
    parser.add_argument(
        "--many", type=int, default=200_000, help="posts of the large one (default 200000)"
    )
    parser.add_argument("--rounds", type=int, default=15, help="openings of each page (default 15)")


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Measures two installations with few and many posts, each in a process of its own; returns the
    two numbers of posts and, as `pages`, for each page its median seconds and number of queries in
    both, and the ratio of the seconds (many to few posts)."""
    sides = {}
    for name in ("few", "many"):
        say(f"{options[name]} posts")
        sides[name] = answer_of("forums.benches.pages_side", options[name], options["rounds"])
    rows = [
        {
            "page": page,
            "few_seconds": few["seconds"],
            "many_seconds": sides["many"][page]["seconds"],
            "ratio": sides["many"][page]["seconds"] / few["seconds"],
            "few_queries": few["queries"],
            "many_queries": sides["many"][page]["queries"],
        }
        for page, few in sides["few"].items()
    ]
    return {"few": options["few"], "many": options["many"], "pages": rows}


def table(result: dict[str, Any]) -> str:
    """Formats the result as a text table with a row for each page."""
    rows = [
        (
            r["page"],
            *(round(r[key], 4) for key in ("few_seconds", "many_seconds", "ratio")),
            r["few_queries"],
            r["many_queries"],
        )
        for r in result["pages"]
    ]
    head = (
        "page",
        f"s, {result['few']} posts",
        f"s, {result['many']} posts",
        "ratio",
        "queries",
        "queries (many)",
    )
    return text_table(head, rows)
