"""`restore FILE`: fills an empty installation with the data in a file that `backup` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from crawlmgr.access import vault
from crawlmgr.database import upgrade
from crawlmgr.management.base import PARTLY, say, write_json
from crawlmgr.management.supervision import only_one
from crawlmgr.upkeep import backup_file


class Command(BaseCommand):
    help = (
        "Fills an empty installation from a backup. It may use SQLite or PostgreSQL, independent of"
        " the database that the backup was made from."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="the file that `backup` wrote")
        parser.add_argument(
            "--json", action="store_true", help="one JSON document on standard output"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with only_one("serve"):
            upgrade.ready()
            try:
                manifest = backup_file.restore(options["file"], say)
            except backup_file.BackupRefused as refused:
                raise CommandError(str(refused)) from refused
        lost = manifest.pop("unreadable")
        if options["json"]:
            reason = "stored encrypted with another key than that of the backup"
            missing = [{"what": name, "count": 1, "reason": reason} for name in lost]
            write_json({**manifest, "complete": not lost, "missing": missing})
        else:
            rows = sum(manifest["rows"].values())
            self.stdout.write(
                f"{rows} rows and {len(manifest['files'])} WARC files of {manifest['made']}"
            )
        if lost:
            raise CommandError(
                "Not complete. The key in the backup does not open these stored passwords and"
                f" cookies: {vault.name_list(lost)}. Enter them again, or put the key back with"
                " which they were stored.",
                returncode=PARTLY,
            )
