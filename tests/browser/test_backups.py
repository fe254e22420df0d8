"""Backups in a real browser, made by workers: one by schedule and one on request; each is restored
into an empty installation."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.browser.said import Said, speak
from tests.browser.test_journey import CHROMIUM, PASSWORD, login, page
from tests.serving import ROOT, Serve, manage
from tests.site.forum import ForumServer, LocalForum

__all__ = ["page"]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]

OWN = ("--allow-private", "--delay", "0", "--json")
TOLD = """
import json
import django
django.setup()
from crawlmgr.upkeep import backup_file
print(json.dumps({
    one._meta.label: [list(map(repr, row)) for row in \
one._base_manager.order_by("pk").values_list(*(f.attname for f in one._meta.concrete_fields))]
    for one in backup_file.tables()
}))
"""
MOVING = {"auth.User", "crawlmgr.BackupPlan", "crawlmgr.Event", "crawlmgr.Node", "crawlmgr.Run"}
"""Tables that a running desk changes during and after a backup: logins, the next backup,
heartbeats, the backup's own run."""


def rows(environment: Mapping[str, str]) -> dict[str, list[list[str]]]:
    """All rows of all tables that a backup contains."""
    settings = {**environment, "DJANGO_SETTINGS_MODULE": "crawlmgr.settings"}
    done = subprocess.run(
        [sys.executable, "-c", TOLD], cwd=ROOT, env=settings, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@pytest.fixture
def serve(installed: dict[str, str], tmp_path: Path) -> Iterator[Serve]:
    """A desk with workers and a forum that was read once; nothing else is crawled."""
    environment = {**installed, "CRAWLMGR_ADMIN_PASSWORD": PASSWORD}
    with ForumServer(LocalForum(boards=2, threads=6)) as forum:
        assert manage(environment, "forum", "add", forum.url, *OWN).returncode == 0
        assert (
            manage(environment, "forum", "crawl", "1", "--history-days", "400", *OWN).returncode
            == 0
        )
    assert (
        manage(environment, "schedule", "pause").returncode == 0
    )  # stored data no longer changes; backups are made even while crawling is paused
    made = Serve(environment, tmp_path / "log")
    made.start()
    try:
        assert made.healthy(), made.told()
        yield made
    finally:
        made.end(signal.SIGTERM)


@pytest.fixture
def desk(serve: Serve) -> str:
    """The address of the web interface."""
    return serve.address().rstrip("/")


def is_due(data: Path) -> None:
    """Makes the scheduled backup due now."""
    with closing(sqlite3.connect(data / "crawlmgr.sqlite3", timeout=60)) as database:
        changed = database.execute(
            "UPDATE crawlmgr_backupplan SET next_at = datetime('now', '-1 minute') WHERE next_at IS"
            " NOT NULL"
        )
        database.commit()
    assert changed.rowcount == 1


def restored(serve: Serve, file: Path, home: Path) -> dict[str, str]:
    """Restores a backup into an empty data folder; returns the environment of the new
    installation."""
    environment = {**serve.environment, "CRAWLMGR_DATA": str(home)}
    done = manage(environment, "restore", str(file))
    assert done.returncode == 0, done.stderr
    return environment


def test_a_backup_comes_due_and_one_is_asked_for_and_they_fill_an_empty_home(
    page: Any, desk: str, serve: Serve, tmp_path: Path
) -> None:
    data, said = Path(serve.environment["CRAWLMGR_DATA"]), Said("en")
    login(page, desk)
    speak(page, desk, said)
    page.goto(f"{desk}/admin/backups/")
    page.select_option("select[name=every_hours]", "24")
    page.fill("[name=keep]", "2")
    page.click(f"form[action$='/backups/plan/'] button:has-text('{said('Save')}')")
    page.wait_for_selector(f"text={said('Saved.')}")
    assert page.locator("#content table.list tbody tr").count() == 0, (
        "a schedule begins a day from now"
    )
    is_due(data)
    page.wait_for_selector(
        "#content table.list tbody tr"
    )  # the backup appears without a manual reload
    first = page.inner_text("#content td.title").strip()
    page.wait_for_selector(f"h2:has-text('{said('Being written')}')", state="detached")
    page.click(f"button:has-text('{said('Back up now')}')")
    page.wait_for_selector("#content table.list tbody tr:nth-child(2)")
    page.wait_for_selector(f"h2:has-text('{said('Being written')}')", state="detached")
    names = [one.strip() for one in page.locator("#content td.title").all_inner_texts()]
    assert names[1] == first
    page.goto(f"{desk}/admin/runs/?kind=backup")
    assert sorted(page.locator("tr[data-row] td.title a").all_inner_texts()) == sorted(names), (
        "a run is called as its file"
    )
    assert page.wrong == []
    serve.end(signal.SIGTERM)
    fills_an_empty_home(serve, names, tmp_path)


def fills_an_empty_home(serve: Serve, names: list[str], folder: Path) -> None:
    """Checks that each backup restores the desk's content row by row and file by file."""
    data = Path(serve.environment["CRAWLMGR_DATA"])
    before = rows(serve.environment)
    assert len(before["forums.Post"]) > 20 and len(before["crawlmgr.Page"]) > 8
    for place, name in enumerate(names):
        home = folder / f"home {place}"
        after = rows(restored(serve, data / "backups" / name, home))
        assert after.keys() == before.keys()
        assert {label: after[label] for label in after.keys() - MOVING} == {
            label: before[label] for label in before.keys() - MOVING
        }
        for label in MOVING - {"crawlmgr.Event", "crawlmgr.Run"}:
            assert [row[0] for row in after[label]] == [row[0] for row in before[label]]
        for label in (
            "crawlmgr.Event",
            "crawlmgr.Run",
        ):  # rows added after the snapshot are missing; those before it are equal
            known = {row[0]: row for row in before[label]}
            assert all(row[0] in known for row in after[label])
        assert [row for row in after["crawlmgr.Run"] if "'backup'" not in row] == [
            row for row in before["crawlmgr.Run"] if "'backup'" not in row
        ]
        files = {one.name: one.read_bytes() for one in (data / "archive").rglob("*.warc.gz")}
        assert (
            files
            and {one.name: one.read_bytes() for one in (home / "archive").rglob("*.warc.gz")}
            == files
        )
        assert (home / "secret.key").read_text() == (data / "secret.key").read_text()
