"""`manage.py bench NAME`: runs the benchmarks behind the figures in README and docs; only in a
checkout."""

from __future__ import annotations

import sys
from functools import cached_property
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.management import checkout
from crawlmgr.management.base import Result, SubcommandCommand, help_of, table

LIST = "list the benchmarks"


class _List:
    """The subcommand `bench list`."""

    HELP = LIST

    def __init__(self, benches: dict[str, str]) -> None:
        self.benches = benches

    def add_arguments(self, parser: Any) -> None:
        return

    def run(self, options: dict[str, Any]) -> Result:
        rows = [
            {"name": name, "help": help_of(dotted)} for name, dotted in sorted(self.benches.items())
        ]
        return Result(rows, table(("name", "measures"), [(r["name"], r["help"]) for r in rows]))


class _Bench:
    """A benchmark module with the interface of a subcommand."""

    def __init__(self, dotted: str) -> None:
        self.module: Any = checkout.load(dotted)
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
    help = "Runs the benchmarks behind the figures in README and docs; needs a checkout."

    def run_from_argv(self, argv: list[str]) -> None:
        try:
            super().run_from_argv(argv)
        except CommandError as error:  # raised before Django reports errors: no checkout
            self.stderr.write(f"{type(error).__name__}: {error}")
            sys.exit(error.returncode)

    @cached_property
    def benches(self) -> dict[str, str]:
        """The modules of the benchmarks by name."""
        found: dict[str, str] = checkout.load("tests.benches.registry").BENCHES
        return found

    @property
    def subcommands(self) -> dict[str, str]:  # type: ignore[override]  # read when asked
        return {"list": "", **self.benches}

    def help_of(self, dotted: str) -> str:
        return help_of(dotted) if dotted else LIST

    def load(self, dotted: str) -> Any:
        return _Bench(dotted) if dotted else _List(self.benches)
