"""The migrated database that worker processes and later test runs share."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection

from tests.databases import copied_or_made, key_of


def test_it_is_made_once_and_again_when_a_file_is_another(tmp_path: Path) -> None:
    code, made = tmp_path / "models.py", []

    def filled() -> list[tuple[str]]:
        with closing(sqlite3.connect(":memory:")) as database:

            def make() -> None:
                made.append(code.read_text())
                database.execute("CREATE TABLE t (a)")
                database.execute("INSERT INTO t VALUES (?)", (made[-1],))
                database.commit()

            copied_or_made(tmp_path / "kept" / f"{key_of([code])}.sqlite3", database, make)
            return database.execute("SELECT a FROM t").fetchall()

    code.write_text("one")
    assert [filled(), filled()] == [[("one",)], [("one",)]] and made == ["one"]
    code.write_text("two")
    assert [filled(), filled()] == [[("two",)], [("two",)]] and made == ["one", "two"]
    assert len(list((tmp_path / "kept").glob("*.sqlite3"))) == 1


@pytest.mark.django_db
def test_nothing_is_left_to_migrate(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("migrate", check_unapplied=True, plan=True, verbosity=0)
    assert connection.introspection.table_names()
