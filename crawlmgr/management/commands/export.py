"""`manage.py export`: a table as CSV, JSON or JSON lines, with a manifest beside the file."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from crawlmgr.clock import SYSTEM
from crawlmgr.management import database
from crawlmgr.management.base import say, write_json
from crawlmgr.services import exports


def moment(text: str) -> datetime:
    """An ISO 8601 time; without a zone it is UTC."""
    value = datetime.fromisoformat(text)
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def key(text: str) -> int:
    """The number of a site or a run, as the database counts them."""
    value = int(text)
    if not 0 <= value < 2**63:
        raise ValueError(text)
    return value


class Command(BaseCommand):
    help = "Write a table as CSV, JSON or JSON lines, in constant memory."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("table", choices=sorted(exports.tables()))
        parser.add_argument("--site", type=key, help="only of this site")
        parser.add_argument("--run", type=key, help="only of this run")
        parser.add_argument("--since", type=moment, metavar="TIME", help="only what came since then (ISO 8601)")
        parser.add_argument("--format", choices=exports.FORMATS, default="csv")
        parser.add_argument("--out", required=True, metavar="FILE", help="file to write, - for standard output")
        parser.add_argument("--json", action="store_true", help="the manifest as JSON on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        database.ready()
        name, fmt = options["table"], options["format"]
        chosen = exports.Filter(options["site"], options["run"], options["since"])
        if options["out"] == "-":
            try:
                for piece in exports.stream(name, fmt=fmt, site=chosen.site, run=chosen.run, since=chosen.since):
                    sys.stdout.buffer.write(piece)
                sys.stdout.buffer.flush()
            except BrokenPipeError:
                sys.stderr.close()
            return
        try:
            manifest = exports.write_file(name, Path(options["out"]), fmt=fmt, chosen=chosen, now=SYSTEM.now())
        except OSError as error:
            raise CommandError(f"{options['out']} cannot be written: {error.strerror or error}") from error
        if options["json"]:
            write_json(manifest)
        else:
            say(f"{manifest['rows']} rows written to {options['out']}")
