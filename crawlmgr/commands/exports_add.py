"""`exports add`: saves the definition of an export; a worker then writes its file."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.installation import extras
from crawlmgr.management import database
from crawlmgr.management.arguments import key, moment, names
from crawlmgr.management.base import Result
from crawlmgr.models import Every, Export
from crawlmgr.services import export_writers, exports, saved_exports

HELP = "save an export: table, format and interval"


def add_arguments(parser: Any) -> None:
    parser.add_argument("name", help="name of the export")
    parser.add_argument("table", choices=sorted(exports.tables()))
    parser.add_argument("--format", choices=saved_exports.FORMATS, default="csv")
    parser.add_argument(
        "--columns",
        type=names,
        default=(),
        metavar="A,B",
        help="comma-separated columns to write, in this order",
    )
    parser.add_argument("--site", type=key, help="only rows of this site")
    parser.add_argument("--run", type=key, help="only rows of this run")
    parser.add_argument(
        "--since", type=moment, metavar="TIME", help="only rows since this time (ISO 8601)"
    )
    parser.add_argument(
        "--days", type=int, metavar="N", help="only rows of the last N days before each writing"
    )
    parser.add_argument(
        "--bom",
        action="store_true",
        help="CSV with a byte order mark, which some spreadsheets need",
    )
    parser.add_argument(
        "--every-hours",
        type=int,
        choices=Every.values,
        default=0,
        help="hours between two writings (default 0: only on request)",
    )
    parser.add_argument(
        "--keep", type=int, default=5, metavar="N", help="number of files kept (default 5)"
    )


def run(options: dict[str, Any]) -> Result:
    database.ready()
    if extra := export_writers.lacking(options["format"]):
        raise extras.Missing(extra)
    now = SYSTEM.now()
    named = (
        "name",
        "table",
        "format",
        "site",
        "run",
        "since",
        "days",
        "bom",
        "every_hours",
        "keep",
    )
    definition = Export(
        **{name: options[name] for name in named}, columns=list(options["columns"]), created=now
    )
    try:
        made = saved_exports.begin(definition, now=now)
    except ValueError as error:
        raise CommandError(str(error), returncode=2) from None
    return Result(
        saved_exports.document(made),
        f"Kept as {made.pk}. A worker writes it; `exports write {made.pk}` does so here.",
    )
