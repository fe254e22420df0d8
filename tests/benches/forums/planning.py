"""`bench planning`: seconds and memory of computing a day's timetable and of a simulated day of the
adaptive policy, by number of boards."""

from __future__ import annotations

import argparse
import resource
import sys
import time
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from crawlmgr.management.base import say
from crawlmgr.management.base import table as text_table
from forums.schedule.adaptive import AdaptiveLoop, LoopOptions, LoopSources, Seen, Source
from forums.schedule.equations import HOUR_SECONDS
from forums.schedule.events import DAY_SECONDS, Events, Floats, LocalClock, Sites
from forums.schedule.optimal import OptimalPlanner
from forums.schedule.pacing import Budget
from forums.schedule.paper import Demand
from forums.simulation.delay_simulation import BoardLog

START = datetime(2026, 1, 5, tzinfo=UTC).timestamp()
BOARDS_A_SITE = 50
DIURNAL = 1.2 + np.sin((np.arange(24) - 9) / 24 * 2 * np.pi)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's options: numbers of boards, visits per board and day, time between
    rankings."""
    parser.add_argument("--boards", default="100,1000,10000", help="numbers of boards, comma list")
    parser.add_argument("--visits", type=int, default=10, help="visits per board and day")
    parser.add_argument(
        "--tick-seconds", type=float, default=60.0, help="time between two rankings of the loop"
    )


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Measures planning for each number of boards and returns the results of `measure` as "sizes".
    The numbers are taken in ascending order, so that the process's peak memory belongs to the size
    just measured."""
    rows = []
    for boards in sorted(int(part) for part in options["boards"].split(",")):
        say(f"planning {boards} boards")
        rows.append(measure(boards, options["visits"], options["tick_seconds"]))
    return {
        "visits_per_board": options["visits"],
        "tick_seconds": options["tick_seconds"],
        "sizes": rows,
    }


def measure(boards: int, visits: int, tick_seconds: float) -> dict[str, Any]:
    """Measures planning for `boards` boards with random rates. Returns the seconds and CPU seconds
    that these steps take, and the peak memory: computing the timetable, starting the adaptive
    policy from 20 days of history, and simulating one day of it without and with index pages.
    visits: number per board and day; tick_seconds: time between two rankings of the policy.
    """
    rng = np.random.default_rng(boards)
    rates = rng.lognormal(0.0, 1.5, boards)[:, None] * rng.dirichlet(
        30 * DIURNAL / DIURNAL.sum(), boards
    )
    began, worked = time.perf_counter(), time.process_time()
    table = OptimalPlanner(Demand(rates), exact=False).plan(boards * visits)
    planned, planned_cpu = time.perf_counter() - began, time.process_time() - worked
    events = _posts(rates, rng, days=21)
    worked = time.process_time()
    start, loop_day, made, _longest = _loop_day(
        rates, events, boards * visits, tick_seconds, with_sources=False
    )
    loop_cpu = time.process_time() - worked
    worked = time.process_time()
    _start, looks_day, _made, longest = _loop_day(
        rates, events, boards * visits, tick_seconds, with_sources=True
    )
    return {
        "boards": boards,
        "visits_per_day": len(table.board),
        "timetable_seconds": planned,
        "timetable_cpu_seconds": planned_cpu,
        "loop_start_seconds": start,
        "loop_day_seconds": loop_day,
        "loop_cpu_seconds": loop_cpu,
        "loop_visits": made,
        "loop_milliseconds_per_tick": 1000 * loop_day / (DAY_SECONDS / tick_seconds),
        "looks_day_seconds": looks_day,
        "looks_cpu_seconds": time.process_time() - worked,
        "longest_tick_cpu_seconds": longest,
        "peak_memory_bytes": (
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            * (1 if sys.platform == "darwin" else 1024)
        ),
    }


