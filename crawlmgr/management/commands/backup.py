"""`backup FILE`: writes all data of this installation to one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from crawlmgr.clock import SYSTEM
from crawlmgr.database import upgrade
from crawlmgr.management.base import say, write_json
from crawlmgr.upkeep import backup_file


class Command(BaseCommand):
    help = (
        "Writes the database, WARC files, event files and the secret key into one file; the web"
        " server and workers may keep running."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file",
            type=Path,
            help="file to write; an existing file is replaced once the new one is complete",
        )
        parser.add_argument(
            "--json", action="store_true", help="one JSON document on standard output"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        upgrade.ready()
        try:
            made = backup_file.write(options["file"].absolute(), SYSTEM.now(), say)
        except backup_file.BackupRefused as refused:
            raise CommandError(str(refused)) from refused
        if options["json"]:
            write_json(made)
        else:
            rows = sum(made["rows"].values())
            self.stdout.write(
                f"{options['file']}: {rows} rows, {len(made['files'])} WARC files, {made['bytes']}"
                " bytes"
            )
