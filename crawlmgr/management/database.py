"""Commands make their database when it is missing or older than the program, as `serve` does."""

from __future__ import annotations

from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor


def ready() -> None:
    """Migrates where something is missing. Raises CommandError with one line where the database does not answer."""
    try:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            call_command("migrate", verbosity=0, interactive=False)
    except DatabaseError as error:
        raise CommandError(f"The database cannot be used: {str(error).splitlines()[0]}") from error
