"""Creates or migrates the database if it is missing or older than the program, as `serve` does."""

from __future__ import annotations

import fcntl
import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path

from django.apps import apps as installed
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from crawlmgr.clock import SYSTEM
from crawlmgr.services import query_statistics

OURS = ("crawlmgr", "forums", "focused", "deepweb")
LOCK = 0x7AB1E5
"""Number of the lock that is held while the tables are changed: desk and nodes may start at the same moment."""
LOCK_FILE = "migrate.lock"
"""The same for SQLite, in the data folder."""


def ready() -> None:
    """Migrates the database if needed. Raises CommandError with one line if the database does not answer."""
    try:
        if _as_the_files():
            return
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            migrate()
    except DatabaseError as error:
        raise CommandError(f"The database cannot be used: {str(error).splitlines()[0]}") from error


def _as_the_files() -> bool:
    """Tells whether the migrations applied are those of the files, without importing the files, which would be half the work of
    a command that only prints."""
    files = {
        (app.label, file.name)
        for app in installed.get_app_configs()
        for file in pkgutil.iter_modules([str(Path(app.path) / "migrations")])
        if not file.ispkg and file.name[0] not in "_~"
    }
    applied = set(MigrationRecorder(connection).applied_migrations())
    return files <= applied and files >= {key for key in applied if key[0] in OURS}


def migrate() -> None:
    """Brings the tables up to date, one process after the other."""
    with _one_at_a_time(), _one_of_this_folder():
        call_command("migrate", verbosity=0, interactive=False)
        query_statistics.refresh()


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    if connection.vendor != "postgresql":  # one machine
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])


@contextmanager
def _one_of_this_folder() -> Iterator[None]:
    """On SQLite, lets commands that start at the same moment in an empty folder make the tables one after the other."""
    if connection.vendor != "sqlite":
        yield
        return
    with (settings.DATA_DIR / LOCK_FILE).open("w") as file:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def ready_for_nodes() -> None:
    """Like `ready`, for a database that other nodes may use: refuses to migrate while another node is alive, and refuses a
    database newer than the program. Raises CommandError with one line."""
    try:
        if _as_the_files():
            return
        with _one_at_a_time():
            _refuse_if_others_need_it_as_it_is()
            ready()
    except DatabaseError as error:
        raise CommandError(f"The database cannot be used: {str(error).splitlines()[0]}") from error


def _refuse_if_others_need_it_as_it_is() -> None:
    executor = MigrationExecutor(connection)
    applied = executor.loader.applied_migrations
    unknown = sorted(key for key in applied if key[0] in OURS and key not in _known(executor.loader))
    if unknown:
        word = ".".join(unknown[-1])
        raise CommandError(
            f"The database is newer than this program, which does not know the migration {word}: update this machine."
        )
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan and applied and _others_live():
        raise CommandError(
            "The database is older than this program and nodes work on it: let them drain (`node drain NAME`), then run"
            " `migrate` and start the new nodes."
        )


def _known(loader: MigrationLoader) -> set[tuple[str, str]]:
    """The migrations of the program, and those that its squashed migrations replace, because databases record the names of
    both."""
    return {*loader.disk_migrations, *(old for one in loader.disk_migrations.values() for old in one.replaces)}


def _others_live() -> bool:
    """Tells whether a node sent a heartbeat recently, using only columns that exist in every version."""
    with connection.cursor() as cursor:
        if "crawlmgr_node" not in connection.introspection.table_names(cursor):
            return False  # the tables were not created completely
        cursor.execute("SELECT COUNT(*) FROM crawlmgr_node WHERE heartbeat > %s AND heartbeat >= started", [_lost_before()])
        return bool(cursor.fetchone()[0])


def _lost_before() -> datetime:
    return SYSTEM.now() - timedelta(seconds=settings.STALL_SECONDS)
