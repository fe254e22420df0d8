"""`bench nodes`: measures the CPU time that the database spends per page, and the speed of real
nodes (worker clusters); with --simulate, simulates how up to a thousand unequal nodes share work.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.management.base import say
from crawlmgr.management.base import table as text_table
from tests.benches.beside_scrapy import side
from tests.benches.fetching import line
from tests.benches.fetching.line_server import served
from tests.benches.nodes.real import faults, measure
from tests.benches.nodes.simulated import Simulation, World, policies, unequal_speeds, zipf_sizes
from tests.postgresql import Server, find_binaries

WARM_MINUTES = 10.0
HOSTS = 200
"""Number of hosts of the local web, for the cost of a page and for real nodes."""
MEAN_SPEED = 10.0
"""Mean speed of the simulated nodes, pages a second."""


def add_arguments(parser: Any) -> None:
    """Adds the options of the benchmark."""
    parser.add_argument(
        "--simulate",
        nargs="?",
        const="1,5,20,100,1000",
        metavar="N,N",
        help="simulate these numbers of nodes on a virtual clock",
    )
    parser.add_argument(
        "--hosts",
        type=int,
        default=1_000_000,
        help="simulated hosts, with Zipf-distributed sizes (default 1000000)",
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=30.0,
        help="simulated minutes (default 30, of which the last 20 are measured)",
    )
    parser.add_argument(
        "--failures",
        type=float,
        default=30.0,
        metavar="MINUTES",
        help="mean time between failures of a simulated node (default 30)",
    )
    parser.add_argument(
        "--pages",
        type=int,
        default=1500,
        help="pages for measuring the cost of a page on PostgreSQL; 0 skips it (default 1500)",
    )
    parser.add_argument(
        "--real",
        default="2,5",
        metavar="N,N",
        help="numbers of real nodes to start on this machine (default 2,5)",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=30.0,
        help="seconds for which real nodes are observed (default 30)",
    )
    parser.add_argument(
        "--answer",
        type=float,
        default=0.1,
        help="response time of the hosts that real nodes crawl, in seconds (default 0.1)",
    )
    parser.add_argument(
        "--page",
        type=float,
        default=0.25,
        help="seconds that a real node spends on a page (default 0.25)",
    )
    parser.add_argument(
        "--faults",
        type=int,
        default=0,
        metavar="PAGES",
        help="crawl so many pages of each host while nodes are killed, frozen and disconnected",
    )
    parser.add_argument(
        "--cut",
        type=float,
        default=60.0,
        help="seconds for which a node is disconnected from the database (default 60)",
    )
    parser.add_argument(
        "--delay",
        type=float,
        default=0.2,
        help="crawl delay of the hosts that real nodes crawl, in seconds (default 0.2)",
    )


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Measures the CPU time that the database server needs per page, from which follows how many
    nodes one core can serve. Then, depending on the options, simulates nodes, measures real nodes,
    or makes real nodes fail."""
    found: dict[str, Any] = {"database": _database(options["pages"]) if options["pages"] else None}
    if options["simulate"]:
        counts = [int(part) for part in options["simulate"].split(",")]
        found["plenty"] = _plenty(counts, options)
        found["scarce"] = _scarce([nodes for nodes in counts if nodes <= 100], options["minutes"])
    else:
        counts = [int(part) for part in options["real"].split(",") if part]
        way = (HOSTS, options["answer"], options["delay"], options["page"])
        if options["faults"]:
            found["faults"] = [
                faults(nodes, *way, options["faults"], options["cut"]) for nodes in counts
            ]
        else:
            found["real"] = [measure(nodes, *way, options["seconds"]) for nodes in counts]
    return found


def _plenty(counts: Sequence[int], options: dict[str, Any]) -> list[dict[str, Any]]:
    """Simulates, for each number of nodes, many hosts with Zipf-distributed numbers of addresses:
    more work than all nodes can do. Nodes fail as often as the options say. Returns a row of
    results for each number of nodes and each policy.
    """
    sizes = zipf_sizes(options["hosts"], 50 * options["hosts"])
    rows = []
    for nodes in counts:
        # a simulation
        speeds = unequal_speeds(nodes, random.Random(nodes), MEAN_SPEED)
        world = World(speeds, sizes, options["minutes"], failure_minutes=options["failures"])
        rows += _under_each(world, nodes)
    return rows


def _scarce(counts: Sequence[int], minutes: float) -> list[dict[str, Any]]:
    """Simulates, for each number of nodes, a crawl of few hosts: 10 % more than are needed to keep
    all nodes busy at the crawl delay. Returns a row of results for each number of nodes and each
    policy."""
    rows = []
    for nodes in counts:
        # a simulation
        speeds = unequal_speeds(nodes, random.Random(nodes), MEAN_SPEED)
        rows += _under_each(World(speeds, [1_000_000] * round(1.1 * sum(speeds)), minutes), nodes)
    return rows


