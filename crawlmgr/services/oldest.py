"""The oldest data that this version takes over: databases and backups of version 0.1.0, whose
tables are those of each app's first migration."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

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
