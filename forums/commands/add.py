"""`forum add`: inspects a forum, finds its boards and saves it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.database import upgrade
from crawlmgr.management import foreground
from crawlmgr.management.base import PARTLY, Result, add_web_arguments, table
from crawlmgr.models import Run
from forums.models import Board
from forums.sites import sites


def add_arguments(parser: Any) -> None:
    parser.add_argument("url", help="any address of the forum")
    parser.add_argument("--name", help="name on the desk (default: the forum's own)")
    parser.add_argument(
        "--timezone",
        help="time zone of the forum's pages, such as Asia/Shanghai (default: guessed)",
    )
    add_web_arguments(parser)


def run(options: dict[str, Any]) -> Result:
    upgrade.ready()
    settings = foreground.web_settings(options, [options["url"]])
    try:
        run = _begin(options, settings)
    except ValueError as error:
        raise CommandError(str(error)) from None
    run = foreground.work(run, run.parameters["url"], by_nodes=options["by_nodes"])
    found = run.result.get("boards", [])
    if not found:
        raise CommandError(
            f"No board was found at {run.parameters['url']}:"
            f" {run.result.get('problem') or run.stopped_by}",
            returncode=PARTLY if foreground.unfinished(run) else 1,
        )
    site = sites.save(
        run,
        name=options["name"] or "",
        timezone=options["timezone"] or "",
        board_urls=[b["url"] for b in found],
        now=SYSTEM.now(),
    )
    seen = {b["url"]: b for b in found}
    boards = [
        {
            "board": board.pk,
            "name": board.name,
            "url": board.url,
            "parent": board.parent_id,
            "threads_seen": seen[board.url]["threads_seen"],
            "has_last_reply": seen[board.url]["has_last_reply"],
        }
        for board in Board.objects.filter(site=site).order_by("position")
        if board.url in seen
    ]
    unread = run.result["structure"].get("unread", [])
    document = {
        "site": site.pk,
        "name": site.name,
        "engine": site.engine,
        "timezone": site.timezone,
        "boards": boards,
        "unread": unread,
    }
    rows = [
        (b["board"], b["name"], b["threads_seen"], "yes" if b["has_last_reply"] else "no", b["url"])
        for b in boards
    ]
    head = f"Site {site.pk}: {site.name} ({site.engine}, {site.timezone})\n"
    for one in unread:
        head += f"Seen and not read: {one['name']} ({one['reason']}) {one['url']}\n"
    return Result(
        document,
        head + table(("board", "name", "threads seen", "last replies", "address"), rows),
        missing=foreground.unfinished(run),
    )


def _begin(options: dict[str, Any], settings: dict[str, Any]) -> Run:
    values = {"settings": settings, "timezone": options["timezone"], "name": options["name"]}
    return foreground.begun(
        lambda: sites.discover(options["url"], values, now=SYSTEM.now(), start=False),
        "forum",
        by_nodes=options["by_nodes"],
    )
