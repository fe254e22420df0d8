"""Tests of two nodes that share PostgreSQL (alone, with Redis, or with a connection pool): they
work on all three kinds of crawl. A backup with unfinished crawls is restored on an empty machine:
all rows are there, and the crawls run on to their ends.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis

from crawlmgr.demo.topic_web import TopicWeb
from crawlmgr.upkeep import backup_file
from tests.benches.soak.sites import Sites, number
from tests.nodes import Cluster, cluster, database_server
from tests.object_store import BUCKET, KEYS, store
from tests.postgresql import Server
from tests.redis_server import MISSING, SERVER, Redis
from tests.serving import PATIENCE_SECONDS, manage, wait_for

__all__ = ["database_server"]
OWN = ("--allow-private", "--delay", "0", "--by-nodes", "--json")
NODES = ("hill", "vale")
SCHEDULED = (
    "from crawlmgr.clock import SYSTEM; from forums.sites import sites;print(sites.crawl_now({},"
    " now=SYSTEM.now(), parameters={{'history_days': 1.0}}, scheduled=True).pk)"
)
"""Starts a visit as a plan does, here one that reads the history of a single day."""


def prepared(one: Cluster, sites: Sites, folder: Path) -> dict[str, tuple[str, ...]]:
    """Adds a site of each kind and returns the commands that crawl them."""
    site = one.json("forum", "add", sites.urls["forum"], "--timezone", "UTC", *OWN[:-1])["site"]
    (folder / "samples").mkdir()
    for name, text in TopicWeb(1).samples():
        (folder / "samples" / f"{name}.txt").write_text(text)
    (folder / "seeds.txt").write_text("\n".join(sites.seeds()))
    one.json(
        "topic",
        "add",
        "bees",
        "--seeds",
        str(folder / "seeds.txt"),
        "--documents",
        str(folder / "samples"),
    )
    forms = one.json("deepweb", "find", sites.urls["museum"], *OWN[:-1])["forms"]
    form = next(str(form["form"]) for form in forms if form["searchable"])
    return {
        "forum": ("forum", "crawl", str(site), "--history-days", "400", *OWN),
        "topic": ("topic", "crawl", "bees", "--strategy", "best_first", "--pages", "5000", *OWN),
        "museum": (
            "deepweb",
            "harvest",
            form,
            "--queries",
            "30",
            "--probes",
            "0",
            "--details",
            "60",
            "--no-stop-rule",
            *OWN,
        ),
    }


def complete(one: Cluster, sites: Sites) -> None:
    """Checks that everything on the sites is stored once, and that every run has ended by
    itself."""
    assert (
        one.rows("SELECT id, kind, state, stopped_by FROM crawlmgr_run WHERE state <> 'finished'")
        == []
    )
    posts = one.rows(
        "SELECT t.url, p.post_id FROM forums_post p JOIN forums_thread t ON t.id = p.thread_id"
    )
    once(
        {(number(url), int(post.removeprefix("p"))): 1 for url, post in posts},
        len(posts),
        sites.posts(),
    )
    addresses = one.rows("SELECT url FROM focused_topicpage WHERE kind IN (0, 2)")
    pages = [
        number(url) for (url,) in addresses if "/pages/" in url
    ]  # addresses also contains the home page
    once(Counter(pages), len(pages), sites.reachable())
    answers = one.rows("SELECT url FROM crawlmgr_page WHERE url LIKE '%/search?%' AND status = 200")
    records = [number(url) for (url,) in one.rows("SELECT url FROM deepweb_record")]
    once(Counter(records), len(records), sites.records(url for (url,) in answers))
    assert one.rows("SELECT COUNT(*) FROM crawlmgr_url WHERE state IN (0, 1)") == [(0,)]
    assert set(sites.most_at_once.values()) == {1}, "a host was asked by two at once"


def once(found: Any, rows: int, wanted: set[Any]) -> None:
    assert set(found) == wanted and rows == len(found) > 0


@pytest.fixture(params=["rows", "redis", "pool"])
def way(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """Settings of a cluster: queue in the database, queue in Redis, or pooled connections to the
    database."""
    if request.param != "redis":
        yield {"CRAWLMGR_DATABASE_POOL": "2"} if request.param == "pool" else {}
        return
    if SERVER is None:
        pytest.skip(MISSING)
    server = Redis()
    server.start()
    yield {"CRAWLMGR_BROKER_URL": server.url}
    server.end()


def queue_is_elsewhere(one: Cluster, broker: str) -> None:
    """Checks that the database has no task, and that the broker has recorded tasks taken by
    nodes."""
    assert one.rows("SELECT COUNT(*) FROM django_q_ormq") == [(0,)]
    taken = [
        str(key)
        for key in redis.Redis.from_url(broker, decode_responses=True).scan_iter(
            "crawlmgr:crawl:taken:*"
        )
    ]
    assert any("crawl/run/" in key for key in taken) and all(
        any(key.endswith(f"/node/{name}") for key in taken) for name in NODES
    )


@pytest.mark.slow
@pytest.mark.once
def test_all_three_crawlers_on_two_nodes(
    database_server: Server, tmp_path: Path, way: dict[str, str]
) -> None:
    sites = Sites(datetime.now(UTC), 1, 4, 0.02)
    with (
        cluster(database_server, "three_" + "_".join(way).lower(), tmp_path, **way) as one,
        sites.served(),
    ):
        assert one.json("node", "list")["nodes"] == []
        alone = manage(
            one.environment, "forum", "add", sites.urls["forum"], "--timezone", "UTC", *OWN
        )
        assert alone.returncode == 1 and "No worker node is running" in alone.stderr
        one.start(*NODES)
        wanted = prepared(one, sites, tmp_path)
        assert wait_for(
            lambda: (
                manage(
                    one.environment, "shell", "-c", SCHEDULED.format(wanted["forum"][2])
                ).returncode
                == 0
            )
        )
        commands = {
            name: one.command(*words) for name, words in wanted.items()
        }  # `forum crawl` waits until the visit has ended
        for name, command in commands.items():
            out, said = command.communicate(timeout=PATIENCE_SECONDS)
            assert command.returncode == 0, f"{name}: {said}{one.told()}"
            assert json.loads(out)["state"] == "finished"
        complete(one, sites)
        assert wait_for(lambda: all(row["outstanding"] == 0 for row in one.listed().values()))
        fetched = one.rows("SELECT SUM(fetched + failed + refused) FROM crawlmgr_run")[0][0]
        pages = {name: row["pages"] for name, row in one.listed().items()}
        assert all(pages[name] > 0 for name in NODES), f"one node did everything: {pages}"
        assert sum(pages.values()) >= 0.9 * float(fetched), "nodes did what the commands asked for"
        if broker := way.get("CRAWLMGR_BROKER_URL"):
            queue_is_elsewhere(one, broker)


@pytest.mark.slow
@pytest.mark.once
def test_a_backup_of_a_cluster_fills_an_empty_machine_where_its_crawls_go_on(
    database_server: Server, tmp_path: Path
) -> None:
    sites = Sites(datetime.now(UTC), 2, 4, 0.03)
    with store() as url, sites.served():
        away = {
            "CRAWLMGR_ARCHIVE_STORE": f"s3://{BUCKET}/warc",
            "CRAWLMGR_S3_ENDPOINT": url,
            **KEYS,
        }
        with cluster(database_server, "before", tmp_path / "before", **away) as one:
            one.start(*NODES)
            commands = [one.command(*words) for words in prepared(one, sites, tmp_path).values()]
            assert wait_for(
                lambda: (
                    all(pages >= 30 for pages in under_way(one).values())
                    and len(under_way(one)) == 3
                ),
                every=0.05,
            ), one.told()
            one.drain(*NODES)
            give_up(commands)
            assert under_way(one), (  # not all three: the shortest may be over
                "every crawl ended before its nodes were drained"
            )
            moved = one.json("archive", "move")
            assert (
                moved["moved"]
                + one.rows("SELECT COUNT(*) FROM crawlmgr_warcfile WHERE place <> ''")[0][0]
                > 0
            )
            made = one.json("backup", str(tmp_path / "all.tar"))
            with cluster(database_server, "after", tmp_path / "after", tables=False) as other:
                restored = manage(other.environment, "restore", str(tmp_path / "all.tar"))
                assert restored.returncode == 0, restored.stderr
                same_rows(one, other, made["rows"])
                same_files(other, made["files"])
                other.start("new")
                assert wait_for(lambda: not under_way(other)), other.told()
                complete(other, sites)


def under_way(one: Cluster) -> dict[int, int]:
    """The number of pages of each unfinished crawl."""
    return dict(
        one.rows("SELECT id, fetched FROM crawlmgr_run WHERE state IN ('queued', 'running')")
    )


def give_up(commands: list[subprocess.Popen[str]]) -> None:
    """Kills commands that wait for nodes; their runs are not affected."""
    for command in commands:
        command.kill()
        command.communicate()


def same_rows(one: Cluster, other: Cluster, counted: dict[str, int]) -> None:
    """Checks that both databases have the same rows in every table of a backup, as many as in
    `counted`."""
    compared = 0
    with (
        psycopg.connect(one.environment["DATABASE_URL"]) as old,
        psycopg.connect(other.environment["DATABASE_URL"]) as new,
    ):
        for name in (model._meta.db_table for model in backup_file.tables()):
            columns = {
                column
                for (column,) in old.execute(
                    "SELECT column_name FROM information_schema.columns WHERE table_name = %s",
                    (name,),
                )
            } - (
                {"place"} if name == "crawlmgr_warcfile" else set()
            )  # the files are now in the folder instead of the store
            quoted = ", ".join(f'"{column}"' for column in sorted(columns))
            asked = f'SELECT {quoted} FROM "{name}"'  # noqa: S608 - our own tables
            before, after = (
                [tuple(map(str, row)) for row in database.execute(asked)] for database in (old, new)
            )  # type: ignore[call-overload]
            assert sorted(after) == sorted(before), name
            compared += len(before)
    assert compared == sum(counted.values()), "a table that the backup holds was not compared"
    assert (
        counted["crawlmgr.Page"] > 90
        and counted["forums.Post"] > 0
        and counted["crawlmgr.Node"] == len(NODES)
    )


def same_files(other: Cluster, counted: dict[str, int]) -> None:
    """Checks that the new folder has the WARC files `counted` (sizes by name), and that they agree
    with the index."""
    folder = Path(other.environment["CRAWLMGR_DATA"]) / "archive"
    assert {name: (folder / name).stat().st_size for name in counted} == counted
    assert other.json("archive", "check")["ok"]
