"""The squashed migrations (one per app) create an empty database; older databases, completely
migrated or not, are converted to the same tables and keep their rows."""

from __future__ import annotations

import fcntl
import json
import random
import threading
from collections.abc import Mapping
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from crawlmgr.management import database
from crawlmgr.management.database import OURS
from tests.halfway import PROXY
from tests.serving import manage

Key = tuple[str, str]


def _halfway(every: MigrationLoader, old: set[Key], count: int) -> list[set[Key]]:
    """Returns `count` random sets of applied migrations: those of libraries, and none, some or all
    of the `old` ones of each app, with their dependencies. In some sets, the squashed migration
    that replaces the old ones is recorded too.
    """
    draw, sets = random.Random(21), []
    chains = {app: sorted(key for key in old if key[0] == app) for app in OURS}
    for _ in range(count):
        done = {key for key in every.disk_migrations if key[0] not in OURS}
        for chain in chains.values():
            newest = draw.choice([None, chain[-1], draw.choice(chain)])
            done |= set(every.graph.forwards_plan(newest)) if newest else set()
        if draw.random() < 0.5:
            done |= {
                key
                for key, one in every.disk_migrations.items()
                if one.replaces and done.issuperset(one.replaces)
            }
        sets.append(done)
    return sets


def _stands_for(loader: MigrationLoader, key: Key) -> list[Key]:
    return loader.disk_migrations[key].replaces or [key]


def test_an_empty_database_runs_one_migration_of_each_app() -> None:
    loader = MigrationLoader(None)
    ours = [key for key in loader.graph.nodes if key[0] in OURS]
    squashed = [key for key in ours if loader.disk_migrations[key].replaces]
    assert sorted(app for app, _name in squashed) == sorted(OURS)
    newer = [key for key in ours if key not in squashed]
    old = {
        key for key, one in loader.disk_migrations.items() if key[0] in OURS and not one.replaces
    } - set(newer)
    assert old == {key for one in squashed for key in _stands_for(loader, one)}, (
        "one that stands beside a squashed one that leaves it out"
    )


def test_migrations_make_what_the_models_say(db: None) -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def test_whatever_of_the_old_ones_has_run_the_rest_runs_once(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = MigrationLoader(None, replace_migrations=False)
    old = {key for key, one in every.disk_migrations.items() if key[0] in OURS and not one.replaces}
    for applied in _halfway(every, old, 60):
        records = dict.fromkeys(applied)
        monkeypatch.setattr(
            MigrationRecorder, "applied_migrations", lambda self, records=records: dict(records)
        )
        executor = MigrationExecutor(connection)
        executor.loader.check_consistent_history(connection)
        plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
        runs = [key for one, _back in plan for key in _stands_for(every, (one.app_label, one.name))]
        assert len(runs) == len(set(runs)) and set(runs) == old - applied, sorted(applied)


def test_on_sqlite_the_second_of_two_first_commands_waits(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, order = threading.Event(), []

    def flock(file: Any, kind: int) -> None:
        asked.set()
        real(file, kind)

    real = fcntl.flock
    monkeypatch.setattr(database.fcntl, "flock", flock)
    monkeypatch.setattr(database, "call_command", lambda *words, **options: order.append("second"))
    monkeypatch.setattr(database.query_statistics, "refresh", lambda: None)
    second = threading.Thread(target=database.migrate)
    with (settings.DATA_DIR / database.LOCK_FILE).open("w") as held:
        real(held, fcntl.LOCK_EX)
        second.start()
        assert asked.wait(60)
        order.append("first")
    second.join()
    assert order == ["first", "second"]


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    return {}


def _told(environment: Mapping[str, str], kept: dict[str, Any]) -> dict[str, Any]:
    """The result of converting a database of release 0.1.0; computed once for all tests of this
    file, because it takes long."""
    if not kept:
        said = manage(environment, "shell", "-v0", "-c", "from tests.halfway import tell; tell()")
        assert said.returncode == 0, said.stderr
        kept |= json.loads(said.stdout)
    return kept


@pytest.mark.slow
def test_a_database_of_the_first_release_gets_the_tables_of_an_empty_one(
    installed: dict[str, str], kept: dict[str, Any]
) -> None:
    told = _told(installed, kept)
    assert (
        set(told["migrated"]) == set(told["fresh"])
        and len(told["migrated"]) == len(told["fresh"]) > 200
    )
    assert {name.split(".")[0] for name in told["recorded"] if "squashed" in name} == set(OURS)


@pytest.mark.slow
def test_rows_of_the_first_release_are_mended(
    installed: dict[str, str], kept: dict[str, Any]
) -> None:
    rows = _told(installed, kept)["rows"]
    assert rows["allowed"] == {
        "site": "10.0.0.9",
        "run": "10.0.0.9",
        "topic": "10.0.0.8",
        "source": "10.0.0.7",
    }
    assert rows["plain"] == [] and rows["proxies"] == [PROXY] * 4, (
        "secrets are encrypted, and still there"
    )
    assert rows["private proxies"] == {"site": True, "run": True, "topic": None, "source": None}
    assert rows["part"] == ["best_first#1", [1, 2]] and rows["characters"] == len("twelve chars")
    assert rows["found"] == [1, 1], "both searches find the row of before"


@pytest.mark.slow
def test_a_database_with_all_old_migrations_is_left_as_it_is(
    installed: dict[str, str], kept: dict[str, Any]
) -> None:
    told = _told(installed, kept)
    assert (
        not [name for name in told["old names"] if "squashed" in name]
        and len(told["old names"]) > 60
    )
    assert told["again"] == told["migrated"] and told["untouched"]
    assert told["recorded again"] == told["recorded"]
