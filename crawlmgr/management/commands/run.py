"""`manage.py run`: lists runs, and prints the report of one, as on its page in the web
interface."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.management.base import Imported, Result, Subcommand, SubcommandCommand, key, table
from crawlmgr.models import Run
from crawlmgr.runs import run_reads

FIELDS = (
    "id",
    "kind",
    "label",
    "state",
    "waiting_for",
    "waiting_until",
    "waiting_because",
    "stopped_by",
    "created",
    "finished",
)


def _row(found: Run, now: datetime) -> dict[str, Any]:
    """Returns the fields of a run that the list shows."""
    waits = run_reads.waits_of(found, now).as_json()
    return {name: waits[name] if name in waits else getattr(found, name) for name in FIELDS}


def _text(value: Any) -> Any:
    return f"{value:%Y-%m-%d %H:%M:%SZ}" if isinstance(value, datetime) else value


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


class List(Subcommand):
    """`run list`: lists the active runs (running, queued or paused), and then runs that ended
    recently."""

    help = "list active runs (running, waiting, paused), then the most recently ended ones"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "--ended",
            type=key,
            default=10,
            metavar="N",
            help="number of ended runs to list (default 10)",
        )

    def run(self, options: dict[str, Any]) -> Result:
        now = SYSTEM.now()
        rows = [_row(one, now) for one in [*run_reads.active(), *run_reads.ended(options["ended"])]]
        return Result(
            {"runs": rows}, table(FIELDS, [[_text(row[name]) for name in FIELDS] for row in rows])
        )


class Report(Imported):
    """`run report`: prints a run's requests and responses by status, type and host, and why the run
    ended. The list of runs does without what the report imports."""

    help = (
        "report of a run: status codes, content types, hosts, outcomes of its addresses, and why it"
        " ended"
    )
    module = "crawlmgr.runs.run_reads"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("run", type=key, help="its number")

    def run(self, options: dict[str, Any]) -> Result:
        found = Run.objects.filter(pk=options["run"]).first()
        if found is None:
            raise CommandError(f"there is no run {options['run']}")
        told = self.load().report(found, SYSTEM.now())
        texts = [
            table(("", f"run {found.pk}: {found.label}"), [(name, told[name]) for name in HEAD])
        ]
        for part, columns in PARTS:
            if told[part]:
                texts.append(
                    table(columns, [tuple(row[name] for name in columns) for row in told[part]])
                )
        return Result(told, "\n\n".join(texts))


class Command(SubcommandCommand):
    help = "Lists runs, and reports on one."
    uses_database = True
    subcommands = {
        "list": List(),
        "report": Report(),
    }
