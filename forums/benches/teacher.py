"""`bench teacher`: the benefit of the teacher (comparison of related pages): the same sites are
read without and with it, and compared with the truth."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.benches.processes import answer_of
from crawlmgr.management.base import say
from crawlmgr.management.base import table as text_table

HELP = "the same sites read with the teacher off and on, against their truth"
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
    site (teacher "off", "on") with `teacher_side`'s figures.
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
    contact = {"CRAWLMGR_CONTACT": os.environ.get("CRAWLMGR_CONTACT", "bench@example.org")}
    found: dict[str, dict[str, Any]] = answer_of(
        "forums.benches.teacher_side", file, teacher, environment=contact
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
