"""A topic crawl on SQLite while other processes constantly write to the same database."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.focused.test_kill import crawl
from tests.focused.topical import DOCUMENTS, TopicalWeb
from tests.serving import manage, wait_for
from tests.test_kill import Database

WRITER = """
import sqlite3, sys, time
database = sqlite3.connect(sys.argv[1], timeout=300, isolation_level=None)
while True:
    database.execute("UPDATE crawlmgr_host SET refused_by_robots = refused_by_robots + 1")
    time.sleep(0.002)
"""

WORKER = """
import time
from django.conf import settings
from crawlmgr import engine
time.sleep(1)  # until the lease of the dead has run out
settings.LEASE_SECONDS = 0.05  # prolonged at every fifth of it
print(engine.run_slice(1))
"""


@contextmanager
def writers(path: Path, number: int) -> Iterator[None]:
    """Runs processes that commit to the database constantly, as other workers do."""
    found = [subprocess.Popen([sys.executable, "-c", WRITER, str(path)]) for _ in range(number)]
    try:
        yield
        assert all(one.poll() is None for one in found)
    finally:
        for one in found:
            one.kill()
            one.wait()


@pytest.mark.slow
@pytest.mark.once
def test_a_run_gone_through_again_does_not_mind_other_writers(
    installed: dict[str, str], tmp_path: Path
) -> None:
    """After a kill, more than 100 pages are replayed while other processes write. SQLite would
    refuse to renew the lease in between if the replay left a database cursor open."""
    environment = {**installed, "CRAWLMGR_LEASE_SECONDS": "1", "CRAWLMGR_MIN_FREE_MB": "0"}
    database = Database(environment)
    samples = tmp_path / "samples"
    samples.mkdir()
    for name, text in DOCUMENTS:
        (samples / name).write_text(text)
    with TopicalWeb(pages=150) as web:
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
        web.stops_at = 130
        first = crawl(environment, "memory")
        stored = "SELECT id FROM focused_topicpage"
        assert wait_for(
            lambda: len(database.rows(stored)) > 110 or first.poll() is not None, every=0.05
        )
        first.send_signal(signal.SIGKILL)
        first.communicate()
        web.go.set()
        assert first.returncode == -signal.SIGKILL
        with writers(Path(environment["CRAWLMGR_DATA"]) / "crawlmgr.sqlite3", 3):
            again = manage(environment, "shell", "-c", WORKER)
    assert again.stdout.split()[-1:] == ["finished"], again.stderr[-3000:]
    told = database.rows("SELECT code, text FROM crawlmgr_event WHERE level > 20")
    assert [code for code, _text in told] in (
        [],
        ["worker_silent"],
    ), "nothing but that the killed one was heard of no more"
    assert database.rows("SELECT stopped_by, breaks, strains FROM crawlmgr_run WHERE id = 1") == [
        ("frontier", 0, 0)
    ]
