"""`prune`: deletes stored history that is older than its retention time, or shows what would be
deleted."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from crawlmgr.clock import SYSTEM
from crawlmgr.database import upgrade
from crawlmgr.management.base import table, write_json
from crawlmgr.upkeep import pruning


class Command(BaseCommand):
    help = (
        "Deletes rows and archive files that are older than their retention time (set on the desk"
        " under Retention, otherwise by CRAWLMGR_KEEP_…_DAYS), as the workers do once a day."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="delete nothing; print how many rows of each kind would be deleted",
        )
        parser.add_argument(
            "--json", action="store_true", help="one JSON document on standard output"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        upgrade.ready()
        now = SYSTEM.now()
        kinds = [
            {name: value for name, value in one._asdict().items() if name != "more"}
            for one in pruning.frees(now)
        ]
        if not options["dry_run"]:
            pruning.prune(now)
        if options["json"]:
            write_json({"dropped": not options["dry_run"], "kinds": kinds})
            return
        rows = [(row["kind"], row["keep_days"] or None, row["rows"], row["bytes"]) for row in kinds]
        self.stdout.write(table(("kind", "days kept", "rows to delete", "bytes, about"), rows))
