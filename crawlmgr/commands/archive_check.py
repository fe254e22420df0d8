"""`archive check`: reads every WARC file completely and compares it with the database's index of
pages."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from crawlmgr.management import database
from crawlmgr.management.base import Result, table, write_json
from crawlmgr.services import archive

HELP = "read every WARC file completely and compare it with the index"


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--quick",
        action="store_true",
        help="check only file sizes and positions of pages, not every record",
    )


def run(options: dict[str, Any]) -> Result:
    database.ready()
    report = archive.check(quick=options["quick"])
    rows = [(f["file"], f["records"], f["pages"], f["problem"] or "ok") for f in report["files"]]
    if not report["ok"]:
        if options["json"]:
            write_json(report)
        bad = [f for f in report["files"] if f["problem"]]
        raise CommandError(
            f"{len(bad)} of {len(rows)} files have problems: {bad[0]['file']}: {bad[0]['problem']}"
        )
    return Result(report, table(("file", "records", "pages", "state"), rows))
