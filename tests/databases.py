"""The migrated test database: made once for all worker processes; on SQLite kept for later runs.

Migrating takes some six seconds of CPU, mostly for tables of libraries. On SQLite the first process
that needs a database makes it and keeps a copy, which other processes and later runs of the same
code use. On PostgreSQL it makes a template database.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import django
from django.core.management import call_command
from django.core.management.commands.migrate import Command
from django.db import connection as default
from django.db import connections

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("crawlmgr", "forums", "focused", "deepweb")
KEPT = ROOT / ".pytest_cache" / "databases"


def key_of(files: Iterable[Path]) -> str:
    """A key that changes with the name or content of any file, or with the version of Django or
    SQLite. Migrations use much of the code (texts, permissions, constants), so all of it is
    included."""
    digest = hashlib.sha256(f"{django.get_version()} {sqlite3.sqlite_version}".encode())
    for file in sorted(files):
        digest.update(f"\0{file}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:24]


def all_code() -> list[Path]:
    """The files that a migrated database may depend on."""
    return [
        *(file for package in PACKAGES for file in (ROOT / package).rglob("*.py")),
        ROOT / "requirements.txt",
    ]


def copied_or_made(copy: Path, connection: sqlite3.Connection, make: Callable[[], Any]) -> bool:
    """Fills a database from the copy; if there is none, calls `make` and keeps a copy of the result
    in place of older ones. Only one process at a time does this. Returns whether the database was
    made."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    with (copy.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if copy.exists():
            with closing(sqlite3.connect(copy)) as source:
                source.backup(connection)
            return False
        make()
        part = copy.with_suffix(f".{os.getpid()}")
        with closing(sqlite3.connect(part)) as kept:
            connection.backup(kept)
        for older in copy.parent.glob("*.sqlite3"):
            older.unlink()
        part.rename(copy)
        return True


def migrate_once() -> None:
    """Makes the next `migrate`, which creates the SQLite test database, use a copy kept from an
    earlier run if there is one."""
    migrate = Command.handle

    def handle(self: Command, *arguments: Any, **options: Any) -> None:
        Command.handle = migrate  # type: ignore[method-assign]
        connection = connections[options["database"]]
        connection.ensure_connection()
        copied_or_made(
            KEPT / f"{key_of(all_code())}.sqlite3",
            connection.connection,
            lambda: migrate(self, *arguments, **options),
        )

    Command.handle = handle  # type: ignore[method-assign]


def migrate_into(database: str) -> None:
    """Migrates a database of the server other than the one in the settings."""
    kept = default.settings_dict["NAME"]
    default.close()
    default.settings_dict["NAME"] = database
    try:
        call_command("migrate", verbosity=0, interactive=False, run_syncdb=True)
    finally:
        default.close()
        default.settings_dict["NAME"] = kept


def copy_template(database: str) -> None:
    """Makes the test database a copy of a migrated one, and skips the next `migrate`."""
    migrate = Command.handle

    def handle(self: Command, *arguments: Any, **options: Any) -> None:
        Command.handle = migrate  # type: ignore[method-assign]

    default.settings_dict["TEST"]["TEMPLATE"] = database
    Command.handle = handle  # type: ignore[method-assign]
