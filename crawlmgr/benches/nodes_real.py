"""Real nodes on one machine: `bench nodes` starts worker clusters of unequal size over one PostgreSQL and one local web."""

from __future__ import annotations

import json
import os
import signal
import subprocess  # noqa: S404 - starting nodes is what this is for
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from django.core.management.base import CommandError

from crawlmgr.benches.beside_scrapy import ROOT
from crawlmgr.benches.postgresql import Server, find_binaries
from crawlmgr.management.base import say

WORKERS, SLOW_WORKERS = 4, 1
IN_FLIGHT = 4
START_SECONDS = 300.0
TIMES = {
    "CRAWLMGR_TICK_SECONDS": "1", "CRAWLMGR_SLICE_SECONDS": "5", "CRAWLMGR_LEASE_SECONDS": "30", "CRAWLMGR_TIMEOUT_SECONDS": "60",
    "CRAWLMGR_RETRY_SECONDS": "200", "CRAWLMGR_MIN_FREE_MB": "0", "DJANGO_SETTINGS_MODULE": "crawlmgr.benches.nodes_settings",
}


class Cluster:
    """Nodes of one installation, each with a number of workers. Workers mostly wait for answers, so their number sets a node's
    speed."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.folder, self.url = folder, server.url("nodes")
        inherited = {name: text for name, text in os.environ.items() if not name.startswith("CRAWLMGR_")}
        self.environment = {
            **inherited, **TIMES, "CRAWLMGR_DATA": str(folder), "DATABASE_URL": self.url, "PYTHONPATH": str(ROOT)
        }

    def side(self, *words: str) -> str:
        """Runs a command of `nodes_side` inside the installation and returns its output. Raises CommandError."""
        command = [sys.executable, "-m", "crawlmgr.benches.nodes_side", *words]
        done = subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise CommandError((done.stderr.strip() or "?").splitlines()[-1])
        return done.stdout

    def number(self, query: str) -> float:
        """The number that an SQL query returns; 0 if it returns none."""
        with psycopg.connect(self.url) as connection:
            found = connection.execute(query).fetchone()  # type: ignore[call-overload]
        return float(found[0] or 0) if found else 0.0

    @contextmanager
    def nodes(self, workers: Sequence[int]) -> Iterator[None]:
        """Context manager that runs nodes with the given numbers of workers, and yields once all send heartbeats."""
        processes = []
        try:
            for place, count in enumerate(workers):
                with (self.folder / f"bench-{place}.log").open("ab") as output:
                    processes.append(
                        subprocess.Popen(  # noqa: S603 - our own program
                            [sys.executable, "manage.py", "node", "--name", f"bench-{place}"], cwd=ROOT,
                            env={**self.environment, "CRAWLMGR_WORKERS": str(count)}, stdin=subprocess.DEVNULL, stdout=output,
                            stderr=output, start_new_session=True,
                        )
                    )
            self._await(len(workers))
            yield
        finally:
            for process in processes:
                with suppress(ProcessLookupError):
                    process.send_signal(signal.SIGTERM)
            for process in processes:
                process.wait(120)

    def _await(self, count: int) -> None:
        end = time.monotonic() + START_SECONDS
        alive = f"heartbeat >= started AND heartbeat > now() - interval '30 seconds' AND name < 'bench-{count}'"
        while self.number(f"SELECT COUNT(*) FROM crawlmgr_node WHERE {alive}") < count:  # noqa: S608 - a number
            if time.monotonic() > end:
                raise CommandError(f"{count} nodes did not get going within {START_SECONDS:.0f} s; see {self.folder}")
            time.sleep(0.5)

    def watched(self, warm: float, seconds: float) -> dict[str, float]:
        """Pages and transactions per second, measured after `warm` seconds."""
        time.sleep(warm)
        began, before = time.monotonic(), self._counts()
        time.sleep(seconds)
        passed = time.monotonic() - began
        pages, done = (after - old for after, old in zip(self._counts(), before, strict=True))
        return {"pages_a_second": round(pages / passed, 2), "transactions_a_second": round(done / passed, 1)}

    def _counts(self) -> tuple[float, float]:
        pages = self.number("SELECT SUM(fetched) FROM crawlmgr_run")
        return pages, self.number("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")


@contextmanager
def web(hosts: int, answer: float, told: dict[str, Any]) -> Iterator[int]:
    """Context manager with the port of a local web of many hosts; afterwards `told` holds the server's counts."""
    command = [sys.executable, "-m", "crawlmgr.benches.line_server", str(hosts), str(answer), "5000"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)  # noqa: S603 - our own module
    try:
        assert process.stdout is not None  # noqa: S101 - asked for a pipe
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        told.update(json.loads(process.communicate()[0].strip().splitlines()[-1]))


def measure(nodes: int, hosts: int, answer: float, delay: float, seconds: float) -> dict[str, Any]:
    """Measures one node alone, a slow one alone (a quarter of the workers), then all together with the last one slow."""
    binaries = find_binaries()
    if binaries is None:
        raise CommandError("PostgreSQL is not installed: no initdb and postgres in PATH or /usr/lib/postgresql")
    server, told = Server(binaries), {}
    server.start()
    try:
        server.create("nodes")
        with tempfile.TemporaryDirectory(prefix="crawlmgr-nodes-") as folder, web(hosts, answer, told) as port:
            cluster = Cluster(Path(folder), server)
            cluster.side("tables")
            with cluster.nodes([WORKERS] * nodes):
                idle = cluster.watched(5, 10)
            runs = WORKERS * nodes + 2
            cluster.side(str(port), str(hosts), str(runs), str(IN_FLIGHT), str(delay))
            found = {}
            unequal = [*[WORKERS] * (nodes - 1), SLOW_WORKERS]
            for name, workers in (("alone", [WORKERS]), ("slow_alone", [SLOW_WORKERS]), ("together", unequal)):
                with cluster.nodes(workers):
                    found[name] = cluster.watched(20, seconds)
                say(f"{name}: {found[name]['pages_a_second']:.1f} pages a second")
            doubled = cluster.number("SELECT COUNT(*) - COUNT(DISTINCT (run_id, key_hash)) FROM crawlmgr_page")
    finally:
        server.stop()
    able = (nodes - 1) * found["alone"]["pages_a_second"] + found["slow_alone"]["pages_a_second"]
    share = round(found["together"]["pages_a_second"] / able, 3) if able else None
    return {
        "nodes": nodes, "delay_seconds": delay, "idle_transactions_a_second": idle["transactions_a_second"], **found,
        "share_of_sum": share, "doubled": int(doubled), "server": told,
    }