def _posts(rates: Floats, rng: np.random.Generator, days: int) -> Events:
    """Returns a random log of Poisson-distributed posts over `days` days, the last of which is
    simulated. rates: (boards, 24), expected posts in each hour of the day."""
    counts = rng.poisson(np.tile(rates, days))
    board, slot = np.divmod(np.repeat(np.arange(counts.size), counts.ravel()), counts.shape[1])
    times = START + (slot - (days - 1) * 24 + rng.random(len(slot))) * HOUR_SECONDS
    order = np.argsort(times)
    names = tuple(str(number) for number in range(len(rates)))
    opener = rng.random(len(times)) < 0.2
    return Events(
        names,
        ("t",),
        board[order],
        np.zeros(len(times), dtype=np.int64),
        opener[order],
        times[order],
    )


def _loop_day(
    rates: Floats, events: Events, budget: int, tick_seconds: float, *, with_sources: bool
) -> tuple[float, float, int, float]:
    """Simulates a day of the adaptive policy: returns the seconds to start it, the seconds for the
    day, the number of visits made (fetches of overview sources included), and the CPU seconds of
    its longest ranking. rates: (boards, bins), expected weighted events per hour; budget: visits of
    the day. With `with_sources` every site has an index page as overview source.
    """
    boards = len(rates)
    clock = LocalClock(ZoneInfo("UTC"), START - 21 * DAY_SECONDS, START + 2 * DAY_SECONDS)
    sites = Sites(np.arange(boards) // BOARDS_A_SITE, [clock] * (-(-boards // BOARDS_A_SITE)))
    weights = events.weights(0.5)
    history = events.times < START
    seen = Seen(events.board[history], events.times[history], weights[history])
    log = BoardLog(events, weights, START)
    began = time.perf_counter()
    options = LoopOptions(tick_seconds=tick_seconds)
    pages = (
        [np.flatnonzero(sites.site == number) for number in range(len(sites.clocks))]
        if with_sources
        else []
    )
    sources = (
        LoopSources([Source(members) for members in pages], np.ones(boards), np.full(boards, 0.5))
        if with_sources
        else None
    )
    last = np.full(boards, START)
    loop = AdaptiveLoop(
        rates, sites, seen, last, START - 20 * DAY_SECONDS, Budget(budget), options, sources
    )
    for number, members in enumerate(pages):
        if loop.overview is not None:
            loop.overview.calibrate(number, log.figures(members, START), START)
    readable = np.ones(len(pages), dtype=bool) if with_sources else None
    started = time.perf_counter()
    made, longest = 0, 0.0
    for step in range(int(DAY_SECONDS / tick_seconds)):
        now, worked = START + step * tick_seconds, time.process_time()
        due, source = loop.choose(now, None, readable)
        if len(due):
            loop.observe(due, *log.take(due, now), now)
        if source >= 0:
            loop.record_figures(source, log.figures(pages[source], now), now)
        made += len(due) + (source >= 0)
        longest = max(longest, time.process_time() - worked)
    if made != budget:
        raise AssertionError(f"the loop used {made} visits instead of {budget}")
    return started - began, time.perf_counter() - started, made, longest


def table(result: dict[str, Any]) -> str:
    """Formats the result as a text table with a row for each size."""
    header = [
        "boards",
        "visits a day",
        "timetable s",
        "of CPU",
        "loop start s",
        "day s",
        "both of CPU",
        "ms a tick",
    ]
    header += ["day with looks s", "of CPU", "longest tick s", "peak MB"]
    names = (
        "boards",
        "visits_per_day",
        "timetable_seconds",
        "timetable_cpu_seconds",
        "loop_start_seconds",
        "loop_day_seconds",
        "loop_cpu_seconds",
        "loop_milliseconds_per_tick",
        "looks_day_seconds",
        "looks_cpu_seconds",
        "longest_tick_cpu_seconds",
    )
    rows = [
        [*(row[name] for name in names), round(row["peak_memory_bytes"] / 1e6)]
        for row in result["sizes"]
    ]
    return text_table(header, rows)
