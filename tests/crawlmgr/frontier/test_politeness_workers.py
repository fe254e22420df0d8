"""Several worker processes crawl the same hosts: the server records its requests, and the tests
check that the delay between two requests to a host holds across processes."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from tests.focused.topical import DOCUMENTS
from tests.postgresql import find_binaries
from tests.serving import begun, finished, manage
from tests.site.forum import ForumServer, LocalForum
from tests.site.search import SearchSite

PAUSE = 0.25  # seconds between two requests to the host that three crawlers share


@pytest.mark.slow
@pytest.mark.once
def test_two_workers_on_postgresql_share_hosts_without_a_deadlock(
    installed: dict[str, str],
) -> None:
    if find_binaries() is None:
        pytest.skip("PostgreSQL is not installed")
    pause = 0.25
    words = [
        "--alone",
        "--hosts",
        "12",
        "--pages",
        "150",
        "--in-flight",
        "64",
        "--answer",
        str(pause),  # varies by a third: some answers outlast the pause, so that only
        # the limit of one connection keeps the next request away
        "--delay",
        str(pause),
    ]
    done = manage(
        installed, "bench", "line", *words, "--workers", "2", "--database", "postgresql", "--json"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["in_flight"][0]
    assert found["ours_deadlocks"] == 0
    assert found["ours_server"]["asked"] >= 150 and found["ours_server"]["most_at_once"] == 1


@pytest.mark.once
@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 8])
def test_no_host_is_asked_twice_at_once_or_too_soon(
    workers: int, installed: dict[str, str]
) -> None:
    pause, pages = 0.4, 24 if workers == 1 else 64
    words = [
        "--alone",
        "--hosts",
        "6",
        "--pages",
        str(pages),
        "--in-flight",
        "64",
        "--answer",
        str(pause),  # some answers are shorter than the pause, some longer: both bounds count
        "--delay",
        str(pause),
    ]
    done = manage(installed, "bench", "line", *words, "--workers", str(workers), "--json")
    assert done.returncode == 0, done.stderr
    counted = json.loads(done.stdout)["in_flight"][0]["ours_server"]
    assert counted["asked"] >= pages and counted["private"] == 0
    assert counted["most_at_once"] == 1
    assert counted["least_gap_seconds"] >= 0.95 * pause


class Door:
    """Request handler of a host with a search site; records each request's time and the largest
    number of simultaneous ones."""

    def __init__(self) -> None:
        self.search = SearchSite(books=40)
        self.times: list[float] = []
        self.paths: list[str] = []
        self.inside = self.most = 0
        self.lock = threading.Lock()

    def __call__(self, path: str) -> tuple[int, dict[str, str], bytes] | None:
        with self.lock:
            self.times.append(time.monotonic())
            self.paths.append(path)
            self.inside += 1
            self.most = max(self.most, self.inside)
            late = len(self.times) % 4 == 0
        # some answers outlast the pause between two requests, so that a second one would overlap
        time.sleep(1.5 * PAUSE if late else 0.05)
        with self.lock:
            self.inside -= 1
        if not path.startswith(("/search", "/book")):
            return None
        status, headers, page = self.search.answer("GET", path, "", "")
        return status, headers, page.encode()


@pytest.mark.slow
def test_a_forum_visit_a_topic_crawl_and_a_harvest_share_the_clock_of_their_host(
    installed: dict[str, str], tmp_path: Path
) -> None:
    samples, door = tmp_path / "samples", Door()
    samples.mkdir()
    for name, text in DOCUMENTS:
        (samples / name).write_text(text)
    polite = ("--allow-private", "--delay", str(PAUSE), "--json")
    forum = LocalForum(boards=2, threads=10)
    with ForumServer(forum) as server:
        added = manage(installed, "forum", "add", server.url, *polite)
        assert added.returncode == 0, added.stderr
        site = str(json.loads(added.stdout)["site"])
        seeds = tmp_path / "seeds"
        seeds.write_text(server.url)
        topic = manage(
            installed,
            "topic",
            "add",
            "crawlers",
            "--seeds",
            str(seeds),
            "--documents",
            str(samples),
            "--json",
        )
        assert topic.returncode == 0, topic.stderr
        forum.on_request = door
        asking = (
            "--queries",
            "8",
            "--probes",
            "0",
            "--details",
            "20",
            "--seed-terms",
            "river,stone",
        )
        commands = (
            ("forum", "crawl", site),
            ("topic", "crawl", "crawlers", "--strategy", "breadth_first", "--pages", "30"),
            ("deepweb", "harvest", f"{server.url}search", *asking),
        )
        workers = [begun(installed, "manage.py", *words, *polite) for words in commands]
        ended = [finished(worker) for worker in workers]
    assert [one.returncode for one in ended] == [0, 0, 0], [one.stderr for one in ended]
    for beginning in ("/board/", "/topic/", "/search?", "/book?"):
        assert any(path.startswith(beginning) for path in door.paths), beginning
    few = 20
    spans = [after - before for before, after in zip(door.times, door.times[few:], strict=False)]
    assert door.most == 1 and len(spans) > 10
    assert min(spans) >= 0.7 * few * PAUSE, (
        "clocks of their own would ask two or three times as often"
    )
