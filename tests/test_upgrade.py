"""A cluster is upgraded to the next version as the guide describes, during a crawl, which then
completes."""

from __future__ import annotations

import shutil
import signal
from datetime import UTC, datetime
from pathlib import Path

import pytest

from crawlmgr import __version__
from tests.benches.soak.sites import Sites, number
from tests.nodes import Cluster, cluster, database_server
from tests.postgresql import Server
from tests.serving import ROOT, Serve, manage, wait_for

__all__ = ["database_server"]
PARTS = ("crawlmgr", "forums", "focused", "deepweb", "templates", "static", "docs")
NEXT = "99.0.0"
MIGRATION = """
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("crawlmgr", "{newest}")]
    operations = [migrations.RunSQL("ALTER TABLE crawlmgr_run ADD COLUMN from_the_next_version \
integer")]
"""
OLD = ("hill", "vale")


@pytest.fixture
def following(tmp_path: Path) -> Path:
    """A copy of the program as a next version: another version number and one more migration."""
    root = tmp_path / "following"
    root.mkdir()
    shutil.copy2(ROOT / "manage.py", root)
    for part in PARTS:
        shutil.copytree(ROOT / part, root / part)
    first = root / "crawlmgr" / "__init__.py"
    text = first.read_text()
    assert f'__version__ = "{__version__}"' in text
    first.write_text(text.replace(f'__version__ = "{__version__}"', f'__version__ = "{NEXT}"'))
    migrations = root / "crawlmgr" / "migrations"
    newest = sorted(path.stem for path in migrations.glob("[0-9]*.py"))[-1]
    (migrations / "9999_next.py").write_text(MIGRATION.format(newest=newest))
    return root


def refused(one: Cluster, root: Path, name: str) -> str:
    """Starts a node from the program in `root`, checks that it is refused, and returns its error
    output."""
    said = manage(one.environment, "node", "--name", name, root=root)
    assert said.returncode == 1 and "Traceback" not in said.stderr, said.stderr
    return said.stderr


@pytest.mark.slow
@pytest.mark.once
def test_old_nodes_drain_the_desk_migrates_new_nodes_go_on(
    database_server: Server, following: Path, tmp_path: Path
) -> None:
    sites = Sites(datetime.now(UTC), 1, 4, 0.05)
    with cluster(database_server, "upgraded", tmp_path / "cluster") as one, sites.served():
        desk = Serve(one.environment, tmp_path / "desk.log")
        desk.start()
        try:
            assert desk.healthy(), desk.told()
            one.start(*OLD)
            site = one.json(
                "forum",
                "add",
                sites.urls["forum"],
                "--timezone",
                "UTC",
                "--allow-private",
                "--delay",
                "0",
            )["site"]
            waiting = one.command(
                "forum",
                "crawl",
                str(site),
                "--history-days",
                "400",
                "--allow-private",
                "--by-nodes",
            )
            assert wait_for(
                lambda: one.rows(
                    "SELECT 1 FROM crawlmgr_run WHERE state = 'running' AND fetched >= 20"
                ),
                every=0.05,
            ), one.told()

            # the crawl must not end before the old nodes have drained, however slow the machine is
            sites.delay_seconds = 8.0
            assert "older than this program and nodes work on it" in refused(
                one, following, "early"
            )

            one.json("backup", str(tmp_path / "before.tar"))
            one.drain(*OLD)
            waiting.kill()
            waiting.communicate()
            assert desk.end(signal.SIGTERM) == 0
            assert one.rows(
                "SELECT COUNT(*) FROM crawlmgr_run WHERE state IN ('queued', 'running')"
            ) == [(1,)], "ended too soon"

            sites.delay_seconds = 0.05
            one.root = desk.root = following
            desk.start()
            assert (
                wait_for(lambda: desk.told().count("Crawl manager: http") == 2) and desk.healthy()
            ), desk.told()
            one.start("new")
            assert one.rows(
                "SELECT COUNT(*) FROM crawlmgr_run WHERE from_the_next_version IS NOT NULL"
            ) == [(0,)]
            versions = {name: row["version"] for name, row in one.listed().items()}
            assert versions["new"] == NEXT and {versions[name] for name in OLD} == {__version__}

            assert "newer than this program" in refused(one, ROOT, "late")

            assert wait_for(
                lambda: one.rows("SELECT id FROM crawlmgr_run WHERE state <> 'finished'") == [],
                every=0.5,
            ), one.told()
            posts = one.rows(
                "SELECT t.url, p.post_id FROM forums_post p JOIN forums_thread t ON t.id ="
                " p.thread_id"
            )
            found = {(number(url), int(post.removeprefix("p"))) for url, post in posts}
            assert found == set(sites.posts()) and len(posts) == len(found), (
                "lost or doubled over the upgrade"
            )
        finally:
            desk.end(signal.SIGTERM)
