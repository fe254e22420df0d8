"""The part of `bench nodes` that runs inside the installation: the crawler that the nodes' workers
run, and the creation of runs."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from crawlmgr.benches import fetch_ours  # this sets Django up
from crawlmgr.benches.line_server import name_of, resolved

from django.core.management import call_command  # isort: skip

from crawlmgr.clock import SYSTEM  # isort: skip
from crawlmgr.engine import Stored  # isort: skip
from crawlmgr.models import Run, Url  # isort: skip
from crawlmgr.services import runs  # isort: skip
from crawlmgr.services.frontier import NewUrl  # isort: skip
from crawlmgr.web import fetch  # isort: skip
from crawlmgr.web.exchange import FetchResponse  # isort: skip
from crawlmgr.web.html import PageScan  # isort: skip


class ManyHosts(fetch_ours.FollowAll):
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


def main(port: int, hosts: int, count: int, in_flight: int, delay: float, pages: int) -> None:
    """Queues `count` runs, each with up to `in_flight` requests in flight and a crawl delay of
    `delay` seconds, and prints their ids as JSON. With `pages` 0 each run begins on all hosts and
    follows every link; otherwise the hosts are divided among the runs, and each run fetches `pages`
    pages of each of its hosts.
    """
    parameters = {
        "delay_seconds": delay,
        "in_flight": in_flight,
        "allow_private": "127.0.0.0/8",
        "follow": not pages,
    }
    ids = []
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
        ids.append(
            runs.create(
                "bench",
                f"many hosts {number}",
                parameters={**parameters, "seeds": seeds},
                now=SYSTEM.now(),
            ).pk
        )
    sys.stdout.write(json.dumps(ids) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "tables":
        call_command("migrate", verbosity=0, interactive=False)
    else:
        port, hosts, count, in_flight = map(int, sys.argv[1:5])
        main(port, hosts, count, in_flight, float(sys.argv[5]), int(sys.argv[6]))
