"""The part of `bench nodes` that runs inside the installation: a crawler for the nodes' workers, and runs over shared hosts."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Sequence
from datetime import datetime

from crawlmgr.benches import fetch_ours  # this sets Django up
from crawlmgr.benches.line_server import name_of, resolved

from django.core.management import call_command  # isort: skip

from crawlmgr.clock import SYSTEM  # isort: skip
from crawlmgr.models import Run  # isort: skip
from crawlmgr.services import runs  # isort: skip
from crawlmgr.services.frontier import NewUrl  # isort: skip
from crawlmgr.web import fetch  # isort: skip


class ManyHosts(fetch_ours.FollowAll):
    """Follows every link; any worker can continue the run. The names of the benchmark's hosts resolve to this machine."""

    def __init__(self) -> None:
        self.seen: set[str] = set()  # stays empty: the frontier refuses addresses that the run has seen
        fetch.resolve = lambda host, port: [(int(socket.AF_INET), (resolved(host), port))]

    def begin(self, run: Run, now: datetime) -> Sequence[NewUrl]:
        return [NewUrl(seed) for seed in run.parameters["seeds"]]


def main(port: int, hosts: int, count: int, in_flight: int, delay: float) -> None:
    """Queues `count` runs, each over all hosts; prints their ids."""
    seeds = [f"http://{name_of(host)}:{port}/p/0" for host in range(hosts)]
    parameters = {"delay_seconds": delay, "in_flight": in_flight, "allow_private": "127.0.0.0/8"}
    ids = []
    for number in range(count):
        own = {**parameters, "seeds": seeds[number:] + seeds[:number]}
        ids.append(runs.create("bench", f"many hosts {number}", parameters=own, now=SYSTEM.now()).pk)
    sys.stdout.write(json.dumps(ids) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "tables":
        call_command("migrate", verbosity=0, interactive=False)
    else:
        main(*(int(word) for word in sys.argv[1:5]), float(sys.argv[5]))
