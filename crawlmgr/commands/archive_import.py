"""`archive import`: copies WARC files into the archive and indexes their pages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from crawlmgr.clock import SYSTEM
from crawlmgr.management import database
from crawlmgr.management.base import Result, missing_parts, table
from crawlmgr.services import archive
from crawlmgr.web.warc import Skipped, WarcError

HELP = "copy WARC, ARC and WACZ files into the archive and index their pages"


def add_arguments(parser: Any) -> None:
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")


def run(options: dict[str, Any]) -> Result:
    database.ready()
    done: list[dict[str, Any]] = []
    refused: list[str] = []
    lines: list[str] = []
    for path in options["files"]:
        skipped: list[Skipped] = []
        try:
            pages = _import(path, skipped)
        except (OSError, WarcError) as error:
            refused.append(f"{path}: {getattr(error, 'strerror', None) or error}")
            pages, size = 0, path.stat().st_size if path.is_file() else 0
            skipped = [Skipped(0, size, refused[-1])]
        done.append({"file": str(path), "pages": pages, "skipped": [s.told() for s in skipped]})
        lines += [f"{path.name}, {one.line()}" for one in skipped]
    if len(refused) == len(done):
        raise CommandError("; ".join(refused))
    rows = [(one["file"], one["pages"], len(one["skipped"])) for one in done]
    return Result(
        {"files": done}, table(("file", "pages", "skipped"), rows), missing=missing_parts(lines)
    )


def _import(path: Path, skipped: list[Skipped]) -> int:
    pages = 0
    with tqdm(
        desc=path.name, unit=" pages", file=sys.stderr, disable=not sys.stderr.isatty()
    ) as bar:
        for pages in archive.import_file(path, SYSTEM.now(), skipped):
            bar.update(pages - bar.n)
    return pages
