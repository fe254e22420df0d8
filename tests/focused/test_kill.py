"""The process of a topic crawl is killed at random moments: no page is stored or counted twice, and
the final set of pages is the same.

CRAWLMGR_KILLS sets the number of kills (two by default for each kind of link graph; use ten for a
long test).
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.focused.topical import DOCUMENTS, TopicalWeb
from tests.serving import PATIENCE_SECONDS, begun, manage, wait_for
from tests.test_kill import Database

KILLS = int(os.environ.get("CRAWLMGR_KILLS", "2"))
PAGE = "SELECT url FROM focused_topicpage WHERE run_id = 1 AND kind = 0"


def crawl(environment: dict[str, str], graph: str) -> subprocess.Popen[str]:
    words = (
        "topic",
        "crawl",
        "crawlers",
        "--strategy",
        "dolphin",
        "--pages",
        "500",
        "--graph",
        graph,
    )
    more = ("--delay", "0", "--allow-private", "--json")
    return begun(environment, "manage.py", *words, *more)


@pytest.mark.slow
@pytest.mark.parametrize("graph", ["memory", "database"])
def test_nothing_is_lost_or_stored_twice(
    installed: dict[str, str], tmp_path: Path, graph: str
) -> None:
    environment = {
        **installed,
        "CRAWLMGR_LEASE_SECONDS": "1",
        "CRAWLMGR_SLICE_SECONDS": "1",
        "CRAWLMGR_MIN_FREE_MB": "0",
    }
    draw = random.Random(11)
    database = Database(environment)
    samples = tmp_path / "samples"
    samples.mkdir()
    for name, text in DOCUMENTS:
        (samples / name).write_text(text)
    with TopicalWeb(pages=60 + 9 * KILLS, delay_seconds=0.02) as web:
        seeds = tmp_path / "seeds.txt"
        seeds.write_text(f"{web.url(0)}\n{web.url(1)}\n")
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
        killed = 0
        while killed < KILLS:
            goal = len(web.asked()) + draw.randint(3, 12)
            web.go.clear()
            web.stops_at = goal + 5  # so that the process is killed before the crawl ends
            process = crawl(environment, graph)
            if not wait_for(
                lambda p=process, g=goal: len(web.asked()) >= g or p.poll() is not None, every=0.05
            ):
                pytest.fail(f"no page came; {process.communicate()}")
            if process.poll() is None:
                time.sleep(draw.uniform(0.0, 0.04))
                process.send_signal(signal.SIGKILL)
                killed += 1
            process.communicate()
            web.go.set()
            time.sleep(1.1)
        web.stops_at = None
        last = crawl(environment, graph)
        out, err = last.communicate(timeout=2 * PATIENCE_SECONDS)
        assert last.returncode == 0, err
        result = json.loads(out)
        asked = Counter(web.asked())
    stored = [url for (url,) in database.rows(PAGE)]
    assert killed == KILLS and result["run"] == 1 and result["stopped_by"] == "frontier"
    assert len(stored) == len(set(stored)) == result["pages"]
    assert {url.partition("/page/")[2] for url in stored} == {
        path.partition("/page/")[2]
        for path in asked
        if int(path.rpartition("/")[2].removesuffix(".html")) not in web.missing
    }
    assert sum(asked.values()) - len(asked) <= killed, (
        "only what was in flight when the process died was asked for again"
    )
    counted = database.rows("SELECT pages, relevant FROM focused_topicrun WHERE run_id = 1")[0]
    relevant = database.rows(
        "SELECT COUNT(*) FROM focused_topicpage WHERE run_id = 1 AND kind = 0 AND relevant"
    )[0][0]
    assert counted == (len(stored), relevant)
