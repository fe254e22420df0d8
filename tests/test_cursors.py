"""No cursor stays open during a write: the tests' watched connection detects it, and only few
places in the code may use an open cursor."""

from __future__ import annotations

import ast
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from django.db import connection

from crawlmgr.models import Host
from tests.cursors import OpenCursor, WatchedConnection

ROOT = Path(__file__).resolve().parents[1]
# calls of `iterator()` by file; none of them writes to the database while its rows are read
WALKS = {
    "crawlmgr/archive/archive.py": 1,
    "crawlmgr/upkeep/backup_file.py": 3,
    "crawlmgr/exports/exports.py": 1,
    "crawlmgr/access/vault.py": 1,
    "deepweb/crawler.py": 1,
    "deepweb/exports.py": 1,
    "forums/sites/reads.py": 2,
    "forums/visits/delays.py": 2,
    "forums/simulation/event_logs.py": 1,
    "forums/plans/stored_rhythms.py": 2,
}


@pytest.mark.once
def test_a_write_under_an_open_cursor_is_refused(tmp_path: Path) -> None:
    with closing(
        sqlite3.connect(tmp_path / "x", isolation_level=None, factory=WatchedConnection)
    ) as database:
        database.execute("CREATE TABLE t (n INTEGER)")
        database.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(5)])
        rows = database.execute("SELECT n FROM t")
        assert rows.fetchone() == (0,)
        for statement in (
            "UPDATE t SET n = 0",
            "BEGIN IMMEDIATE",
            "INSERT INTO t VALUES (9)",
            "DELETE FROM t",
        ):
            with pytest.raises(OpenCursor):
                database.execute(statement)
        assert len(rows.fetchall()) == 4
        assert database.execute("UPDATE t SET n = 0").rowcount == 5, (
            "a cursor at its end is in nobody's way"
        )
        assert (
            database.execute("UPDATE t SET n = 1 WHERE n = 0 RETURNING n").fetchall() == [(1,)] * 5
        )


@pytest.mark.once
def test_an_open_cursor_of_another_thread_is_no_fault(tmp_path: Path) -> None:
    with closing(
        sqlite3.connect(
            tmp_path / "x", isolation_level=None, check_same_thread=False, factory=WatchedConnection
        )
    ) as database:
        database.execute("CREATE TABLE t (n INTEGER)")
        database.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(5)])
        with ThreadPoolExecutor(1) as server:
            rows = server.submit(database.execute, "SELECT n FROM t").result()
            assert database.execute("SELECT n FROM t WHERE n = 3").fetchone() == (3,)
            own = database.execute("SELECT n FROM t LIMIT 1")
            assert own.fetchone() == (0,)
            assert database.execute("UPDATE t SET n = 7").rowcount == 5
            assert len(server.submit(rows.fetchall).result()) == 5
        rows = database.execute("SELECT n FROM t")
        with pytest.raises(OpenCursor):
            database.execute("UPDATE t SET n = 0")


@pytest.mark.once
@pytest.mark.django_db
def test_the_tests_own_connection_is_watched() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL has no such trouble")
    Host.objects.bulk_create(Host(key=f"h{n}.example") for n in range(5))
    with pytest.raises(OpenCursor):
        for host in Host.objects.iterator(chunk_size=2):
            Host.objects.filter(pk=host.pk).update(failures=1)


def _walks(file: Path) -> Iterator[int]:
    text = file.read_text()
    for node in ast.walk(ast.parse(text)) if "iterator" in text else ():
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "iterator"
        ):
            yield node.lineno


def test_rows_are_walked_through_with_an_open_cursor_only_where_nothing_is_written_meanwhile() -> (
    None
):
    """Code that walks over rows and writes meanwhile must use `database.sql.in_parts`; only
    places without writes may be added to the list."""
    files = [
        file
        for app in ("crawlmgr", "forums", "focused", "deepweb")
        for file in (ROOT / app).rglob("*.py")
    ]
    found = {str(file.relative_to(ROOT)): len(list(_walks(file))) for file in files}
    assert {name: count for name, count in found.items() if count} == WALKS
