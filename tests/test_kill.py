"""A first crawl under `serve` while its processes are killed: it finishes by itself, without losing
or duplicating data.

CRAWLMGR_KILLS sets the number of kills (four by default; twenty in the long form).
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.serving import Serve, manage, wait_for
from tests.site.forum import ForumServer, LocalForum

KILLS = int(os.environ.get("CRAWLMGR_KILLS", "4"))
VICTIMS = ("group", "busy worker", "idle worker", "guard")
START = (
    "from forums.sites import sites; from crawlmgr.clock import SYSTEM;"
    "sites.crawl_now(1, now=SYSTEM.now(), parameters={'history_days': 400})"
)


class Database:
    """Reads the database of the tested installation by a connection of the test's own."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        if url := self.environment.get("DATABASE_URL"):
            with psycopg.connect(url) as connection:
                return connection.execute(query).fetchall()  # type: ignore[arg-type]
        connection = sqlite3.connect(
            Path(self.environment["CRAWLMGR_DATA"]) / "crawlmgr.sqlite3", timeout=120
        )
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    def run(self) -> tuple[str, int, str, str]:
        """State, pages, lease holder and reason of the crawl that START begins; overview fetches
        are runs too and are left out."""
        found = self.rows(
            "SELECT state, fetched, lease_holder, stopped_by FROM crawlmgr_run "
            "WHERE kind = 'forum' AND CAST(parameters AS TEXT) LIKE '%history_days%400%'"
        )
        return found[0] if found else ("", 0, "", "")


@pytest.fixture
def serve(installed: dict[str, str], tmp_path: Path) -> Iterator[Serve]:
    one = Serve(installed, tmp_path / "log")
    yield one
    if one.process is not None:
        one.end(signal.SIGKILL)


def cluster(serve: Serve) -> tuple[int, list[int]]:
    """Returns the process ids of django-q's guard process and of its workers (the last two children
    are monitor and pusher)."""
    family = serve.family()
    main = next(
        (
            pid
            for pid, (parent, command) in family.items()
            if parent == serve.pid and "gunicorn" not in command
        ),
        0,
    )
    guard = next((pid for pid, (parent, _) in family.items() if main and parent == main), 0)
    hands = sorted(pid for pid, (parent, _) in family.items() if guard and parent == guard)
    return guard, hands[:-2]


def kill(serve: Serve, database: Database, victim: str) -> str:
    """Kills the processes of the kind `victim`; returns `victim`, or "" if there was no such
    process."""
    guard, workers = cluster(serve)
    busy = database.run()[2].rpartition(":")[2]
    chosen = {
        "guard": [guard] if guard else [],
        "busy worker": [int(busy)] if busy.isdigit() and int(busy) in workers else [],
        "idle worker": [pid for pid in workers if str(pid) != busy][:1],
        "group": [serve.pid],
    }[victim]
    for pid in chosen:
        try:
            os.killpg(pid, signal.SIGKILL) if victim == "group" else os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return ""
    if victim == "group":
        serve.end(signal.SIGKILL)
        serve.start()
    return victim if chosen else ""


@pytest.mark.slow
def test_a_crawl_survives_whatever_is_killed(serve: Serve, installed: dict[str, str]) -> None:
    draw = random.Random(KILLS)
    forum = LocalForum(boards=4, threads=12, longest=9, delay_seconds=0.08 + 0.012 * KILLS)
    database = Database(installed)
    with ForumServer(forum) as server:
        added = manage(
            {**installed, **serve.environment},
            "forum",
            "add",
            server.url,
            "--allow-private",
            "--delay",
            "0",
            "--json",
        )
        assert added.returncode == 0, added.stderr
        assert len(json.loads(added.stdout)["boards"]) == 4
        looked = len(forum.log)
        # before `serve`, whose own visit or look could be under way otherwise
        started = manage({**installed, **serve.environment}, "shell", "--traceback", "-c", START)
        assert started.returncode == 0, started.stderr
        serve.start()
        assert serve.healthy(), serve.told()
        killed: list[str] = []
        before = 0
        while len(killed) < KILLS and database.run()[0] in ("queued", "running"):
            wait_for(
                lambda seen=before: (
                    database.run()[1] > seen or database.run()[0] not in ("queued", "running")
                ),
                every=0.05,
            )
            time.sleep(draw.uniform(0.0, 0.8))
            before = database.run()[1]
            done = kill(
                serve,
                database,
                VICTIMS[len(killed) % len(VICTIMS)] if KILLS <= 4 else draw.choice(VICTIMS),
            )
            killed += [done] if done else []
        assert wait_for(lambda: database.run()[0] not in ("queued", "running")), serve.told()[
            -3000:
        ]
    state, _pages, _holder, reason = database.run()
    assert (state, reason) == ("finished", "complete"), serve.told()[-3000:]
    assert len(killed) >= min(KILLS, 3), killed
    stored = database.rows(
        "SELECT t.url, p.post_id, p.text FROM forums_post p JOIN forums_thread t ON t.id ="
        " p.thread_id"
    )
    assert sorted(
        ("/" + url.split("/", 3)[3], post.removeprefix("p"), text) for url, post, text in stored
    ) == sorted(forum.truth())
    asked = Counter(path for path in forum.log[looked:] if path.startswith("/topic/"))
    repeated = sum(asked.values()) - len(asked)
    assert repeated <= len(killed), f"{repeated} requests repeated after {killed}"
    lists = Counter(path for path in forum.log[looked:] if path.startswith("/board/"))
    assert sum(lists.values()) - len(lists) <= len(killed) + 4, (
        "page 1 of each board is read once more at the end of its visit"
    )
