"""`bench replay`: replays days of an event log over HTTP under several policies, each in an
installation of its own."""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management import call_command
from django.core.management.base import CommandError

from crawlmgr.management.base import say
from crawlmgr.management.base import table as text_table
from forums.schedule.events import Events, read_events
from forums.simulation.delay_simulation import bootstrap_ratio
from tests.benches import child
from tests.benches.forums.replay_days import replay


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options: the log, its window, policies and budget."""
    parser.add_argument("--log", help="name of the log in DIR, without ending (default: the first)")
    parser.add_argument(
        "--start", help="first day of the replay (default: in the middle of the log, a Monday)"
    )
    parser.add_argument("--days", type=int, default=10, help="days followed")
    parser.add_argument("--policies", default="era,optimal,adaptive", help="comma list")
    parser.add_argument("--visits", type=int, default=4, help="visits per board and day")
    parser.add_argument(
        "--step-seconds", type=float, default=180.0, help="time between two looks of the dispatcher"
    )


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Runs one process per policy and returns their results as `policies`, with ratios of delays
    and their 95 % intervals over days.

    `ratio`, `simulated_ratio`: measured and simulated delay relative to that of the first policy.
    `agreement`: measured divided by simulated delay. `ratio_agreement`: `ratio` divided by
    `simulated_ratio`; measurement and simulation agree if 1 lies in its interval.
    """
    if not options["data"]:
        raise CommandError("this bench needs --data DIR with event logs", returncode=2)
    logs = {path.name.split(".")[0]: path for path in sorted(Path(options["data"]).glob("*.csv*"))}
    name = options["log"] or next(iter(logs), "")
    if name not in logs:
        raise CommandError(
            f"{options['data']}: no log {name!r}; there are {', '.join(logs) or 'none'}",
            returncode=2,
        )
    if options["start"]:
        date.fromisoformat(options["start"])
    found = [_side(logs[name], options, policy) for policy in options["policies"].split(",")]
    base = found[0]
    for row in found:
        row |= _compared(row, base)
    return {
        "log": name,
        "days": options["days"],
        "visits_per_board": options["visits"],
        "policies": found,
    }


def _compared(row: dict[str, Any], base: dict[str, Any]) -> dict[str, float]:
    """Compares the delays of a policy (`row`) and the first policy (`base`). Returns, each with a
    bootstrap interval: `ratio`, measured delay of `row` to that of `base`; `simulated_ratio`, the
    same of simulated delays; `agreement`, measured to simulated delay of `row`; `ratio_agreement`,
    `ratio` to `simulated_ratio`."""
    daily, simulated = np.array(row["daily"]), np.array(row["simulated_daily"])
    base_daily, base_simulated = np.array(base["daily"]), np.array(base["simulated_daily"])
    found: dict[str, float] = {}
    for name, over, under in (
        ("ratio", daily, base_daily),
        ("simulated_ratio", simulated, base_simulated),
        ("agreement", daily, simulated),
    ):
        found[name], found[f"{name}_low"], found[f"{name}_high"] = bootstrap_ratio(
            over, under, np.random.default_rng(1)
        )
    rows = np.random.default_rng(1).integers(0, len(daily), size=(2000, len(daily)))
    sums = [values[rows].sum(axis=1) for values in (daily, base_daily, simulated, base_simulated)]
    quotient = (sums[0] / sums[1]) / (sums[2] / sums[3])
    found["ratio_agreement"] = found["ratio"] / found["simulated_ratio"]
    found["ratio_agreement_low"], found["ratio_agreement_high"] = map(
        float, np.quantile(quotient, [0.025, 0.975])
    )
    return found


def _side(log: Path, options: dict[str, Any], policy: str) -> dict[str, Any]:
    say(f"{log.name.split('.')[0]}: {policy}")
    words = (
        str(log.resolve()),
        options["start"] or "",
        policy,
        *(options[name] for name in ("visits", "days", "step_seconds")),
    )
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, Any] = child.call(
            replayed, *words, environment=child.environment(folder), quiet=False
        )
    return found


def table(result: dict[str, Any]) -> str:
    """Formats the result as a text table with a row for each policy; ratios have 95 % intervals,
    computed over days."""
    header = [
        "policy",
        "visits a day",
        "items",
        "found",
        "requests",
        "measured",
        "recomputed",
        "simulated",
    ]
    header += ["measured / simulated", "ratio", "simulated ratio", "ratio / simulated ratio"]
    rows = [
        [
            *(row[key] for key in ("policy", "visits_per_day", "items", "found", "requests")),
            *(f"{row[key]:.2f}" for key in ("measured", "recomputed", "simulated")),
            *(
                f"{row[key]:.3f} [{row[f'{key}_low']:.3f}, {row[f'{key}_high']:.3f}]"
                for key in ("agreement", "ratio", "simulated_ratio", "ratio_agreement")
            ),
        ]
        for row in result["policies"]
    ]
    return f"{result['log']}, weighted event-hours a day\n" + text_table(header, rows)


def middle(events: Events) -> date:
    """Returns a Monday in the middle of a log."""
    day = datetime.fromtimestamp(float(events.times[len(events) // 2]), UTC).date()
    return day - timedelta(days=day.weekday())


def replayed(
    log: str, start: str, policy: str, visits: int, days: int, step_seconds: float
) -> dict[str, Any]:
    """Replays a log under one policy in this process's installation and returns the results; prints
    each replayed day to standard error.

    The arguments are the path of the event log, the first day to replay (ISO date; "" for the
    middle of the log), the name of the policy, visits per board and day, number of days, and
    seconds between two rankings of the policy.
    """
    call_command("migrate", verbosity=0, interactive=False)
    events, _bad = read_events(Path(log))
    first = date.fromisoformat(start) if start else middle(events)
    shown: set[date] = set()

    def pulse(now: datetime) -> None:
        if now.date() not in shown:
            shown.add(now.date())
            sys.stderr.write(f"  {now.date()}\n")

    found = replay(
        events,
        first,
        policy,
        visits,
        days=days,
        history_days=20,
        step_seconds=step_seconds,
        pulse=pulse,
    )
    daily = {"daily": found.daily.tolist(), "simulated_daily": found.simulated_daily.tolist()}
    return {"start": first.isoformat(), **asdict(found), **daily}
