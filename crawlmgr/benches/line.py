"""`bench line`: pages per second over many hosts with many requests in flight, compared with
Scrapy."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from statistics import median
from typing import Any

import psycopg
from django.core.management.base import CommandError

from crawlmgr.benches.beside_scrapy import ROOT, SideFailed, side
from crawlmgr.benches.line_server import PAGES, allowed_rate
from crawlmgr.benches.postgresql import Server, find_binaries
from crawlmgr.management.base import say
from crawlmgr.management.base import table as text_table

HELP = "pages per second over many hosts with many requests in flight, compared with Scrapy"
DATABASES = ("sqlite", "postgresql")
SPARE = 2.0  # number of pages of the local web, divided by the number of pages that are fetched
SIDES = {"ours": "crawlmgr.benches.line_ours", "scrapy": "crawlmgr.benches.line_scrapy"}


def add_arguments(parser: Any) -> None:
    parser.add_argument(
        "--in-flight",
        default="16,64,256",
        metavar="N,N",
        help="requests in flight (default 16,64,256)",
    )
    parser.add_argument(
        "--pages",
        type=int,
        default=2000,
        help="pages fetched by each side in each round (default 2000)",
    )
    parser.add_argument(
        "--hosts", type=int, default=200, help="hosts of the local web (default 200)"
    )
    parser.add_argument(
        "--answer",
        type=float,
        default=0.3,
        metavar="SECONDS",
        help="mean response time in seconds (default 0.3)",
    )
    parser.add_argument(
        "--delay",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="pause between two requests to a host",
    )
    parser.add_argument(
        "--size", type=int, default=20_000, metavar="BYTES", help="bytes per page (default 20000)"
    )
    parser.add_argument(
        "--vary",
        action="store_true",
        help="vary page sizes from a tenth of that size to the full size",
    )
    parser.add_argument("--rounds", type=int, default=1, help="alternating rounds (default 1)")
    parser.add_argument(
        "--workers",
        type=int,
        default=1,
        help="workers on our side, each with its own run over the same hosts (default 1)",
    )
    parser.add_argument(
        "--database",
        choices=DATABASES,
        default=DATABASES[0],
        help="our side's database (default sqlite)",
    )
    parser.add_argument("--alone", action="store_true", help="run our side only")


def run(options: dict[str, Any]) -> dict[str, Any]:
    """Runs this program and Scrapy in turn, for several rounds with each number of requests in
    flight. Returns a row for each number, with the medians over the rounds and their ratios."""
    sides = ["ours"] if options["alone"] else list(SIDES)
    rows = []
    for in_flight in (int(part) for part in options["in_flight"].split(",")):
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in sides}
        for _round in range(options["rounds"]):
            for name in sides:
                found[name].append(_crawl(name, in_flight, options))
                last = found[name][-1]
                say(
                    f"{in_flight} in flight, {name}: {last['rate']:.0f} pages a second,"
                    f" {last['cpu_rate']:.0f} per CPU-second"
                )
        rows.append(_row(in_flight, found))
    names = ("pages", "hosts", "answer", "delay", "size", "vary", "rounds", "workers", "database")
    for row in rows if options["delay"] else ():
        row["allowed_pages_a_second"] = allowed_rate(
            options["hosts"], options["answer"], options["delay"]
        )
        row["share_of_allowed"] = row["ours_pages_a_second"] / row["allowed_pages_a_second"]
    return {"settings": {name: options[name] for name in names}, "in_flight": rows}


def _crawl(name: str, in_flight: int, options: dict[str, Any]) -> dict[str, Any]:
    """Runs one crawl by the program `name` ("ours" or "scrapy") over a local web of its own.
    Returns the program's figures and, as `server`, the counts of that web's server."""
    # enough pages on each host, so that the crawl ends because it has fetched its number of pages
    each = max(PAGES, ceil(SPARE * options["pages"] / options["hosts"]))
    more = (f"pages={each}", f"vary={'yes' if options['vary'] else 'no'}")
    web = (str(options["hosts"]), str(options["answer"]), str(options["size"]), *more)
    command = [sys.executable, "-m", "crawlmgr.benches.line_server", *web]
    # our own module
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)  # noqa: S603
    try:
        assert server.stdout is not None  # noqa: S101 - asked for a pipe
        port = server.stdout.readline().strip()
        words: tuple[str, ...] = (
            port,
            str(options["hosts"]),
            str(options["pages"]),
            str(in_flight),
            str(options["delay"]),
        )
        words = (*words, str(options["workers"]))
        with _database(options["database"] if name == "ours" else "sqlite") as database:
            result = side(SIDES[name], *words, database=database)
            deadlocks = {"deadlocks": _deadlocks(database)} if database else {}
    except SideFailed as error:
        raise CommandError(str(error)) from None
    finally:
        server.terminate()
        told, _ = server.communicate()
    counted = json.loads(told.strip().splitlines()[-1])
    return {
        **result,
        **deadlocks,
        "cpu_rate": result["rate"],
        "rate": result["pages"] / result["seconds"],
        "server": counted,
    }


@contextmanager
def _database(kind: str) -> Iterator[str]:
    """Context manager that yields the address of a temporary PostgreSQL database, or "" if `kind`
    is "sqlite"."""
    if kind == "sqlite":
        yield ""
        return
    binaries = find_binaries()
    if binaries is None:
        raise CommandError(
            "PostgreSQL is not installed: no initdb and postgres in PATH or /usr/lib/postgresql"
        )
    server = Server(binaries)
    server.start()
    try:
        server.create("line")
        yield server.url("line")
    finally:
        server.stop()


def _deadlocks(database: str) -> int:
    """Returns the number of deadlocks that the PostgreSQL server has counted in this database."""
    with psycopg.connect(database) as connection:
        found = connection.execute(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone()
    return int(found[0]) if found else 0


def _row(in_flight: int, found: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    row: dict[str, Any] = {"requests": in_flight}
    for name, results in found.items():
        row[f"{name}_pages_a_second"] = median(result["rate"] for result in results)
        row[f"{name}_per_cpu_second"] = median(result["cpu_rate"] for result in results)
        row[f"{name}_peak_bytes"] = max(result["peak_bytes"] for result in results)
        row[f"{name}_server"] = results[-1]["server"]
        for told in ("resident_bytes", "deadlocks"):
            if told in results[-1]:
                row[f"{name}_{told}"] = results[-1][told]
    if "scrapy" in found:
        row["ratio"] = row["ours_pages_a_second"] / row["scrapy_pages_a_second"]
        row["cpu_ratio"] = row["ours_per_cpu_second"] / row["scrapy_per_cpu_second"]
    return row


def table(result: dict[str, Any]) -> str:
    """Formats the result as a text table with a row for each number of requests in flight."""
    names = ("requests", "ours_pages_a_second", "scrapy_pages_a_second", "ratio", "cpu_ratio")
    rows = [
        [round(row[name], 2) if name in row else "" for name in names]
        for row in result["in_flight"]
    ]
    words = text_table(
        ("in flight", "ours a second", "Scrapy a second", "ratio", "ratio per CPU-second"), rows
    )
    for row in result["in_flight"]:
        resident = ", ".join(f"{size / 1e6:.0f}" for size in row.get("ours_resident_bytes", ()))
        words += (
            f"\n{row['requests']} in flight: MB resident after each tenth of the pages: {resident}"
        )
        words += f"; at the most {row['ours_peak_bytes'] / 1e6:.0f}"
        if "allowed_pages_a_second" in row:
            share, allowed = row["share_of_allowed"], row["allowed_pages_a_second"]
            words += (
                f"\n{row['requests']} in flight: {share:.3f} of the {allowed:.1f} pages a second"
                " that web and delay allow"
            )
    return words
