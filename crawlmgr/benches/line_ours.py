"""This program's side of `bench line`: runs the engine as in production on a web of many hosts,
following every link, up to a limit of pages."""

from __future__ import annotations

import json
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from crawlmgr.benches import fetch_ours  # sets Django up
from crawlmgr.benches.beside_scrapy import ROOT
from crawlmgr.benches.line_server import name_of, resolved

from django.conf import settings as django_settings  # isort: skip
from django.core.management import call_command  # isort: skip

from crawlmgr import engine  # isort: skip
from crawlmgr.clock import SYSTEM  # isort: skip
from crawlmgr.models import Page  # isort: skip
from crawlmgr.services import runs  # isort: skip
from crawlmgr.web import fetch  # isort: skip


def resident_bytes() -> int:
    """Returns the resident memory of this process in bytes; 0 if the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


class Count:
    """Callback for stored pages: ends the slice after `pages` pages and records the wall and CPU
    seconds they took (`told`), and the memory after each tenth of them (`resident`)."""

    def __init__(self, pages: int) -> None:
        self.wanted, self.pages = pages, 0
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
            engine.shutdown.set()


def begin(port: int, hosts: int, in_flight: int, delay: float) -> int:
    """Creates a run over all hosts and returns its id."""
    seeds = [f"http://{name_of(host)}:{port}/p/0" for host in range(hosts)]
    parameters = {
        "delay_seconds": delay,
        "in_flight": in_flight,
        "allow_private": "127.0.0.0/8",
        "seeds": seeds,
    }
    return runs.create(
        "bench", "many hosts", parameters=parameters, now=SYSTEM.now(), start=False
    ).pk


def work(run_id: int, pages: int) -> dict[str, Any]:
    """Crawls a run in this process until `pages` pages are stored. Returns the number of pages,
    wall and CPU seconds, the peak memory in bytes, and the memory after each tenth of the pages.
    Exits if the crawl ends earlier.
    """
    django_settings.CRAWLERS = {"bench": f"{fetch_ours.__name__}.FollowAll"}
    fetch.resolve = lambda host, port: [(int(socket.AF_INET), (resolved(host), port))]
    count = Count(pages)
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
    command = [sys.executable, "-m", "crawlmgr.benches.line_ours", "work"]
    processes = [
        subprocess.Popen(  # noqa: S603
            [*command, str(pk), str(pages)], stdout=subprocess.PIPE, text=True, cwd=ROOT
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


def main(
    port: int, hosts: int, pages: int, in_flight: int, delay: float, workers: int
) -> dict[str, Any]:
    """Crawls the web of many hosts, `pages` pages in all, and returns the measurements; with
    several workers, each crawls the same hosts in a run of its own. A run has up to `in_flight`
    requests in flight and the crawl delay `delay` in seconds.
    """
    call_command("migrate", verbosity=0, interactive=False)
    ids = [begin(port, hosts, in_flight, delay) for _ in range(workers)]
    return work(ids[0], pages) if workers == 1 else side_by_side(ids, pages // workers)


if __name__ == "__main__":
    if sys.argv[1] == "work":
        told = work(int(sys.argv[2]), int(sys.argv[3]))
    else:
        numbers = [int(word) for word in sys.argv[1:5]]
        told = main(
            numbers[0], numbers[1], numbers[2], numbers[3], float(sys.argv[5]), int(sys.argv[6])
        )
    sys.stdout.write(json.dumps(told) + "\n")
