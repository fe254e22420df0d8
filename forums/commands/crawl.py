"""The work of `forum crawl`: visits a site's boards now, in the foreground, incrementally."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.conf import CrawlSettings
from crawlmgr.management import database, foreground
from crawlmgr.management.base import Result, say, table
from crawlmgr.models import Run
from forums.commands.site_numbers import no_site
from forums.incremental import VisitState
from forums.models import Site, Visit
from forums.services import sites

BOUNDS = ("max_pages", "stopped", "in_doubt", "")
"""Reasons for which a visit may end early without being a failure. "" means that the visit has not
ended, because its run has paused."""


def run(options: dict[str, Any]) -> Result:
    database.ready()
    began = time.monotonic()
    try:
        run = _begin(options)
    except Site.DoesNotExist:
        raise no_site(options["site"]) from None
    except ValueError as error:
        raise CommandError(str(error)) from None
    run = foreground.work(run, run.label, by_nodes=options["by_nodes"])
    visits = list(
        Visit.objects.filter(run=run)
        .select_related("board")
        .order_by("board__position", "board_id")
    )
    _tell_of_unread(visits, run.label)
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
        for visit in visits
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
    return Result(
        document,
        table(header, rows)
        + f"\n{run.requests} requests, {document['seconds']} s, {run.stopped_by}",
    )


def _tell_of_unread(visits: Sequence[Visit], name: str) -> None:
    """Prints how many boards have a list of threads that could not be read to its end, with the
    reasons; nothing if there are none. Raises CommandError if not one list page of any board could
    be read. Messages begin with `name`.
    """
    left = [visit for visit in visits if not visit.complete and visit.stopped_by not in BOUNDS]
    if not left:
        return
    reasons = ", ".join(
        f"{reason} ({number})"
        for reason, number in Counter(visit.stopped_by for visit in left).most_common()
    )
    unread = [visit for visit in left if not VisitState.from_json(visit.state).pages_read]
    if len(unread) == len(visits):
        raise CommandError(f"{name}: no board could be read: {reasons}")
    say(
        f"{name}: {len(left)} of {len(visits)} boards could not be read to their end, {len(unread)}"
        f" not at all: {reasons}"
    )


def _settings(options: dict[str, Any]) -> dict[str, Any]:
    site = Site.objects.get(pk=options["site"])
    settings = foreground.web_settings(
        options, [site.url], stored=CrawlSettings.from_mapping(site.settings).allow_private
    )
    pages = {"history_days": options["history_days"], "max_pages": options["max_pages"]}
    return settings | {name: value for name, value in pages.items() if value is not None}


def _begin(options: dict[str, Any]) -> Run:
    settings = _settings(options)

    def create() -> Run:
        return sites.crawl_now(
            options["site"],
            board_ids=options["board"],
            now=SYSTEM.now(),
            parameters=settings,
            start=False,
        )

    return foreground.begun(create, "site", by_nodes=options["by_nodes"])
