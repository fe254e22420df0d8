"""`archive import`: copies WARC files into the archive and indexes their pages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from crawlmgr.clock import SYSTEM
from crawlmgr.management import database
from crawlmgr.management.base import Result, table
from crawlmgr.services import archive
from crawlmgr.web.warc import WarcError

HELP = "copy WARC files into the archive and index their pages"


def add_arguments(parser: Any) -> None:
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.warc[.gz]")


def run(options: dict[str, Any]) -> Result:
    database.ready()
    done = []
    for path in options["files"]:
        pages = 0
        try:
            with tqdm(
                desc=path.name, unit=" pages", file=sys.stderr, disable=not sys.stderr.isatty()
            ) as bar:
                for pages in archive.import_file(path, SYSTEM.now()):
                    bar.update(pages - bar.n)
        except (OSError, WarcError) as error:
            raise CommandError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
        done.append({"file": str(path), "pages": pages})
    return Result(
        {"files": done}, table(("file", "pages"), [(d["file"], d["pages"]) for d in done])
    )
