"""Arguments shared by commands on event logs, and loading of the log."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

from django.core.management.base import CommandError

from crawlmgr.management.base import say
from forums.events import BadRows, Events, EventsError, read_events


def names_of(known: Sequence[str]) -> Callable[[str], list[str]]:
    """Returns an argument parser for comma-separated lists of known policies."""

    def read(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",") if name.strip()]
        unknown = [name for name in names if name not in known]
        if unknown or not names:
            raise argparse.ArgumentTypeError(
                f"unknown policy {', '.join(unknown) or '(none)'}; known: {', '.join(known)}"
            )
        return names

    return read


def day_of(text: str) -> date:
    """Parses a day written as YYYY-MM-DD. Raises ArgumentTypeError for anything else."""
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no day (YYYY-MM-DD)") from error


def zone_of(text: str) -> ZoneInfo:
    """Returns a time zone by its IANA name. Raises ArgumentTypeError for an unknown one."""
    try:
        return ZoneInfo(text)
    except (KeyError, ValueError, OSError) as error:
        raise argparse.ArgumentTypeError(f"unknown time zone {text!r}") from error


def whole_number(text: str) -> int:
    """Parses a whole number of at least 1. Raises ArgumentTypeError for anything else."""
    try:
        value = int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from error
    if value < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return value


def load(path: Path) -> tuple[Events, BadRows]:
    """Loads an event log; rows left out are reported on standard error. Raises CommandError if the
    file cannot be used."""
    try:
        events, bad = read_events(path)
    except EventsError as error:
        raise CommandError(str(error)) from error
    if bad.count:
        for row in bad.first:
            say(f"{path}: line {row.line}: {row.reason}")
        say(f"{path}: {bad.count} rows left out")
    return events, bad