def _under_each(world: World, nodes: int) -> list[dict[str, Any]]:
    rows = []
    for name, policy in policies(world.speeds).items():
        began = time.process_time()
        simulation = Simulation(world, policy, min(WARM_MINUTES, world.minutes / 3))
        row = simulation.run().row()
        spent = time.process_time() - began
        say(
            f"{nodes} nodes, {name}: {row['throughput']:.3f} of what they can do, {spent:.1f} s"
            " of CPU"
        )
        rows.append({"nodes": nodes, "hosts": len(world.sizes), "policy": name, **row})
    return rows


def _database(pages: int) -> dict[str, Any]:
    """Measures a crawl of `pages` pages over HOSTS hosts with a PostgreSQL database. Returns CPU
    milliseconds per page of the database server and of the worker, and how many pages per second
    and how many nodes one core of the server could serve.
    """
    binaries = find_binaries()
    if binaries is None:
        raise CommandError(
            "PostgreSQL is not installed: no initdb and postgres in PATH or /usr/lib/postgresql"
        )
    server = Server(binaries)
    server.start()
    try:
        assert server.process is not None  # it was started
        server.create("nodes")
        with served(HOSTS, 0.1, 20_000, {}) as port:
            _crawl(port, 100, server)  # also creates the tables
            at = cpu_seconds(server.process.pid)
            done = _crawl(port, pages, server)
            spent = cpu_seconds(server.process.pid) - at
    finally:
        server.stop()
    return {
        "pages": done["pages"],
        "server_ms_a_page": round(1000 * spent / done["pages"], 3),
        "worker_ms_a_page": round(1000 * done["cpu_seconds"] / done["pages"], 3),
        "pages_a_second_of_a_core": round(done["pages"] / spent, 1),
        "nodes_of_a_core": round(done["pages"] / spent / MEAN_SPEED),
    }


def _crawl(port: int, pages: int, server: Server) -> dict[str, Any]:
    return side(line.ours, port, HOSTS, pages, 64, 0.0, 1, database=server.url("nodes"))


def cpu_seconds(pid: int) -> float:
    """Returns the CPU seconds of a process and its children, including children that have ended."""
    ticks = 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(entry.name) == pid:
            ticks += sum(int(one) for one in fields[11:15])
        elif int(fields[1]) == pid:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def table(result: dict[str, Any]) -> str:
    """Formats the database's cost, and the results for each number of nodes and policy, as text
    tables."""
    lines = []
    if found := result["database"]:
        lines.append(
            f"CPU of a page: database {found['server_ms_a_page']:.2f} ms, worker"
            f" {found['worker_ms_a_page']:.2f} ms; a core of the database carries"
            f" {found['pages_a_second_of_a_core']:.0f} pages a second, {found['nodes_of_a_core']}"
            f" nodes of {MEAN_SPEED:.0f}"
        )
    for row in result.get("real", ()):
        share = "–" if row["share_of_sum"] is None else f"{row['share_of_sum']:.2f}"
        lines.append(
            f"{row['nodes']} nodes, one of them at a quarter:"
            f" {row['together']['pages_a_second']:.1f} pages a second, {share} of"
            f" what each does alone; least pause at a host {row['server']['least_gap_seconds']:.3f}"
            f" s of {row['delay_seconds']} s, most requests at once"
            f" {row['server']['most_at_once']}; idle they ask the database"
            f" {row['idle_transactions_a_second']:.0f} times a second"
        )
    for row in result.get("faults", ()):
        lines.append(
            f"{row['nodes']} nodes, {'; '.join(row['strikes'])}: {row['finished']} of {row['runs']}"
            f" runs finished, {row['pages']} of {row['expected']} pages, {row['twice']} twice,"
            f" {row['unended']} left; least pause at a host"
            f" {row['server']['least_gap_seconds']:.3f} s of {row['delay_seconds']} s, most"
            f" requests at once {row['server']['most_at_once']}; {row['seconds']:.0f} s"
        )
    names = (
        "throughput",
        "slowest_twentieth",
        "held_p95_seconds",
        "warm_seconds",
        "too_soon",
        "repeated",
        "failures",
    )
    for kind, title in (("plenty", "plenty to do"), ("scarce", "hosts a tenth more than needed")):
        if kind in result:
            rows = [
                [row["nodes"], row["policy"], *(row[name] for name in names)]
                for row in result[kind]
            ]
            lines += [
                "",
                title,
                text_table(("nodes", "policy", *(name.replace("_", " ") for name in names)), rows),
            ]
    return "\n".join(lines)
