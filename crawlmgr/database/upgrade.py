"""Creates or migrates the database if it is missing or older than the program; called at the start
of commands. The oldest data taken over is that of version 0.1.0: databases and backups with the
tables of each app's first migration."""

from __future__ import annotations

import fcntl
import pkgutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from django.apps import apps as installed
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from crawlmgr.clock import SYSTEM
from crawlmgr.database import sql
from crawlmgr.workers import ranking

OURS = ("crawlmgr", "forums", "focused", "deepweb")
FIRST = "0100_initial"
"""Name of each app's first migration. It sorts after all names of version 0.1.0 and before, which
databases have recorded and the program no longer has."""


class TooOld(Exception):
    """A database or backup is from before version 0.1.0; the text is a one-line message for the
    user."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} is older than version 0.1.0: start version 0.1.0 on it once,"
            " then this version."
        )


def check_database() -> None:
    """Raises TooOld if only older migrations of an app than the newest of version 0.1.0 have been
    applied to the database."""
    recorded = set(MigrationRecorder(connection).applied_migrations())
    files = MigrationLoader(None).disk_migrations
    for app in OURS:
        begun = any(label == app for label, _name in recorded)
        if begun and not recorded.issuperset(files[app, FIRST].replaces):
            raise TooOld("The database")


def check_backup(columns: Mapping[str, Collection[str]], what: str) -> None:
    """Raises TooOld if a backup lacks a table or a column that version 0.1.0 had. columns: names of
    the backup's columns by table (label of its model); what: the backup's name in the message."""
    loader = MigrationLoader(None)
    first = loader.project_state([(app, FIRST) for app in OURS])
    for model in first.apps.get_models(include_auto_created=True):
        names = {field.attname for field in model._meta.concrete_fields}
        if model._meta.app_label in OURS and not names.issubset(columns.get(model._meta.label, ())):
            raise TooOld(what)


Key = tuple[str, str]
"""App and name of a migration."""
LOCK = 0x7AB1E5
"""Number of the PostgreSQL advisory lock that is held while tables are changed, because the web
server and nodes may start at the same moment."""
LOCK_FILE = "migrate.lock"
"""Name of the file in the data folder whose lock serves the same purpose for SQLite."""


def ready() -> None:
    """Migrates the database if needed. Raises CommandError with one line if the database cannot be
    used."""
    try:
        if _compared()[0]:
            migrate()
    except DatabaseError as error:
        raise CommandError(f"The database cannot be used: {str(error).splitlines()[0]}") from error


def _compared() -> tuple[set[Key], set[Key]]:
    """Returns the migrations that are missing in the database, and those applied to it that only
    newer versions of the program have. Names below that of an app's first migration are of version
    0.1.0 and before. The files are not imported, which would be half the work of a command that
    only prints something."""
    files = {
        (app.label, file.name)
        for app in installed.get_app_configs()
        for file in pkgutil.iter_modules([str(Path(app.path) / "migrations")])
        if not file.ispkg and file.name[0] not in "_~"
    }
    applied = set(MigrationRecorder(connection).applied_migrations())
    newer = {(app, name) for app, name in applied - files if app in OURS and name > FIRST}
    return files - applied, newer


def migrate() -> None:
    """Applies all missing migrations; processes that start at the same moment do so one after the
    other."""
    with _one_at_a_time(), _one_of_this_folder():
        call_command("migrate", verbosity=0, interactive=False)
        sql.refresh_statistics()


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Context manager that holds an advisory lock on PostgreSQL, so that only one process changes
    tables; does nothing on SQLite."""
    if (
        connection.vendor != "postgresql"
    ):  # on SQLite, the lock file of `_one_of_this_folder` keeps other processes waiting
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
    """Context manager that holds a lock file in the data folder if the database is SQLite, so that
    of several commands started at once in an empty folder only one creates the tables and the
    others wait; does nothing on PostgreSQL.
    """
    if connection.vendor != "sqlite":
        yield
        return
    with (settings.DATA_DIR / LOCK_FILE).open("w") as file:
        with suppress(OSError):  # some file systems have no locks
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def ready_for_nodes() -> None:
    """Migrates the database if needed, as `ready` does, but for a database that other nodes may
    use: refuses to migrate while another node is alive, and refuses a database that is newer than
    the program. Raises CommandError with one line.
    """
    try:
        if not any(_compared()):
            return
        with _one_at_a_time():
            _refuse_if_others_need_it_as_it_is()
            ready()
    except DatabaseError as error:
        raise CommandError(f"The database cannot be used: {str(error).splitlines()[0]}") from error


def _refuse_if_others_need_it_as_it_is() -> None:
    """Raises CommandError if the database is newer than the program or too old for it, or must be
    migrated while other nodes are alive."""
    missing, newer = _compared()
    if newer:
        word = ".".join(max(newer))
        raise CommandError(
            f"The database is newer than this program, which does not know the migration {word}:"
            " update this machine."
        )
    refuse_too_old()
    if missing and _others_live():
        raise CommandError(
            "The database is older than this program and nodes work on it: let them drain (`node"
            " drain NAME`), then run `migrate` and start the new nodes."
        )


def refuse_too_old() -> None:
    """Raises CommandError with one line if the database is from before the oldest version that
    this one takes over."""
    try:
        check_database()
    except TooOld as error:
        raise CommandError(str(error)) from None


def _others_live() -> bool:
    """Tells whether any node sent a heartbeat recently; reads only columns that exist in every
    version of the program."""
    with connection.cursor() as cursor:
        if "crawlmgr_node" not in connection.introspection.table_names(cursor):
            return False  # an earlier migration was interrupted before it created this table
        recent = ranking.lost_before(SYSTEM.now())
        cursor.execute(
            "SELECT COUNT(*) FROM crawlmgr_node WHERE heartbeat > %s AND heartbeat >= started",
            [recent],
        )
        return bool(cursor.fetchone()[0])
