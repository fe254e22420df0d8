"""A correction on real forum software: a wrong one is made by a click and undone, stored pages are
read again, and the export equals the true content."""

from __future__ import annotations

import json
import signal
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.browser.test_journey import CHROMIUM, PASSWORD, login, page
from tests.serving import Serve, manage, wait_for
from tests.targets import exported_posts, running, true_posts

__all__ = ["page"]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.once,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]


BOARD = "General Discussion"  # one board of five shows a correction's effect as all would


class Live(NamedTuple):
    """An installation that has crawled a board of a real forum: its address and environment, the
    board's true posts, the export folder."""

    address: str
    environment: dict[str, str]
    truth: Counter[tuple[str, str, str]]
    folder: Path

    def exported(self) -> Counter[tuple[str, str, str]]:
        out = self.folder / "posts.jsonl"
        assert (
            manage(
                self.environment, "export", "posts", "--format", "jsonl", "--out", str(out)
            ).returncode
            == 0
        )
        return exported_posts(out.read_text(encoding="utf-8").splitlines())

    def unfinished(self) -> list[str]:
        """The states of the runs that have not finished, read from the database: a command would
        take seconds of CPU each time."""
        path = f"file:{Path(self.environment['CRAWLMGR_DATA']) / 'crawlmgr.sqlite3'}?mode=ro"
        with closing(sqlite3.connect(path, uri=True, timeout=60)) as database:
            states = [state for (state,) in database.execute("SELECT state FROM crawlmgr_run")]
        assert "failed" not in states and "stopped" not in states, states
        return [state for state in states if state != "finished"]


@pytest.fixture
def live(installed: dict[str, str], tmp_path: Path) -> Iterator[Live]:
    environment = {**installed, "CRAWLMGR_ADMIN_PASSWORD": PASSWORD}
    with running("flaskbb") as target:
        own = ("--allow-private", "--delay", "0")
        added = manage(environment, "forum", "add", target.url, *own, "--json")
        assert added.returncode == 0
        boards = {board["name"]: board["board"] for board in json.loads(added.stdout)["boards"]}
        wanted = ("--board", str(boards[BOARD]), "--history-days", "400")
        assert manage(environment, "forum", "crawl", "1", *wanted, *own).returncode == 0
        told = target.truth()
        told["threads"] = [thread for thread in told["threads"] if thread["board"] == BOARD]
        kept = {thread["id"] for thread in told["threads"]}
        told["posts"] = [post for post in told["posts"] if post["thread"] in kept]
        truth = true_posts(told)
    assert (
        manage(environment, "schedule", "pause").returncode == 0
    )  # a planned visit would delay reading the stored pages again
    serve = Serve(
        environment, tmp_path / "log"
    )  # the forum no longer runs here: the rest of the test must not request it
    serve.start()
    try:
        assert wait_for(lambda: serve.health()[0]), serve.told()
        yield Live(serve.address().rstrip("/"), environment, truth, tmp_path)
    finally:
        serve.end(signal.SIGTERM)


@pytest.fixture
def desk(live: Live) -> str:
    return live.address


def read_again(page: Any, live: Live) -> None:
    """Has the workers read the stored pages again, from the page of the forum's model."""
    page.goto(f"{live.address}/admin/forums/site/1/model/")
    page.click("button:has-text('Read stored pages again')")
    page.wait_for_selector("text=The stored pages are being read again.")
    assert wait_for(lambda: not live.unfinished())


def test_a_wrong_correction_taken_back_leaves_the_truth(page: Any, live: Live) -> None:
    assert live.exported() == live.truth
    login(page, live.address)
    page.goto(f"{live.address}/admin/forums/site/1/correct/?kind=thread")
    page.locator("article.anatomy a.piece:text-is('#1')").first.click()
    page.click(".chips button:text-is('author')")
    page.wait_for_selector("#effects")
    page.click("button:has-text('Save the correction') >> nth=0")
    page.wait_for_selector("text=The correction is saved as version 2 of the model.")
    read_again(page, live)
    wrong = live.exported()
    assert (
        wrong.total() == live.truth.total()
        and (wrong & live.truth).total() < live.truth.total() / 2
    )

    page.click("button:has-text('Undo')")
    page.wait_for_selector("text=The correction is undone.")
    read_again(page, live)
    assert live.exported() == live.truth
    assert page.wrong == []
