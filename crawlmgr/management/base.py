"""Base classes and functions for commands with subcommands: results go to standard output as one
JSON document or a short table, messages for people to standard error.
Also their common arguments, and modules of `tests` that only a checkout has."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error as DatabaseProblem
from django.db import connection

from crawlmgr import installation
from crawlmgr.database import sql


def load_from_checkout(dotted: str) -> ModuleType:
    """Imports a module of `tests`. Raises CommandError in an installed program."""
    if not (installation.BASE / "tests" / "benches").is_dir():
        raise CommandError(
            "This needs a checkout of the project: benches and training are not installed."
        )
    if str(installation.BASE) not in sys.path:  # the program was started by its entry point
        sys.path.insert(0, str(installation.BASE))
    return importlib.import_module(dotted)


PARTLY = 3
"""Exit status of a command that is done in part: something that was seen could not be taken."""


MOST_SAID = 20


class Stopped(Exception):
    """The command was interrupted by Ctrl-C or SIGTERM after storing its work; the text tells how
    to continue."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that was seen and could not be taken: `what` in the plural, how many, and why."""

    what: str
    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a subcommand: `data` can be written as JSON, `text` is the same for people.

    If `lines` is set, `data` is a sequence, each item of which is written as a JSON document on a
    line of its own (JSON lines). `missing` lists what could not be taken: if it is not None, the
    JSON document, a mapping then, tells of it, and if it is not empty, the exit status is 3.
    """

    data: Any
    text: str = ""
    lines: bool = False
    missing: Sequence[Missing] | None = None


def say(text: str) -> None:
    """Writes one line for a person to standard error."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def missing_parts(lines: Sequence[str]) -> list[Missing]:
    """Returns what a command tells of archive files of which parts could not be read, with the
    first of the lines about them as the reason; says them all, up to MOST_SAID."""
    for line in lines[:MOST_SAID]:
        say(line)
    if len(lines) > MOST_SAID:
        say(f"{len(lines) - MOST_SAID} further parts could not be read.")
    return [Missing("parts of archive files", len(lines), lines[0])] if lines else []


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Returns a table as plain text, with a line under the header: numbers right-aligned, floats
    with three decimals, None as a dash."""
    body = [
        [
            "–" if cell is None else f"{cell:.3f}" if isinstance(cell, float) else str(cell)
            for cell in row
        ]
        for row in rows
    ]
    raw = [list(row) for row in body]
    widths = [max([len(str(name)), *(len(row[i]) for row in raw)]) for i, name in enumerate(header)]

    def line(cells: Sequence[str]) -> str:
        return "  ".join(
            c.rjust(w) if c[:1].isdigit() or c[:2].lstrip("-")[:1].isdigit() else c.ljust(w)
            for c, w in zip(cells, widths, strict=True)
        ).rstrip()

    return "\n".join(
        [line(list(header)), line(["-" * w for w in widths]), *(line(row) for row in raw)]
    )


def _plain(value: Any) -> Any:
    """Returns a form for JSON of a value that the json module cannot encode: text for datetimes,
    numbers or lists for numpy values, a sorted list for sets. Raises TypeError for others."""
    if isinstance(value, datetime):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _told(result: Result) -> Any:
    """Returns the data of a result, with what is missing if that is known."""
    if result.missing is None:
        return result.data
    missing = [asdict(one) for one in result.missing]
    return {**result.data, "complete": not missing, "missing": missing}


def write_json(document: Any, stream: Any = None) -> None:
    """Writes one JSON document and a newline to `stream`, by default standard output. Raises
    ValueError for NaN, which JSON does not allow."""
    json.dump(document, stream or sys.stdout, ensure_ascii=False, default=_plain, allow_nan=False)
    (stream or sys.stdout).write("\n")


class Subcommand:
    """A subcommand of a command: its help, its arguments, and what it does.

    Each subcommand also gets the option `--json`. Failures raise `CommandError` (exit status 1, one
    line); argparse reports wrong arguments (exit status 2).
    """

    help: str

    def add_arguments(self, parser: Any) -> None:
        """Adds the subcommand's arguments: none, if it does not say otherwise."""

    def run(self, options: dict[str, Any]) -> Result:
        raise NotImplementedError


class Imported(Subcommand):
    """A subcommand whose work is in a module, which is imported only if the subcommand is called.

    The module has `run(options)`, and `add_arguments(parser)` if the subcommand is not a subclass
    that adds its arguments itself, so that `--help` need not import much. Modules that need a
    checkout are in `tests`.
    """

    module: str

    def __init__(self, help: str = "", module: str = "") -> None:  # noqa: A002
        self.help, self.module = help or self.help, module or self.module

    def load(self) -> Any:
        """Imports the module."""
        if self.module.startswith("tests."):
            return load_from_checkout(self.module)
        return importlib.import_module(self.module)

    def add_arguments(self, parser: Any) -> None:
        self.load().add_arguments(parser)

    def run(self, options: dict[str, Any]) -> Result:
        result: Result = self.load().run(options)
        return result


