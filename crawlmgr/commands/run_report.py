"""`run report`: prints a run's requests and responses by status, type and host, and why the run
ended."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.management import database
from crawlmgr.management.arguments import key
from crawlmgr.management.base import Result, table
from crawlmgr.models import Run
from crawlmgr.reads import reports

HELP = (
    "report of a run: status codes, content types, hosts, outcomes of its addresses, and why it"
    " ended"
)
PARTS = (
    ("statuses", ("status", "answers", "bytes")),
    ("types", ("type", "pages", "bytes")),
    ("hosts", ("host", "pages", "failed", "bytes")),
    ("seeds", ("outcome", "urls")),
    ("outcomes", ("state", "reason", "urls")),
)
HEAD = (
    *("state", "waiting_for", "waiting_until", "waiting_because"),
    *("stopped_by", "seconds", "pages", "failed", "refused", "requests", "bytes"),
    *("answers_429_or_503", "retries", "waits", "waited_seconds"),
)


def add_arguments(parser: Any) -> None:
    parser.add_argument("run", type=key, help="its number")


def run(options: dict[str, Any]) -> Result:
    database.ready()
    found = Run.objects.filter(pk=options["run"]).first()
    if found is None:
        raise CommandError(f"there is no run {options['run']}")
    told = reports.report(found, SYSTEM.now())
    texts = [table(("", f"run {found.pk}: {found.label}"), [(name, told[name]) for name in HEAD])]
    for part, columns in PARTS:
        if told[part]:
            texts.append(
                table(columns, [tuple(row[name] for name in columns) for row in told[part]])
            )
    return Result(told, "\n\n".join(texts))
