"""An empty database runs one migration of each app; processes that start at once migrate one after
the other. That data of version 0.1.0 go on is tested in `tests/upgrade`."""

from __future__ import annotations

import fcntl
import threading
from typing import Any

import pytest
from django.core.management import call_command
from django.db.migrations.loader import MigrationLoader

from crawlmgr.database import upgrade
from crawlmgr.database.upgrade import FIRST, OURS


def test_an_empty_database_begins_with_one_migration_of_each_app() -> None:
    loader = MigrationLoader(None)
    ours = {key: one for key, one in loader.disk_migrations.items() if key[0] in OURS}
    assert {key for key, one in ours.items() if one.initial} == {(app, FIRST) for app in OURS}
    assert all(name >= FIRST for _app, name in ours), (
        "a name that is taken for one of version 0.1.0"
    )


def test_migrations_make_what_the_models_say(db: None) -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def test_on_sqlite_the_second_of_two_first_commands_waits(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, order = threading.Event(), []

    def flock(file: Any, kind: int) -> None:
        asked.set()
        real(file, kind)

    real = fcntl.flock
    monkeypatch.setattr(upgrade.fcntl, "flock", flock)
    monkeypatch.setattr(upgrade, "call_command", lambda *words, **options: order.append("second"))
    monkeypatch.setattr(upgrade.sql, "refresh_statistics", lambda: None)
    second = threading.Thread(target=upgrade.migrate)
    with (settings.DATA_DIR / upgrade.LOCK_FILE).open("w") as held:
        real(held, fcntl.LOCK_EX)
        second.start()
        assert asked.wait(60)
        order.append("first")
    second.join()
    assert order == ["first", "second"]
