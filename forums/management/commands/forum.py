"""`manage.py forum`: adds a forum, reads one page, visits boards, reads stored pages again, plans
visits, simulates schedules."""

from __future__ import annotations

from typing import Any

from crawlmgr.management.base import Imported, SubcommandCommand, add_web_arguments


class Crawl(Imported):
    """`forum crawl`: visits a site's boards now, in the foreground, incrementally."""

    help = "visit a site's boards now and fetch only what is new"
    module = "forums.commands.crawl"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("site", type=int, help="number of the site")
        parser.add_argument(
            "--board", type=int, action="append", help="only this board (may be repeated)"
        )
        history = (
            "how far back a first visit reads, or a later one that is to read farther back"
            " (default 20)"
        )
        parser.add_argument("--history-days", type=float, metavar="DAYS", help=history)
        parser.add_argument(
            "--max-pages", type=int, metavar="N", help="list pages read of a board at the most"
        )
        add_web_arguments(parser)


class Command(SubcommandCommand):
    help = (
        "Forums: add one, read a page, visit now, read stored pages again, plan visits, try"
        " schedules on an event log."
    )
    subcommands = {
        "add": Imported(
            "look at a forum, find its boards and how its pages work, and save it",
            "forums.commands.add",
        ),
        "inspect": Imported(
            "Read one page of a forum (an address or a saved file) and print what it shows.",
            "forums.commands.inspect",
        ),
        "crawl": Crawl(),
        "reread": Imported(
            "read a site's stored pages again from the archive and mend what was stored; no page is"
            " asked for",
            "forums.commands.reread",
        ),
        "plan": Imported("compute and store the next day's visits", "forums.commands.plan"),
        "simulate": Imported(
            "Try schedules on an event log (CSV board,thread,kind,ts) and tell the delay each would"
            " have had.",
            "forums.commands.simulate",
        ),
        "simulate-fetch": Imported(
            "Try ways of finding changed threads on an event log (CSV board,thread,kind,ts), cycle"
            " by cycle.",
            "forums.commands.simulate_fetch",
        ),
    }
