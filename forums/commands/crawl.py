"""`forum crawl`: visits a site's boards now, in the foreground, incrementally."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.conf import CrawlSettings
from crawlmgr.management import database, foreground
from crawlmgr.management.base import Result, say, table
from crawlmgr.models import Run
from crawlmgr.services import runs
from forums.commands.site_numbers import no_site
from forums.models import Site, Visit
from forums.services import sites

HELP = "visit a site's boards now and fetch only what is new"


def add_arguments(parser: Any) -> None:
    parser.add_argument("site", type=int, help="number of the site")
    parser.add_argument("--board", type=int, action="append", help="only this board (may be repeated)")
    parser.add_argument("--history-days", type=float, metavar="DAYS", help="how far back a first visit reads (default 20)")
    parser.add_argument("--max-pages", type=int, metavar="N", help="list pages read of a board at the most")
    foreground.add_web_arguments(parser)


def run(options: dict[str, Any]) -> Result:
    database.ready()
    began = time.monotonic()
    try:
        run = _begin(options, _settings(options))
    except Site.DoesNotExist:
        raise no_site(options["site"]) from None
    except ValueError as error:
        raise CommandError(str(error)) from None
    run = foreground.work(run, run.label, by_nodes=options["by_nodes"])
    boards = [
        {
            "board": visit.board_id,
            "name": visit.board.name,
            "list_pages": visit.list_pages,
            "threads_new": visit.new,
            "threads_updated": visit.updated,
            "threads_unchanged": visit.unchanged,
            "posts_new": visit.posts_new,
            "requests": visit.requests,
            "bytes": visit.bytes,
            "stopped_by": visit.stopped_by,
            "precision": visit.precision,
        }
        for visit in Visit.objects.filter(run=run).select_related("board").order_by("board__position", "board_id")
    ]
    document = {
        "run": run.pk,
        "state": run.state,
        "stopped_by": run.stopped_by,
        "boards": boards,
        "requests": run.requests,
        "seconds": round(time.monotonic() - began, 3),
    }
    header = ("board", "lists", "new", "updated", "unchanged", "posts", "requests", "stopped by")
    rows = [
        (
            b["name"],
            b["list_pages"],
            b["threads_new"],
            b["threads_updated"],
            b["threads_unchanged"],
            b["posts_new"],
            b["requests"],
            b["stopped_by"],
        )
        for b in boards
    ]
    return Result(document, table(header, rows) + f"\n{run.requests} requests, {document['seconds']} s, {run.stopped_by}")


def _settings(options: dict[str, Any]) -> dict[str, Any]:
    site = Site.objects.get(pk=options["site"])
    settings = foreground.web_settings(options, [site.url], stored=CrawlSettings.from_mapping(site.settings).allow_private)
    pages = {"history_days": options["history_days"], "max_pages": options["max_pages"]}
    return settings | {name: value for name, value in pages.items() if value is not None}


def _begin(options: dict[str, Any], settings: dict[str, Any]) -> Run:
    try:
        return sites.crawl_now(options["site"], board_ids=options["board"], now=SYSTEM.now(), parameters=settings, start=False)
    except runs.Busy as busy:
        if busy.run.state == "paused":
            say(f"Run {busy.run.pk} was interrupted; it goes on where it stood.")
            return runs.resume(busy.run.pk, SYSTEM.now(), start=False)
        say(f"Run {busy.run.pk} is under way for this site; this command joins it if nobody works it.")
        return busy.run
