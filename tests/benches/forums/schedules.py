"""`bench schedules`: total delay of every policy relative to `era` on event logs, for busy boards
and for all boards, in three periods of each log."""

from __future__ import annotations

import argparse
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import CommandError

from crawlmgr.management.base import say
from crawlmgr.management.base import table as text_table
from forums.schedule.delay_report import event_delays
from forums.schedule.events import DAY_SECONDS, Events, Floats, read_events
from forums.schedule.optimal import OptimalPlanner, closed_form_hours
from forums.schedule.paper import Demand, bra, even_hours, timetable
from forums.schedule.rhythm import OPTIMAL_PROFILE, PAPER_PROFILE, ProfileOptions
from forums.schedule.timetable import Timetable, square_root
from forums.simulation.delay_simulation import (
    Setup,
    SetupError,
    Simulation,
    bootstrap_ratio,
)

# first days of three periods per log (20 days of history, 10 of test); an independent program has
# computed their results
WINDOWS = {
    "29th_vanilla": ("2015-06-01", "2016-01-11", "2016-05-02"),
    "gbadev_phpbb": ("2006-02-06", "2006-05-15", "2006-08-21"),
    "opendcl_smf": ("2009-05-04", "2009-08-03", "2009-10-05"),
}
SPREAD = (
    0.45,
    0.65,
    0.85,
)  # for logs not in WINDOWS: where the periods begin, as shares of the log's length
HISTORY_DAYS, TEST_DAYS = 20, 10
BUSY_EVENTS = 30.0
MIN_BUSY = 3
QUARTERS = 96
SMOOTHED = ProfileOptions(smooth_bins=3, kappa_factor=16.0, half_life_days=14.0)
PAIRS = (("adaptive", "optimal"), ("glances", "adaptive"), ("newest", "era"))
COLUMNS = (
    "wra",
    "lra",
    "bra",
    "bra_blocks",
    "sqrt_uniform",
    "sqrt_sqrt",
    "optimal",
    "optimal_smoothed",
    "adaptive",
    "glances",
    "newest",
    "hindsight",
    "clairvoyant",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options: logs, visits per board and day, sets of boards, first days of the
    periods, policies."""
    parser.add_argument(
        "--logs",
        help=(
            "names of the logs without ending, comma list (default: every .csv and .csv.gz in DIR)"
        ),
    )
    parser.add_argument(
        "--visits", default="4,5,6,7,8,9,10,11", help="visits a board and day, comma list"
    )
    parser.add_argument(
        "--sets",
        default="busy,all",
        help="busy: 30 weighted events in the history; all: any event in 160 days",
    )
    parser.add_argument(
        "--starts", help="first days of the histories instead of the usual ones, comma list"
    )
    parser.add_argument("--columns", default=",".join(COLUMNS), help="policies, comma list")


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Returns in `rows` each policy's delay divided by that of the policy `era` (equal, evenly
    spaced visits), for each log, period and set of boards, as a mean over the numbers of visits.
    For some pairs of policies it also returns the ratio over all days (`_paired`)."""
    if not options["data"]:
        raise CommandError("this bench needs --data DIR with event logs", returncode=2)
    visits = [int(part) for part in options["visits"].split(",")]
    columns = options["columns"].split(",")
    if unknown := set(columns) - set(COLUMNS):
        raise CommandError(
            f"no such policy: {', '.join(sorted(unknown))}; there are {', '.join(COLUMNS)}",
            returncode=2,
        )
    rows: list[dict[str, Any]] = []
    days: dict[tuple[str, str, str, str], list[tuple[Floats, Floats]]] = {}
    for path in _logs(Path(options["data"]), options["logs"]):
        events, _bad = read_events(path)
        name = path.name.split(".")[0]
        for first in options["starts"].split(",") if options["starts"] else windows(events, name):
            for chosen in options["sets"].split(","):
                row = _window(
                    events, name, date.fromisoformat(first), chosen, visits, columns, days
                )
                if row is not None:
                    rows.append(row)
    found: dict[str, Any] = {"visits_per_board": visits, "columns": columns, "rows": rows}
    for over, under in PAIRS:
        found[f"{over}_over_{under}"] = _paired(
            {key[:2]: one for key, one in days.items() if key[2:] == (over, under)}
        )
    return found


def _logs(folder: Path, names: str | None) -> list[Path]:
    found = sorted([*folder.glob("*.csv.gz"), *folder.glob("*.csv")])
    wanted = set(names.split(",")) if names else None
    found = [path for path in found if wanted is None or path.name.split(".")[0] in wanted]
    if not found:
        raise CommandError(f"{folder}: no event log (.csv or .csv.gz)", returncode=2)
    return found


def windows(events: Events, name: str) -> tuple[str, ...]:
    """Returns the first days (YYYY-MM-DD) of the periods of a log in which delays are computed
    (HISTORY_DAYS of history, then TEST_DAYS of test): those that WINDOWS has for the log's `name`,
    otherwise three Mondays spread over the log.
    """
    if name in WINDOWS:
        return WINDOWS[name]
    first, last = (datetime.fromtimestamp(float(events.times[end]), UTC).date() for end in (0, -1))
    room = (last - first).days - HISTORY_DAYS - TEST_DAYS
    days = [first + timedelta(days=int(room * share)) for share in SPREAD]
    return tuple((day - timedelta(days=day.weekday())).isoformat() for day in days)


def _window(
    events: Events,
    name: str,
    first: date,
    chosen: str,
    visits: list[int],
    columns: list[str],
    days: dict[tuple[str, str, str, str], list[tuple[Floats, Floats]]],
) -> dict[str, Any] | None:
    setup = Setup(
        first + timedelta(days=HISTORY_DAYS),
        history_days=HISTORY_DAYS,
        test_days=TEST_DAYS,
        min_events=BUSY_EVENTS if chosen == "busy" else 0.0,
    )
    try:
        simulation = Simulation(events, setup)
    except SetupError:
        return None
    if chosen == "busy" and simulation.boards < MIN_BUSY:
        return None
    say(f"{name}, history from {first}, {chosen}: {simulation.boards} boards")
    variants = _Variants(simulation)
    totals: dict[str, list[float]] = {column: [] for column in ("era", *columns)}
    daily: dict[str, list[Floats]] = {column: [] for column in totals}
    for number in visits:
        for column in totals:
            total, by_day = variants.delay(column, number)
            totals[column].append(total)
            if by_day is not None:
                daily[column].append(by_day)
    base = np.array(totals["era"])
    ratios = {column: float((np.array(totals[column]) / base).mean()) for column in columns}
    for over, under in PAIRS:
        if {over, under} <= set(totals):
            pair = (np.sum(daily[over], axis=0), np.sum(daily[under], axis=0))
            days.setdefault((name, chosen, over, under), []).append(pair)
    return {
        "log": name,
        "set": chosen,
        "history_from": first.isoformat(),
        "test_from": setup.start.isoformat(),
        "boards": simulation.boards,
        "era_delay_per_day": float(base.mean()),
        "ratios": ratios,
    }


class _Variants:
    """Computes the delays of the compared policies in one test period. Each optimal planner is
    built once for all budgets."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.demand = simulation.demand(simulation.profile(PAPER_PROFILE))
        self.shrunk = simulation.demand(simulation.profile(OPTIMAL_PROFILE))
        self.planners: dict[str, OptimalPlanner] = {}

    def delay(self, column: str, number: int) -> tuple[float, Floats | None]:
        """Returns the delay of the policy `column` with `number` visits per board and day, in
        weighted event-hours: the mean per day, and an array with the total of the posts of each day
        (None for the lower bound)."""
        own = {"bra_blocks", "sqrt_uniform", "sqrt_sqrt", "optimal_smoothed", "hindsight"}
        if column not in own:
            outcome = self.simulation.run(column, number)
            return outcome.delay.total_per_day, outcome.daily
        budget = self.simulation.boards * number
        return self._of(self._table(column, budget))

    def _table(self, column: str, budget: int) -> Timetable:
        if column == "bra_blocks":
            return bra(self.demand, budget, blocks_more=1)
        if column in ("sqrt_uniform", "sqrt_sqrt"):
            rates = self.shrunk.rates
            place = (
                even_hours
                if column == "sqrt_uniform"
                else (lambda visits: closed_form_hours(rates, visits))
            )
            return timetable(lambda total: square_root(rates, total), place, len(rates), budget)
        if column not in self.planners:
            smoothed = self.simulation.demand(self.simulation.profile(SMOOTHED))
            self.planners[column] = OptimalPlanner(
                self._seen_in_test() if column == "hindsight" else smoothed
            )
        return self.planners[column].plan(budget)

    def _seen_in_test(self) -> Demand:
        """Returns the boards' actual rates in the test period (weighted events per hour, by
        quarter-hour of the day), from which a timetable with hindsight is computed; no real plan
        can know them."""
        simulation, bins = self.simulation, QUARTERS
        hours = simulation.clock.local_hours(simulation.test_times) % 24.0
        slot = np.minimum((hours * bins / 24.0).astype(np.int64), bins - 1)
        flat = np.bincount(
            simulation.test_board * bins + slot, simulation.test_weights, simulation.boards * bins
        ).astype(float)
        return Demand(
            flat.reshape(simulation.boards, bins) * (bins / 24.0 / simulation.setup.test_days)
        )

    def _of(self, table: Timetable) -> tuple[float, Floats]:
        simulation = self.simulation
        board, moments = table.moments(
            simulation.setup.start, TEST_DAYS + table.days + 1, simulation.setup.zone
        )
        horizon = max(simulation.stop, float(moments.max()))
        delays = event_delays(simulation.test_board, simulation.test_times, board, moments, horizon)
        day = ((simulation.test_times - simulation.start) // DAY_SECONDS).astype(np.int64)
        by_day = np.bincount(day, simulation.test_weights * delays.hours, TEST_DAYS).astype(float)
        return float(by_day.sum()) / TEST_DAYS, by_day


def _paired(days: dict[tuple[str, str], list[tuple[Floats, Floats]]]) -> list[dict[str, Any]]:
    """Returns for each log and set of boards the ratio of two policies' total delays, with a 95 %
    bootstrap interval over days.

    days: by (log, set of boards), for each period and number of visits the delays by day under the
    first and the second policy."""
    found = []
    for (name, chosen), pairs in days.items():
        first, second = (np.concatenate([pair[part] for pair in pairs]) for part in (0, 1))
        ratio, low, high = bootstrap_ratio(first, second, np.random.default_rng(1))
        found.append({"log": name, "set": chosen, "ratio": ratio, "low": low, "high": high})
    return found


def table(result: dict[str, Any]) -> str:
    """Formats the benchmark's result as text: a table of delay ratios, then their bootstrap
    intervals."""
    header = ["log", "set", "history from", "boards", "era a day", *result["columns"]]
    rows = [
        [
            row["log"],
            row["set"],
            row["history_from"],
            row["boards"],
            f"{row['era_delay_per_day']:.1f}",
            *[f"{row['ratios'][column]:.3f}" for column in result["columns"]],
        ]
        for row in result["rows"]
    ]
    lines = [text_table(header, rows)]
    for over, under in PAIRS:
        lines += [
            f"{one['log']} {one['set']}: {over} / {under} {one['ratio']:.3f} [{one['low']:.3f},"
            f" {one['high']:.3f}]"
            for one in result[f"{over}_over_{under}"]
        ]
    return "\n".join(lines)
