"""`backup FILE`: writes all data of this installation to one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from crawlmgr.clock import SYSTEM
from crawlmgr.management import database
from crawlmgr.management.base import say, write_json
from crawlmgr.services import backup


class Command(BaseCommand):
    help = "Writes database, WARC files, event logs and secret into one file; web and workers may go on meanwhile."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="where to; a file of that name is replaced when the new one is whole")
        parser.add_argument("--json", action="store_true", help="one JSON document on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        database.ready()
        try:
            made = backup.write(options["file"].absolute(), SYSTEM.now(), say)
        except backup.BackupRefused as refused:
            raise CommandError(str(refused)) from refused
        if options["json"]:
            write_json(made)
        else:
            rows = sum(made["rows"].values())
            self.stdout.write(f"{options['file']}: {rows} rows, {len(made['files'])} WARC files, {made['bytes']} bytes")
