"""A topic crawl with 64 requests in flight: its worker is killed, and the next worker freezes until
another one has the run."""

from __future__ import annotations

import json
import random
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.focused.topical import DOCUMENTS, ON
from tests.serving import begun, manage
from tests.site.held import HeldWeb
from tests.taking_over import taking_over
from tests.test_kill import Database

HOSTS, DEPTH = 64, 5
LEASE_SECONDS = 4


def page(host: int, path: str) -> str:
    """Returns a page with words of its own and a link to a page of the next host, so that each host
    always has exactly one address waiting."""
    depth = int(path.strip("/"))
    words = " ".join(random.Random(host * DEPTH + depth).choices(ON, k=30))
    link = (
        f'<a href="//127.3.0.{(host + 1) % HOSTS + 1}:{web_port}/{depth + 1}">crawler {depth}</a>'
        if depth + 1 < DEPTH
        else ""
    )
    return (
        f"<html><head><title>{host} {depth}</title></head><body><p>{words}"
        f" number{host}x{depth}</p>{link}</body></html>"
    )


web_port = 0


def crawl(environment: dict[str, str]) -> subprocess.Popen[str]:
    words = (
        "topic",
        "crawl",
        "crawlers",
        "--strategy",
        "breadth_first",
        "--pages",
        "5000",
        "--in-flight",
        str(HOSTS),
    )
    more = ("--delay", "0", "--allow-private", "--json")
    return begun(environment, "manage.py", *words, *more)


@pytest.mark.slow
def test_a_kill_and_a_freeze_repeat_only_what_was_on_the_wire(
    installed: dict[str, str], tmp_path: Path
) -> None:
    global web_port  # read by `page`, whose links lead to the same server
    environment = {
        **installed,
        "CRAWLMGR_LEASE_SECONDS": str(LEASE_SECONDS),
        "CRAWLMGR_MIN_FREE_MB": "0",
    }
    samples = tmp_path / "samples"
    samples.mkdir()
    for name, text in DOCUMENTS:
        (samples / name).write_text(text)
    workers: list[subprocess.Popen[str]] = []
    with HeldWeb(HOSTS, page) as web:
        web_port = web.port
        seeds = tmp_path / "seeds.txt"
        seeds.write_text("\n".join(web.url(host, "/0") for host in range(HOSTS)))
        added = manage(
            environment,
            "topic",
            "add",
            "crawlers",
            "--seeds",
            str(seeds),
            "--documents",
            str(samples),
            "--json",
        )
        assert added.returncode == 0, added.stderr
        try:
            workers.append(crawl(environment))
            web.until(HOSTS)
            web.let_go()
            killed = web.until(2 * HOSTS)[HOSTS:]
            workers[0].send_signal(signal.SIGKILL)
            workers[0].communicate()
            web.let_go()  # releases responses whose requests were sent by the killed worker

            workers.append(taking_over(lambda: crawl(environment), lambda: len(web.asked)))
            frozen = web.until(3 * HOSTS)[2 * HOSTS :]
            workers[1].send_signal(signal.SIGSTOP)
            workers.append(taking_over(lambda: crawl(environment), lambda: len(web.asked)))
            web.until(4 * HOSTS)
            # the frozen worker receives its responses, but must not store them: the run now belongs
            # to another worker
            workers[1].send_signal(signal.SIGCONT)
            web.open()
            out, err = workers[2].communicate(timeout=180)
            assert workers[2].returncode == 0, err
            said = workers[1].communicate(timeout=60)[1]
            assert workers[1].returncode != 0 and "worked on by another process" in said, said
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
    result = json.loads(out)
    asked = Counter(web.asked)
    everything = {(host, f"/{depth}") for host in range(HOSTS) for depth in range(DEPTH)}
    assert set(asked) == everything and result["stopped_by"] == "frontier"
    for one, times in asked.items():
        assert times <= 1 + killed.count(one) + frozen.count(one), (
            f"{one} was not on the wire when a worker was lost"
        )
    database = Database(environment)
    stored = [
        url
        for (url,) in database.rows(
            "SELECT url FROM focused_topicpage WHERE run_id = 1 AND kind = 0"
        )
    ]
    assert sorted(stored) == sorted(web.url(host, path) for host, path in everything)
    kept = [
        url
        for (url,) in database.rows(
            "SELECT url FROM crawlmgr_page WHERE run_id = 1 AND status = 200"
        )
    ]
    assert sorted(kept) == sorted(stored)
    counted = database.rows("SELECT fetched, items FROM crawlmgr_run WHERE id = 1")[0]
    pages = database.rows("SELECT pages, relevant FROM focused_topicrun WHERE run_id = 1")[0]
    assert counted[0] == pages[0] == len(everything) and counted[1] == pages[1]
    assert (
        database.rows("SELECT COUNT(*) FROM crawlmgr_url WHERE run_id = 1 AND state IN (0, 1)")[0][
            0
        ]
        == 0
    )
