"""`forum simulate`: simulates schedules (the forum paper's and others) on an event log, without
database or network."""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Collection, Sequence
from datetime import date
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from django.core.management.base import CommandError

from crawlmgr.management.base import Result, say, table
from forums.schedule.bounds import THETA_BOUNDS, USUAL_THETA, checked_theta
from forums.schedule.events import BadRows, Events, EventsError, read_events
from forums.schedule.policies import POLICIES
from forums.simulation.delay_simulation import (
    READINGS,
    Setup,
    SetupError,
    Simulation,
    latest_start,
    run_all,
)


def names_of(known: Collection[str]) -> Callable[[str], list[str]]:
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
            say(f"{path}: {f'line {row.line}: ' if row.line else ''}{row.reason}")
        say(f"{path}: {bad.count} rows left out")
    return events, bad


DEFAULT_POLICIES = "era,wra,lra,bra,bra_literal,optimal,adaptive,clairvoyant"


GRANULARITIES = {"15m": 96, "30m": 48, "1h": 24, "2h": 12, "3h": 8, "4h": 6, "6h": 4}


def visits_of(text: str) -> list[int]:
    """Parses a comma-separated list of numbers of visits, each at least 1. Raises ArgumentTypeError
    for anything else."""
    try:
        numbers = [int(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of whole numbers") from error
    if not numbers or min(numbers) < 1:
        raise argparse.ArgumentTypeError("visits a board and day start at 1")
    return numbers


def theta_of(text: str) -> float:
    """Parses θ, the weight of a reply relative to a new thread. Raises ArgumentTypeError if it is
    out of bounds."""
    try:
        return checked_theta(float(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {THETA_BOUNDS}") from error


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `forum simulate`."""
    parser.add_argument(
        "events",
        type=Path,
        metavar="EVENTS",
        help="CSV file board,thread,kind,ts (gzip if it ends in .gz)",
    )
    parser.add_argument(
        "--policies",
        type=names_of(POLICIES),
        default=DEFAULT_POLICIES,
        help=f"of {','.join(POLICIES)}",
    )
    parser.add_argument(
        "--visits-per-board",
        type=visits_of,
        default="4,5,6,7,8,9,10,11",
        help="visits per board and day",
    )
    parser.add_argument(
        "--history-days",
        type=whole_number,
        default=20,
        help="days before the test that plans are made from",
    )
    parser.add_argument(
        "--test-days", type=whole_number, default=10, help="days whose delays are counted"
    )
    parser.add_argument(
        "--start", type=day_of, help="first day of the test (default: the last whole test window)"
    )
    parser.add_argument(
        "--theta", type=theta_of, default=USUAL_THETA, help="weight of a reply against a new thread"
    )
    parser.add_argument("--timezone", type=zone_of, default="UTC", help="the site's time zone")
    parser.add_argument(
        "--reading", choices=READINGS, default="cyclic", help="how bra counts the visit at midnight"
    )
    parser.add_argument(
        "--min-events", type=float, default=0.0, help="weighted events a board needs in the history"
    )
    parser.add_argument(
        "--granularity",
        choices=sorted(GRANULARITIES),
        default="1h",
        help="bins of the daily profile",
    )
    parser.add_argument(
        "--glance-cost",
        type=whole_number,
        default=1,
        help="visits that a look at a page is charged as",
    )
    parser.add_argument(
        "--weights", type=Path, metavar="FILE", help="CSV board,weight: importance of boards"
    )
    parser.add_argument(
        "--target-hours", type=float, default=1.0, help="a delay that counts as in time"
    )


def read_weights(path: Path, boards: Sequence[str]) -> dict[str, float]:
    """Reads the importance of boards, by name, from a CSV file (board,weight); invalid rows and
    boards that are not in `boards` are reported on standard error and left out. Raises CommandError
    if the file cannot be read."""
    weights: dict[str, float] = {}
    try:
        with open(path, encoding="utf-8-sig", newline="") as stream:
            for number, row in enumerate(csv.reader(stream), start=1):
                if not row or (number == 1 and row[:2] == ["board", "weight"]):
                    continue
                try:
                    value = float(row[1])
                except (IndexError, ValueError):
                    value = -1.0
                if not 0 < value < float("inf"):
                    say(f"{path}: line {number}: not board,weight with a weight above 0")
                elif row[0] not in boards:
                    say(f"{path}: line {number}: board {row[0]!r} is not in the log")
                else:
                    weights[row[0]] = value
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CommandError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    return weights


def run(options: dict[str, Any]) -> Result:
    """Simulates every policy at every budget on the log's test period."""
    began = time.monotonic()
    events, bad = load(options["events"])
    zone: ZoneInfo = options["timezone"]
    setup = Setup(
        start=options["start"] or latest_start(events, options["test_days"], zone),
        history_days=options["history_days"],
        test_days=options["test_days"],
        theta=options["theta"],
        zone=zone,
        reading=options["reading"],
        min_events=options["min_events"],
        bins=GRANULARITIES[options["granularity"]],
        importance=read_weights(options["weights"], events.boards) if options["weights"] else {},
        target_hours=options["target_hours"],
        glance_cost=options["glance_cost"],
    )
    rows = []
    try:
        simulation = Simulation(events, setup)
        for outcome, ratio in run_all(simulation, options["policies"], options["visits_per_board"]):
            rows.append({**outcome.as_json(), "ratio_to_era": ratio})
            say(f"{outcome.policy} at {outcome.visits_per_board} visits a board and day: done")
    except SetupError as error:
        raise CommandError(str(error)) from error
    seconds = time.monotonic() - began
    document = {
        "boards": simulation.boards,
        "events": len(simulation.test_times),
        "start": setup.start.isoformat(),
        "bad_rows": bad.count,
        "results": rows,
        "seconds": seconds,
    }
    return Result(document, _text(document))


def _text(document: dict[str, Any]) -> str:
    """Formats the result as a text table."""
    header = [
        "policy",
        "observes",
        "visits a board",
        "used a day",
        "delay a day",
        "mean h",
        "median h",
        "p90 h",
        "in time",
    ]
    header += ["to era"]
    names = [
        "policy",
        "observes",
        "visits_per_board",
        "visits_used_per_day",
        "total_delay_per_day",
        "mean_delay_hours",
        "median_delay_hours",
        "p90_delay_hours",
        "share_within_target",
        "ratio_to_era",
    ]
    rows = [[row[name] for name in names] for row in document["results"]]
    return (
        f"{document['boards']} boards, {document['events']} events from {document['start']}\n"
        + table(header, rows)
    )
