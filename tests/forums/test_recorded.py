"""Recorded forums, replayed without their programs: every board, topic and post of the truth is
stored; of the changes exactly the changed topics are fetched; with nothing new, a page a board."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.serving import PATIENCE_SECONDS, begun, finished, manage
from tests.targets import exported_posts, place, recorded, true_posts

pytestmark = [pytest.mark.slow, pytest.mark.once]
OWN = ("--allow-private", "--delay", "0", "--json")


@pytest.mark.parametrize("name", ["mybb", "fluxbb"])
def test_a_recorded_forum_is_read_whole_and_then_only_what_changed(
    name: str, installed: dict[str, str], tmp_path: Path
) -> None:
    def told(*words: str) -> Any:
        # under the clock of the recording, because its pages say "Yesterday" and "3 hours ago"
        back = (datetime.now(UTC) - forum.recorded_at).total_seconds()
        program = begun(installed, "tests/set_back.py", str(back), *words)
        done = finished(program, 6 * PATIENCE_SECONDS)  # it reads 376 pages
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def exported(what: str) -> list[str]:
        out = tmp_path / what
        done = manage(installed, "export", what, "--format", "jsonl", "--out", str(out))
        assert done.returncode == 0, done.stderr
        return out.read_text(encoding="utf-8").splitlines()

    def agrees(truth: dict[str, Any]) -> None:
        threads = {place(json.loads(line)["url"]) for line in exported("threads")}
        assert threads == {place(thread["url"]) for thread in truth["threads"]}
        found = exported_posts(exported("posts"))
        assert found == true_posts(truth)

    def crawl() -> tuple[int, int]:
        """Visits the forum; returns how many topics were fetched, and the number of requests."""
        done = told("forum", "crawl", str(site["site"]), "--history-days", "4000", *OWN)
        fetched = sum(one["threads_new"] + one["threads_updated"] for one in done["boards"])
        return fetched, done["requests"]

    with recorded(name) as forum:
        site = told("forum", "add", forum.url, "--timezone", "UTC", *OWN)
        wanted = {place(board["url"]) for board in forum.truth["boards"]}
        assert wanted <= {place(board["url"]) for board in site["boards"]}
        crawl()
        agrees(forum.truth)
        forum.change()
        assert crawl()[0] == len(forum.changed)
        agrees(forum.truth)
        fetched, requests = crawl()
        assert fetched == 0 and requests <= len(site["boards"]) + 2
