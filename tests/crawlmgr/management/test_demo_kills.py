"""`demo` is killed (SIGKILL) during each of its parts: the next call continues, nothing is stored
twice, and no file is incomplete."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from crawlmgr.demo.forum import BOARDS, Forum
from tests.serving import PATIENCE_SECONDS, begun, manage, wait_for

STAGES = {  # what is counted, and the count at which the process is killed
    "the forum's first reading": ("SELECT count(*) FROM forums_post", 20),
    "the harvest": ("SELECT count(*) FROM deepweb_query", 4),
    "the topic's crawl": ("SELECT count(*) FROM focused_topicpage", 6),
    "the day on a fast clock": ("SELECT count(*) FROM forums_visit", len(BOARDS) + 8),
}
DOUBLES = (
    "SELECT thread_id, post_id FROM forums_post GROUP BY 1, 2 HAVING count(*) > 1",
    "SELECT board_id, started FROM forums_visit GROUP BY 1, 2 HAVING count(*) > 1",
    "SELECT run_id, url FROM focused_topicpage GROUP BY 1, 2 HAVING count(*) > 1",
    "SELECT url FROM deepweb_record GROUP BY 1 HAVING count(*) > 1",
    "SELECT url FROM forums_site GROUP BY 1 HAVING count(*) > 1",
    "SELECT name FROM focused_topic GROUP BY 1 HAVING count(*) > 1",
    "SELECT url FROM deepweb_source GROUP BY 1 HAVING count(*) > 1",
)


class Place:
    """An installation on SQLite in which a demonstration runs."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = {
            **environment,
            "CRAWLMGR_LEASE_SECONDS": "2",
            "CRAWLMGR_MIN_FREE_MB": "0",
        }
        self.data = Path(environment["CRAWLMGR_DATA"])

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """Runs a query while the process is working; returns the rows."""
        path = f"file:{self.data / 'crawlmgr.sqlite3'}?mode=ro"
        with closing(sqlite3.connect(path, uri=True, timeout=60)) as base:
            return base.execute(query).fetchall()

    def begin(self, *words: str) -> subprocess.Popen[str]:
        """Starts a demonstration."""
        return begun(self.environment, "-m", "tests.small_demo", *words)


@pytest.mark.slow
@pytest.mark.once
def test_killed_in_each_part_it_goes_on_and_nothing_is_there_twice(
    installed: dict[str, str],
) -> None:
    if "DATABASE_URL" in installed:
        pytest.skip("looks into the SQLite file beside the process")
    place = Place(installed)
    for name, (query, enough) in STAGES.items():
        process = place.begin()
        try:
            reached = wait_for(
                lambda p=process, q=query, n=enough: (
                    p.poll() is not None or place.ask(q)[0][0] >= n
                ),
                every=0.02,
            )
            assert reached, name
            assert process.poll() is None, (name, process.communicate())
            process.send_signal(signal.SIGKILL)
        finally:
            process.kill()
            process.communicate()
        assert process.returncode == -signal.SIGKILL, name
    with place.begin("--once", "--json") as process:
        told, said = process.communicate(timeout=4 * PATIENCE_SECONDS)
    assert process.returncode == 0, said
    made = json.loads(told)
    assert [place.ask(query) for query in DOUBLES] == [[]] * len(DOUBLES)
    assert place.ask(
        "SELECT count(*) FROM crawlmgr_run WHERE state IN ('queued', 'running', 'paused')"
    ) == [(0,)]
    assert place.ask(
        "SELECT count(*) FROM forums_plannedvisit WHERE state = 'started' AND visit_id IS NULL"
    ) == [(0,)]
    assert (made["topic"]["fetched"], made["forum"]["boards"]) == (30, len(BOARDS)) and made[
        "deepweb"
    ]["records"] > 30
    _posts_are_true(place, made["forum"])
    assert json.loads(manage(place.environment, "archive", "check", "--json").stdout)["ok"]
    assert not [path.name for path in place.data.rglob("*.part")]


def _posts_are_true(place: Place, told: dict[str, Any]) -> None:
    """Checks that the stored posts are those of the forum, including all posts of its last day up
    to the last visit."""
    [(settings,)] = place.ask("SELECT settings FROM forums_site")
    began = datetime.fromisoformat(json.loads(settings)["demonstration"])
    forum = Forum(began)
    with forum.lock:
        forum.until(datetime.now(UTC))
    truth = {
        (post.author, post.posted, post.text)
        for thread in forum.threads.values()
        for post in thread.posts
    }
    rows = place.ask("SELECT author, posted, text FROM forums_post")
    stored = {
        (author, datetime.fromisoformat(posted).replace(tzinfo=UTC), text)
        for author, posted, text in rows
    }
    assert stored <= truth and len(rows) == told["posts"]
    [(last,)] = place.ask(
        "SELECT created FROM crawlmgr_run WHERE kind = 'forum' ORDER BY id DESC LIMIT 1"
    )
    until = datetime.fromisoformat(last).replace(tzinfo=UTC).timestamp()
    assert {
        one for one in truth if began.timestamp() - 80_000 < one[1].timestamp() < until
    } <= stored
