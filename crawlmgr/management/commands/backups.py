"""`backups`: shows and sets the schedule of backups, and has a worker make one now."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from crawlmgr.clock import SYSTEM
from crawlmgr.database import upgrade
from crawlmgr.management.base import table, write_json
from crawlmgr.runs import runs
from crawlmgr.upkeep import backups


class Command(BaseCommand):
    help = (
        "Lists the backups; sets their interval and the number of files kept; has a worker make one"
        " now."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--every",
            type=int,
            metavar="HOURS",
            help="hours between two backups; 0: only on request",
        )
        parser.add_argument(
            "--keep", type=int, metavar="N", help="number of files kept; the oldest are deleted"
        )
        parser.add_argument(
            "--now",
            action="store_true",
            help="have a worker make a backup now (`backup FILE` makes one in its own process)",
        )
        parser.add_argument(
            "--json", action="store_true", help="one JSON document on standard output"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        upgrade.ready()
        now, every, keep = SYSTEM.now(), options["every"], options["keep"]
        try:
            if every is not None or keep is not None:
                plan = backups.plan()
                every = plan.every_hours if every is None else every
                backups.put(every_hours=every, keep=plan.keep if keep is None else keep, now=now)
            run = backups.start(now=now) if options["now"] else None
        except ValueError as error:
            raise CommandError(str(error), returncode=2) from None
        except runs.Busy as busy:
            raise CommandError(f"Run {busy.run.pk} is already making a backup.") from None
        found = backups.document() | {"run": None if run is None else run.pk}
        if options["json"]:
            write_json(found)
        else:
            rows = [
                (one["name"], one["written"].isoformat(timespec="seconds"), one["bytes"])
                for one in found["files"]
            ]
            often = (
                f"every {found['every_hours']} h, next {found['next']}"
                if found["every_hours"]
                else "only on request"
            )
            self.stdout.write(f"{found['folder']}: {often}; {found['keep']} files kept")
            self.stdout.write(table(("file", "written", "bytes"), rows))
