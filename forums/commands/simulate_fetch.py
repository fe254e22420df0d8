"""`forum simulate-fetch`: simulates finding changed threads on an event log, by lists or by
prediction, without database or network."""

from __future__ import annotations

import argparse
import time
from datetime import datetime, timedelta
from datetime import time as clock
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.management.base import Result, say, table
from forums.commands.simulate import day_of, load, names_of, whole_number, zone_of
from forums.simulation.delay_simulation import latest_start
from forums.simulation.fetch_simulation import (
    POLICIES,
    DayFigures,
    FetchSetup,
    FetchSummary,
    posts_per_day,
    simulate_fetch,
    summary,
    usual_changes,
)
from forums.simulation.simulated_lists import ListStyle

COLUMNS = ("precision", "recall", "mean_delay_hours", "fetched", "changed", "list_pages")


def cycle_of(text: str) -> float:
    """Parses a number of hours between two visits, above 0 and at most 24. Raises ArgumentTypeError
    for anything else."""
    try:
        value = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from error
    if not 0 < value <= 24:
        raise argparse.ArgumentTypeError("a cycle is longer than 0 hours and at most a day")
    return value


def share_of(text: str) -> float:
    """Parses a share from 0 to below 1. Raises ArgumentTypeError for anything else."""
    try:
        value = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from error
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError("a share lies from 0 up to below 1")
    return value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `forum simulate-fetch`."""
    style = ListStyle()
    parser.add_argument(
        "events",
        type=Path,
        metavar="EVENTS",
        help="CSV file board,thread,kind,ts (gzip if it ends in .gz)",
    )
    parser.add_argument(
        "--policies",
        type=names_of(POLICIES),
        default="bic,eic,hazard",
        help=f"of {','.join(POLICIES)}",
    )
    parser.add_argument("--cycle-hours", type=cycle_of, default=6.0, help="time between two cycles")
    parser.add_argument("--days", type=whole_number, default=31, help="length of the experiment")
    parser.add_argument(
        "--fetches-per-cycle",
        type=whole_number,
        metavar="B",
        help="threads that predictions may fetch a cycle",
    )
    parser.add_argument(
        "--start", type=day_of, help="first day (default: so that it ends with the log)"
    )
    parser.add_argument("--timezone", type=zone_of, default="UTC", help="the site's time zone")
    parser.add_argument(
        "--interrupted", type=share_of, default=0.05, help="share of list visits that break off"
    )
    parser.add_argument(
        "--deleted",
        type=share_of,
        default=style.deleted_share,
        help="share of replies deleted within two days",
    )
    parser.add_argument(
        "--relative-boards",
        type=share_of,
        default=style.relative_boards,
        help="share of boards that show relative times",
    )
    parser.add_argument(
        "--random-seed", type=int, default=1, help="seed of deletions, interruptions and samples"
    )


def run(options: dict[str, Any]) -> Result:
    """Simulates every policy over the same days; returns the figures by day and in total."""
    began = time.monotonic()
    events, bad = load(options["events"])
    zone, days = options["timezone"], options["days"]
    start = options["start"] or latest_start(events, days, zone)
    setup = FetchSetup(
        start=datetime.combine(start, clock(), zone).timestamp(),
        days=days,
        cycle_hours=options["cycle_hours"],
        fetches=options["fetches_per_cycle"],
        zone=zone,
        style=ListStyle(
            deleted_share=options["deleted"], relative_boards=options["relative_boards"]
        ),
        interrupted_share=options["interrupted"],
        seed=options["random_seed"],
    )
    posts = posts_per_day(events, setup)
    if not posts.sum() or setup.start <= events.times[0]:
        raise CommandError(
            f"the log has no history before or no post in the {days} days from {start.isoformat()}"
        )
    rows: list[dict[str, Any]] = []
    totals: list[dict[str, Any]] = []
    for policy in options["policies"]:
        figures = simulate_fetch(events, setup, policy)
        day_rows = [
            {
                "policy": policy,
                "day": (start + timedelta(days=row.day)).isoformat(),
                **_columns(row),
            }
            for row in figures
        ]
        rows += day_rows
        totals.append({"policy": policy, **_columns(summary(figures, posts))})
        say(f"{policy}: done")
    document = {
        "start": start.isoformat(),
        "days": days,
        "cycle_hours": setup.cycle_hours,
        "fetches_per_cycle": setup.fetches,
        "usual_changes_per_cycle": usual_changes(events, setup),
        "bad_rows": bad.count,
        "results": rows,
        "summary": totals,
        "seconds": time.monotonic() - began,
    }
    text = table(
        ("policy", *COLUMNS),
        [[total["policy"], *(total[name] for name in COLUMNS)] for total in totals],
    )
    return Result(
        document, f"{days} days from {start.isoformat()}, {int(posts.sum())} posts\n{text}"
    )


def _columns(figures: DayFigures | FetchSummary) -> dict[str, Any]:
    """Returns the figures that rows for a day and rows for a whole run have in common, by column
    name."""
    return {name: getattr(figures, name) for name in COLUMNS}
