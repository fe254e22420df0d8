"""`manage.py archive`: imports WARC files, exports a run's pages, checks stored files, and moves
them to an object store."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from tqdm import tqdm

from crawlmgr.archive import archive, offload
from crawlmgr.clock import SYSTEM
from crawlmgr.management.base import (
    Result,
    Subcommand,
    SubcommandCommand,
    missing_parts,
    table,
    write_json,
)
from crawlmgr.models import Run
from crawlmgr.web.warc import Skipped, WarcError


def _import(path: Path, skipped: list[Skipped]) -> int:
    pages = 0
    with tqdm(
        desc=path.name, unit=" pages", file=sys.stderr, disable=not sys.stderr.isatty()
    ) as bar:
        for pages in archive.import_file(path, SYSTEM.now(), skipped):
            bar.update(pages - bar.n)
    return pages


class Import(Subcommand):
    """`archive import`: copies WARC files into the archive and indexes their pages."""

    help = "copy WARC, ARC and WACZ files into the archive and index their pages"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")

    def run(self, options: dict[str, Any]) -> Result:
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
            done.append(
                {"file": str(path), "pages": pages, "skipped": [s.as_json() for s in skipped]}
            )
            lines += [f"{path.name}, {one.line()}" for one in skipped]
        if len(refused) == len(done):
            raise CommandError("; ".join(refused))
        rows = [(one["file"], one["pages"], len(one["skipped"])) for one in done]
        return Result(
            {"files": done}, table(("file", "pages", "skipped"), rows), missing=missing_parts(lines)
        )


class Export(Subcommand):
    """`archive export`: writes a run's pages as one WARC file."""

    help = "write a run's pages as one WARC file"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("run", type=int, help="number of the run")
        parser.add_argument("--out", type=Path, required=True, metavar="FILE.warc.gz")

    def run(self, options: dict[str, Any]) -> Result:
        if not Run.objects.filter(pk=options["run"]).exists():
            raise CommandError(f"There is no run {options['run']}.")
        try:
            written = archive.export_run(options["run"], options["out"], SYSTEM.now())
        except OSError as error:
            raise CommandError(
                f"{options['out']} cannot be written: {error.strerror or error}"
            ) from error
        text = (
            f"{written['records']} records, {written['bytes']} bytes;"
            f" {written['missing']} pages are not in the archive"
        )
        return Result(written, text)


class Check(Subcommand):
    """`archive check`: reads every WARC file completely and compares it with the database's
    index of pages."""

    help = "read every WARC file completely and compare it with the index"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "--quick",
            action="store_true",
            help="check only file sizes and positions of pages, not every record",
        )

    def run(self, options: dict[str, Any]) -> Result:
        report = archive.check(quick=options["quick"])
        rows = [
            (f["file"], f["records"], f["pages"], f["problem"] or "ok") for f in report["files"]
        ]
        if not report["ok"]:
            if options["json"]:
                write_json(report)
            bad = [f for f in report["files"] if f["problem"]]
            raise CommandError(
                f"{len(bad)} of {len(rows)} files have problems:"
                f" {bad[0]['file']}: {bad[0]['problem']}"
            )
        return Result(report, table(("file", "records", "pages", "state"), rows))


class Move(Subcommand):
    """`archive move`: moves all closed WARC files of this machine into the object store now."""

    help = "move closed WARC files of this machine into the object store"

    def run(self, options: dict[str, Any]) -> Result:
        if not settings.ARCHIVE_STORE:
            raise CommandError(
                "No store is set: name one with CRAWLMGR_ARCHIVE_STORE=s3://bucket/folder."
            )
        done = offload.move(SYSTEM.now())
        if done.error:
            raise CommandError(
                f"The store does not answer, {done.moved} files were moved: {done.error}"
            )
        text = (
            f"{done.moved} files moved, {done.bytes} bytes;"
            f" {done.damaged} do not match their index and stay"
        )
        return Result(done._asdict(), text)


class Command(SubcommandCommand):
    help = (
        "Imports WARC files into the archive, exports a run's pages as a WARC file, checks stored"
        " files, and moves them into an object store."
    )
    uses_database = True
    subcommands = {
        "import": Import(),
        "export": Export(),
        "check": Check(),
        "move": Move(),
    }
