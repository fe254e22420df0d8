"""The work of `forum crawl`: visits a site's boards now, in the foreground, incrementally."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.conf import CrawlSettings
from crawlmgr.database import upgrade
from crawlmgr.management import foreground
from crawlmgr.management.base import Missing, Result, table
from crawlmgr.models import Run
from forums.models import Site, Visit
from forums.sites import sites
from forums.visits.incremental import VisitState


def no_site(number: object) -> CommandError:
    """Returns the CommandError for the number of a site that does not exist."""
    return CommandError(f"There is no site {number}; `forum add ADDRESS` makes one.")


def run(options: dict[str, Any]) -> Result:
    upgrade.ready()
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
    missing = foreground.unfinished(run) or _missing(visits, run.label)
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
        missing=missing,
    )


def _missing(visits: Sequence[Visit], name: str) -> list[Missing]:
    """Returns what the visits could not read: lists of threads and pages of threads, by reason.
    Raises CommandError, with a message that begins with `name`, if not one list page of any board
    could be read.
    """
    states = [(visit, VisitState.from_json(visit.state)) for visit in visits]
    lists: dict[str, list[str]] = {}
    pages: dict[str, list[str]] = {}
    counts: Counter[str] = Counter()
    for visit, state in states:
        whole = state.complete or visit.kind == Visit.Kind.TARGETED
        if not visit.complete and not (whole and state.owing):
            reason = visit.stopped_by if whole else state.stopped_by or visit.stopped_by
            lists.setdefault(reason or "paused", []).append(visit.board.name)
        for reason, number, url in state.lost:
            pages.setdefault(reason, []).append(f"page {number} of {url}")
        counts.update(state.owing)
    if lists and not any(state.pages_read or visit.complete for visit, state in states):
        reasons = ", ".join(f"{reason} ({len(names)})" for reason, names in lists.items())
        raise CommandError(f"{name}: no board could be read: {reasons}")
    return [
        *(
            Missing("boards", len(names), f"{one}: {', '.join(names)}")
            for one, names in lists.items()
        ),
        *(
            Missing("pages of threads", count, f"{one}: {'; '.join(pages.get(one, ()))}")
            for one, count in counts.items()
        ),
    ]


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