class SubcommandCommand(BaseCommand):
    """A command with subcommands: a subclass sets `subcommands = {"simulate": Simulate(), …}`."""

    subcommands: Mapping[str, Subcommand] = {}
    uses_database = False
    """Whether each subcommand needs the database, which is migrated before it if necessary."""
    requires_system_checks = []

    _words: Sequence[str] | None = None
    """Words of the command line after the command's name; None if Python code calls the command."""

    def run_from_argv(self, argv: list[str]) -> None:
        self._words = argv[2:]
        super().run_from_argv(argv)

    def add_arguments(self, parser: CommandParser) -> None:
        words = parser.add_subparsers(
            dest="subcommand", required=True, metavar="SUBCOMMAND", parser_class=_Parser
        )
        asked = (
            self.subcommands
            if self._words is None
            else [word for word in self._words if word in self.subcommands][:1]
        )
        for name, subcommand in self.subcommands.items():
            described = subcommand.help.replace("%", "%%")
            sub = words.add_parser(name, help=described, description=subcommand.help)
            if name in asked:  # the others' modules are not imported
                subcommand.add_arguments(sub)
                sub.add_argument(
                    "--json", action="store_true", help="one JSON document on standard output"
                )
                sub.set_defaults(called=subcommand)

    def handle(self, *args: Any, **options: Any) -> None:
        called: Subcommand = options.pop("called")
        try:
            with connection.execute_wrapper(sql.patiently):
                if self.uses_database:
                    # needs the models, which benches that use this module do without
                    from crawlmgr.database import upgrade

                    upgrade.ready()
                result = called.run(options)
        except (KeyboardInterrupt, Stopped) as stop:
            raise CommandError(str(stop) or "Stopped; fetched pages are stored.") from stop
        except DatabaseProblem as error:
            if sql.full(error):
                raise CommandError(
                    f"The disk of the database is full, or refuses it: {sql.one_line(error)}"
                ) from error
            if sql.passing(error):
                raise CommandError(
                    f"The database does not answer: {sql.one_line(error)}"
                ) from error
            raise
        if result.lines and options["json"]:
            for row in result.data:
                write_json(row)
        elif options["json"]:
            write_json(_told(result))
        elif result.text:
            sys.stdout.write(result.text.rstrip("\n") + "\n")
        if result.missing:
            sys.stdout.flush()
            parts = [f"{one.count} {one.what}: {one.reason}" for one in result.missing]
            raise CommandError(f"Not complete. {'; '.join(parts)}", returncode=PARTLY)


class _Parser(argparse.ArgumentParser):
    """An argument parser that reports a wrong argument in one line and exits with status 2."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.pop("called_from_command_line", None)
        super().__init__(**kwargs)

    def error(self, message: str) -> Any:
        self.exit(2, f"{self.prog}: {message}\n")


def moment(text: str) -> datetime:
    """Parses a time in ISO 8601; a time without a zone is in UTC. Raises ValueError for any other
    text."""
    value = datetime.fromisoformat(text)
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def key(text: str) -> int:
    """Parses the database key of a site or a run. Raises ValueError if it is not a number in [0,
    2**63)."""
    value = int(text)
    if not 0 <= value < 2**63:
        raise ValueError(text)
    return value


def names(text: str) -> tuple[str, ...]:
    """Parses a comma-separated list of names."""
    return tuple(filter(None, (name.strip() for name in text.split(","))))


def add_web_arguments(parser: Any) -> None:
    """Adds the options that every command that crawls has (see `foreground.web_settings`)."""
    parser.add_argument(
        "--allow-private",
        action="store_true",
        help=(
            "allow the hosts and ports of the given addresses to be on loopback or private networks"
        ),
    )
    parser.add_argument(
        "--private-host",
        action="append",
        default=[],
        metavar="HOST:PORT",
        help=(
            "also allow this private address (may be repeated): host, host:port, address or network"
        ),
    )
    parser.add_argument(
        "--delay",
        type=float,
        metavar="SECONDS",
        help="seconds between two requests to one host (default 1)",
    )
    parser.add_argument(
        "--connections", type=int, metavar="N", help="simultaneous requests to one host (default 1)"
    )
    parser.add_argument(
        "--in-flight",
        type=int,
        metavar="N",
        help="simultaneous requests over all hosts of a run (default 32)",
    )
    parser.add_argument(
        "--pages-per-host",
        type=int,
        metavar="N",
        help="most pages that the run fetches from one host (0: no limit)",
    )
    parser.add_argument(
        "--by-nodes",
        action="store_true",
        help="have worker nodes do the work, and wait until they have finished",
    )
