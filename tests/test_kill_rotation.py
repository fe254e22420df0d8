"""WARC files become full during a visit, and the worker is killed (SIGKILL) at each moment of the
change to the next file: every page is in one file at the indexed position, and no file stays open.
"""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.rotating_worker import MOMENTS, ROTATE_BYTES
from tests.serving import PATIENCE_SECONDS, begun, finished, manage
from tests.site.forum import ForumServer, LocalForum
from tests.test_kill import Database

CLOSE = (
    "from crawlmgr.archive import archive; from crawlmgr.clock import SYSTEM;"
    " archive.LEFT_AFTER_SECONDS = 0.0; archive.close_left(SYSTEM.now())"
)
INDEX = (
    "SELECT w.name, p.warc_offset, p.url, p.run_id FROM crawlmgr_page p JOIN crawlmgr_warcfile w ON"
    " w.id = p.warc_id"
)


def worked(environment: dict[str, str], moment: str, site: str) -> subprocess.CompletedProcess[str]:
    program = ("-m", "tests.rotating_worker", moment, "forum", "crawl", site)
    for _try in range(
        int(PATIENCE_SECONDS)
    ):  # until the lease (3 s) of the killed process ends; a try takes 1 s or more
        done = finished(begun(environment, *program, "--delay", "0", "--allow-private", "--json"))
        if "the run is free again" not in done.stderr:
            break
    return done


@pytest.mark.slow
@pytest.mark.once
def test_killed_while_a_file_gives_way_to_the_next(installed: dict[str, str]) -> None:
    environment = {**installed, "CRAWLMGR_LEASE_SECONDS": "3", "CRAWLMGR_MIN_FREE_MB": "0"}
    forum = LocalForum(boards=3, threads=25, threads_a_page=25, longest=8)
    folder = Path(installed["CRAWLMGR_DATA"]) / "archive"
    with ForumServer(forum) as server:
        added = manage(
            environment, "forum", "add", server.url, "--delay", "0", "--allow-private", "--json"
        )
        assert added.returncode == 0, added.stderr
        site = str(json.loads(added.stdout)["site"])
        for moment in MOMENTS:
            killed = worked(environment, moment, site)
            assert killed.returncode == -signal.SIGKILL, (moment, killed.stderr)
        last = worked(environment, "never", site)
    assert last.returncode == 0 and json.loads(last.stdout)["state"] == "finished", last.stderr

    database = Database(environment)
    found = database.rows(
        "SELECT t.url, p.post_id, p.text FROM forums_post p JOIN forums_thread t ON t.id ="
        " p.thread_id"
    )
    assert sorted((url[url.index("/topic") :], post, text) for url, post, text in found) == sorted(
        forum.truth()
    )
    unlisted = {path.name for path in folder.glob("*.warc.gz")} - {
        name for (name,) in database.rows("SELECT name FROM crawlmgr_warcfile")
    }
    assert len(unlisted) == 1, "the worker that was killed before its new file was listed left one"
    assert database.rows("SELECT COUNT(*) FROM crawlmgr_warcfile WHERE closed IS NULL")[0][0] == 3

    assert manage(environment, "shell", "-c", CLOSE).returncode == 0
    files = dict(database.rows("SELECT name, records FROM crawlmgr_warcfile"))
    assert {path.name for path in folder.iterdir()} == set(files) and len(files) >= 2 * len(MOMENTS)
    assert not database.rows(
        "SELECT name FROM crawlmgr_warcfile WHERE closed IS NULL OR records < 1"
    )
    assert all(
        size == (folder / name).stat().st_size < 3 * ROTATE_BYTES
        for name, size in database.rows("SELECT name, bytes FROM crawlmgr_warcfile")
    )
    checked = manage(environment, "archive", "check", "--json")
    assert checked.returncode == 0 and json.loads(checked.stdout)["ok"], checked.stdout

    index = database.rows(INDEX)
    assert len(index) == len({(name, offset) for name, offset, _url, _run in index})
    threads = [(run, url) for _name, _offset, url, run in index if "/topic/" in url]
    assert len(threads) == len(set(threads)), "a run has a page in the index once"
    answers = {}
    for name, records in files.items():
        with (folder / name).open("rb") as stream:
            reader = ArchiveIterator(stream)
            seen = 0
            for record in reader:
                seen += 1
                if record.rec_type in ("response", "revisit"):
                    answers[name, reader.get_record_offset()] = record.rec_headers[
                        "WARC-Target-URI"
                    ]
        assert seen == records
    assert all(answers[name, offset] == url for name, offset, url, _run in index)
    assert len(answers) - len(index) <= len(MOMENTS) * 8, (
        "only pages that were being stored at a kill are in a file but not in the index"
    )
