"""The real nodes of `bench nodes`: worker clusters of unequal speed on one machine, over one
PostgreSQL database and one local web."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from django.core.management import call_command
from django.core.management.base import CommandError

from crawlmgr.clock import SYSTEM
from crawlmgr.engine import Stored
from crawlmgr.frontier.frontier import NewUrl
from crawlmgr.management.base import say
from crawlmgr.models import Run, Url
from crawlmgr.runs import runs
from crawlmgr.web.http import fetch
from crawlmgr.web.http.exchange import FetchResponse
from crawlmgr.web.pages.html import PageScan
from tests.benches import child
from tests.benches.fetching.following import FollowAll
from tests.benches.fetching.line_server import manner_of, name_of, resolved, served
from tests.benches.nodes.doors import Door, family, signal_to
from tests.postgresql import Server, find_binaries

SLOW_FACTOR = 4.0
"""The last node takes this many times as long for a page as the others."""
IN_FLIGHT = 4
PAGE_BYTES = 5_000
START_SECONDS = 300.0
END_SECONDS = 900.0
LEASE_SECONDS = 30
TIMES = {
    "CRAWLMGR_TICK_SECONDS": "1",
    "CRAWLMGR_SLICE_SECONDS": "5",
    "CRAWLMGR_LEASE_SECONDS": str(LEASE_SECONDS),
    "CRAWLMGR_TIMEOUT_SECONDS": "60",
    "CRAWLMGR_RETRY_SECONDS": "200",
    "CRAWLMGR_MIN_FREE_MB": "0",
    "DJANGO_SETTINGS_MODULE": "tests.benches.nodes.settings",
    "CRAWLMGR_WORKERS": "1",
}


class Cluster:
    """The nodes of one installation, each with one worker that sleeps for a given time per page;
    this sets the node's speed without using CPU."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.folder, self.server, self.url = folder, server, server.url("nodes")
        self.environment = {
            **{name: text for name, text in os.environ.items() if not name.startswith("CRAWLMGR_")},
            **TIMES,
            "CRAWLMGR_DATA": str(folder),
            "DATABASE_URL": self.url,
            "PYTHONPATH": str(child.ROOT),
        }
        self.processes: list[subprocess.Popen[bytes]] = []
        self.doors: list[Door] = []

    def call(self, part: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a function of this module inside the installation and returns what it returned.
        Raises CommandError if it fails."""
        return child.call(part, *arguments, environment=self.environment)

    def number(self, query: str) -> float:
        """Runs a query and returns its single number."""
        with psycopg.connect(self.url) as connection:
            found = connection.execute(query).fetchone()
        return float(found[0] or 0) if found else 0.0

    @contextmanager
    def nodes(self, seconds: Sequence[float]) -> Iterator[None]:
        """Context manager that runs nodes with the given seconds per page and waits until all send
        heartbeats. Each node connects to the database through a proxy (`Door`) of its own."""
        self.doors = [Door(self.server) for _ in seconds]
        self.processes = [self._start(place, page) for place, page in enumerate(seconds)]
        try:
            self._await(len(seconds))
            yield
        finally:
            for process in self.processes:
                with suppress(ProcessLookupError):
                    process.send_signal(signal.SIGTERM)
            for process in self.processes:
                process.wait(120)
            for door in self.doors:
                door.close()

    def _start(self, place: int, page_seconds: float) -> subprocess.Popen[bytes]:
        url = f"postgresql://crawlmgr@/nodes?host={quote(str(self.doors[place].folder), safe='')}"
        with (self.folder / f"bench-{place}.log").open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "manage.py", "node", "--name", f"bench-{place}"],
                cwd=child.ROOT,
                env={
                    **self.environment,
                    "DATABASE_URL": url,
                    "BENCH_PAGE_SECONDS": str(page_seconds),
                },
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def _await(self, count: int) -> None:
        alive = (
            "heartbeat >= started AND heartbeat > now() - interval '30 seconds' AND name <"
            f" 'bench-{count}'"
        )
        query = f"SELECT COUNT(*) FROM crawlmgr_node WHERE {alive}"  # noqa: S608 - a number
        self.until(
            lambda: self.number(query) >= count,
            START_SECONDS,
            f"{count} nodes did not start to work",
        )

    def until(self, condition: Callable[[], bool], seconds: float, otherwise: str) -> None:
        """Waits until a condition holds. Raises CommandError with the text `otherwise` after
        `seconds`."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise CommandError(f"{otherwise} within {seconds:.0f} s; see {self.folder}")
            time.sleep(0.5)

    def watched(self, warm: float, seconds: float) -> dict[str, float]:
        """Waits `warm` seconds, then measures for `seconds` seconds. Returns `pages_a_second` and
        `transactions_a_second` (of the database)."""
        time.sleep(warm)
        began, before = time.monotonic(), self._counts()
        time.sleep(seconds)
        passed = time.monotonic() - began
        names = ("pages_a_second", "transactions_a_second")
        return {
            n: round((after - old) / passed, 2)
            for n, after, old in zip(names, self._counts(), before, strict=True)
        }

    def _counts(self) -> tuple[float, float]:
        pages = self.number("SELECT SUM(fetched) FROM crawlmgr_run")
        return pages, self.number(
            "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
        )


@contextmanager
def installation() -> Iterator[Cluster]:
    """Context manager that yields a new installation, without nodes, on a database server of its
    own."""
    binaries = find_binaries()
    if binaries is None:
        raise CommandError(
            "PostgreSQL is not installed: no initdb and postgres in PATH or /usr/lib/postgresql"
        )
    server = Server(binaries)
    server.start()
    try:
        server.create("nodes")
        with tempfile.TemporaryDirectory(prefix="crawlmgr-nodes-") as folder:
            cluster = Cluster(Path(folder), server)
            cluster.call(make_tables)
            yield cluster
    finally:
        server.stop()


def speeds(nodes: int, page_seconds: float) -> list[float]:
    """Returns the seconds per page of each node: `page_seconds`, and SLOW_FACTOR times that for the
    last one."""
    return [*[page_seconds] * (nodes - 1), SLOW_FACTOR * page_seconds]


def measure(
    nodes: int, hosts: int, answer: float, delay: float, page_seconds: float, seconds: float
) -> dict[str, Any]:
    """Measures, one after the other, a node alone, a slow node alone, and `nodes` nodes together,
    of which one is slow. Returns the three speeds, the speed together divided by the sum of the
    speeds that these nodes have alone (`share_of_sum`), the database transactions per second of
    idle nodes, and the number of pages stored twice (`doubled`). `answer` is the response time of
    the hosts and `delay` their crawl delay, in seconds."""
    told: dict[str, Any] = {}
    unequal = speeds(nodes, page_seconds)
    with installation() as cluster, served(hosts, answer, PAGE_BYTES, told) as port:
        with cluster.nodes(unequal):
            idle = cluster.watched(5, 10)
        cluster.call(queue, port, hosts, nodes + 2, delay, 0)
        found = {}
        for name, each in (
            ("alone", unequal[:1]),
            ("slow_alone", unequal[-1:]),
            ("together", unequal),
        ):
            with cluster.nodes(each):
                found[name] = cluster.watched(20, seconds)
            say(f"{name}: {found[name]['pages_a_second']:.1f} pages a second")
        doubled = cluster.number(
            "SELECT COUNT(*) - COUNT(DISTINCT (run_id, key_hash)) FROM crawlmgr_page"
        )
    able = (nodes - 1) * found["alone"]["pages_a_second"] + found["slow_alone"]["pages_a_second"]
    share = round(found["together"]["pages_a_second"] / able, 3) if able else None
    return {
        "nodes": nodes,
        "delay_seconds": delay,
        "page_seconds": page_seconds,
        "idle_transactions_a_second": idle["transactions_a_second"],
        **found,
        "share_of_sum": share,
        "doubled": int(doubled),
        "server": told,
    }


def faults(
    nodes: int, hosts: int, answer: float, delay: float, page_seconds: float, pages: int, cut: float
) -> dict[str, Any]:
    """Crawls `pages` pages of every host with `nodes` nodes; two of these are killed for good, a
    third is frozen for longer than a lease and later disconnected from the database for `cut`
    seconds. Returns, among others, the numbers of `expected` and stored `pages`, of pages stored
    `twice`, and of addresses that were never finished (`unended`). The other arguments are those of
    `measure`."""
    told: dict[str, Any] = {}
    counts = nodes + 2
    with installation() as cluster, served(hosts, answer, PAGE_BYTES, told) as port:
        cluster.call(queue, port, hosts, counts, delay, pages)
        began = time.monotonic()
        whole = pages * sum(manner_of(host) != "dead" for host in range(hosts))
        with cluster.nodes(speeds(nodes, page_seconds)):
            strikes = _strike(cluster, whole, cut)
            left = "SELECT COUNT(*) FROM crawlmgr_run WHERE state IN ('queued', 'running')"
            cluster.until(lambda: cluster.number(left) == 0, END_SECONDS, "the crawl did not end")
        found = {
            "pages": cluster.number("SELECT COUNT(*) FROM crawlmgr_page WHERE status = 200"),
            "counted": cluster.number("SELECT SUM(fetched) FROM crawlmgr_run"),
            "finished": cluster.number(
                "SELECT COUNT(*) FROM crawlmgr_run WHERE state = 'finished'"
            ),
            "twice": cluster.number("SELECT COUNT(*) - COUNT(DISTINCT url) FROM crawlmgr_page"),
            "unended": cluster.number("SELECT COUNT(*) FROM crawlmgr_url WHERE state IN (0, 1)"),
        }
    result = {name: int(value) for name, value in found.items()}
    return {
        "nodes": nodes,
        "delay_seconds": delay,
        "runs": counts,
        "expected": whole,
        **result,
        "strikes": strikes,
        "seconds": round(time.monotonic() - began, 1),
        "server": told,
    }


def _strike(cluster: Cluster, whole: int, cut: float) -> list[str]:
    """Kills two nodes, freezes a third, and later disconnects that one from the database for `cut`
    seconds, each when a further tenth of the `whole` pages is stored. Returns descriptions of these
    failures."""
    stored = "SELECT COUNT(*) FROM crawlmgr_page"
    steps: list[tuple[float, str, Callable[[], None]]] = [
        (0.1, "killed bench-0", lambda: _kill(cluster, 0)),
        (0.2, "killed bench-1", lambda: _kill(cluster, 1)),
        (
            0.3,
            f"froze bench-2 for {LEASE_SECONDS + 10} s",
            lambda: _freeze(cluster, 2, LEASE_SECONDS + 10),
        ),
        (0.4, f"cut bench-2 off for {cut:.0f} s", lambda: cluster.doors[2].cut(cut)),
    ]
    done = []
    for share, text, act in steps:
        cluster.until(
            lambda share=share: cluster.number(stored) >= share * whole,
            END_SECONDS,
            "the crawl made no progress",
        )
        at = cluster.number(stored)
        act()
        done.append(f"{text} at {at:.0f} pages")
        say(done[-1])
    return done


def _kill(cluster: Cluster, place: int) -> None:
    for pid in family(cluster.processes[place].pid):
        signal_to(pid, signal.SIGKILL)
    cluster.processes[place].wait()


def _freeze(cluster: Cluster, place: int, seconds: float) -> None:
    everybody = family(cluster.processes[place].pid)
    for pid in everybody:
        signal_to(pid, signal.SIGSTOP)
    time.sleep(seconds)
    for pid in everybody:
        signal_to(pid, signal.SIGCONT)


class ManyHosts(FollowAll):
    """Crawler that follows every link, or none if the run's parameter `follow` is off; any worker
    can continue its runs. The names of the benchmark's hosts resolve to this machine."""

    def __init__(self) -> None:
        self.seen: set[str] = (
            set()
        )  # stays empty: the frontier refuses addresses that the run has seen
        fetch.resolve = lambda host, port: [(int(socket.AF_INET), (resolved(host), port))]

    def begin(self, run: Run, now: datetime) -> Sequence[NewUrl]:
        return [NewUrl(seed) for seed in run.parameters["seeds"]]

    def read(self, run: Run, item: Url, response: FetchResponse) -> PageScan:
        time.sleep(
            float(os.environ.get("BENCH_PAGE_SECONDS", "0"))
        )  # sets the node's speed without using CPU
        return super().read(run, item, response)

    def store(
        self, run: Run, item: Url, response: FetchResponse, reading: PageScan, now: datetime
    ) -> Stored:
        stored = super().store(run, item, response, reading, now)
        return stored if run.parameters["follow"] else replace(stored, links=())


def make_tables() -> None:
    """Makes the tables of the database."""
    call_command("migrate", verbosity=0, interactive=False)


def queue(port: int, hosts: int, count: int, delay: float, pages: int) -> None:
    """Queues `count` runs, each with up to IN_FLIGHT requests in flight and a crawl delay of
    `delay` seconds. With `pages` 0 each run begins on all hosts and
    follows every link; otherwise the hosts are divided among the runs, and each run fetches `pages`
    pages of each of its hosts.
    """
    parameters = {
        "delay_seconds": delay,
        "in_flight": IN_FLIGHT,
        "allow_private": "127.0.0.0/8",
        "follow": not pages,
    }
    for number in range(count):
        own = (
            range(number, hosts, count)
            if pages
            else [(host + number) % hosts for host in range(hosts)]
        )
        seeds = [
            f"http://{name_of(host)}:{port}/p/{page}"
            for page in range(max(1, pages))
            for host in own
        ]
        runs.create(
            "bench",
            f"many hosts {number}",
            parameters={**parameters, "seeds": seeds},
            now=SYSTEM.now(),
        )
