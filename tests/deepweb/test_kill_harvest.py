"""The process of a harvest is killed at random moments: the harvest continues, without duplicate
records or POST requests.

CRAWLMGR_KILLS sets the number of kills (two by default; ten for a long test run).
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter

import pytest

from tests.serving import PATIENCE_SECONDS, begun, manage
from tests.site.search import SearchServer, SearchSite

KILLS = int(os.environ.get("CRAWLMGR_KILLS", "2"))


def harvest(environment: dict[str, str], address: str) -> subprocess.Popen[str]:
    words = [
        "deepweb",
        "harvest",
        f"{address}search",
        "--queries",
        "45",
        "--probes",
        "0",
        "--details",
        "30",
        "--no-stop-rule",
    ]
    words += [
        "--seed-terms",
        "river,stone",
        "--allow-private",
        "--delay",
        "0",
        "--release",
        "--json",
    ]
    return begun(environment, "manage.py", *words)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_killed_harvest_goes_on(method: str, installed: dict[str, str]) -> None:
    environment = {**installed, "CRAWLMGR_LEASE_SECONDS": "1"}
    draw = random.Random(11)
    site = SearchSite(books=60, method=method, paging="button", delay_seconds=0.03)
    with SearchServer(site) as server:
        kills = 0
        while True:
            process = harvest(environment, server.url)
            before = len(site.log)
            if kills < KILLS:
                wanted = before + draw.randint(
                    1, min(25, 90 // KILLS)
                )  # few enough that all kills fit into the harvest
                while len(site.log) < wanted and process.poll() is None:
                    time.sleep(0.005)
                time.sleep(draw.uniform(0, 0.05))
                if process.poll() is None:
                    process.send_signal(signal.SIGKILL)
                    process.communicate()
                    kills += 1
                    time.sleep(1.1)  # until the lease of the killed process has expired
                    continue
            out, told = process.communicate(timeout=2 * PATIENCE_SECONDS)
            assert process.returncode == 0, told[-2000:]
            break
        assert kills == KILLS
        export = manage(environment, "export", "records", "--format", "csv", "--out", "-")
        assert export.returncode == 0, export.stderr
        exported = export.stdout.splitlines()
    addresses = [line.split(",")[1] for line in exported[1:]]
    assert len(addresses) == len(set(addresses)) >= 0.9 * len(site.all)
    if method == "get":
        assert len(addresses) == len(site.all)
        asked = Counter(line for line in site.log if "/search?" in line)
        assert sum(asked.values()) - len(asked) <= kills
    else:
        sent = Counter(
            "&".join(part for part in post.split("&") if "csrf" not in part) for post in site.posts
        )
        assert max(sent.values()) == 1, sent.most_common(2)
    assert '"state": "finished"' in out
