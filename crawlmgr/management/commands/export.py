"""`manage.py export`: writes a table in one of six formats, with a manifest beside the file."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from crawlmgr.clock import SYSTEM
from crawlmgr.database import upgrade
from crawlmgr.exports import exports, text_formats
from crawlmgr.management.base import key, moment, names, say, write_json


class Command(BaseCommand):
    help = "Writes a table as CSV, JSON, JSON lines, XLSX, Parquet or SQLite, in constant memory."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("table", choices=sorted(exports.tables()))
        parser.add_argument("--site", type=key, help="only rows of this site")
        parser.add_argument("--run", type=key, help="only rows of this run")
        parser.add_argument(
            "--since", type=moment, metavar="TIME", help="only rows since this time (ISO 8601)"
        )
        parser.add_argument("--format", choices=exports.FORMATS, default="csv")
        parser.add_argument(
            "--columns",
            type=names,
            default=(),
            metavar="A,B",
            help="comma-separated columns to write, in this order",
        )
        parser.add_argument(
            "--partition",
            action="store_true",
            help="write a folder of Parquet files, one per day and site, with a manifest",
        )
        parser.add_argument(
            "--bom",
            action="store_true",
            help="CSV with a byte order mark, which some spreadsheets need",
        )
        parser.add_argument(
            "--out", required=True, metavar="FILE", help="file to write; - for standard output"
        )
        parser.add_argument(
            "--json", action="store_true", help="print the manifest as JSON on standard output"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        upgrade.ready()
        exports.spare_memory()
        name, fmt = options["table"], options["format"]
        chosen = exports.Filter(options["site"], options["run"], options["since"])
        shape = exports.Shape(options["columns"], options["bom"])
        if options["partition"]:
            self.partition(name, Path(options["out"]), fmt, chosen, options)
            return
        try:
            if options["out"] == "-":
                self.print(name, fmt, chosen, shape)
                return
            manifest = exports.write_file(
                name, Path(options["out"]), fmt=fmt, chosen=chosen, now=SYSTEM.now(), shape=shape
            )
        except exports.UnknownColumn as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(
                f"{options['out']} cannot be written: {getattr(error, 'strerror', None) or error}"
            ) from error
        if options["json"]:
            write_json(manifest)
        else:
            say(f"{manifest['rows']} rows written to {options['out']}")

    def partition(
        self, name: str, folder: Path, fmt: str, chosen: exports.Filter, options: dict[str, Any]
    ) -> None:
        """Writes a table as a folder of Parquet files, and prints the manifest or one line. Raises
        CommandError for options that cannot be combined with that, and if the folder cannot be
        written."""
        if fmt != "parquet" or options["columns"] or options["out"] == "-":
            raise CommandError(
                "--partition goes with --format parquet and a folder after --out, without"
                " --columns."
            )
        try:
            manifest = exports.write(name, folder, chosen=chosen, now=SYSTEM.now())
        except (exports.NoPartitions, exports.Taken) as error:
            raise CommandError(f"{error}.") from None
        except OSError as error:
            raise CommandError(f"{folder} cannot be written: {error.strerror or error}") from error
        if options["json"]:
            write_json(manifest)
        else:
            say(f"{manifest['rows']} rows in {len(manifest['files'])} files written to {folder}")

    def print(self, name: str, fmt: str, chosen: exports.Filter, shape: exports.Shape) -> None:
        """Writes the export to standard output; a binary format is first written to a file in a
        temporary folder."""
        try:
            if fmt in text_formats.TEXTS:
                for piece in exports.stream(name, fmt=fmt, chosen=chosen, shape=shape):
                    sys.stdout.buffer.write(piece)
            else:
                with TemporaryDirectory(prefix="export-") as folder:
                    path = Path(folder) / f"{name}.{fmt}"
                    exports.write_file(
                        name, path, fmt=fmt, chosen=chosen, now=SYSTEM.now(), shape=shape
                    )
                    with path.open("rb") as file:
                        shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            sys.stderr.close()
