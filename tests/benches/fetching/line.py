"""`bench line`: pages per second over many hosts with many requests in flight, compared with
Scrapy."""

from __future__ import annotations

import json
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from statistics import median
from threading import Event
from typing import Any

from django.core.management.base import CommandError

from crawlmgr.management.base import say
from crawlmgr.management.base import table as text_table
from tests.benches import child
from tests.benches.beside_scrapy import following_spider, side
from tests.benches.fetching.line_server import PAGES, allowed_rate, name_of, resolved, served
from tests.postgresql import Server, find_binaries

DATABASES = ("sqlite", "postgresql")
SPARE = 2.0  # number of pages of the local web, divided by the number of pages that are fetched
SIDES = ("ours", "scrapy")


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
    counted: dict[str, Any] = {}
    web = served(
        options["hosts"], options["answer"], options["size"], counted, each, options["vary"]
    )
    with (
        web as port,
        _database(options["database"] if name == "ours" else "sqlite") as database,
    ):
        words = (port, *(options[one] for one in ("hosts", "pages")), in_flight, options["delay"])
        if name == "ours":
            result = side(ours, *words, options["workers"], database=database)
        else:
            result = side(theirs, *words, bare=True)
        deadlocks = {"deadlocks": _deadlocks(database)} if database else {}
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
    import psycopg  # Scrapy's process does not load it: its memory is measured

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


def resident_bytes() -> int:
    """Returns the resident memory of this process in bytes; 0 if the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


class Count:
    """Callback for stored pages: ends the slice after `pages` pages and records the wall and CPU
    seconds they took (`told`), and the memory after each tenth of them (`resident`)."""

    def __init__(self, pages: int, end: Event) -> None:
        self.wanted, self.pages, self.end = pages, 0, end
        self.began, self.cpu = time.monotonic(), time.process_time()
        self.told: dict[str, float] = {}
        self.resident: list[int] = []

    def __call__(self, run: Any, item: Any, response: Any) -> None:
        self.pages += response.status == 200
        if 10 * self.pages >= self.wanted * (len(self.resident) + 1):
            self.resident.append(resident_bytes())
        if self.pages >= self.wanted and not self.told:
            seconds, cpu = time.monotonic() - self.began, time.process_time() - self.cpu
            self.told = {"pages": self.pages, "seconds": seconds, "cpu_seconds": cpu}
            self.end.set()


def ours(
    port: int, hosts: int, pages: int, in_flight: int, delay: float, workers: int, _items: str
) -> dict[str, Any]:
    """Crawls the web of many hosts with the engine as in production, `pages` pages in all, and
    returns the measurements; with several workers, each crawls the same hosts in a run of its own.
    A run has up to `in_flight` requests in flight and the crawl delay `delay` in seconds."""
    from django.core.management import call_command  # what Scrapy's process does not load

    from crawlmgr.clock import SYSTEM
    from crawlmgr.runs import runs

    call_command("migrate", verbosity=0, interactive=False)
    parameters = {
        "delay_seconds": delay,
        "in_flight": in_flight,
        "allow_private": "127.0.0.0/8",
        "seeds": [f"http://{name_of(host)}:{port}/p/0" for host in range(hosts)],
    }
    ids = [
        runs.create("bench", "many hosts", parameters=parameters, now=SYSTEM.now(), start=False).pk
        for _ in range(workers)
    ]
    return work(ids[0], pages) if workers == 1 else side_by_side(ids, pages // workers)


def work(run_id: int, pages: int) -> dict[str, Any]:
    """Crawls a run in this process until `pages` pages are stored. Returns the number of pages,
    wall and CPU seconds, the peak memory in bytes, and the memory after each tenth of the pages.
    Exits if the crawl ends earlier.
    """
    from django.conf import settings  # what Scrapy's process does not load

    from crawlmgr import engine
    from crawlmgr.models import Page
    from crawlmgr.web.http import fetch
    from tests.benches.fetching.following import FollowAll

    settings.CRAWLERS = {"bench": f"{FollowAll.__module__}.{FollowAll.__name__}"}
    fetch.resolve = lambda host, port: [(int(socket.AF_INET), (resolved(host), port))]
    count = Count(pages, engine.shutdown)
    state = engine.run_slice(run_id, seconds=None, on_page=count)
    if not count.told:
        sys.exit(f"the crawl ended early: {state} after {count.pages} pages")
    if Page.objects.filter(run=run_id, status=200).count() < pages:
        sys.exit("received pages were not stored")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {**count.told, "peak_bytes": peak, "resident_bytes": count.resident}


def side_by_side(ids: list[int], pages: int) -> dict[str, float]:
    """Works on several runs over the same hosts, each in a process of its own, `pages` pages each.
    Returns the sums of their pages and CPU seconds, and the maxima of their wall seconds and peak
    memory."""
    processes = [
        subprocess.Popen(
            child.command(work, pk, pages), stdout=subprocess.PIPE, text=True, cwd=child.ROOT
        )
        for pk in ids
    ]
    told = [
        json.loads(process.communicate()[0].strip().splitlines()[-1] or "{}")
        for process in processes
    ]
    if any(process.returncode for process in processes):
        sys.exit("a worker failed")
    sums = {name: sum(one[name] for one in told) for name in ("pages", "cpu_seconds")}
    return {**sums, **{name: max(one[name] for one in told) for name in ("seconds", "peak_bytes")}}


def theirs(
    port: int, hosts: int, pages: int, in_flight: int, delay: float, items: str
) -> dict[str, Any]:
    """Crawls the same web with Scrapy, configured for many hosts and with the same limit of
    requests in flight; returns the same measurements. Items are written to the file `items`."""
    from scrapy.crawler import CrawlerProcess  # what our process does not load
    from scrapy.exceptions import CloseSpider
    from scrapy.resolver import CachingThreadedResolver
    from twisted.internet import defer

    told: dict[str, float] = {}
    follow: Any = following_spider()

    class Names(CachingThreadedResolver):
        """Resolver of host names that knows the names of the benchmark's hosts."""

        def getHostByName(self, name: str, timeout: Any = None) -> Any:
            return defer.succeed(resolved(name))

    class ManyHosts(follow):
        """Spider that follows every link of all hosts, up to the wanted number of pages."""

        def __init__(self, **kwargs: Any) -> None:
            super().__init__(address="", **kwargs)
            self.start_urls = [f"http://{name_of(host)}:{port}/p/0" for host in range(hosts)]
            self.began, self.cpu = time.monotonic(), time.process_time()

        def parse(self, response: Any) -> Iterator[Any]:
            yield from super().parse(response)
            if self.pages >= pages:
                if not told:
                    seconds, cpu = time.monotonic() - self.began, time.process_time() - self.cpu
                    told.update({"pages": self.pages, "seconds": seconds, "cpu_seconds": cpu})
                raise CloseSpider("enough")

    process = CrawlerProcess(
        settings={
            "LOG_LEVEL": "CRITICAL",
            "ROBOTSTXT_OBEY": True,
            "TELNETCONSOLE_ENABLED": False,
            "FEEDS": {items: {"format": "jsonlines"}},
            "CONCURRENT_REQUESTS": in_flight,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
            "DOWNLOAD_DELAY": delay,
            "DNS_RESOLVER": Names,
            "RANDOMIZE_DOWNLOAD_DELAY": False,
            "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
        }
    )
    process.crawl(process.create_crawler(ManyHosts))
    process.start()
    if not told:
        sys.exit("Scrapy ended early")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {**told, "peak_bytes": peak}
