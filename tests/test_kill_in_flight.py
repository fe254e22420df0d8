"""A forum visit and a harvest with as many requests in flight as a host allows: one worker is
killed, a second is stopped until a third has taken over the run. Only requests that were in flight
are repeated; nothing is lost or stored twice.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.serving import PATIENCE_SECONDS, begun, manage
from tests.site.forum import ForumServer, LocalForum
from tests.site.gate import Gate
from tests.site.search import Reply, SearchServer, SearchSite
from tests.taking_over import taking_over
from tests.test_kill import Database

CONNECTIONS = 16
IN_FLIGHT = (
    "--in-flight",
    "64",
    "--connections",
    str(CONNECTIONS),
    "--delay",
    "0",
    "--allow-private",
    "--json",
)


def worker(environment: dict[str, str], *words: str) -> subprocess.Popen[str]:
    return begun(environment, "manage.py", *words, *IN_FLIGHT)


def killed_and_frozen(
    start: Callable[[], subprocess.Popen[str]], gate: Gate
) -> tuple[list[str], dict[str, Any]]:
    """Kills a worker and freezes the next, each with all connections in use; a third ends the run.
    Returns the requests in flight both times, and the third worker's output."""
    workers: list[subprocess.Popen[str]] = []
    try:
        workers.append(start())
        lost = gate.until(CONNECTIONS)
        workers[0].send_signal(signal.SIGKILL)
        workers[0].communicate()
        gate.let_go()  # lets the held requests go on; the worker that sent them is dead

        workers.append(taking_over(start, lambda: len(gate.asked)))
        lost += gate.until(CONNECTIONS)
        workers[1].send_signal(signal.SIGSTOP)
        workers.append(taking_over(start, lambda: len(gate.asked)))
        gate.until(
            2 * CONNECTIONS
        )  # all connections of the frozen worker and of its successor are in use
        workers[1].send_signal(
            signal.SIGCONT
        )  # the worker goes on and receives its responses, but has lost the run
        gate.open()
        out, said = workers[2].communicate(timeout=PATIENCE_SECONDS)
        assert workers[2].returncode == 0, said
        said = workers[1].communicate(timeout=PATIENCE_SECONDS)[1]
        assert workers[1].returncode != 0 and "worked on by another process" in said, said
    finally:
        for one in workers:
            one.kill()
            one.wait()
    return lost, json.loads(out)


def only_lost_ones_repeat(asked: Sequence[str], lost: Sequence[str]) -> None:
    for path, times in Counter(asked).items():
        assert times <= 1 + lost.count(path), f"{path} was not on the wire when a worker was lost"


@pytest.mark.slow
def test_a_forum_visit(installed: dict[str, str]) -> None:
    environment = {**installed, "CRAWLMGR_LEASE_SECONDS": "4", "CRAWLMGR_MIN_FREE_MB": "0"}
    forum = LocalForum(boards=3, threads=20, threads_a_page=20, longest=6)
    with ForumServer(forum) as server:
        added = manage(
            environment, "forum", "add", server.url, "--delay", "0", "--allow-private", "--json"
        )
        assert added.returncode == 0, added.stderr
        site = str(json.loads(added.stdout)["site"])
        gate = forum.on_request = Gate(lambda path: path.startswith("/topic/"))
        lost, result = killed_and_frozen(lambda: worker(environment, "forum", "crawl", site), gate)
    assert result["state"] == "finished"
    only_lost_ones_repeat(gate.asked, lost)
    database = Database(environment)
    found = database.rows(
        "SELECT t.url, p.post_id, p.text FROM forums_post p JOIN forums_thread t ON t.id ="
        " p.thread_id"
    )
    assert sorted((url[url.index("/topic") :], post, text) for url, post, text in found) == sorted(
        forum.truth()
    )
    assert database.rows("SELECT COUNT(*) FROM crawlmgr_url WHERE state IN (0, 1)")[0][0] == 0
    counted = database.rows(
        "SELECT fetched FROM crawlmgr_run WHERE kind = 'forum' ORDER BY id DESC LIMIT 1"
    )[0][0]
    assert counted == len({path for path in gate.asked if path != "/robots.txt"})


class HeldSite(SearchSite):
    """A search site whose detail pages are delayed."""

    gate: Gate

    def answer(self, method: str, path: str, body: str, cookie: str) -> Reply:
        self.gate(f"{method} {path}" if method != "GET" else path)
        return super().answer(method, path, body, cookie)


@pytest.mark.slow
def test_a_harvest(installed: dict[str, str]) -> None:
    environment = {**installed, "CRAWLMGR_LEASE_SECONDS": "4", "CRAWLMGR_MIN_FREE_MB": "0"}
    site = HeldSite(books=60, a_page=20)
    gate = site.gate = Gate(lambda path: path.startswith("/book"))
    words = [
        "--queries",
        "12",
        "--probes",
        "0",
        "--details",
        "50",
        "--no-stop-rule",
        "--seed-terms",
        "river,stone",
    ]
    with SearchServer(site) as server:
        lost, result = killed_and_frozen(
            lambda: worker(environment, "deepweb", "harvest", f"{server.url}search", *words), gate
        )
    assert '"state": "finished"' in json.dumps(result)
    only_lost_ones_repeat(
        [path for path in gate.asked if path not in ("/robots.txt", "/search")], lost
    )
    database = Database(environment)
    addresses = [url for (url,) in database.rows("SELECT url FROM deepweb_record")]
    assert len(addresses) == len(set(addresses)) > CONNECTIONS
    detailed = {path for path in gate.asked if path.startswith("/book")}
    assert len(detailed) == 50, "each record's page was asked for"
    assert database.rows("SELECT details FROM deepweb_harvest")[0][0] == 50
