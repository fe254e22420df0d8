"""`forum crawl`: visits a site's boards now, in the foreground, incrementally."""

from __future__ import annotations

from typing import Any

from crawlmgr.management.arguments import add_web_arguments

HELP = "visit a site's boards now and fetch only what is new"
WORK = "forums.commands.crawl_work"


def add_arguments(parser: Any) -> None:
    parser.add_argument("site", type=int, help="number of the site")
    parser.add_argument(
        "--board", type=int, action="append", help="only this board (may be repeated)"
    )
    history = (
        "how far back a first visit reads, or a later one that is to read farther back (default 20)"
    )
    parser.add_argument("--history-days", type=float, metavar="DAYS", help=history)
    parser.add_argument(
        "--max-pages", type=int, metavar="N", help="list pages read of a board at the most"
    )
    add_web_arguments(parser)
