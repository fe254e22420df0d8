"""`bench teacher`: the benefit of the teacher (comparison of related pages): the same sites are
read without and with it, and compared with the truth."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.management import call_command
from django.core.management.base import CommandError

from crawlmgr.management import foreground
from crawlmgr.management.base import say
from crawlmgr.management.base import table as text_table
from crawlmgr.models import Run
from forums.models import Board, Post, Thread
from forums.sites import sites
from tests.benches.child import answer_of

HISTORY_DAYS = 400
_SCRIPT = re.compile(r"\.(?:php|cgi|pl|asp|aspx|jsp|do|cfm|exe)$", re.I)
Truth = Mapping[str, Any]
_SHARES = ("boards", "threads", "posts", "authors", "replies")
_COUNTS = ("boards_other", "threads_other", "requests", "idle_requests", "pending")


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--sites",
        required=True,
        metavar="FILE",
        help="JSON list of name, url and truth, a file beside it",
    )


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Measures with the teacher (consistency checks between pages of a site) off and on, each in a
    fresh installation: inspects sites, crawls and revisits them. Returns as `sites` two rows per
    site (teacher "off", "on") with the figures of `measured`.
    """
    file = Path(options["sites"]).resolve()
    try:
        names = [str(entry["name"]) for entry in json.loads(file.read_text(encoding="utf-8"))]
    except (ValueError, KeyError, TypeError) as error:
        raise CommandError(f"{file}: not a JSON list of name, url and truth: {error}") from None
    sides = {}
    for teacher in ("off", "on"):
        say(f"teacher {teacher}: {', '.join(names)}")
        sides[teacher] = _side(file, teacher)
    rows = [
        {"site": name, "teacher": teacher, **sides[teacher][name]}
        for name in names
        for teacher in sides
    ]
    return {"sites": rows}


def _side(file: Path, teacher: str) -> dict[str, dict[str, Any]]:
    contact = os.environ.get("CRAWLMGR_CONTACT", "bench@example.org")
    found: dict[str, dict[str, Any]] = answer_of(
        measured, str(file), teacher == "on", CRAWLMGR_CONTACT=contact
    )
    return found


def table(result: dict[str, Any]) -> str:
    """Formats the result as a text table with two rows per site, without and with the comparison of
    related pages ("teacher"): found/true counts, wrongly found items, requests, and threads left
    pending."""
    rows = []
    for row in result["sites"]:
        shares = [f"{row[name]}/{row[f'{name}_true']}" for name in _SHARES]
        rows.append(
            (
                row["site"],
                row["teacher"],
                *shares,
                *(row[name] for name in _COUNTS),
                row["failed"] or "",
            )
        )
    head = (
        "site",
        "teacher",
        *_SHARES,
        "other boards",
        "other threads",
        "requests",
        "idle requests",
        "pending",
        "failed",
    )
    return text_table(head, rows)


def place(url: str) -> str:
    """Returns the path of an address, for comparing sites; with the query if that identifies the
    page, as for a script or the site's root."""
    parts = urlsplit(url)
    here = unquote(parts.path).rstrip("/")
    asked = "&".join(
        sorted(f"{name}={value}" for name, value in parse_qsl(parts.query, keep_blank_values=True))
    )
    return f"{here}?{asked}" if asked and (not here or _SCRIPT.search(here)) else here


def minute(moment: datetime | str | None) -> str:
    """Returns a time to the minute, in UTC, as text; "" for None."""
    if moment is None:
        return ""
    told = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return told.astimezone(UTC).strftime("%Y-%m-%dT%H:%M")


def worked(run: Run) -> Run:
    """Works on a run until it ends, and returns it."""
    return foreground.work(run, run.label)


def crawled(url: str, teacher: bool) -> dict[str, Any]:
    """Inspects a site, reads it in full and visits it again. Returns its id (`site`), the requests
    of inspection and full reading (`requests`) and of the second visit (`idle_requests`), and the
    number of threads still to be fetched (`pending`). Raises CommandError if no board was found."""
    now = datetime.now(UTC)
    settings = {
        "delay_seconds": 0.0,
        "allow_private": ",".join(foreground.hosts_of([url])),
        "use_teacher": teacher,
    }
    found = worked(sites.discover(url, {"settings": settings}, now=now, start=False))
    boards = [board["url"] for board in found.result.get("boards", [])]
    if not boards:
        raise CommandError("no board was found")
    site = sites.save(found, name="", timezone="", board_urls=boards, now=now)
    first = worked(
        sites.crawl_now(site.pk, now=now, parameters={"history_days": HISTORY_DAYS}, start=False)
    )
    again = worked(sites.crawl_now(site.pk, now=datetime.now(UTC), parameters={}, start=False))
    pending = Thread.objects.filter(site=site, pending=True).count()
    return {
        "site": site.pk,
        "requests": found.requests + first.requests,
        "idle_requests": again.requests,
        "pending": pending,
    }


def compared(site: int, truth: Truth) -> dict[str, int]:
    """Counts correct items of a site's stored data: boards and threads (compared by address), posts
    (by thread, author and minute), threads with the right author and with the right number of
    replies. For each, `…_true` is the number in the truth; `boards_other` and `threads_other` count
    stored ones that the truth does not contain."""
    also = {
        place(board["threads_url"]): place(board["url"])
        for board in truth["boards"]
        if board.get("threads_url")
    }
    needed = {place(board["url"]) for board in truth["boards"] if board["threads"]}
    known = {place(board["url"]) for board in truth["boards"]}
    boards = {
        also.get(place(url), place(url))
        for url in Board.objects.filter(site=site).values_list("url", flat=True)
    }
    wanted = {place(thread["url"]): thread for thread in truth["threads"]}
    threads = {
        place(row[0]): row[1:]
        for row in Thread.objects.filter(site=site).values_list("url", "author", "replies")
    }
    by_id = {thread["id"]: place(thread["url"]) for thread in truth["threads"]}
    posts = {
        (by_id[post["thread"]], post["author"], minute(post["posted"])) for post in truth["posts"]
    }
    rows = Post.objects.filter(thread__site=site).values_list("thread__url", "author", "posted")
    stored = {(place(url), author, minute(posted)) for url, author, posted in rows}
    both = threads.keys() & wanted.keys()
    return {
        "boards": len(boards & needed),
        "boards_true": len(needed),
        "boards_other": len(boards - known),
        "threads": len(both),
        "threads_true": len(wanted),
        "threads_other": len(threads.keys() - wanted.keys()),
        "posts": len(stored & posts),
        "posts_true": len(posts),
        "authors": sum(threads[at][0] == wanted[at]["author"] for at in both),
        "authors_true": len(wanted),
        "replies": sum(threads[at][1] == wanted[at]["replies"] for at in both),
        "replies_true": len(wanted),
    }


def measured(sites_file: str, teacher: bool) -> dict[str, dict[str, Any]]:
    """Crawls the sites listed in the file one after the other, with or without the `teacher`
    (consistency checks between pages), and returns the numbers of requests and of correct items of
    each."""
    file = Path(sites_file)
    call_command("migrate", verbosity=0, interactive=False)
    result = {}
    for entry in json.loads(file.read_text(encoding="utf-8")):
        truth = json.loads((file.parent / entry["truth"]).read_text(encoding="utf-8"))
        took: dict[str, Any] = {
            "site": 0,
            "requests": 0,
            "idle_requests": 0,
            "pending": 0,
            "failed": "",
        }
        try:
            took |= crawled(entry["url"], teacher)
        except CommandError as error:
            took["failed"] = str(error)
        number = took.pop("site")
        result[entry["name"]] = took | compared(number, truth)
    return result
