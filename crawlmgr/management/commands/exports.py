"""`manage.py exports`: manages saved exports; the web interface shows the same ones."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.urls import reverse

from crawlmgr import installation
from crawlmgr.clock import SYSTEM
from crawlmgr.exports import exports, file_writers, saved_exports
from crawlmgr.management import foreground
from crawlmgr.management.base import (
    Result,
    Subcommand,
    SubcommandCommand,
    key,
    moment,
    names,
    table,
)
from crawlmgr.models import Every, Export
from crawlmgr.runs import runs


def find(number: int) -> Export:
    """Returns the saved export with this database key. Raises CommandError if there is none."""
    found = Export.objects.filter(pk=number).first()
    if found is None:
        raise CommandError(f"There is no export {number}; see `exports list`.")
    return found


class Add(Subcommand):
    """`exports add`: saves the definition of an export; a worker then writes its file."""

    help = "save an export: table, format and interval"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("name", help="name of the export")
        parser.add_argument("table", choices=sorted(exports.tables()))
        parser.add_argument("--format", choices=saved_exports.FORMATS, default="csv")
        parser.add_argument(
            "--columns",
            type=names,
            default=(),
            metavar="A,B",
            help="comma-separated columns to write, in this order",
        )
        parser.add_argument("--site", type=key, help="only rows of this site")
        parser.add_argument("--run", type=key, help="only rows of this run")
        parser.add_argument(
            "--since", type=moment, metavar="TIME", help="only rows since this time (ISO 8601)"
        )
        parser.add_argument(
            "--days", type=int, metavar="N", help="only rows of the last N days before each writing"
        )
        parser.add_argument(
            "--bom",
            action="store_true",
            help="CSV with a byte order mark, which some spreadsheets need",
        )
        parser.add_argument(
            "--every-hours",
            type=int,
            choices=Every.values,
            default=0,
            help="hours between two writings (default 0: only on request)",
        )
        parser.add_argument(
            "--keep", type=int, default=5, metavar="N", help="number of files kept (default 5)"
        )

    def run(self, options: dict[str, Any]) -> Result:
        if extra := file_writers.lacking(options["format"]):
            raise installation.Missing(extra)
        now = SYSTEM.now()
        named = (
            "name",
            "table",
            "format",
            "site",
            "run",
            "since",
            "days",
            "bom",
            "every_hours",
            "keep",
        )
        definition = Export(
            **{name: options[name] for name in named}, columns=list(options["columns"]), created=now
        )
        try:
            made = saved_exports.begin(definition, now=now)
        except ValueError as error:
            raise CommandError(str(error), returncode=2) from None
        return Result(
            saved_exports.document(made),
            f"Kept as {made.pk}. A worker writes it; `exports write {made.pk}` does so here.",
        )


class List(Subcommand):
    """`exports list`: lists the saved exports, each with its newest file."""

    help = "list the saved exports with their files"

    def run(self, options: dict[str, Any]) -> Result:
        found = [saved_exports.document(export) for export in Export.objects.order_by("pk")]
        newest = [one["files"][0]["name"] if one["files"] else None for one in found]
        names = ("id", "name", "table", "format", "every_hours")
        rows = [
            (*(one[name] for name in names), file) for one, file in zip(found, newest, strict=True)
        ]
        return Result(
            {"exports": found},
            table(("id", "name", "table", "format", "every hours", "newest file"), rows),
        )


class Write(Subcommand):
    """`exports write`: writes a saved export now, in this process."""

    help = "write a saved export now and print the path of its file"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("export", type=key, help="its number")

    def run(self, options: dict[str, Any]) -> Result:
        export = find(options["export"])
        try:
            written = saved_exports.start(export, now=SYSTEM.now(), start=False)
        except runs.Busy as busy:  # a worker writes it, or it was interrupted and goes on here
            written = foreground.joined(busy, "export")
        foreground.work(written, export.name)
        file = export.files.get(by=written)
        path = saved_exports.path_of(file)
        return Result(
            {"run": written.pk, "path": str(path), "rows": file.rows, "sha256": file.sha256},
            f"{file.rows} rows: {path}",
        )


class Address(Subcommand):
    """`exports address`: makes or revokes a secret download address that needs no login."""

    help = "create or withdraw a download address for the newest file"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("export", type=key, help="its number")
        parser.add_argument("--close", action="store_true", help="withdraw the address")

    def run(self, options: dict[str, Any]) -> Result:
        export = find(options["export"])
        if options["close"]:
            saved_exports.close_address(export, SYSTEM.now())
            return Result({"export": export.pk, "path": None}, "The address no longer works.")
        path = reverse("export-address", args=[saved_exports.open_address(export, SYSTEM.now())])
        return Result(
            {"export": export.pk, "path": path},
            f"Shown only now; put the desk's address before it: {path}",
        )


class Remove(Subcommand):
    """`exports remove`: deletes a saved export with its files."""

    help = "remove a saved export with its files"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("export", type=key, help="its number")

    def run(self, options: dict[str, Any]) -> Result:
        export = find(options["export"])
        try:
            saved_exports.remove(export, SYSTEM.now())
        except runs.Busy as busy:
            raise CommandError(f"{busy}; stop it first.") from None
        return Result({"removed": options["export"]}, f"Removed: {export.name}")


class Command(SubcommandCommand):
    help = (
        "Manages saved exports: saves, writes and deletes them, and gives them download addresses."
    )
    uses_database = True
    subcommands = {
        "add": Add(),
        "list": List(),
        "write": Write(),
        "address": Address(),
        "remove": Remove(),
    }
