"""`manage.py bench NAME`: runs the benchmarks behind the figures in the README."""

from __future__ import annotations

import importlib
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from crawlmgr.management.base import Result, SubcommandCommand, help_of, table


class _List:
    """The subcommand `bench list`."""

    HELP = "list the benchmarks"

    @staticmethod
    def add_arguments(parser: Any) -> None:
        return

    @staticmethod
    def run(options: dict[str, Any]) -> Result:
        rows = [
            {"name": name, "help": help_of(dotted)}
            for name, dotted in sorted(settings.BENCHES.items())
        ]
        return Result(rows, table(("name", "measures"), [(r["name"], r["help"]) for r in rows]))


class _Bench:
    """A benchmark module with the interface of a subcommand."""

    def __init__(self, dotted: str) -> None:
        self.module = importlib.import_module(dotted)
        self.HELP = self.module.HELP

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "--data", metavar="DIR", help="folder with external data, for benchmarks that need it"
        )
        self.module.add_arguments(parser)

    def run(self, options: dict[str, Any]) -> Result:
        try:
            result = self.module.run(options)
        except FileNotFoundError as error:
            raise CommandError(
                f"{error.filename}: no such file; name the folder with the data by --data"
            ) from error
        return Result(result, self.module.table(result))


class Command(SubcommandCommand):
    help = "Runs the benchmarks behind the figures in the README."

    @property
    # read from the settings when asked
    def subcommands(self) -> dict[str, str]:  # type: ignore[override]
        return {"list": "", **settings.BENCHES}

    def help_of(self, dotted: str) -> str:
        return help_of(dotted) if dotted else _List.HELP

    def load(self, dotted: str) -> Any:
        return _Bench(dotted) if dotted else _List
