"""`run list`: lists the active runs (running, queued or paused), and then runs that ended
recently."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from crawlmgr.clock import SYSTEM
from crawlmgr.management import database
from crawlmgr.management.arguments import key
from crawlmgr.management.base import Result, table
from crawlmgr.models import Run
from crawlmgr.reads import runs, waiting

HELP = "list active runs (running, waiting, paused), then the most recently ended ones"
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


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--ended",
        type=key,
        default=10,
        metavar="N",
        help="number of ended runs to list (default 10)",
    )


def run(options: dict[str, Any]) -> Result:
    database.ready()
    now = SYSTEM.now()
    rows = [_row(one, now) for one in [*runs.active(), *runs.ended(options["ended"])]]
    return Result(
        {"runs": rows}, table(FIELDS, [[_text(row[name]) for name in FIELDS] for row in rows])
    )


def _row(found: Run, now: datetime) -> dict[str, Any]:
    """Returns the fields of a run that the list shows."""
    waits = waiting.of(found, now).columns()
    return {name: waits[name] if name in waits else getattr(found, name) for name in FIELDS}


def _text(value: Any) -> Any:
    return f"{value:%Y-%m-%d %H:%M:%SZ}" if isinstance(value, datetime) else value
