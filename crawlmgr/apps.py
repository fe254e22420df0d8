"""App configuration of the part shared by the three crawlers."""

import os
from importlib import import_module
from typing import Any

from django.apps import AppConfig
from django.db import connection
from django.utils.translation import gettext_lazy as _

_of_parents: list[Any] = []


def leave_pools_to_parent() -> None:
    """Runs in a forked process: stops using the parent's database connection pools and the forking thread's connection, because
    the parent still uses them. The objects are kept alive, since deleting a pool would close the parent's connections."""
    pools = getattr(connection, "_connection_pools", None)
    if pools:
        _of_parents.append((dict(pools), connection.connection))
        pools.clear()
        connection.connection = None


class CrawlmgrConfig(AppConfig):
    name = "crawlmgr"
    verbose_name = _("Crawl manager")

    def ready(self) -> None:
        os.register_at_fork(after_in_child=leave_pools_to_parent)
        import_module("crawlmgr.checks")
        # imported before anything is queued, because the import restricts queued tasks to known functions
        import_module("crawlmgr.services.queue")
