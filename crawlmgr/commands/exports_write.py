"""`exports write`: writes a saved export now, in this process."""

from __future__ import annotations

from typing import Any

from crawlmgr.clock import SYSTEM
from crawlmgr.commands.exports_remove import find
from crawlmgr.management import database, foreground
from crawlmgr.management.arguments import key
from crawlmgr.management.base import Result
from crawlmgr.services import runs, saved_exports

HELP = "write a saved export now and print the path of its file"


def add_arguments(parser: Any) -> None:
    parser.add_argument("export", type=key, help="its number")


def run(options: dict[str, Any]) -> Result:
    database.ready()
    export = find(options["export"])
    try:
        written = saved_exports.start(export, now=SYSTEM.now(), start=False)
    except (
        runs.Busy
        # the export has an active run: a worker works on it, or it was interrupted and is continued
        # here
    ) as busy:
        written = foreground.joined(busy, "export")
    foreground.work(written, export.name)
    file = export.files.get(by=written)
    path = saved_exports.path_of(file)
    return Result(
        {"run": written.pk, "path": str(path), "rows": file.rows, "sha256": file.sha256},
        f"{file.rows} rows: {path}",
    )
