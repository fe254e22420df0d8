"""`manage.py bench NAME`: runs the benchmarks behind the figures in README and docs; only in a
checkout."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.management import base
from crawlmgr.management.base import Imported, Result, Subcommand, SubcommandCommand, table


class List(Subcommand):
    """`bench list`: lists the benchmarks."""

    help = "list the benchmarks"

    def run(self, options: dict[str, Any]) -> Result:
        rows = [{"name": name, "help": one.help} for name, one in sorted(benches().items())]
        return Result(rows, table(("name", "measures"), [(r["name"], r["help"]) for r in rows]))


class Bench(Imported):
    """A benchmark: a module with `add_arguments`, `run(options)`, which returns what `--json`
    prints, and `table(result)`."""

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "--data", metavar="DIR", help="folder with external data, for benchmarks that need it"
        )
        super().add_arguments(parser)

    def run(self, options: dict[str, Any]) -> Result:
        module = self.load()
        try:
            result = module.run(options)
        except FileNotFoundError as error:
            raise CommandError(
                f"{error.filename}: no such file; name the folder with the data by --data"
            ) from error
        return Result(result, module.table(result))


def benches() -> dict[str, Bench]:
    """The benchmarks by name. Raises CommandError if there is no checkout."""
    found = base.load_from_checkout("tests.benches.registry").BENCHES
    return {name: Bench(help, module) for name, (module, help) in found.items()}


class Command(SubcommandCommand):
    help = "Runs the benchmarks behind the figures in README and docs; needs a checkout."

    def run_from_argv(self, argv: list[str]) -> None:
        try:
            super().run_from_argv(argv)
        except CommandError as error:  # raised before Django reports errors: no checkout
            self.stderr.write(f"{type(error).__name__}: {error}")
            sys.exit(error.returncode)

    @property
    def subcommands(self) -> dict[str, Subcommand]:  # type: ignore[override]  # read when asked
        return {"list": List(), **benches()}
