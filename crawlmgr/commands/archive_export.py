"""`archive export`: writes a run's pages as one WARC file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.management import database
from crawlmgr.management.base import Result
from crawlmgr.models import Run
from crawlmgr.services import archive

HELP = "write a run's pages as one WARC file"


def add_arguments(parser: Any) -> None:
    parser.add_argument("run", type=int, help="number of the run")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.warc.gz")


def run(options: dict[str, Any]) -> Result:
    database.ready()
    if not Run.objects.filter(pk=options["run"]).exists():
        raise CommandError(f"There is no run {options['run']}.")
    try:
        written = archive.export_run(options["run"], options["out"], SYSTEM.now())
    except OSError as error:
        raise CommandError(
            f"{options['out']} cannot be written: {error.strerror or error}"
        ) from error
    text = (
        f"{written['records']} records, {written['bytes']} bytes; {written['missing']} pages are"
        " not in the archive"
    )
    return Result(written, text)
