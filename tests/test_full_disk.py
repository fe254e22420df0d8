"""The disk becomes full while a forum is crawled: reported in one line, nothing is half written,
and the crawl continues once there is space.

The disk is a file system of some megabytes in memory, mounted only for the test's own processes.
The test is skipped if the system does not allow mounting it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crawlmgr.web.warc import check_file
from tests.serving import PATIENCE_SECONDS, ROOT, wait_for
from tests.site.forum import ForumServer, LocalForum
from tests.test_kill import Database

ROOM_BYTES = 400_000  # free bytes when the crawl begins: less than the forum needs
pytestmark = pytest.mark.slow


class SmallDisk:
    """A small tmpfs in a mount namespace of its own; it disappears when the process `holder` ends.
    `path` is its path for this process, `inside` its path for processes in that namespace."""

    def __init__(self, inside: Path, holder: subprocess.Popen[bytes]) -> None:
        self.inside, self.path = inside, Path(f"/proc/{holder.pid}/root{inside}")
        users = [] if os.geteuid() == 0 else ["-U", "--preserve-credentials"]
        self.enter = ["nsenter", "-t", str(holder.pid), "-m", *users]

    def fill(self, left: int) -> None:
        free = shutil.disk_usage(self.path).free
        with (self.path / "filler").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, free - left)

    def empty(self) -> None:
        (self.path / "filler").unlink()

    def copy(self, place: Path) -> Path:
        """Copies the disk's content to `place`, for programs that resolve symbolic links: they
        would resolve the link in /proc with which `path` begins, and reach this process's own
        folder."""
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.path, place)
        return place

    def manage(self, environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.enter, sys.executable, str(ROOT / "manage.py"), *words],
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    inside = tmp_path / "small"
    inside.mkdir()
    script = 'mount -t tmpfs -o size=24m none "$1" && echo ready && exec sleep infinity'
    try:
        apart = "-m" if os.geteuid() == 0 else "-Urm"
        holder = subprocess.Popen(
            ["unshare", apart, "sh", "-c", script, "sh", str(inside)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        pytest.skip("there is no unshare to mount a small disk with")
    try:
        assert holder.stdout is not None
        if holder.stdout.readline() != b"ready\n":
            pytest.skip("this system lets nobody mount a small disk of his own")
        yield SmallDisk(inside, holder)
    finally:
        holder.kill()
        holder.wait()
        if holder.stdout is not None:
            holder.stdout.close()


def _said(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The output for users, without log lines."""
    return [
        line
        for line in done.stderr.splitlines()
        if line and not re.match(r"\d{4}-\d\d-\d\dT\S+ (?:ERROR|WARNING) ", line)
    ]


def _nothing_half_written(data: Path, environment: dict[str, str]) -> None:
    """Checks that there are no temporary files, that the database is intact, and that WARC files
    can be read to the end."""
    assert not list(data.rglob("*.part"))
    if "DATABASE_URL" not in environment:
        with closing(sqlite3.connect(data / "crawlmgr.sqlite3")) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert database.execute("SELECT count(*) FROM forums_board").fetchone() == (3,)
    assert [
        report.problem
        for file in data.glob("archive/*.warc.gz")
        if (report := check_file(file)).problem
    ] == []


@pytest.mark.parametrize("left", [ROOM_BYTES, 0], ids=["some pages fit", "nothing fits"])
def test_a_disk_that_fills_up_ends_a_crawl_in_one_line_and_loses_nothing(
    installed: dict[str, str], disk: SmallDisk, tmp_path: Path, left: int
) -> None:
    if Path(installed["CRAWLMGR_DATA"]).exists():
        shutil.copytree(installed["CRAWLMGR_DATA"], disk.path, dirs_exist_ok=True)
    environment = {
        **installed,
        "CRAWLMGR_DATA": str(disk.inside),
        "CRAWLMGR_MIN_FREE_MB": "0",
        "CRAWLMGR_LEASE_SECONDS": "2",
    }
    forum = LocalForum(boards=3, threads=30, longest=8)
    with ForumServer(forum) as server:
        added = disk.manage(
            environment, "forum", "add", server.url, "--allow-private", "--delay", "0", "--json"
        )
        assert added.returncode == 0, added.stderr
        disk.fill(
            left if "DATABASE_URL" not in environment else left // 10
        )  # PostgreSQL stores less on this disk
        full = disk.manage(environment, "forum", "crawl", "1", "--json")
        said = _said(full)
        assert len(said) == 1 and any(word in said[0] for word in ("disk", "No space left")), (
            full.stderr
        )
        assert "Traceback" not in full.stderr and "Logging error" not in full.stderr
        disk.empty()
        _nothing_half_written(disk.copy(tmp_path / "seen"), environment)

        def again() -> subprocess.CompletedProcess[str]:
            return disk.manage(environment, "forum", "crawl", "1", "--json")

        done = wait_for(lambda: one if (one := again()).returncode == 0 else None, every=1.0)
        assert done is not None, again().stderr
    told = json.loads(done.stdout)
    assert (told["state"], told["stopped_by"]) == ("finished", "complete")
    _nothing_half_written(disk.copy(tmp_path / "seen"), environment)
    stored = Database({**environment, "CRAWLMGR_DATA": str(tmp_path / "seen")}).rows(
        "SELECT t.url, p.post_id, p.text FROM forums_post p JOIN forums_thread t ON t.id ="
        " p.thread_id"
    )
    assert sorted(
        ("/" + url.split("/", 3)[3], post.removeprefix("p"), text) for url, post, text in stored
    ) == sorted(forum.truth())
